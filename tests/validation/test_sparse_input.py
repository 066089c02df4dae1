"""Sparse matrices that are taken, and those that are refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sparse_rows import Foreign, either_way, holes, same
from table import state

import onlinear as ol
from onlinear import hindsight
from onlinear._validation import checks
from onlinear.river import River


@either_way
@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
def test_every_format_and_index_type_gives_the_same_bits(learner, kind):
    X, y = holes()
    expected = state(learner().fit(sparse.csr_array(X), y))
    for S in (sparse.csr_array(X).asformat(kind), sparse.csr_matrix(X).asformat(kind)):
        assert state(learner().fit(S, y)) == expected
    for index in (np.int32, np.int64):
        S = sparse.csr_array(X)
        S.indices, S.indptr = S.indices.astype(index), S.indptr.astype(index)
        assert state(learner().fit(S, y)) == expected
        assert S.indices.dtype == index


@either_way
@pytest.mark.parametrize("kind", [np.float32, np.int32, np.uint8, bool])
def test_other_real_types_are_taken_as_numbers(learner, kind):
    X, y = holes()
    rows = (X * 10).astype(kind)
    expected = learner().fit(sparse.csr_array(rows.astype(float)), y)
    assert state(learner().fit(sparse.csr_array(rows), y)) == state(expected)


@either_way
def test_entries_out_of_order_or_in_parts_are_taken_and_the_matrix_is_not_changed(learner):
    X = np.array([[1.0, 0.0, 0.75, 4.0], [0.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]])
    y = np.array([1.0, 2.0, 3.0])
    model, expected = learner(), learner()
    run = ol.replay(model, Foreign(), y)
    expected_run = ol.replay(expected, sparse.csr_array(X), y)
    assert_allclose(run.predictions, expected_run.predictions, rtol=1e-14)
    same(model, model._record, expected._record)
    S = sparse.csr_array((Foreign().data.copy(), Foreign().indices, Foreign().indptr), shape=(3, 4))
    before = [array.copy() for array in (S.data, S.indices, S.indptr)]
    assert state(learner().fit(S, y)) == state(model)
    for array, copy in zip((S.data, S.indices, S.indptr), before, strict=True):
        assert array.tobytes() == copy.tobytes()


def test_rows_have_rising_columns_and_at_least_one_entry():
    rows = checks.sparse_table(Foreign())
    assert rows.data.tolist() == [1.0, 0.75, 4.0, 0.0, 0.0, 2.0]
    assert rows.indices.tolist() == [0, 2, 3, 0, 0, 1]
    assert rows.indptr.tolist() == [0, 3, 4, 6]
    assert rows.data.dtype == np.float64
    assert rows.indices.dtype == rows.indptr.dtype == np.int64
    assert (len(rows), rows.longest, rows.shape) == (3, 3, (3, 4))
    assert rows[0].tolist() == [1.0, 0.0, 0.75, 4.0]


@either_way
def test_a_sparse_vector_is_a_row(learner):
    """As newer versions of SciPy give for X[i]: of shape (d,), its indptr that of one row."""
    vector, model, expected = Foreign(), learner(), learner()
    vector.indptr, vector.shape = np.array([0, 4]), (4,)
    model.learn_one(vector, 1.0)
    expected.learn_one(sparse.csr_array([[1.0, 0.0, 0.75, 4.0]]), 1.0)
    assert state(model) == state(expected)
    assert model.predict_one(vector) == expected.predict_one(vector)


@either_way
def test_rows_without_entries_are_rows_of_zeros(learner):
    X, y = holes()
    empty = sparse.csr_array((3, 5))
    model = learner().fit(empty, np.ones(3))
    assert state(model) == state(learner().fit(np.zeros((3, 5)), np.ones(3)))
    model.fit(sparse.csr_array(X), y)
    assert model.predict(empty).tolist() == [0.0, 0.0, 0.0]
    assert model.predict_one(empty[[0]]) == 0.0


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        ({"indices": np.array([0, 5])}, "columns 0 ≤ j < 5, got 0 … 5"),
        ({"indices": np.array([-1, 0])}, "columns 0 ≤ j < 5, got -1 … 0"),
        ({"indices": np.array([0])}, "2 entries, as its indptr says, got 2 values and 1 col"),
        ({"indptr": np.array([0, 1, 3])}, "3 entries, as its indptr says, got 2 values and 2 col"),
        ({"indptr": np.array([0, 3, 2])}, "3 numbers that start at 0 and never decrease"),
        ({"indptr": np.array([1, 1, 2])}, "3 numbers that start at 0 and never decrease"),
        ({"indptr": np.array([0, 2])}, "3 numbers that start at 0 and never decrease"),
        ({"data": np.array([1j, 0])}, "Complex data not supported"),
        ({"data": np.array(["1", "2"])}, "X needs numbers, got dtype"),
        ({"shape": (0, 5)}, r"0 sample\(s\)"),
        ({"shape": (2, 0)}, r"0 feature\(s\)"),
        ({"shape": (5,)}, "Expected 2D array, got 1D array"),
        ({"shape": (2, 6)}, "X has 6 features, but NLMS is expecting 5 features"),
    ],
)
def test_a_matrix_that_is_none_is_refused_and_changes_nothing(spoil, words):
    X, y = holes()
    model = ol.NLMS().fit(sparse.csr_array(X), y)
    before, matrix = state(model), Foreign()
    matrix.data, matrix.indices, matrix.indptr = np.ones(2), np.array([0, 3]), np.array([0, 1, 2])
    matrix.shape = (2, 5)
    vars(matrix).update(spoil)
    with pytest.raises(ValueError, match=words):
        ol.replay(model, matrix, np.ones(2))
    assert state(model) == before


@either_way
@pytest.mark.parametrize(
    ("row", "words"),
    [
        (sparse.csr_array(np.eye(5)), r"one row, of shape \(1, d\) .*got shape \(5, 5\)"),
        (sparse.csr_array(np.ones((1, 4))), "5 features, as the first row had, got 4"),
        (sparse.csr_array((1, 0)), "at least one feature"),
        (sparse.csr_array(np.ones((1, 5)) * 1j), "Complex data not supported"),
    ],
)
def test_a_sparse_row_that_is_none_is_refused_and_changes_nothing(learner, row, words):
    X, y = holes()
    model = learner().fit(X, y)
    before = state(model)
    for call in (lambda: model.learn_one(row, 1.0), lambda: model.predict_one(row)):
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(ValueError, match="y needs to be one number"):
        model.learn_one(sparse.csr_array(X)[[1]], [1.0])
    assert state(model) == before


def test_what_needs_dense_rows_says_so():
    X, y = holes()
    S, dense = sparse.csr_array(X), r"sparse rows, but this needs a dense array: X.toarray\(\)$"
    model = ol.Ridge()
    for call in (
        lambda: ol.certificate(model, S, y),
        lambda: ol.Certified(model).replay(S, y),
        lambda: ol.regret_plot([model], S, y),
        lambda: hindsight.best_fixed(S, y),
        lambda: hindsight.best_drifting(S, y),
        lambda: hindsight.best_shifting(S, y, 2),
        lambda: hindsight.best_sparse(S, y, a=1.0),
        lambda: hindsight.drifting_path(S, y),
    ):
        with pytest.raises(TypeError, match=dense):
            call()
    for call in (
        lambda: ol.Certified(model).learn_one(S[[1]], 1.0),
        lambda: hindsight.BestFixed().learn_one(S[[1]], 1.0),
    ):
        with pytest.raises(TypeError, match=r"dense array: x.toarray\(\).ravel\(\)$"):
            call()
    assert vars(model) == vars(ol.Ridge())
    with pytest.raises(TypeError, match=r"a row as a dict, got csr_array; onlinear\.replay"):
        River(model).learn_one(S[[1]], 1.0)
    with pytest.raises(TypeError, match=r"y.toarray\(\).ravel\(\)$"):
        model.fit(X, sparse.csr_array(y[:, None]))
