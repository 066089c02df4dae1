"""Sparse rows: what dense rows give, at the price of their entries, and refusals that say where."""

import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from table import CASES, IDS, make, state, stream

import onlinear as ol
from onlinear import hindsight
from onlinear._engine import step
from onlinear._validation import checks
from onlinear.river import River

every_case = pytest.mark.parametrize("case", CASES, ids=IDS)
either_way = pytest.mark.parametrize("learner", [ol.NLMS, ol.Ridge])  # by entries, and as dense
ROWS = 40


def holes(rows=ROWS, seed=0):
    """Return a stream in which half of the entries, and rows 0, 5 and the last, are zero."""
    X, y = stream(rows, seed=seed)
    X[np.random.default_rng(seed).random(X.shape) < 0.5] = 0.0
    X[[0, 5, -1]] = 0.0
    return X, y


def same(model, a, b):
    """Compare numbers a learner gave for sparse and for dense rows."""
    if model._local():
        assert_allclose(a, b, rtol=1e-12, atol=1e-15)
    else:
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@every_case
def test_sparse_rows_give_what_dense_rows_give(case):
    X, y = holes()
    S, dense, model = sparse.csr_array(X), make(case), make(case)
    same(model, ol.replay(model, S, y).predictions, ol.replay(dense, X, y).predictions)
    same(model, model._record, dense._record)
    same(model, model.predict(S), dense.predict(X))
    same(model, model.score(S, y), dense.score(X, y))
    assert model.n_features_in_ == 5
    assert model.rounds_ == ROWS


@every_case
def test_every_way_of_running_sparse_rows_gives_the_same_bits(case, tmp_path):
    X, y = holes()
    S, half = sparse.csr_array(X), ROWS // 2
    whole = make(case)
    expected = ol.replay(whole, S, y).predictions
    singly, predictions = make(case), []
    for i in range(ROWS):
        predictions.append(singly.predict_one(S[[i]]))
        singly.learn_one(S[[i]], y[i])
    assert predictions == expected.tolist()
    assert state(singly) == state(whole)
    assert [whole.predict_one(S[[i]]) for i in range(ROWS)] == whole.predict(S).tolist()
    resumed = make(case).fit(S[:half], y[:half])
    resumed.save(tmp_path / "model.onl")
    resumed = ol.load(tmp_path / "model.onl").partial_fit(S[half:], y[half:])
    assert state(resumed) == state(whole)


def test_the_learners_that_are_local():
    local = {name for name, case in zip(IDS, CASES, strict=True) if make(case)._local()}
    assert local == {
        "EGU-default", "GD-default", "NLMS-default", "NLMS-other", "OGD-default", "OGD-other"
    }  # fmt: skip


@every_case
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_bad_number_is_named_and_changes_nothing(case, bad):
    X, y = holes()
    S = sparse.csr_array(X)
    model = make(case).fit(S[:20], y[:20])
    before = state(model)
    X_bad, y_bad = X.copy(), y.copy()
    X_bad[7] = [0.0, 0.1, 0.0, bad, 0.1]
    y_bad[9] = bad
    S_bad = sparse.csr_array(X_bad)
    shown = "NaN" if np.isnan(bad) else "infinity"
    with pytest.raises(ValueError, match=rf"{case[0]} .*{shown} in row 7, column 3; the model is"):
        ol.replay(model, S_bad, y)
    with pytest.raises(ValueError, match=rf"{case[0]} .*{shown} in row 9"):
        ol.replay(model, S, y_bad)
    with pytest.raises(ValueError, match=rf"{shown} in this row, column 3"):
        model.learn_one(S_bad[[7]], y[7])
    with pytest.raises(ValueError, match=rf"{shown} in this row"):
        model.learn_one(S[[9]], bad)
    with pytest.raises(ValueError, match=rf"{shown} in this row, column 3"):
        model.predict_one(S_bad[[7]])
    with pytest.raises(ValueError, match=shown):
        model.fit(S_bad, y)
    assert state(model) == before
    fresh = make(case)
    with pytest.raises(ValueError, match=shown):
        fresh.learn_one(S_bad[[7]], 0.0)
    with pytest.raises(ValueError, match=shown):
        ol.replay(fresh, S_bad, y)
    assert vars(fresh) == vars(make(case))


@every_case
def test_bad_rows_can_be_skipped_and_are_counted(case):
    X, y = holes()
    X_bad, y_bad = X.copy(), y.copy()
    X_bad[[3, 30], 1] = np.nan
    y_bad[[6, 30]] = np.inf
    good = np.setdiff1d(np.arange(ROWS), [3, 6, 30])
    S, S_bad = sparse.csr_array(X), sparse.csr_array(X_bad)
    clean, model, singly = make(case), make(case, on_bad="skip"), make(case, on_bad="skip")
    expected = ol.replay(clean, S[good], y[good]).predictions
    run = ol.replay(model, S_bad, y_bad)
    predictions = []
    for i in range(ROWS):
        predictions.append(singly.predict_one(S_bad[[i]]))
        singly.learn_one(S_bad[[i]], y_bad[i])
    assert run.bad_rows.tolist() == [3, 6, 30]
    assert run.predictions[good].tobytes() == expected.tobytes()
    assert np.isnan(run.predictions[[3, 30]]).all()
    assert np.isfinite(run.predictions[6])  # only its label was bad
    assert np.array(predictions).tobytes() == run.predictions.tobytes()
    assert model.n_skipped_ == singly.n_skipped_ == 3
    assert state(model) == state(singly) == state(clean)


@pytest.mark.parametrize(
    ("model", "row", "words"),
    [
        (ol.EGU(), [0.0, 0.0, -0.5, 0.1], "EGU needs x_i ≥ 0, .* in row 1, column 2"),
        (ol.EGU(alpha=0.5), [0.0, 0.0, -0.5, 0.1], "EGU needs x_i ≥ 0, .* in row 1, column 2"),
        (ol.EGU(), [0.0, 0.1, 0.0, 1.5], "x_i ≤ X = 1 .* in row 1, column 3"),
        (ol.GD(eta=0.5), [0.0, 2.0, 0.0, 0.0], "eta·‖x‖² ≤ 1.*= 2 in row 1"),
        (ol.NLMS(), [0.0, 0.0, 1e200, 0.0], r"NLMS .* row 1 would overflow .*x_i\| = 1e\+200"),
        (ol.EG(), [0.0, 0.0, 2.0, 0.0], "EG needs max x_i − min x_i ≤ X = 1 .*got 2 in row 1"),
    ],
    ids=lambda value: getattr(type(value), "__name__", ""),
)
def test_a_row_outside_the_domain_is_refused_by_its_real_column_and_changes_nothing(
    model, row, words
):
    good = [0.1, 0.0, 0.0, 0.1]
    before = state(model.fit(sparse.csr_array([good]), [0.1]))
    with pytest.raises(ValueError, match=words):
        ol.replay(model, sparse.csr_array([good, row]), [0.1, 0.1])
    with pytest.raises(ValueError, match=words.replace("row 1", "this row")):
        model.learn_one(sparse.csr_array([row]), 0.1)
    assert state(model) == before


def test_an_interrupted_replay_leaves_the_learner_as_it_was(monkeypatch):
    X, y = holes()
    S = sparse.csr_array(X)
    monkeypatch.setattr("onlinear._engine.step.FIRST_BLOCK", 8)

    def interrupt(row, rows):
        assert row == 8
        raise KeyboardInterrupt

    for model in (ol.NLMS(), ol.LASER()):
        before = state(model.fit(S, y))
        with pytest.raises(KeyboardInterrupt):
            model._run(S, y, learn=True, progress=interrupt)
        assert state(model) == before


def restless(state, params, x, y, work):
    _, w = state
    w[0] = 7.0
    return 0.0, step.FINE


@pytest.mark.parametrize("labelled", [True, False])
def test_predicting_writes_nothing_so_that_another_thread_may_learn(labelled):
    """Not even the weights it read: they may be others by now. A step that writes shows it."""
    rows, w = checks.sparse_table(Foreign()), np.zeros(4)
    step.Step(restless).run(
        (np.zeros(1), w),
        (),
        rows,
        np.zeros(3),
        np.zeros((2, 4)),
        labelled=labelled,
        refused=pytest.fail,
        progress=lambda row, rows: None,
        local=True,
    )
    assert w.any() == labelled


# --- what is taken --------------------------------------------------------------------------


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


class Foreign:
    """A matrix of another package: its columns unsorted, (0, 2) in two parts, and a zero kept."""

    def __init__(self):
        self.data = np.array([4.0, 0.5, 1.0, 0.25, 2.0, 0.0])
        self.indices = np.array([3, 2, 0, 2, 1, 0])
        self.indptr = np.array([0, 4, 4, 6])
        self.shape = (3, 4)
        for array in (self.data, self.indices, self.indptr):
            array.flags.writeable = False

    def tocsr(self):
        return self


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
        ({"indices": np.array([0])}, "2 entries, got 2 in 1 columns"),
        ({"indptr": np.array([0, 1, 3])}, "3 entries, got 2 in 2 columns"),
        ({"indptr": np.array([0, 3, 2])}, "rises from 0 in 2 steps"),
        ({"indptr": np.array([1, 1, 2])}, "rises from 0 in 2 steps"),
        ({"indptr": np.array([0, 2])}, "rises from 0 in 2 steps"),
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


@given(
    st.sampled_from(["EGU", "GD", "LASER", "NLMS", "OGD", "RLS"]),
    st.integers(1, 30),
    st.integers(1, 9),
    st.floats(0, 1),
    st.integers(0, 2**32 - 1),
)
def test_random_sparse_streams_equal_dense_ones(name, rows, d, density, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(rows, d)) / d * (rng.random((rows, d)) < density)
    y = rng.uniform(size=rows)
    model, dense = ol.LEARNERS[name](), ol.LEARNERS[name]()
    expected, run = ol.replay(dense, X, y), ol.replay(model, sparse.csr_array(X), y)
    assert_allclose(run.predictions, expected.predictions, rtol=1e-10, atol=1e-12)
    assert_allclose(model.coef_, dense.coef_, rtol=1e-10, atol=1e-12)


# --- what it costs --------------------------------------------------------------------------


class AsDense(ol.NLMS):
    def _local(self):
        return False


def wide(rows):
    rng = np.random.default_rng(0)
    columns, numbers = rng.integers(0, 10**6, size=10 * rows), rng.normal(size=10 * rows)
    S = sparse.csr_array((numbers, columns, np.arange(0, 10 * rows + 1, 10)), (rows, 10**6))
    return S, rng.normal(size=rows)


def test_a_local_learner_pays_for_the_entries_not_for_the_columns():
    """20,000 rounds by entries are over before 400 with rows written out to a million columns."""
    S, y = wide(20_000)

    def seconds(learner, rows):
        model = learner().fit(S[:2], y[:2])  # compiled
        began = time.perf_counter()
        ol.replay(model, S[:rows], y[:rows])
        return time.perf_counter() - began

    assert min(seconds(ol.NLMS, 20_000) for _ in range(3)) < seconds(AsDense, 400)


def test_a_sparse_round_of_a_local_learner_takes_no_memory_of_the_width_of_the_state():
    S, y = wide(3)
    model = ol.NLMS().fit(S[:2], y[:2])
    model.learn_one(S[[0]], y[0])
    tracemalloc.start()
    try:
        model.predict_one(S[[2]])
        model.learn_one(S[[2]], y[2])
        assert tracemalloc.get_traced_memory()[1] < 100_000  # a vector has 8,000,000 bytes
    finally:
        tracemalloc.stop()


# --- what does not fit ----------------------------------------------------------------------

SQUARE = [name for name, learner in sorted(ol.LEARNERS.items()) if learner._square]


@pytest.mark.parametrize("name", SQUARE)
def test_a_matrix_that_does_not_fit_is_refused_before_it_is_made(name, monkeypatch):
    monkeypatch.setattr("onlinear._validation.memory.physical_memory", lambda: 24e9)
    learner, S = ol.LEARNERS[name], sparse.csr_array((2, 200_000))

    def allocated(params, d):
        raise AssertionError

    monkeypatch.setattr(learner, "algorithm", learner.algorithm._replace(init=allocated))
    matrices = learner._square
    kept = (
        "a 200000 × 200000 matrix" if matrices == 1 else f"{matrices} matrices of 200000 × 200000"
    )
    words = (
        f"{name} keeps {kept}, {320 * matrices:,} GB, more than half of this machine's 24 GB: use "
        r"NLMS, GD or OGD \(O\(d\)\), which take sparse rows, or fewer columns \(features hashed"
    )
    model = learner()
    for call in (
        lambda: model.fit(S, [1.0, 1.0]),
        lambda: model.partial_fit(S, [1.0, 1.0]),
        lambda: ol.replay(model, S, [1.0, 1.0]),
        lambda: model.learn_one(S[[0]], 1.0),
        lambda: model.learn_one(np.zeros(200_000), 1.0),
        lambda: model.predict_one(S[[0]]),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    assert vars(model) == vars(learner())


@pytest.mark.parametrize("name", SQUARE)
def test_a_file_with_a_matrix_that_does_not_fit_is_refused(name, monkeypatch, tmp_path):
    X, y = stream(3)
    ol.LEARNERS[name]().fit(X, y).save(tmp_path / "model.onl")
    needed = 8 * 5 * 5 * ol.LEARNERS[name]._square
    monkeypatch.setattr("onlinear._validation.memory.physical_memory", lambda: 2.0 * needed)
    ol.load(tmp_path / "model.onl")
    monkeypatch.setattr("onlinear._validation.memory.physical_memory", lambda: 2.0 * needed - 1)
    with pytest.raises(ol.StateFileError, match=f"{name} keeps .* more than half"):
        ol.load(tmp_path / "model.onl")


@pytest.mark.parametrize("name", sorted(ol.LEARNERS))
def test_a_learner_knows_how_many_matrices_it_keeps(name):
    model = ol.LEARNERS[name]()
    model._begin(200)
    square = [array for array in model._state if array.ndim > 1 and min(array.shape[-2:]) >= 200]
    matrices = sum(array.size // 200**2 for array in square)
    assert model._square == model._matrices() == matrices + len(model._work) // 200


def test_a_learner_without_a_matrix_takes_very_many_columns(monkeypatch):
    monkeypatch.setattr("onlinear._validation.memory.physical_memory", lambda: 1.0)
    S, y = wide(2)
    assert ol.NLMS().fit(S, y).coef_.size == 10**6


def test_a_machine_that_does_not_say_has_eight_gigabytes(monkeypatch):
    assert checks.physical_memory() > 1e8
    monkeypatch.delattr("os.sysconf", raising=False)
    assert checks.physical_memory() == 8e9
