"""Sparse rows: what dense rows give, at the price of their entries, and refusals that say where."""

import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sparse_rows import Foreign, holes, same, wide
from table import CASES, IDS, make, number, numbers, state

import onlinear as ol
from onlinear._engine import step
from onlinear._validation import checks

every_case = pytest.mark.parametrize("case", CASES, ids=IDS)


ROWS = 40


@every_case
def test_sparse_rows_give_what_dense_rows_give(case):
    X, y = holes(case=case)
    S, dense, model = sparse.csr_array(X), make(case), make(case)
    same(model, ol.replay(model, S, y).predictions, ol.replay(dense, X, y).predictions)
    same(model, model._record, dense._record)
    same(model, model.predict(S), dense.predict(X))
    same(model, model.score(S, y), dense.score(X, y))
    assert model.n_features_in_ == 5
    assert model.rounds_ == ROWS


@every_case
def test_every_way_of_running_sparse_rows_gives_the_same_bits(case, tmp_path):
    X, y = holes(case=case)
    S, half = sparse.csr_array(X), ROWS // 2
    whole = make(case)
    expected = ol.replay(whole, S, y).predictions
    singly, predictions = make(case), []
    for i in range(ROWS):
        predictions.append(number(singly, S[[i]]))
        singly.learn_one(S[[i]], y[i])
    assert predictions == expected.tolist()
    assert state(singly) == state(whole)
    tables = whole._for_tables()
    assert [number(tables, S[[i]]) for i in range(ROWS)] == numbers(whole, S).tolist()
    resumed = make(case).fit(S[:half], y[:half])
    resumed.save(tmp_path / "model.onl")
    resumed = ol.load(tmp_path / "model.onl").partial_fit(S[half:], y[half:])
    assert state(resumed) == state(whole)


def test_the_learners_that_are_local():
    local = {name for name, case in zip(IDS, CASES, strict=True) if make(case)._local()}
    assert local == {
        "EGU-default", "GD-default", "GD-Logistic()", "GD-Insensitive(epsilon=0.05)",
        "NLMS-default", "NLMS-other", "OGD-default", "OGD-other"
    }  # fmt: skip


@every_case
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_bad_number_is_named_and_changes_nothing(case, bad):
    X, y = holes(case=case)
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
        number(model, S_bad[[7]])
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
    X, y = holes(case=case)
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
        predictions.append(number(singly, S_bad[[i]]))
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
        refused=pytest.fail if labelled else lambda outcome: None,  # it is told so
        progress=lambda row, rows: None,
        local=True,
    )
    assert w.any() == labelled


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


class AsDense(ol.NLMS):
    def _local(self):
        return False


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
