"""Documents as TF-IDF vectors: against the formula by dicts, and the same bits however run."""

import copy
import hashlib
import importlib
import inspect
import json
import math
import pickle
import re
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils import murmurhash3_32

import onlinear as ol
import onlinear.text
from onlinear.text import CorpusTfidf, OnlineTfidf, words
from onlinear.text._weights import tfidf_rows

# rows are documents, columns words; the rows worked out once, to twelve digits
COUNTS = [[3, 0, 1, 1], [0, 2, 0, 1], [1, 1, 0, 1]]
ROWS = [
    [0.61234213839, 0.0, 0.790592882305, 0.0],
    [0.0, 1.0, 0.0, 0.0],
    [0.707106781187, 0.707106781187, 0.0, 0.0],
]
CORPUS = ["a a a c d", "b b d", "a b d"]

STORIES = [
    "Wheat and corn prices rose 5.9 pct on Monday.",
    "Corn, corn and more corn: exports of 155,221 tonnes.",
    "",
    "Crude oil prices fell; oil exports of 340,118 tonnes.",
    "The Bank of England and the rest",
    "Oil, wheat, corn and gold: prices in 1987",
    "Gold prices fell 2.5 pct as oil rose",
    "Wheat exports rose, corn exports fell",
]
WORDS = ["wheat", "corn", "oil", "gold", "12", "3.5", "bank", "rate"]
NAMES = dict(zip("abcdefgh", WORDS, strict=True))
documents_of_letters = st.lists(
    st.lists(st.sampled_from("abcdefgh"), max_size=9).map(" ".join), min_size=1, max_size=12
)


def weights(document, N, DF, least):
    """Return the vector of a document, a list of words, as a dict: the formula as it is printed."""
    x = {
        word: (1 + math.log(TF)) * math.log(N / DF[word])
        for word, TF in Counter(document).items()
        if DF[word] >= least and DF[word] < N
    }
    length = math.sqrt(sum(value**2 for value in x.values()))
    return {word: value / length for word, value in x.items()}


def frequencies(documents):
    return Counter(word for document in documents for word in set(document))


def dicts(X, names=None):
    """Return the rows as dicts, of columns or of names, after a check of their form."""
    assert isinstance(X, csr_array)
    assert X.dtype == np.float64
    assert np.all(X.data != 0)
    rows = []
    for start, end in pairwise(X.indptr):
        columns = X.indices[start:end].tolist()
        assert columns == sorted(set(columns))
        keys = columns if names is None else [names[column] for column in columns]
        rows.append(dict(zip(keys, X.data[start:end].tolist(), strict=True)))
    return rows


def assert_rows(actual, expected):
    assert len(actual) == len(expected)
    for x, slow in zip(actual, expected, strict=True):
        assert x == pytest.approx(slow, rel=1e-12)
        assert x.keys() == slow.keys()


def bits(rows):
    """Return everything there is in a list of one or more row blocks."""
    return [
        (block.indices[a:b].tolist(), block.data[a:b].tobytes(), block.shape[1])
        for block in rows
        for a, b in pairwise(block.indptr)
    ]


# --- the weights ----------------------------------------------------------------------------


def test_the_rows_are_the_reference_ones():
    counts = csr_array(COUNTS)
    DF = np.array([2, 2, 1, 3])
    rows = tfidf_rows(counts, 3, DF[counts.indices], 1)
    assert_allclose(rows.toarray(), ROWS, rtol=1e-11, atol=0)
    assert rows.nnz == 5  # the zeros of the last column are not stored
    corpus = CorpusTfidf(min_documents=1, analyzer=str.split)
    assert_allclose(corpus.fit_transform(CORPUS).toarray(), ROWS, rtol=1e-11, atol=0)
    assert corpus.vocabulary_ == {"a": 0, "b": 1, "c": 2, "d": 3}
    assert corpus.document_frequencies_.tolist() == DF.tolist()
    assert corpus.n_documents_ == 3


@given(documents_of_letters, documents_of_letters, st.integers(1, 4))
def test_a_corpus_is_weighted_as_by_dicts(documents, others, least):
    split = [document.split() for document in documents]
    DF = frequencies(split)
    known = sorted(word for word in DF if DF[word] >= least)
    tfidf = CorpusTfidf(min_documents=least, analyzer=str.split)
    if not known:
        with pytest.raises(ValueError, match=r"vocabulary|min_documents"):
            tfidf.fit(documents)
        return
    X = tfidf.fit_transform(documents)
    names = tfidf.get_feature_names_out().tolist()
    assert names == list(tfidf.vocabulary_) == known
    assert tfidf.document_frequencies_.tolist() == [DF[word] for word in known]
    N = len(documents)
    assert_rows(dicts(X, names), [weights(words, N, DF, least) for words in split])
    expected = [weights(document.split(), N, DF, least) for document in others]
    assert_rows(dicts(tfidf.transform(others), names), expected)
    again = CorpusTfidf(least, str.split).fit(iter(documents)).transform(iter(documents))
    assert bits([again]) == bits([X])


@given(documents_of_letters, st.integers(1, 4), st.sampled_from([1, 3, 2**18]))
def test_a_stream_is_weighted_as_by_dicts_of_what_was_seen(documents, least, width):
    """Words of one column are one word: with three columns, eight letters surely share some."""
    hashed = [[abs(murmurhash3_32(w)) % width for w in document.split()] for document in documents]
    seen = range(1, len(documents) + 1)
    expected = [weights(hashed[t - 1], t, frequencies(hashed[:t]), least) for t in seen]
    tfidf = OnlineTfidf(width, least, str.split)
    assert_rows(dicts(tfidf.learn_transform(documents)), expected)
    DF = frequencies(hashed)
    assert tfidf.n_documents_ == len(documents)
    counted = tfidf.document_frequencies_
    assert counted.shape == (width,)
    assert {column: counted[column] for column in np.flatnonzero(counted)} == DF
    now = [weights(document, len(documents), DF, least) for document in hashed]
    assert_rows(dicts(tfidf.transform(documents)), now)


def test_after_the_whole_corpus_a_stream_has_its_weights():
    corpus, stream = CorpusTfidf(min_documents=2), OnlineTfidf(min_documents=2)
    X = corpus.fit_transform(STORIES)
    stream.learn_transform(STORIES)
    columns = [abs(murmurhash3_32(word)) % 2**18 for word in corpus.vocabulary_]
    assert len(set(columns)) == len(columns) > 10  # no two words share
    Y = stream.transform(STORIES)
    assert_allclose(Y[:, columns].toarray(), X.toarray(), rtol=1e-13)
    assert X.nnz == Y.nnz > 20


def test_a_document_is_counted_before_it_is_weighted():
    X = OnlineTfidf(width=64, min_documents=2, analyzer=str.split).learn_transform(["b", "a", "a"])
    assert np.diff(X.indptr).tolist() == [0, 0, 1]  # a: N = 3, DF = 2
    assert X.data.tolist() == [1.0]


def test_rows_of_zeros_are_picked_out_by_the_documented_idiom():
    X = CorpusTfidf(min_documents=2).fit_transform(STORIES)
    kept = np.diff(X.indptr) > 0
    assert kept.tolist() == [bool(row.any()) for row in X.toarray()]
    assert np.flatnonzero(~kept).tolist() == [2, 4]


# --- the same bits --------------------------------------------------------------------------


def one_by_one(tfidf, documents):
    for document in documents:
        tfidf.learn_one(document)
        yield tfidf.transform_one(document)


@given(documents_of_letters, st.lists(st.integers(0, 12), max_size=4))
def test_one_by_one_parts_and_resumed_have_the_same_bits(documents, cuts):
    whole, singly, parts = (OnlineTfidf(width=32, min_documents=2) for _ in range(3))
    documents = [re.sub(r"\w", lambda letter: NAMES[letter[0]], story) for story in documents]
    expected = bits([whole.learn_transform(documents)])
    assert bits(one_by_one(singly, documents)) == expected
    blocks = []
    edges = [0, *sorted(cuts), len(documents)]
    for start, end in pairwise(edges):
        blocks.append(parts.learn_transform(iter(documents[start:end])))
        parts.save("parts.onl")
        parts = OnlineTfidf.load("parts.onl")
    assert bits(blocks) == expected
    states = {tfidf.document_frequencies_.tobytes() for tfidf in (whole, singly, parts)}
    assert len(states) == 1
    assert whole.n_documents_ == singly.n_documents_ == parts.n_documents_ == len(documents)


def test_real_words_have_the_same_bits_in_a_long_stream():
    documents = [f"{STORIES[i % 8]} {STORIES[i * i % 5]}" for i in range(320)]
    whole, singly = OnlineTfidf(), OnlineTfidf()
    X = whole.learn_transform(documents)
    assert X.nnz > 2000
    assert bits(one_by_one(singly, documents)) == bits([X])
    together = whole.transform(documents[:50])
    assert bits(whole.transform_one(document) for document in documents[:50]) == bits([together])


def test_transforming_and_looking_change_nothing():
    tfidf = OnlineTfidf(width=64)
    for _ in range(2):
        before = pickle.dumps(tfidf)
        tfidf.transform_one(STORIES[0])
        tfidf.transform(STORIES)
        tfidf.document_frequencies_[:] = 5
        assert pickle.dumps(tfidf) == before
        tfidf.learn_transform(STORIES)
        assert pickle.dumps(tfidf) != before


def test_before_anything_was_counted_rows_are_zeros():
    X = OnlineTfidf(width=64, min_documents=1).transform(STORIES)
    assert X.shape == (len(STORIES), 64)
    assert X.nnz == 0


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))]
)
def test_a_copy_goes_on_by_itself(copied):
    tfidf = OnlineTfidf(width=64, min_documents=1)
    tfidf.learn_transform(STORIES)
    other = copied(tfidf)
    rows = other.learn_transform(STORIES)
    assert tfidf.n_documents_ == len(STORIES)
    assert bits([tfidf.learn_transform(STORIES)]) == bits([rows])
    assert clone(tfidf).n_documents_ == 0


def test_no_documents_are_no_rows():
    assert OnlineTfidf(width=64).learn_transform([]).shape == (0, 64)
    corpus = CorpusTfidf(min_documents=2).fit(STORIES)
    assert corpus.transform([]).shape == (0, len(corpus.vocabulary_))


# --- words ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("The BANK of England", ["bank", "england"]),
        ("155,221 and 340", ["###,###", "###"]),
        ("6.4 mln, 1,234.50 dlrs.", ["#.#", "mln", "#,###.##", "dlrs"]),
        ("in the mid-1980s, Q3 and 7", ["mid", "####s", "q#"]),
        ("#news #1 a#b 50#60", ["news", "##", "##"]),
        ("٣٤٥ Éclair naïve", ["###", "éclair", "naïve"]),
        ("a b c , . ! \ud800", []),
        ("", []),
    ],
)
def test_words_are_lower_case_without_stop_words_and_digits(document, expected):
    assert words(document) == expected


def test_numbers_of_one_form_are_one_word_in_both_classes():
    """The default analyzer is ``words``, and stop words have no column."""
    documents = ["the sum 155,221 of", "the sum 340,118", "of the", "the"]
    corpus = CorpusTfidf(min_documents=2).fit(documents)
    assert corpus.vocabulary_ == {"###,###": 0, "sum": 1}
    stream, same = OnlineTfidf(), OnlineTfidf(analyzer=words)
    assert bits([stream.learn_transform(documents)]) == bits([same.learn_transform(documents)])
    assert np.sort(stream.document_frequencies_)[-3:].tolist() == [0, 2, 2]


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
        with pytest.raises(ValueError, match="began with width=64 and needs it, got width=32"):
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
        (["wheat", "oil", "wheat"], "at least min_documents=3 documents have, got none in 3"),
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


# --- the public surface ---------------------------------------------------------------------


@pytest.mark.parametrize("name", onlinear.text.__all__)
def test_a_public_name_documents_its_parameters_and_an_example(name):
    public = getattr(onlinear.text, name)
    docstring = inspect.getdoc(public)
    assert ">>> " in docstring
    if inspect.isclass(public):
        assert "Examples\n--------" in docstring
        for parameter in inspect.signature(public).parameters:
            assert re.search(rf"^{parameter} : ", docstring, re.M), parameter
        methods = [v for k, v in vars(public).items() if not k.startswith("_")]
        assert len(methods) >= 4
        assert all(inspect.getdoc(method) for method in methods)


def test_it_stands_in_a_pipeline():
    y = np.arange(len(STORIES), dtype=float)
    model = make_pipeline(CorpusTfidf(min_documents=2), Ridge())
    predictions = clone(model).fit(STORIES, y).predict(STORIES)
    X = CorpusTfidf(min_documents=2).fit_transform(STORIES)
    assert_allclose(predictions, Ridge().fit(X, y).predict(X))


@pytest.mark.parametrize("missing", ["sklearn.base", "scipy.sparse"])
def test_without_its_packages_the_import_says_what_to_install(monkeypatch, missing):
    monkeypatch.delitem(sys.modules, "onlinear.text")
    monkeypatch.delitem(sys.modules, "onlinear.text._vectorizers")
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=r'pip install "onlinear\[text\]"'):
        importlib.import_module("onlinear.text")
