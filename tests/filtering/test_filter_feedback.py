"""Labels that a filter sees, and labels that it never sees."""

import numpy as np
import pytest
from filters import FILTERS, FORMS, described, every_filter, one_by_one, stream
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

import onlinear as ol


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
        with pytest.raises(
            ValueError, match=r"this row is not waiting .*; the filter is unchanged"
        ):
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


@pytest.mark.parametrize(
    "name",
    [
        "ridge",
        "ridge-dual",
        "ridge-rbf",
        "ridge-drift",
        "ridge-drift-rbf",
        "ridge-ellipsoid-dual",
        "laser-dual",
        "p-ridge",
        "p-ridge-dual",
        "apple",
        "apple-drift",
    ],
)
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
    with pytest.raises(ValueError, match=r'PRidgeFilter in primal form keeps 3 .*use form="dual"'):
        ol.PRidgeFilter().decide(np.ones(1000))
    with pytest.raises(ValueError, match=r'RidgeFilter in primal form keeps.*use form="dual"'):
        ol.RidgeFilter(form="primal").decide(np.ones(1000))
    f = ol.RidgeFilter(form="dual", feedback="full")
    with pytest.raises(ValueError, match=r"RidgeFilter would keep .* forward fewer rows"):
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
    with pytest.raises(ValueError, match="this row is not waiting"):
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
