"""Rows out of files: the same numbers from every format, however a file is cut."""

import gzip
import itertools
import json
import lzma
import math

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onlinear._cli import columnar_file, record_splitter
from onlinear._cli.arrow_numbers import array_of, floats
from onlinear._cli.columns import choose
from onlinear._cli.errors import DataError, UsageError
from onlinear._cli.row_faults import Fault
from onlinear._cli.source import START, Place, Source

NUMBERS = {"a": pa.float64(), "b": pa.float64()}


def write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def read(source, types=NUMBERS, place=START):
    """Return all rows from a place on as lists, and the faults by the number of their row."""
    rows, faults = [], {}
    for block in source.blocks(types, place):
        start = block.before.number
        rows += block.table.to_pylist()
        faults |= {start + row: str(fault) for row, fault in block.faults.items()}
    return rows, faults


@pytest.fixture
def table():
    rng = np.random.default_rng(3)
    numbers = rng.standard_normal((25, 2)) * 10.0 ** rng.integers(-20, 20, (25, 2))
    return pa.table({"a": numbers[:, 0], "b": numbers[:, 1]})


def test_every_format_gives_the_same_numbers(tmp_path, table):
    rows = table.to_pylist()
    lines = "a,b\n" + "".join(f"{row['a']!r},{row['b']!r}\n" for row in rows)
    objects = "".join(json.dumps(row) + "\n" for row in rows)
    write(tmp_path / "t.csv", lines)
    write(tmp_path / "t.tsv", lines.replace(",", "\t"))
    write(tmp_path / "t.csv.gz", gzip.compress(lines.encode()))
    write(tmp_path / "t.csv.xz", lzma.compress(lines.encode()))
    write(tmp_path / "bom.csv", b"\xef\xbb\xbf" + lines.replace("\n", "\r\n").encode())
    write(tmp_path / "t.jsonl", objects)
    write(tmp_path / "t.json.gz", gzip.compress(objects.encode()))
    pa.parquet.write_table(table, tmp_path / "t.parquet", row_group_size=7)
    pa.feather.write_feather(table, tmp_path / "t.feather")
    with pa.ipc.new_stream(tmp_path / "t.arrows", table.schema) as stream:
        stream.write_table(table, max_chunksize=11)
    for path in sorted(tmp_path.iterdir()):
        assert read(Source((str(path),))) == (rows, {}), path.name
    paths = tuple(map(str, sorted(tmp_path.iterdir())))
    assert read(Source(paths))[0] == rows * len(paths)


def test_reading_goes_on_from_any_row_of_any_format(tmp_path, table, monkeypatch):
    monkeypatch.setattr(record_splitter, "BLOCK", 201)
    monkeypatch.setattr(columnar_file, "ROWS", 8)
    rows = table.to_pylist()
    write(tmp_path / "t.csv", "a,b\n" + "".join(f"{row['a']!r},{row['b']!r}\n" for row in rows))
    write(tmp_path / "u.csv.gz", gzip.compress((tmp_path / "t.csv").read_bytes()))
    write(tmp_path / "t.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    pa.parquet.write_table(table, tmp_path / "t.parquet", row_group_size=7)
    pa.feather.write_feather(table, tmp_path / "t.feather")
    paths = tuple(map(str, sorted(tmp_path.iterdir())))
    source, everything = Source(paths), rows * len(paths)
    for block in source.blocks(NUMBERS):
        for k in range(len(block.table) + 1):
            place = block.before.plus(k)
            assert read(source, place=place)[0] == everything[place.number :]
        assert read(source, place=block.after)[0] == everything[block.after.number :]


texts = st.text(st.sampled_from('ab ,;\n"é\r\n'), max_size=6)


@given(st.lists(st.tuples(st.floats(allow_nan=False), texts), min_size=1), st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_a_csv_is_the_same_however_it_is_cut(tmp_path_factory, records, size):
    path = tmp_path_factory.mktemp("cut") / "t.csv"
    content = "a,b\n"
    for number, text in records:
        doubled = text.replace('"', '""')
        content += f'{number!r},"{doubled}"\n'
    write(path, content)
    types = {"a": pa.float64(), "b": pa.string()}
    whole = read(Source((str(path),)), types)
    assert len(whole[0]) == len(records)
    assert [row["a"] for row in whole[0]] == [number for number, _ in records]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_splitter, "BLOCK", size)
        assert read(Source((str(path),)), types) == whole


@given(
    st.lists(
        st.sampled_from(
            ["1", " 2.5 ", "+3", "1e5", ".5", "-0.0", "inf", "nan", "", "NA", "5.", "1e-320"]
        ),
        min_size=1,
        max_size=20,
    )
)
@settings(max_examples=60, deadline=None)
def test_a_block_with_a_fault_is_read_as_one_without(tmp_path_factory, values):
    folder = tmp_path_factory.mktemp("fault")
    lines = "".join(f"{value},{value}\n" for value in values)
    good = read(Source((write(folder / "good.csv", "a,b\n1,1\n" + lines),)))[0]
    for fault in ("abc,1", "1", "1,2,3", "1_0,1", "0x1,1", "\u0663,1", b"\xff,1".decode("latin1")):
        rows, faults = read(Source((write(folder / "bad.csv", f"a,b\n1,1\n{lines}{fault}\n"),)))
        assert list(faults) == [len(good)]
        assert repr(rows[:-1]) == repr(good)  # repr: NaN is NaN


def test_faults_name_the_value_and_the_column(tmp_path):
    path = write(tmp_path / "t.csv", "a,b\n1,2\n3,x\n4\n5,6,7\n\n8,9\n")
    rows, faults = read(Source((path,)))
    assert faults == {
        1: "has no number in column 'b': 'x'",
        2: "has another number of values than 2: 1",
        3: "has another number of values than 2: 3",
    }
    assert rows[4] == {"a": 8.0, "b": 9.0}
    path = write(tmp_path / "t.jsonl", '{"a": 1, "b": "x"}\n[1]\n{"a": 1, "a": 2}\n{"b": 2}\n')
    rows, faults = read(Source((path,)))
    assert faults == {
        0: "has no number in column 'b': 'x'",
        1: "has no JSON object: '[1]'",
        2: 'has no JSON object: \'{"a": 1, "a": 2}\'',
    }
    assert rows[3] == {"a": None, "b": 2.0}


def test_json_means_the_same_beside_a_fault_and_without(tmp_path):
    lines = ['{"a": 9007199254740993, "b": 1}', '{"a": 1, "b": 2}{"a": 3, "b": 4}', '{"a": 5}']
    alone = read(Source((write(tmp_path / "t.jsonl", "\n".join(lines) + "\n"),)))
    beside = read(Source((write(tmp_path / "u.jsonl", "\n".join([*lines, "{broken"]) + "\n"),)))
    assert beside[0][:3] == alone[0]
    assert list(alone[1]) == [1]
    assert list(beside[1]) == [1, 3]
    path = tmp_path / "v.jsonl"
    path.write_bytes(b'{"a": 1, "b": "x"}\n{"a": 1, "b": "\xff"}\n')
    types = {"a": pa.float64(), "b": pa.string()}
    assert list(read(Source((str(path),)), types)[1]) == [1]


def test_a_decimal_comma_is_noticed_and_read(tmp_path):
    path = write(tmp_path / "t.csv", "x;y\n0,5;1\n-1,25;2,5\nabc;3\n1.5;4\n7,5;1\n")
    with pytest.raises(UsageError, match="if it is a decimal comma, use --decimal ,"):
        choose(Source((path,), delimiter=";"), "y")
    source = Source((path,), delimiter=";", decimal=",")
    columns = choose(source, "y")
    (block,) = source.blocks(columns.types)
    rows = columns.rows(block)
    assert rows.X[:2, 0].tolist() == [0.5, -1.25]
    assert rows.y.tolist() == [1.0, 2.5, 3.0, 4.0, 1.0]
    assert list(rows.faults) == [2, 3]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ('{"a": 1}\n', "looks like JSON lines: use --format jsonl"),
        ("a,b\n1\0,2\n", "is not UTF-8 text"),
        ("\n\n", "is empty"),
        ("1.5,2\n3,4\n", "begins with numbers (1.5, 2, …)"),
        ("a,b,a\n1,2,3\n", "more than one column named 'a'"),
        ("a;b\n1;2\n", "use --delimiter ';'"),
        ("# notes\na,b\n1,2\n", "no row has as many values as its first line, which should name"),
    ],
)
def test_a_csv_without_a_header_to_believe_is_refused(tmp_path, text, words):
    with pytest.raises(DataError) as refused:
        Source((write(tmp_path / "t.csv", text),)).first()
    assert words in str(refused.value)


def test_a_header_may_be_given_and_another_delimiter(tmp_path):
    path = write(tmp_path / "t.csv", "1;2\n3;4\n")
    source = Source((path,), delimiter=";", names=("a", "b"))
    assert read(source)[0] == [{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 4.0}]


def test_a_quote_left_open_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(record_splitter, "LONGEST", 1000)
    monkeypatch.setattr(record_splitter, "BLOCK", 100)
    path = write(tmp_path / "t.csv", "a,b\n1,2\n" + '3,"4\n' + "5,6\n" * 1000)
    with pytest.raises(DataError, match="is a quote left open"):
        read(Source((path,)))


def test_a_line_that_was_read_before_it_was_whole_is_not_gone_on_with(tmp_path):
    path = tmp_path / "t.csv"
    write(path, "a,b\n1,2\n3,4")
    *_, last = Source((str(path),)).blocks(NUMBERS)
    assert last.after.number == 2
    write(path, "a,b\n1,2\n3,45\n6,7\n")
    with pytest.raises(DataError, match="incomplete when it was read"):
        read(Source((str(path),)), place=last.after)
    write(path, "a,b\n1,2\n3,4\n6,7\n")
    assert read(Source((str(path),)), place=last.after)[0] == [{"a": 6.0, "b": 7.0}]


def test_files_that_cannot_be_are_refused_in_words(tmp_path):
    for paths, words in [
        (("nowhere.csv",), "there is no file nowhere.csv"),
        ((str(tmp_path),), "is a folder"),
        (("-", "x.csv"), "cannot be combined with files"),
        ((write(tmp_path / "data", "a\n"),), "use --format"),
        ((write(tmp_path / "x.xlsx", "a\n"),), "is a spreadsheet: save it as CSV"),
        ((write(tmp_path / "x.parquet", "a\n"),), "is not a parquet file"),
        ((write(tmp_path / "x.arrow", "a\n"),), "is not an arrow file"),
        ((write(tmp_path / "x.csv.gz", "a\n"),), "cannot read"),
    ]:
        with pytest.raises((DataError, UsageError), match=words):
            Source(paths).first()


def test_a_file_that_lacks_a_column_is_refused(tmp_path):
    first, second = write(tmp_path / "1.csv", "a,b\n1,2\n"), write(tmp_path / "2.csv", "a,c\n1,2\n")
    with pytest.raises(DataError, match=r"2\.csv has no column 'b'; it has 'a', 'c'"):
        read(Source((first, second)))


CHUNKS = [[1.5, None, -0.0, math.nan, math.inf] * 2, [], [None] * 3, [2.0, 5e-324, -1e300]]


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.bool_(), pa.null()], ids=str)
def test_numbers_pass_between_arrow_and_numpy_as_pyarrow_passes_them(kind):
    """Also of several chunks, of a part of a chunk, and of other types."""
    made = {pa.null(): lambda value: None, pa.bool_(): bool}
    changed = made.get(kind, float)
    chunks = [[None if value is None else changed(value) for value in chunk] for chunk in CHUNKS]
    column = pa.chunked_array([pa.array(chunk, kind) for chunk in chunks], kind)
    for start, end in itertools.combinations(range(len(column) + 1), 2):
        part = column.slice(start, end - start)
        expected = part.cast(pa.float64()).to_numpy()
        np.testing.assert_array_equal(floats(part), expected)
        back = array_of(expected)
        assert back.equals(pa.array(expected, mask=np.isnan(expected)))
    back.validate(full=True)
    assert floats(column.slice(3, 0)).shape == (0,)
    assert array_of(np.arange(5)[::2]).to_pylist() == [0, 2, 4]


# --- columns ----------------------------------------------------------------------------------


def test_text_and_times_are_refused_with_what_to_do(tmp_path):
    path = write(tmp_path / "t.csv", "when,city,x,y\n2020-01-01,Rome,1,2\n")
    with pytest.raises(UsageError) as refused:
        choose(Source((path,)), "y")
    assert str(refused.value) == (
        "features must be numbers, but 'when' holds times; 'city' holds text such as 'Rome': drop "
        "them (--drop when,city), or encode text as 0/1 columns (--drop when --one-hot city)"
    )
    assert choose(Source((path,)), "y", ["when", "city"]).names == ["x"]


def test_text_that_is_no_category_is_shown_and_not_to_be_encoded(tmp_path):
    rows = "".join(f"${i}.50,Köln,{i}\n" for i in range(30))
    path = write(tmp_path / "t.csv", "price,city,y\n" + rows)
    with pytest.raises(UsageError, match=r"\(--drop price --one-hot city\)$") as refused:
        choose(Source((path,)), "y")
    assert "'price' holds text such as '$0.50'; 'city' holds text such as 'Köln'" in str(
        refused.value
    )
    (tmp_path / "t.csv").write_bytes((tmp_path / "t.csv").read_text("utf8").encode("latin1"))
    with pytest.raises(UsageError, match="'city' holds text that is not UTF-8 \\(iconv -f latin1"):
        choose(Source((path,)), "y", ["price"])


def test_columns_to_encode_may_be_listed(tmp_path):
    path = write(tmp_path / "t.csv", "a,b,y\nu,v,1\nw,v,2\n")
    assert choose(Source((path,)), "y", one_hot=["a,b"]).names == ["a=u", "a=w", "b=v"]


def test_an_index_without_a_name_is_no_input(tmp_path):
    path = write(tmp_path / "t.csv", ",x,y\n0,1,2\n")
    with pytest.raises(UsageError, match="'' holds what seems to be an index: drop it"):
        choose(Source((path,)), "y")
    assert choose(Source((path,)), "y", [""]).names == ["x"]


def test_a_text_among_numbers_is_a_fault_and_not_a_column_of_text(tmp_path):
    source = Source((write(tmp_path / "t.csv", "x,y\n1,2\n?,3\n4,5\n"),))
    columns = choose(source, "y")
    (block,) = source.blocks(columns.types)
    assert columns.rows(block).faults == {1: Fault("no number", "x", "'?'")}


def test_categories_become_columns_and_unknown_ones_faults(tmp_path):
    source = Source((write(tmp_path / "t.csv", "x,day,y\n1,tue,2\n2,mon,3\n3,,4\n4,sun,5\n"),))
    columns = choose(source, "y", one_hot=["day=mon,tue"])
    assert columns.names == ["x", "day=mon", "day=tue"]
    (block,) = source.blocks(columns.types)
    rows = columns.rows(block)
    assert rows.X[:2].tolist() == [[1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    assert rows.faults == {
        2: Fault("no value", "day"),
        3: Fault("none of the 2 categories", "day", "'sun'"),
    }
    assert choose(source, "y", one_hot=["day"]).names == ["x", "day=mon", "day=sun", "day=tue"]


def test_missing_and_infinite_values_are_faults_and_a_missing_label_is_none(tmp_path):
    source = Source(
        (
            write(
                tmp_path / "t.csv",
                "x,ok,y\n1,true,2\nNA,false,2\ninf,true,\n4,false,inf\n5,true,\n",
            ),
        )
    )
    columns = choose(source, "y")
    (block,) = source.blocks(columns.types)
    rows = columns.rows(block)
    assert rows.faults == {
        1: Fault("no value", "x"),
        2: Fault("infinity", "x"),
        3: Fault("infinity", "y"),
    }
    assert rows.X[4].tolist() == [5.0, 1.0]
    assert np.isnan(rows.y[4])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": "z"}, "--target z: no such column; the columns are price, x, name"),
        ({"target": "pryce"}, "did you mean 'price'?"),
        ({"target": "name"}, "the target 'name' holds text such as 'Rome', not numbers: if it"),
        ({"target": "price", "drop": ["w"]}, "--drop w: no such column"),
        ({"target": "price", "drop": ["price"]}, "it cannot be dropped"),
        ({"target": "price", "drop": ["name"], "one_hot": ["name"]}, "both in --drop and in"),
        ({"target": "price", "drop": ["name", "x"]}, "no columns are left to predict 'price' from"),
    ],
)
def test_what_was_asked_of_columns_is_checked(tmp_path, options, words):
    path = write(tmp_path / "t.csv", "price,x,name\n1,2,Rome\n")
    with pytest.raises(UsageError) as refused:
        choose(Source((path,)), **options)
    assert words in str(refused.value)


def test_an_identifier_is_no_category(tmp_path):
    lines = "".join(f"{i},id{i}\n" for i in range(1200))
    path = write(tmp_path / "t.csv", "y,id\n" + lines)
    with pytest.raises(DataError, match="'id' has more than 1000 categories"):
        choose(Source((path,)), "y", one_hot=["id"])


def test_places_count_rows_of_the_file_and_of_the_stream(tmp_path):
    paths = tuple(write(tmp_path / f"{i}.csv", "a,b\n1,2\n3,4\n") for i in range(2))
    source = Source(paths)
    _, second = source.blocks(NUMBERS)
    assert second.before == Place(file=1, total=2)
    assert source.where(second.before.plus(1)) == f"row 3 (row 1 of {paths[1]})"
