"""Documents as TF-IDF vectors: against the formula by dicts, and the same bits however run."""

import copy
import importlib
import inspect
import math
import pickle
import re
import sys
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils import murmurhash3_32
from stories import STORIES

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
