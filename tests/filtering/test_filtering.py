"""Filters: the reference decisions, one form against another, what is never seen, the theorems."""

import copy
import math
import pickle
import re

import filter_golden as golden
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

import onlinear as ol
from onlinear.filtering.pridge import theorem_3
from onlinear.filtering.simple import theorem_1
from onlinear.kernels import RBF, Linear

FORMS = {  # the same filter, three ways
    "primal": {"form": "primal"},
    "dual": {"form": "dual"},
    "kernel": {"kernel": Linear()},
}
FILTERS = {
    "simple": lambda: ol.SimpleFilter(),
    "ridge": lambda: ol.RidgeFilter(c=0.3),
    "ridge-dual": lambda: ol.RidgeFilter(c=0.3, form="dual"),
    "ridge-rbf": lambda: ol.RidgeFilter(c=0.3, kernel=RBF(gamma=2.0)),
    "ridge-full": lambda: ol.RidgeFilter(c=0.0, feedback="full"),
    "ridge-full-dual": lambda: ol.RidgeFilter(c=0.0, form="dual", feedback="full"),
    "p-ridge": lambda: ol.PRidgeFilter(seed=3),
    "p-ridge-p": lambda: ol.PRidgeFilter(a=0.5, p=0.2, seed=4),
    "apple": lambda: ol.AppleTasting(seed=5),
    "apple-perceptron": lambda: ol.AppleTasting(ol.Perceptron(), p=0.3, seed=6),
    "perceptron": lambda: ol.Perceptron(),
    "perceptron-partial": lambda: ol.Perceptron(feedback="forwarded"),
}
every_filter = pytest.mark.parametrize("name", FILTERS)


def stream(rows=300, d=4, seed=0):
    """Return unit rows, labels of the paper's model, and u."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    u = rng.normal(size=d)
    u /= np.linalg.norm(u)
    return X, np.where(rng.uniform(size=rows) < (1 + X @ u) / 2, 1.0, -1.0), u


def one_by_one(f, X, y):
    decisions = []
    for i in range(X.shape[0]):
        x = X[i] if isinstance(X, np.ndarray) else X[[i]]
        decisions.append(f.decide(x))
        if decisions[-1] or f.get_params().get("feedback") == "full":
            f.feedback(x, y[i])
    return np.array(decisions)


def described(f):
    """Return all there is to a filter: its header, and the bits of its arrays."""
    f = copy.deepcopy(f)
    f._params.pop("seed", None)
    if hasattr(f, "_seed"):
        f._seed = 0
        f._params["seed"] = 0
    header, arrays = f._described()
    return header, {name: array.tobytes() for name, array in arrays.items()}


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
    X, y, _ = stream()
    X = kind(X)
    whole, singly, parts = (FILTERS[name]() for _ in range(3))
    run = ol.filter_replay(whole, X, y)
    bulk = name == "ridge-full-dual" or (name == "ridge-full" and kind is csr_array)
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
    assert name == "simple" or 20 < run.decisions.sum() < 280
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
    assert_allclose(fresh.learn_all(list(X), y), margins, rtol=1e-9, atol=1e-12)


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


# --- what is not seen --------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n, f in FILTERS.items() if f()._sees == "forwarded"])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_labels_of_what_was_held_back_do_not_leak(name, seed):
    X, y, _ = stream(120, 3, seed)
    f = FILTERS[name]()
    run = ol.filter_replay(f, X, y)
    rng = np.random.default_rng(seed)
    other = np.where(run.decisions, y, rng.choice([-1.0, 1.0], size=y.size))
    other[~run.decisions] *= -1 if seed % 2 else 1
    twin = FILTERS[name]()
    again = ol.filter_replay(twin, X, other)
    np.testing.assert_array_equal(again.decisions, run.decisions)
    assert described(twin) == described(f)


def test_a_filter_that_sees_every_label_does_learn_from_them():
    """The test above could fail."""
    X, y, _ = stream()
    run = ol.filter_replay(ol.RidgeFilter(c=0.0, feedback="full"), X, y)
    other = np.where(run.decisions, y, -y)
    assert not np.array_equal(
        ol.filter_replay(ol.RidgeFilter(c=0.0, feedback="full"), X, other).decisions, run.decisions
    )


@every_filter
def test_feedback_needs_a_row_that_was_forwarded(name):
    X, y, _ = stream()
    f = FILTERS[name]()
    with pytest.raises(ValueError, match="needs feedback on a row that decide"):
        f.feedback(X[0], 1)
    ol.filter_replay(f, X, y)
    held = next((x for x in X if not f.decide(x)), None)
    before = described(f)
    if held is not None and f.get_params().get("feedback") != "full":
        with pytest.raises(ValueError, match=r"this row is none .*; the filter is unchanged"):
            f.feedback(held, 1)
        assert described(f) == before
    forwarded = next(x for x in X if f.decide(x))
    f.feedback(forwarded, 1)
    with pytest.raises(ValueError, match="has no label yet"):
        f.feedback(forwarded + 0.5, 1)


def test_a_row_is_known_by_its_numbers_however_it_is_stored():
    f = ol.RidgeFilter()
    f.decide([0.0, 1.0])
    f.feedback([-0.0, 1.0], 1)
    f.decide(csr_array([[0.0, 1.0]]))
    assert f.waiting_ == 1
    f.feedback(np.array([0.0, 1.0]), 1)
    f.decide([3.0, 1.0])
    f.stop_waiting()
    assert f.waiting_ == 0


def test_a_row_of_a_sparse_array_is_a_row():
    X, y, _ = stream(20)
    f = ol.RidgeFilter()
    for x, label in zip(csr_array(X), y, strict=True):
        if f.decide(x):
            f.feedback(x, label)
    np.testing.assert_array_equal(f.seen_, 20)
    run = ol.filter_replay(ol.RidgeFilter(), csr_array(X), y)
    assert run.decisions.sum() == f.forwarded_


@every_filter
def test_column_names_are_kept_and_checked(name, tmp_path):
    pd = pytest.importorskip("pandas")
    X, y, _ = stream(40)
    frame = pd.DataFrame(X, columns=list("abcd"))
    f = FILTERS[name]()
    ol.filter_replay(f, frame, y)
    f.save(tmp_path / "f.onl")
    for each in (f, ol.load(tmp_path / "f.onl")):
        with pytest.raises(ValueError, match="feature names should match"):
            ol.filter_replay(each, frame[list("dcba")], y)
        with pytest.raises(ValueError, match="feature names should match"):
            each.decide(frame.rename(columns={"a": "z"}).iloc[0])
    f.decide(frame.iloc[0])


@every_filter
def test_a_decision_that_fails_does_not_fix_the_width(name, monkeypatch):
    f = FILTERS[name]()

    def fail(self, x):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(type(f), "_look", fail)
        with pytest.raises(MemoryError):
            f.decide([1.0, 2.0, 3.0])
    assert f.seen_ == 0
    f.decide([1.0, 2.0])


@pytest.mark.parametrize("name", ["ridge", "ridge-dual", "ridge-rbf", "p-ridge", "apple"])
def test_an_interrupt_after_a_row_was_learnt_does_not_have_it_learnt_again(name, monkeypatch):
    X, _, _ = stream(30)
    f, twin = FILTERS[name](), FILTERS[name]()
    for each in (f, twin):
        each.decide(X[0])
    kind = type(f)
    learn = kind._learn

    def interrupted(self, *args):
        learn(self, *args)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(kind, "_learn", interrupted)
        with pytest.raises(KeyboardInterrupt):
            f.feedback(X[0], 1)
    twin.feedback(X[0], 1)
    assert described(f) == described(twin)
    with pytest.raises(ValueError, match="has no label yet"):
        f.feedback(X[0], 1)


def test_ties_are_decided_alike_by_every_form():
    """Margins that are 0 but for rounding reach the threshold 0, in blocks and row by row."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        X = rng.integers(-1, 2, size=(60, 2)).astype(float)
        X[(X == 0).all(axis=1)] = (1.0, 0.0)
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        y = rng.choice([-1.0, 1.0], size=60)
        for sees in ("forwarded", "full"):
            runs = [ol.RidgeFilter(0.0, feedback=sees, **form) for form in FORMS.values()]
            wanted = one_by_one(runs[0], X, y).tolist()
            for f in runs[1:]:
                assert ol.filter_replay(f, X, y).decisions.tolist() == wanted


def test_parameters_can_be_read_and_not_changed():
    f = ol.RidgeFilter(c=2.0)
    assert f.c == 2.0
    assert f.a == 1.0
    with pytest.raises(AttributeError, match="keeps the c it was made with, got c=9"):
        f.c = 9.0
    with pytest.raises(AttributeError, match="'RidgeFilter' has no attribute 'gamma'"):
        _ = f.gamma


def test_a_filter_too_wide_for_a_matrix_says_what_to_use_instead(monkeypatch):
    monkeypatch.setattr("onlinear._validation.memory.physical_memory", lambda: 1e6)
    with pytest.raises(ValueError, match=r"PRidgeFilter keeps 3 matrices.*use RidgeFilter, whose"):
        ol.PRidgeFilter().decide(np.ones(1000))
    with pytest.raises(ValueError, match=r'RidgeFilter in primal form keeps.*use form="dual"'):
        ol.RidgeFilter(form="primal").decide(np.ones(1000))
    f = ol.RidgeFilter(form="dual", feedback="full")
    with pytest.raises(ValueError, match=r"RidgeFilter would keep .* forward less"):
        ol.filter_replay(f, np.eye(600), np.ones(600))
    assert f.seen_ == 0


def test_labels_may_come_late_and_in_any_order(tmp_path):
    X, y, _ = stream(20)
    f = ol.RidgeFilter()
    asked = [i for i in range(20) if f.decide(X[i])]
    assert len(asked) == 20  # nothing is known yet
    f.save(tmp_path / "waiting.onl")
    f = ol.load(tmp_path / "waiting.onl")
    for i in reversed(asked):
        f.feedback(X[i], y[i])
    assert f.labels_ == 20
    with pytest.raises(ValueError, match="has no label yet"):
        f.feedback(X[0], 1)
    ridge = ol.AAR(b=1.0).fit(X[::-1], y[::-1])
    assert_allclose(f.margin(X[3]), ridge.predict_one(X[3]), rtol=1e-10)


def test_a_row_forwarded_twice_may_be_answered_twice():
    f = ol.RidgeFilter()
    assert [f.decide([1.0]), f.decide([1.0])] == [True, True]
    f.feedback([1.0], 1)
    f.feedback([1.0], -1)
    with pytest.raises(ValueError, match="this row is none"):
        f.feedback([1.0], -1)


def test_apple_tasting_counts_the_relevant_rows_it_discovers():
    f = ol.AppleTasting(ol.Perceptron(feedback="forwarded"), p=1.0)
    f.decide([1.0])
    f.feedback([1.0], -1)  # from now on the base says no
    for label in (1, -1, -1, 1, 1):
        assert f.decide([1.0])
        before = f.margin([1.0])
        f.feedback([1.0], label)
        if before < 0 < label:
            assert f.misses_ > 0
    assert f.misses_ == 1 + 1
    assert f.probability() == 1.0


# --- the theorems ------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    d=st.integers(1, 5),
    a=st.sampled_from([0.01, 0.3, 1.0, 10.0]),
    p=st.sampled_from([0.0, 0.3, 1.0]),
    adversary=st.booleans(),
)
def test_lemma_2_holds_at_every_update_of_the_probabilistic_filter(seed, d, a, p, adversary):
    """½(Δ̂−y)² − ½(Δ−y)² ≤ 2 ln|A_{k+1}|/|A_k| + d_k(u, w_k) − d_{k+1}(u, w_{k+1}), any ‖u‖ ≤ 1."""
    X, y, u = stream(80, d, seed)
    f = ol.PRidgeFilter(a, p, seed=seed % 1000)
    w, A, updates = np.zeros(d), a * np.eye(d), 0
    for x, label in zip(X, y, strict=True):
        margin = f.margin(x)
        if not f.decide(x):
            continue
        if adversary:
            label = -1.0 if margin >= 0 else 1.0
        f.feedback(x, label)
        learner = f._model.learner
        new_w, new_A = learner.coef_, a * np.linalg.inv(learner.covariance_)
        assert_allclose(new_A, A + np.outer(x, x), rtol=1e-8, atol=1e-8)
        new_A = A + np.outer(x, x)
        assert np.linalg.norm(new_w) <= 1 + 1e-12
        for v in (u, -u, x, 0.5 * u):
            left = 0.5 * (margin - label) ** 2 - 0.5 * (v @ x - label) ** 2
            growth = 2 * (np.linalg.slogdet(new_A)[1] - np.linalg.slogdet(A)[1])
            before, after = (v - w) @ A @ (v - w) / 2, (v - new_w) @ new_A @ (v - new_w) / 2
            assert left <= growth + before - after + 1e-9 * (1 + before)
        w, A, updates = new_w, new_A, updates + 1
    assert updates > 0


@pytest.mark.parametrize("delta", [-0.4, -0.3, -0.2, 0.2, 0.4])  # else it is above 2|δ|n
def test_theorem_1_bounds_the_regret_of_the_simple_filter(delta):
    n, runs = 10_000, 10
    rng = np.random.default_rng(0)
    regrets = []
    for _ in range(runs):
        y = np.where(rng.uniform(size=n) < 0.5 + delta, 1, -1)
        run = ol.filter_replay(ol.SimpleFilter(), np.ones((n, 1)), y, u=[2 * delta])
        regrets.append(run.regret)
    mean = np.mean(regrets, axis=0)
    bound = np.array([theorem_1(delta, t) for t in range(1, n + 1)])
    assert np.all(mean <= bound)
    assert bound[-1] < 2 * abs(delta) * n  # the bound could fail
    if delta < 0:
        assert mean[-1] > 0.02 * bound[-1]  # and it says something
    else:
        assert mean[-1] < 1.0


def test_theorem_3_bounds_the_regret_of_the_probabilistic_filter():
    """In one dimension, rows ±1: else the bound is above what any filter can lose."""
    n = 60_000
    X = np.random.default_rng(1).choice([-1.0, 1.0], size=(n, 1))
    run = ol.filter_replay(ol.PRidgeFilter(horizon=n), X, X[:, 0], u=[1.0])
    bound = theorem_3(1.0, n, 1)
    assert 0 < run.regret[-1] <= bound
    everything = ol.FilterReplay(np.ones(n, dtype=bool), run.labels, run.expected)
    assert everything.regret[-1] > bound  # the bound says something


def test_regret_is_what_wrong_decisions_cost_in_expectation():
    X, y, u = stream(50)
    run = ol.filter_replay(ol.RidgeFilter(c=0.0), X, y, u=u)
    margin = X @ u
    wanted = sum(
        abs(m) for m, forward in zip(margin, run.decisions, strict=True) if forward != (m >= 0)
    )
    assert_allclose(run.regret[-1], wanted)
    with pytest.raises(ValueError, match="regret needs u"):
        _ = ol.filter_replay(ol.RidgeFilter(), X, y).regret
    with pytest.raises(ValueError, match="u needs 4 finite numbers"):
        ol.filter_replay(ol.RidgeFilter(), X, y, u=[math.nan, 0, 0, 0])
    with pytest.raises(ValueError, match=r"u needs \|uᵀx\| ≤ 1"):
        ol.filter_replay(ol.RidgeFilter(), X, y, u=5 * u)


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


# --- what is refused ---------------------------------------------------------------------------


@every_filter
def test_bad_input_is_named_and_changes_nothing(name):
    X, y, _ = stream(60)
    f = FILTERS[name]()
    ol.filter_replay(f, X, y)
    before = described(f)
    bad = X.copy()
    bad[7, 2] = math.nan
    with pytest.raises(ValueError, match=r"(?i)nan in row 7, column 2"):
        ol.filter_replay(f, bad, y)
    with pytest.raises(ValueError, match=r"(?i)nan in row 7, column 2"):
        ol.filter_replay(f, csr_array(bad), y)
    for call in (f.decide, f.margin, lambda x: f.feedback(x, 1)):
        with pytest.raises(ValueError, match=r"(?i)nan in"):
            call(bad[7])
        with pytest.raises(ValueError, match="needs 4 features, as the first row had, got 3"):
            call([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"needs labels −1 or \+1 \(or .*\), got 0\.5 in row 9"):
        ol.filter_replay(f, X, np.where(np.arange(60) == 9, 0.5, y))
    with pytest.raises(ValueError, match="as many rows as each other"):
        ol.filter_replay(f, X, y[:9])
    assert described(f) == before


@every_filter
@pytest.mark.parametrize("size", [1e-320, 1e-160, 1e8, 1e60, 1e160, 1e308])
def test_numbers_too_large_are_refused_or_stay_finite(name, size):
    X, y, _ = stream(60)
    for kind in (np.asarray, csr_array):
        f = FILTERS[name]()
        ol.filter_replay(f, X, y)
        before = described(f)
        rows = X.copy()
        rows[5] *= size
        try:
            ol.filter_replay(f, kind(rows), y)
        except ValueError:
            assert described(f) == before
        assert all(np.isfinite(array).all() for array in f._described()[1].values())
        assert math.isfinite(f.margin(X[1]))


def test_true_and_false_stand_for_the_labels():
    X, y, _ = stream(60)
    runs = [ol.filter_replay(ol.RidgeFilter(), X, labels) for labels in (y, y > 0)]
    np.testing.assert_array_equal(runs[0].decisions, runs[1].decisions)


@every_filter
def test_an_interrupt_leaves_the_filter_as_it_was(name, monkeypatch):
    X, y, _ = stream(200)
    f = FILTERS[name]()
    ol.filter_replay(f, X[:50], y[:50])
    before, calls = described(f), []

    def interrupt(*args, **kwargs):
        calls.append(1)
        if len(calls) > 20:
            raise KeyboardInterrupt
        return answer(*args, **kwargs)

    kind = "onlinear.filtering._filter.Filter._answer"
    answer = ol.Filter._answer
    monkeypatch.setattr(kind, interrupt)
    if name == "ridge-full-dual":
        monkeypatch.setattr(
            "onlinear.filtering._sparse_ridge.SparseRidge.reweigh", lambda self: interrupt_now()
        )
    with pytest.raises(KeyboardInterrupt):
        ol.filter_replay(f, X, y)
    assert described(f) == before


def interrupt_now():
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ol.SimpleFilter(c=-1), "SimpleFilter needs a finite number 0 ≤ c, got c=-1"),
        (lambda: ol.RidgeFilter(a=0), "RidgeFilter needs a finite number 0 < a, got a=0"),
        (lambda: ol.RidgeFilter(feedback="some"), "got feedback='some'"),
        (lambda: ol.RidgeFilter(form="sparse"), "got form='sparse'"),
        (lambda: ol.RidgeFilter(kernel="rbf"), "needs a kernel such as"),
        (lambda: ol.RidgeFilter(kernel=RBF(), form="primal"), "needs no form with a kernel"),
        (lambda: ol.PRidgeFilter(p=1.5), "0 ≤ p ≤ 1, got p=1.5"),
        (lambda: ol.PRidgeFilter(seed=-1), "needs a seed that is a whole number ≥ 0"),
        (lambda: ol.PRidgeFilter(horizon=0.5), "got horizon=0.5"),
        (lambda: ol.AppleTasting(ol.AAR()), "needs a base that is a filter"),
        (lambda: ol.filter_replay(ol.AAR(), [[1.0]], [1]), "needs a filter, got AAR"),
        (lambda: ol.RidgeFilter().decide(csr_array(np.eye(2))), "one row"),
    ],
)
def test_what_cannot_be_is_refused_in_words(make, words):
    with pytest.raises((ValueError, TypeError), match=re.escape(words)):
        make()


def test_a_base_is_copied(tmp_path):
    base = ol.Perceptron()
    f = ol.AppleTasting(base)
    ol.filter_replay(f, *stream(20)[:2])
    assert base.seen_ == 0
    ol.filter_replay(base, *stream(20)[:2])
    f.save(tmp_path / "f.onl")
    assert described(ol.load(tmp_path / "f.onl")) == described(f)


def test_a_seed_that_is_a_function_cannot_be_saved(tmp_path):
    f = ol.PRidgeFilter(seed=lambda t: 0.5)
    with pytest.raises(ValueError, match="needs a number for its seed to be saved"):
        f.save(tmp_path / "f.onl")


def test_numbers_of_numpy_are_saved_as_numbers(tmp_path):
    for f in (ol.PRidgeFilter(np.float32(0.5), horizon=np.int64(7)), ol.SimpleFilter(np.int32(3))):
        f.decide([1.0])
        f.save(tmp_path / "f.onl")
        assert ol.load(tmp_path / "f.onl").get_params() == f.get_params()
    model = ol.CRRLS(reset_every=np.int64(7))
    model.save(tmp_path / "m.onl")
    assert ol.load(tmp_path / "m.onl").reset_every == 7


@every_filter
def test_a_file_that_was_tampered_with_is_refused(name, tmp_path):
    from onlinear._state_files import file_format

    X, y, _ = stream(60)
    f = FILTERS[name]()
    ol.filter_replay(f, csr_array(X), y)
    path = tmp_path / "f.onl"
    f.save(path)
    header, arrays = file_format.read(path)
    for change in (
        {"counts": {**header["counts"], "seen_": -1}},
        {"filter": "Nothing"},
        {"waiting": 3},
        {"waiting": {"x": "abc"}},
        {"features": 10**12},
        {"features": 3} if name != "simple" else {"features": -1},
        {"counts": {**header["counts"], "labels_": 1000}},
        {"features": "4"},
        {"params": {"x": 1}},
    ):
        file_format.write(path, {**header, **change}, arrays)
        with pytest.raises(ol.StateFileError, match="does not describe"):
            ol.load(path)
    for array in arrays:
        file_format.write(path, header, {**arrays, array: arrays[array][:-1]})
        with pytest.raises(ol.StateFileError, match="does not describe"):
            ol.load(path)
        spoilt = {**arrays, array: np.where(arrays[array] == arrays[array].flat[0], np.nan, 1.0)}
        file_format.write(path, header, spoilt)
        with pytest.raises(ol.StateFileError, match="does not describe"):
            ol.load(path)


def test_the_sparse_form_takes_no_more_memory_than_it_says():
    """n²/2 numbers, the entries of the rows, and a few vectors of the width."""
    rng = np.random.default_rng(0)
    d, n = 50_000, 300
    columns = rng.integers(d, size=(n, 20))
    X = csr_array(
        (np.full(n * 20, 20**-0.5), columns.ravel(), np.arange(0, 20 * n + 1, 20)), (n, d)
    )
    f = ol.RidgeFilter(c=0.0, feedback="full")
    ol.filter_replay(f, X, np.where(np.arange(n) % 3, 1, -1))
    model = f._model
    assert model.L.size < 1.6 * n * n / 2
    numbers = sum(a.size for a in vars(model).values() if isinstance(a, np.ndarray))
    assert numbers < 1.6 * (n * n / 2 + 2 * 20 * n + 2 * n) + 5 * d
