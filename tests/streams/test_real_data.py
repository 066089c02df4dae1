"""The real data sets: where they are looked for, what is checked, and what is said without them."""

import gzip
import hashlib
import io
import sys
import tarfile
import types
import urllib.error
from pathlib import Path

import numpy as np
import pytest
from places import DATA
from scipy.sparse import csr_matrix

from onlinear.streams import DataNotFoundError, _published, _real, _reuters, load

here = pytest.mark.skipif(not DATA.is_dir(), reason="the real data sets are not beside the project")

NUMBERS = np.array([[0.1, -0.0, 3.0], [1 / 3, 2.0, -7.5]])


def digest(numbers):
    return hashlib.sha256((numbers + 0.0).astype("<f8").tobytes()).hexdigest()


def unreachable(*args, **kwargs):
    raise urllib.error.URLError("no such host")


@pytest.fixture
def kept(monkeypatch, tmp_path):
    """Return the cache of the test; the set "friedman" is a small table, and nothing is fetched."""
    monkeypatch.setenv("ONLINEAR_DATA", str(tmp_path / "cache"))
    known = _real._Known("https://example.org/friedman", digest(NUMBERS), unreachable)
    monkeypatch.setitem(_real.TABLES, "friedman", known)
    return tmp_path / "cache"


def put(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    content = text.encode()
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)


TEXT = "date,a,b,target\n2009-01-05,0.1,-0.0,3.0\n2009-01-06,0.3333333333333333,2,-7.5\n"


# --- tables -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["friedman.csv", "friedman.csv.gz"])
@pytest.mark.parametrize("text", [TEXT, TEXT.replace("date,", "").replace("2009-01-05,", "")])
def test_a_table_is_read_from_a_folder(kept, tmp_path, name, text):
    put(tmp_path, name, text.replace("2009-01-06,", "") if "date" not in text else text)
    table = load("friedman", tmp_path)
    np.testing.assert_array_equal(table.X, NUMBERS[:, :2])
    np.testing.assert_array_equal(table.y, NUMBERS[:, 2])
    assert table.names == ("a", "b")


def test_the_folder_comes_before_the_cache(kept, tmp_path):
    put(kept, "friedman.csv", TEXT.replace("-7.5", "8"))
    put(tmp_path, "friedman.csv", TEXT)
    assert load("friedman", tmp_path).y[1] == -7.5
    with pytest.raises(ValueError, match="is not the data set"):
        load("friedman")


def test_other_numbers_are_refused_with_both_checksums(kept, tmp_path):
    put(tmp_path, "friedman.csv", TEXT.replace("7.5", "7.25"))
    with pytest.raises(ValueError, match=f"SHA-256 [0-9a-f]+, not {digest(NUMBERS)}"):
        load("friedman", tmp_path)


def test_a_file_without_numbers_is_refused(kept, tmp_path):
    put(tmp_path, "friedman.csv", TEXT.replace("7.5", "many"))
    with pytest.raises(ValueError, match=r"friedman\.csv is damaged, or not what .*many"):
        load("friedman", tmp_path)


DAMAGE = {
    "cut.csv.gz": gzip.compress(TEXT.encode() * 50)[:40],
    "plain.csv.gz": TEXT.encode(),
    "empty.csv": b"",
    "noise.csv": bytes(range(128, 256)),
    "ragged.csv": b"a,b,target\n1,2,3\n4,5\n",
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_file_is_named(kept, tmp_path, kind):
    path = tmp_path / f"friedman.{kind.split('.', 1)[1]}"
    path.write_bytes(DAMAGE[kind])
    with pytest.raises(ValueError, match=rf"{path} is damaged, or not what its name says"):
        load("friedman", tmp_path)


def test_marks_of_other_programs_do_no_harm(kept, tmp_path):
    (tmp_path / "friedman.csv").write_bytes(
        b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode() + b"\r\n"
    )
    assert load("friedman", tmp_path).names == ("a", "b")


def test_a_page_in_place_of_data_is_refused_and_not_kept(files, tmp_path, monkeypatch):
    monkeypatch.setenv("ONLINEAR_DATA", str(tmp_path / "cache"))
    files["data.csv"] = b"<html>please log in</html>"
    with pytest.raises(ValueError, match=r"247/data\.csv is damaged, or not what its name says"):
        load("istanbul_stock_exchange")
    assert not (tmp_path / "cache").exists()


def test_what_cannot_be_kept_is_used_all_the_same(kept, monkeypatch):
    known = _real.TABLES["friedman"]
    fetch = lambda folder: (("a", "b", "target"), NUMBERS)  # noqa: E731
    monkeypatch.setitem(_real.TABLES, "friedman", known._replace(fetch=fetch))
    kept.write_text("a file where the folder should be")
    with pytest.warns(UserWarning, match=r"friedman\.csv\.gz was fetched but is not kept"):
        assert load("friedman").names == ("a", "b")


@pytest.mark.parametrize("text", ["headline,topics\nA,acq\n", "title,body,topics\nA,b\n"])
def test_a_table_of_stories_with_other_columns_is_refused(tmp_path, text):
    put(tmp_path, "text_reuters21578.csv.gz", text)
    with pytest.raises(ValueError, match=r"text_reuters21578\.csv\.gz is damaged"):
        load("reuters21578", tmp_path)


def test_what_is_fetched_is_checked_and_kept(kept, monkeypatch):
    fetched = []

    def fetch(folder):
        fetched.append(folder)
        return ("a", "b", "target"), NUMBERS

    known = _real.TABLES["friedman"]._replace(fetch=fetch)
    monkeypatch.setitem(_real.TABLES, "friedman", known)
    first, second = load("friedman"), load("friedman")
    assert len(fetched) == 1
    assert not fetched[0].exists(), "what it came from is not kept"
    assert [path.name for path in kept.iterdir()] == ["friedman.csv.gz"]
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
    monkeypatch.setitem(_real.TABLES, "friedman", known._replace(sha256="0" * 64))
    (kept / "friedman.csv.gz").unlink()
    with pytest.raises(ValueError, match=r"https://example\.org/friedman is not the data set"):
        load("friedman")
    assert not list(kept.iterdir())


def test_without_a_network_it_says_where_to_look(kept, tmp_path):
    with pytest.raises(DataNotFoundError) as error:
        load("friedman", tmp_path)
    for words in (
        "no friedman.csv.gz in",
        str(tmp_path),
        f"{kept} (no folder)",
        "(no such host): is there a network?",
    ):
        assert words in str(error.value)
    assert "It is at https://example.org/friedman" in str(error.value)


def test_nothing_is_fetched_if_it_is_not_to_be(kept, monkeypatch):
    for module in ("fetch_openml", "fetch_file"):
        monkeypatch.setattr(f"sklearn.datasets.{module}", None)
    for name in _real.NAMES:
        with pytest.raises(DataNotFoundError, match=r"fetching it was not allowed\. It is at http"):
            load(name, download=False)


def test_without_scikit_learn_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("ONLINEAR_DATA", str(tmp_path))
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    for name in _real.NAMES:
        with pytest.raises(DataNotFoundError, match=r'pip install "onlinear\[papers\]"'):
            load(name)


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match=r"needs one of friedman, istanbul.*, got 'iris'"):
        load("iris")


@here
@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("friedman", (40768, 10)),
        ("istanbul_stock_exchange", (536, 8)),
        ("f16_ailerons", (7154, 40)),
    ],
)
def test_the_sets_are_those_of_the_papers(name, shape):
    table = load(name, DATA, download=False)
    assert table.X.shape == shape
    assert len(table.names) == shape[1]


# --- public sources -----------------------------------------------------------------------------


@pytest.fixture
def files(monkeypatch):
    """Let files be fetched from a dictionary by the end of their address."""
    there = {}

    def fetch_file(url, folder, local_filename, sha256, n_retries):
        path = Path(folder) / local_filename
        path.write_bytes(there[url.rsplit("/", 1)[1]])
        return path

    monkeypatch.setattr("sklearn.datasets.fetch_file", fetch_file)
    return there


def archive(**members):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for name, text in members.items():
            content = text.encode("latin-1")
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return file.getvalue()


def test_istanbul_has_dollars_as_labels(files, tmp_path):
    row = ",".join(str(k / 10) for k in range(1, 10))
    files["data.csv"] = f"\ufeffdate,ISE,ISE2,SP,DAX,FTSE,N,B,EU,EM\n5-Jan-09,{row}\n".encode()
    names, numbers = _published.istanbul(tmp_path)
    assert len(names) == 9
    np.testing.assert_array_equal(numbers, [[0.1, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.2]])


@pytest.mark.parametrize("comma", [",", ", "])
def test_ailerons_are_the_first_part_of_the_archive(files, tmp_path, comma):
    row = comma.join(str(k) for k in range(41))
    members = {"Ailerons/ailerons.test": "1", "Ailerons/ailerons.data": f"{row}\n{row}\n"}
    files["ailerons.tgz"] = archive(**members)
    names, numbers = _published.ailerons(tmp_path)
    assert len(names) == len(set(names)) == 41
    np.testing.assert_array_equal(numbers, np.tile(np.arange(41.0), (2, 1)))


@here
def test_the_names_of_ailerons_are_those_of_the_file():
    assert _published.AILERONS_NAMES[:-1] == load("f16_ailerons", DATA, download=False).names


def test_friedman_is_number_564(monkeypatch, tmp_path):
    def fetch_openml(*, data_id, data_home, **options):
        assert (data_id, data_home) == (564, tmp_path)
        return types.SimpleNamespace(
            feature_names=["a", "b"], data=NUMBERS[:, :2], target=NUMBERS[:, 2]
        )

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    names, numbers = _published.friedman(tmp_path)
    assert names == ["a", "b", "target"]
    np.testing.assert_array_equal(numbers, NUMBERS)


def test_rcv1_is_scikit_learns(monkeypatch, tmp_path):
    monkeypatch.setenv("ONLINEAR_DATA", str(tmp_path / "cache"))
    asked = []

    def fetch_rcv1(data_home, download_if_missing=True, n_retries=3):
        asked.append((data_home, download_if_missing))
        if not download_if_missing and data_home is None:
            raise OSError("Data not found and `download_if_missing` is False")
        return types.SimpleNamespace(
            data=csr_matrix(np.eye(3)),
            target=csr_matrix(np.eye(3, dtype=np.uint8)),
            target_names=np.array(["a", "b", "c"]),
        )

    monkeypatch.setattr("sklearn.datasets.fetch_rcv1", fetch_rcv1)
    with pytest.raises(DataNotFoundError, match=r"scikit_learn_data.*, and fetching it was not"):
        load("rcv1", tmp_path, download=False)
    (tmp_path / "RCV1").mkdir()
    vectors = load("rcv1", tmp_path, download=False)
    assert asked == [(None, False), (tmp_path, False)]
    assert vectors.topics == ("a", "b", "c")
    assert vectors.Y.dtype == bool
    np.testing.assert_array_equal(vectors.Y.toarray(), np.eye(3))


# --- Reuters-21578 ------------------------------------------------------------------------------


def story(number, date, topics, text):
    labels = "".join(f"<D>{topic}</D>" for topic in topics)
    return (
        f'<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" OLDID="5" NEWID="{number}">\n'
        f"<DATE>{date}</DATE>\n<TOPICS>{labels}</TOPICS>\n<PLACES><D>usa</D></PLACES>\n"
        f"<UNKNOWN> \n&#5;&#5;C f0704reute</UNKNOWN>\n{text}\n</REUTERS>\n"
    )


BOTH = "<TEXT>&#2;\n<TITLE>{}</TITLE>\n<DATELINE>LIMA, March 3</DATELINE><BODY>{}</BODY></TEXT>"
SGML = '<!DOCTYPE lewis SYSTEM "lewis.dtd">\n'


def test_stories_come_by_date_with_title_body_and_topics(tmp_path, monkeypatch):
    monkeypatch.setenv("ONLINEAR_DATA", str(tmp_path / "cache"))
    late = story(
        2, "20-OCT-1987 09:00:01.50", ["grain", "wheat"], BOTH.format("LATE", "Z&lt;X>\nü")
    )
    early = story(
        7, " 3-APR-1987 09:00:01.50", [], BOTH.format("EARLY", "one\n  two\n Reuter\n&#3;")
    )
    whole = story(
        9, " 3-APR-1987 09:00:01.50", ["earn"], '<TEXT TYPE="UNPROC">&#2;all\nof it</TEXT>'
    )
    empty = story(3, " 3-APR-1987 09:00:01.50", [], '<TEXT TYPE="UNPROC">&#2;</TEXT>')
    odd = story(4, "31-MAR-1987 605:12:19.12", [], BOTH.format("ODD", "date"))
    content = archive(
        **{"./reut2-000.sgm": SGML + late + empty, "./reut2-001.sgm": SGML + whole + odd + early},
        **{"./README.txt": "<REUTERS>"},
    )
    (tmp_path / "reuters21578.tar.gz").write_bytes(content)
    with pytest.raises(
        ValueError, match=r"expected copy of Reuters-21578: SHA-256 .*, not 3bae43c9"
    ):
        load("reuters21578", tmp_path)
    monkeypatch.setattr(_published, "REUTERS_SHA256", hashlib.sha256(content).hexdigest())
    documents = load("reuters21578", tmp_path)
    assert documents.texts == ["EARLY one two Reuter", "all of it", "LATE Z<X> ü"]
    assert documents.topics == [frozenset(), {"earn"}, {"grain", "wheat"}]


def test_reuters_is_fetched_to_the_cache(tmp_path, monkeypatch, files):
    monkeypatch.setenv("ONLINEAR_DATA", str(tmp_path / "cache"))
    files["reuters21578.tar.gz"] = archive(
        **{"reut2-000.sgm": story(1, "3-APR-1987 09:00:01.50", ["acq"], BOTH.format("A", "b"))}
    )
    digest = hashlib.sha256(files["reuters21578.tar.gz"]).hexdigest()
    monkeypatch.setattr(_published, "REUTERS_SHA256", digest)
    assert load("reuters21578").texts == ["A b"]
    assert (tmp_path / "cache" / "reuters21578.tar.gz").exists()
    files.clear()
    assert load("reuters21578").texts == ["A b"]


def test_a_table_of_other_stories_is_refused(tmp_path):
    put(tmp_path, "text_reuters21578.csv.gz", "title,body,topics\nA,b,acq|earn\n")
    with pytest.raises(ValueError, match="is not the expected copy of Reuters-21578"):
        load("reuters21578", tmp_path)
    sha256 = hashlib.sha256(b"A\x1fb\x1facq|earn\x1f").hexdigest()
    stories = _reuters.read_table(tmp_path / "text_reuters21578.csv.gz", sha256)
    assert stories == [("A b", {"acq", "earn"})]


@here
def test_reuters_has_its_stories_and_topics():
    documents = load("reuters21578", DATA, download=False)
    assert len(documents.texts) == 21_577
    assert sum("earn" in topics for topics in documents.topics) == 3_987
