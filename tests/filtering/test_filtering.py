"""Filters decide as the reference does, and the same however they are run."""

import copy
import math
import pickle

import filter_golden as golden
import numpy as np
import pytest
from filters import FILTERS, FORMS, described, every_filter, one_by_one, stream
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

import onlinear as ol

# --- reference numbers -------------------------------------------------------------------------


@pytest.mark.parametrize("case", golden.CASES, ids=lambda case: case.name)
def test_decisions_and_margins_are_the_reference_ones(case):
    X, y = golden.directions()
    f, margins = case.make(), []
    for x, label in zip(X, y, strict=True):
        margins.append(f.margin(x))
        if f.decide(x) or f.get_params().get("feedback") == "full":
            f.feedback(x, int(label))
    assert_allclose(np.array(margins)[case.rounds], case.margins, rtol=1e-10, atol=1e-12)
    for rows in (X, csr_array(X)):
        run = ol.filter_replay(case.make(), rows, y)
        assert "".join(map(str, run.decisions.astype(int))) == case.decisions
        assert (run.hits, run.false_alarms, run.misses) == case.counts
        assert_allclose(run.f_measure, case.f, rtol=1e-10)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", golden.RIDGE, ids=lambda case: case.name)
def test_every_form_of_the_ridge_filter_decides_as_the_reference(case, form):
    X, y = golden.directions()
    run = ol.filter_replay(case.make(**FORMS[form]), X, y)
    assert "".join(map(str, run.decisions.astype(int))) == case.decisions


def test_the_simple_filter_decides_as_the_reference():
    y = golden.every_eighth()
    f, margins = ol.SimpleFilter(), {}
    for t, label in enumerate(y, 1):
        margins[t] = f.margin([1.0])
        if f.decide([1.0]):
            f.feedback([1.0], label)
    assert_allclose(
        [margins[t] for t in golden.SIMPLE_MARGINS], list(golden.SIMPLE_MARGINS.values())
    )
    run = ol.filter_replay(ol.SimpleFilter(), np.ones((600, 1)), y)
    assert f.forwarded_ == run.decisions.sum() == 174
    assert (run.hits, run.false_alarms, run.misses) == (20, 154, 55)
    assert golden.digest(run.decisions) == golden.SIMPLE_DECISIONS


# --- the same, however it is run ---------------------------------------------------------------


@every_filter
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_one_by_one_replayed_and_resumed_are_the_same(name, kind, tmp_path):
    ellipsoid = "ellipsoid" in name  # which needs rows far from the plane to save labels so soon
    X, y, u = stream(near=3.0 if ellipsoid else 0.0)
    relevant = X @ u >= 0
    X = kind(X)
    whole, singly, parts = (FILTERS[name]() for _ in range(3))
    run = ol.filter_replay(whole, X, y)
    bulk = name.endswith("full-dual") or (name == "ridge-full" and kind is csr_array)
    np.testing.assert_array_equal(one_by_one(singly, X, y), run.decisions)
    first = ol.filter_replay(parts, X[:77], y[:77])
    parts.save(tmp_path / "filter.onl")
    parts = ol.load(tmp_path / "filter.onl")
    assert repr(parts) == repr(whole)
    second = ol.filter_replay(parts, X[77:], y[77:])
    np.testing.assert_array_equal(np.append(first.decisions, second.decisions), run.decisions)
    if not bulk:  # which sums by blocks
        assert described(singly) == described(whole)
        assert described(parts) == described(whole)
    for twin in (copy.deepcopy(whole), pickle.loads(pickle.dumps(whole)), whole.copy()):
        assert described(twin) == described(whole)
    assert name == "simple" or 20 < run.decisions.sum() < (220 if ellipsoid else 280)
    assert run.decisions[relevant].all() or not ellipsoid
    assert whole.seen_ == 300
    assert whole.forwarded_ == run.decisions.sum()


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(1, 60),
    d=st.integers(1, 6),
    seed=st.integers(0, 2**32),
    c=st.sampled_from([0.0, 0.05, 1.0, 5.0]),
    a=st.sampled_from([0.1, 1.0, 7.0]),
    sees=st.sampled_from(["forwarded", "full"]),
    length=st.sampled_from([0.3, 1.0, 4.0]),
)
def test_primal_dual_and_kernel_decide_alike(rows, d, seed, c, a, sees, length):
    X, y, _ = stream(rows, d, seed)
    X *= length
    filters = [ol.RidgeFilter(c, a, feedback=sees, **form) for form in FORMS.values()]
    for x, label in zip(X, y, strict=True):
        margins = [f.margin(x) for f in filters]
        assert_allclose(margins, margins[0], rtol=1e-9, atol=1e-12)
        decisions = [f.decide(x) for f in filters]
        if len(set(decisions)) > 1:  # only within rounding of the threshold
            assert abs(margins[0] - filters[0]._threshold()) < 1e-12
            return
        if decisions[0] or sees == "full":
            for f in filters:
                f.feedback(x, label)


def test_every_label_seen_the_dual_filter_learns_in_blocks_as_row_by_row(monkeypatch):
    X, y, _ = stream(700, 9)
    X[np.abs(X) < 0.2] = 0.0
    monkeypatch.setattr("onlinear.filtering._sparse_ridge.PANEL", 50)
    monkeypatch.setattr("onlinear.filtering.ridge.BLOCK", 130)
    rows = ol.RidgeFilter(c=0.1, form="dual", feedback="full")
    margins = []
    for x, label in zip(X, y, strict=True):
        margins.append(rows.margin(x))
        rows.decide(x)
        rows.feedback(x, label)
    blocks = ol.RidgeFilter(c=0.1, form="dual", feedback="full")
    ol.filter_replay(blocks, X, y)
    assert_allclose(blocks._model.w, rows._model.w, rtol=1e-10)
    fresh = ol.filtering.ridge.SparseRidge(9, 1.0)
    means, pivots = fresh.learn_all(list(X), y)
    assert_allclose(means / pivots, margins, rtol=1e-9, atol=1e-12)


@every_filter
def test_topics_together_are_the_topics_one_by_one(name):
    X, y, _ = stream()
    Y = np.column_stack([y, -y, np.where(X[:, 1] > 0.3, 1, -1)])
    f = FILTERS[name]()
    runs = ol.filter_replay(f, csr_array(X), Y)
    assert f.seen_ == 0
    for run, topic in zip(runs, Y.T, strict=True):
        alone = ol.filter_replay(FILTERS[name](), csr_array(X), topic)
        np.testing.assert_array_equal(run.decisions, alone.decisions)
        np.testing.assert_array_equal(run.labels, topic)


# --- what a replay reports ---------------------------------------------------------------------


def test_the_rates_are_those_of_the_counts():
    run = ol.FilterReplay(
        np.array([True, True, True, False, False]), np.array([1.0, 1.0, -1.0, 1.0, -1.0])
    )
    assert (run.hits, run.false_alarms, run.misses, run.mistakes) == (2, 1, 1, 2)
    assert_allclose([run.precision, run.recall, run.f_measure], [2 / 3, 2 / 3, 2 / 3])
    assert (run[3:].hits, run[3:].misses, len(run[3:])) == (0, 1, 2)
    assert math.isnan(run[3:].precision)
    assert math.isnan(run[4:].f_measure)
    assert "2 mistakes" in repr(run)


# --- chance ------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_decisions_and_another_others():
    X, y, _ = stream(500)
    runs = [ol.filter_replay(ol.PRidgeFilter(p=0.5, seed=s), X, y).decisions for s in (1, 1, 2)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


def test_coins_are_fair_and_depend_on_seed_and_round_alone():
    from onlinear.filtering._exploring import toss

    coins = np.array([[toss(seed, t) for t in range(1, 400)] for seed in range(20)])
    assert np.unique(coins).size == coins.size
    assert 0 <= coins.min() < coins.max() < 1
    assert abs(coins.mean() - 0.5) < 4 * math.sqrt(1 / 12 / coins.size)


def test_chance_may_come_from_outside():
    f = ol.PRidgeFilter(p=0.5, seed=lambda t: 0.0 if t % 2 else 0.9)
    f.decide([1.0])
    f.feedback([1.0], -1)
    assert [f.decide([1.0]) for _ in range(4)] == [False, True, False, True]
