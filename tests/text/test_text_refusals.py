"""Documents, parameters and files that TF-IDF refuses."""

import hashlib
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from stories import STORIES

import onlinear as ol
import onlinear.text
from onlinear.text import CorpusTfidf, OnlineTfidf, words

# --- refusals -------------------------------------------------------------------------------

BAD_DOCUMENTS = [
    ("a single story", "iterable of str.* got a single str"),
    (b"bytes", "got a single bytes"),
    ({"story": 1}, "got a single dict"),
    (None, "got a single NoneType"),
    (["fine", "fine", float("nan")], "document 2 needs to be a str, got nan"),
    (["fine", b"bytes"], "document 1 needs to be a str, got b'bytes'"),
    ([["a", "list"]], r"document 0 needs to be a str, got \['a', 'list'\]"),
]


@pytest.mark.parametrize(("documents", "message"), BAD_DOCUMENTS)
def test_what_is_not_documents_is_refused_and_changes_nothing(documents, message):
    corpus, stream = CorpusTfidf(min_documents=2).fit(STORIES), OnlineTfidf(width=64)
    stream.learn_transform(STORIES)
    before = pickle.dumps((corpus, stream))
    for method in (
        corpus.fit,
        corpus.fit_transform,
        corpus.transform,
        stream.transform,
        stream.learn_transform,
    ):
        with pytest.raises(TypeError, match=message):
            method(documents)
    assert pickle.dumps((corpus, stream)) == before


def test_a_table_is_refused_and_its_column_is_not():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"body": STORIES})
    with pytest.raises(TypeError, match="one column of a table, got a single DataFrame"):
        CorpusTfidf().fit(frame)
    assert CorpusTfidf(min_documents=2).fit(frame["body"]).n_documents_ == len(STORIES)


@pytest.mark.parametrize("document", [None, ["a", "list"], b"bytes", 3])
def test_a_single_document_that_is_none_is_refused(document):
    tfidf = OnlineTfidf(width=64)
    for method in (tfidf.learn_one, tfidf.transform_one):
        with pytest.raises(TypeError, match="document 0 needs to be a str"):
            method(document)
    with pytest.raises(TypeError, match="words needs a str"):
        words(document)
    assert tfidf.n_documents_ == 0


@pytest.mark.parametrize("analyzer", [str.lower, lambda _: [1, 2], lambda _: [b"bytes"]])
def test_an_analyzer_that_returns_no_list_of_words_is_refused(analyzer):
    for method in (
        CorpusTfidf(1, analyzer).fit,
        OnlineTfidf(64, 1, analyzer).transform,
        OnlineTfidf(64, 1, analyzer).learn_transform,
    ):
        with pytest.raises(TypeError, match=r"analyzer needs to return a list of str, got .* for"):
            method(["one", "two"])


@pytest.mark.parametrize("min_documents", [0, -1, 2.0, True, "3", None])
def test_a_min_documents_that_is_no_positive_whole_number_is_refused(min_documents):
    stream = OnlineTfidf(64, min_documents)
    for method in (
        CorpusTfidf(min_documents).fit,
        CorpusTfidf(min_documents).fit_transform,
        stream.transform,
        stream.learn_transform,
    ):
        with pytest.raises(ValueError, match=r"needs a whole number 1 ≤ min_documents .*, got"):
            method(STORIES)
    with pytest.raises(ValueError, match="min_documents"):
        stream.save("never.onl")
    assert stream.n_documents_ == 0


@pytest.mark.parametrize("width", [0, -1, 64.0, True, "64", None, 2**31])
def test_a_width_that_hashing_does_not_take_is_refused(width):
    tfidf = OnlineTfidf(width)
    for use in (tfidf.learn_one, tfidf.transform_one, tfidf.save):
        with pytest.raises(ValueError, match=r"OnlineTfidf needs .* 1 ≤ width ≤ .*, got width="):
            use("a story")


def test_a_width_other_than_at_the_beginning_is_refused():
    tfidf = OnlineTfidf(width=64)
    tfidf.learn_one("a story")
    tfidf.set_params(width=32)
    for use in (tfidf.learn_one, tfidf.transform_one, tfidf.save):
        with pytest.raises(ValueError, match="began with width=64 and keeps it, got width=32"):
            use("a story")
    assert tfidf.set_params(width=64).n_documents_ == 1


@pytest.mark.parametrize("analyzer", ["word", 3, ["wheat"]])
def test_an_analyzer_that_is_no_function_is_refused(analyzer):
    for tfidf in (CorpusTfidf(1, analyzer).fit, OnlineTfidf(64, 1, analyzer).learn_transform):
        with pytest.raises(ValueError, match=r"needs analyzer to be None or a function .*, got"):
            tfidf(["wheat"])


def test_a_corpus_without_a_word_that_stays_is_refused_and_changes_nothing():
    tfidf = CorpusTfidf(min_documents=3).fit(STORIES)
    before = pickle.dumps(tfidf)
    for documents, message in [
        (["wheat", "oil", "wheat"], "at least min_documents=3 documents, got none in 3"),
        (["the", "of"], "empty vocabulary"),
        ([], "empty vocabulary"),
    ]:
        with pytest.raises(ValueError, match=message):
            tfidf.fit(documents)
    assert pickle.dumps(tfidf) == before


def test_a_corpus_is_needed_before_transforming():
    for method in (CorpusTfidf().transform, CorpusTfidf().get_feature_names_out):
        with pytest.raises(NotFittedError, match="call fit first"):
            method(STORIES)


# --- files ----------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    tfidf = OnlineTfidf(width=16, min_documents=2)
    tfidf.learn_transform(STORIES)
    tfidf.save(tmp_path / "words.onl")
    return tmp_path / "words.onl"


def test_a_file_brings_back_parameters_and_counts(saved):
    tfidf = OnlineTfidf.load(saved)
    assert repr(tfidf) == "OnlineTfidf(min_documents=2, width=16)"
    assert tfidf.n_documents_ == len(STORIES)
    OnlineTfidf(width=np.int64(8)).save(saved)
    assert repr(OnlineTfidf.load(saved)) == "OnlineTfidf(width=8)"
    assert OnlineTfidf.load(saved).n_documents_ == 0


def test_every_truncation_and_every_altered_byte_is_refused(saved):
    content = saved.read_bytes()
    for position in range(0, len(content), 3):
        altered = bytearray(content)
        altered[position] ^= 0x10
        for wrong in (content[:position], bytes(altered)):
            saved.write_bytes(wrong)
            with pytest.raises(ol.StateFileError):
                OnlineTfidf.load(saved)


GOOD = {
    "transformer": "OnlineTfidf",
    "params": {"width": 2, "min_documents": 3},
    "arrays": {"counted": [3]},
}


@pytest.mark.parametrize(
    ("other", "numbers", "message"),
    [
        ({}, [1.0, 2.0, 2.0], None),
        ({"transformer": "CorpusTfidf"}, [1.0, 2.0, 2.0], "something else"),
        ({"params": {"width": 2}}, [1.0, 2.0, 2.0], "min_documents"),
        ({"params": {"width": 10**9, "min_documents": 3}}, [1.0, 2.0, 2.0], "width"),
        ({"params": {"width": 2.0, "min_documents": 3}}, [1.0, 2.0, 2.0], "width"),
        ({"params": {"width": 2, "min_documents": 0}}, [1.0, 2.0, 2.0], "min_documents"),
        ({"params": [2, 3]}, [1.0, 2.0, 2.0], "does not describe an OnlineTfidf"),
        ({"arrays": {"state": [3]}}, [1.0, 2.0, 2.0], "counted"),
        ({"arrays": {"counted": [3, 1]}}, [1.0, 2.0, 2.0], "width"),
        ({}, [1.0, 3.0, 2.0], "whole numbers from 0 to N = 2"),
        ({}, [-1.0, 2.0, 2.0], "whole numbers"),
        ({}, [0.5, 2.0, 2.0], "whole numbers"),
        ({}, [1.0, np.nan, 2.0], "whole numbers"),
        ({}, [1.0, 2.0, np.nan], "whole numbers"),
        ({}, [1.0, 2.0, np.inf], "whole numbers"),
        ({}, [1.0, 2.0, 1e300], "whole numbers"),
    ],
)
def test_a_file_with_a_right_checksum_and_wrong_contents_is_refused(other, numbers, message):
    body = b"onlinear 1\n" + json.dumps({**GOOD, **other}).encode() + b"\n"
    body += np.array(numbers).tobytes()
    Path("forged.onl").write_bytes(body + hashlib.sha256(body).digest())
    if message is None:  # the forgery that the others differ from is a file
        assert OnlineTfidf.load("forged.onl").document_frequencies_.tolist() == [1, 2]
        return
    with pytest.raises(ol.StateFileError, match=message):
        OnlineTfidf.load("forged.onl")


def test_files_of_learners_and_of_text_are_not_taken_for_each_other(saved, tmp_path):
    with pytest.raises(ol.StateFileError, match="it holds OnlineTfidf: use onlinear"):
        ol.load(saved)
    ol.Ridge().save(tmp_path / "model.onl")
    with pytest.raises(ol.StateFileError, match="does not describe an OnlineTfidf"):
        OnlineTfidf.load(tmp_path / "model.onl")


def test_an_analyzer_is_not_saved_and_the_old_file_stays(saved):
    before = saved.read_bytes()
    with pytest.raises(ValueError, match=r"needs analyzer=None to be saved, .* got analyzer=<"):
        OnlineTfidf(width=16, analyzer=str.split).save(saved)
    assert saved.read_bytes() == before
