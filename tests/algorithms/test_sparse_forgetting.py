"""CIRR and OSLOG that forget old rows, and clip: golden numbers; bounds from definitions."""

import numpy as np
import pandas as pd
import pytest

import onlinear as ol

ROWS, D = 30, 3
GOLDEN = {  # by learner and forgetting, with a = .5 and clip = .5
    ("CIRR", 1.0): [0, -0.219112689807, 0.241751487001, -0.361856233752, 0.0567850231874],
    ("OSLOG", 1.0): [0, -0.422300421674, 0.321675203413, -0.447060739391, 0.102144680893],
    ("CIRR", 0.8): [0, -0.191697559494, 0.206833954604, -0.229273439642, -0.00232353133659],
    ("OSLOG", 0.8): [0, -0.422300421674, 0.319437958778, -0.362455855027, -0.0160009619855],
}


@pytest.mark.parametrize(("name", "forgetting"), GOLDEN)
def test_predictions_are_the_golden_ones(name, forgetting):
    rows = np.arange(1, 6)
    X, y = np.cos(np.outer(rows, [1, 2, 3])), np.sin(2 * rows)
    model = ol.LEARNERS[name](a=0.5, forgetting=forgetting, clip=0.5)
    found = ol.replay(model, X, y).predictions
    np.testing.assert_allclose(found, GOLDEN[name, forgetting], rtol=1e-9, atol=1e-12)


def changing(seed, rows=ROWS, d=D):
    """Return a stream whose few weights change after half of the rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, d))
    truth = np.where(np.arange(rows)[:, None] < rows // 2, np.eye(d)[0], -2 * np.eye(d)[d - 1])
    return X, np.sum(X * truth, axis=1) + 0.1 * rng.normal(size=rows)


def written_out(X, y, a, floor, r, Y):
    """Return the comparator of both, CIRR's bound, and OSLOG's two, from their definitions."""
    T, d = X.shape
    w, before = np.ones(d), None
    C = last = squares = changes = changes_late = clipped = top = 0.0
    for t in range(T):
        D = np.maximum(np.abs(w), floor)
        before = D if before is None else before
        weights = r ** np.arange(t, -1.0, -1.0)
        S = (X[: t + 1].T * weights) @ X[: t + 1]
        earlier = (X[:t].T * weights[:t]) @ X[:t]  # the sum before this row, once multiplied by r
        chi = X[t] @ np.linalg.solve(a * np.diag(1 / before) + earlier / r, X[t])
        N = np.linalg.inv(a * np.diag(1 / D) + S)
        v = np.linalg.solve(a * np.diag(1 / D) + earlier, (X[:t].T * weights[:t]) @ y[:t])
        w = N @ ((X[: t + 1].T * weights) @ y[: t + 1])
        least = a * np.sum(w * w / D) + weights @ (y[: t + 1] - X[: t + 1] @ w) ** 2
        C += least - r * last
        last = least
        squares += y[t] ** 2 * (X[t] @ N @ X[t])
        change = a * (r / before - 1 / D)
        changes += np.sum(v * v * change) if t else 0.0
        changes_late += np.sum(w * w * change)
        clipped += (abs(y[t]) + Y) ** 2 * chi / (r + chi)
        top = max(top, chi / r)
        before = D
    both = C + changes_late
    return C, C + squares + changes, (1 + top) * both, both + clipped


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("forgetting", [1.0, 0.95, 0.6])
@pytest.mark.parametrize("floor", [1e-3, 0.3])
def test_the_bounds_are_the_theorems(seed, forgetting, floor):
    X, y = changing(seed)
    a, Y = 0.7, float(np.abs(y).max())
    C, first, second, third = written_out(X, y, a, floor, forgetting, Y)
    params = {"a": a, "floor": floor, "forgetting": forgetting}
    for model, ceiling in (
        (ol.CIRR(**params), first),
        (ol.CIRR(**params, clip=Y), first),
        (ol.OSLOG(**params), second),
        (ol.OSLOG(**params, clip=Y), third),
    ):
        proof = ol.certificate(model, X, y)
        assert proof.failed is None
        assert proof.holds.all()
        assert proof.comparator[-1] == pytest.approx(C, rel=1e-8)
        assert proof.ceiling[-1] == pytest.approx(ceiling, rel=1e-8)


@pytest.mark.parametrize("name", ["CIRR", "OSLOG"])
def test_a_label_beyond_the_clip_ends_the_bound(name):
    X, y = changing(0)
    proof = ol.certificate(ol.LEARNERS[name](clip=0.01), X, y)
    assert "needs |y| ≤ clip" in proof.failed


@pytest.mark.parametrize("name", ["CIRR", "OSLOG"])
def test_a_clip_raises_no_loss_of_labels_within_it(name):
    X, y = changing(1, rows=200)
    Y = 1.0
    y = np.clip(y, -Y, Y)
    free, clipped = (ol.replay(ol.LEARNERS[name](clip=clip), X, y) for clip in (None, Y))
    assert np.all(clipped.losses <= free.losses)
    assert np.any(np.abs(free.predictions) > Y)
    assert np.abs(clipped.predictions).max() == Y


@pytest.mark.parametrize("name", ["CIRR", "OSLOG"])
def test_with_forgetting_the_selected_columns_change_with_the_truth(name):
    X, y = changing(2, rows=800, d=12)
    model = ol.LEARNERS[name](a=2.0, forgetting=0.95)
    model.fit(X[:400], y[:400])
    assert 0 in model.selected_
    assert 11 not in model.selected_
    model.partial_fit(X[400:], y[400:])
    assert 11 in model.selected_
    assert 0 not in model.selected_
    assert model.support_.tolist() == [i in model.selected_ for i in range(12)]


def test_selected_columns_have_their_names_and_are_those_above_the_floor():
    X, y = changing(1, rows=400, d=5)
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = ol.OSLOG(a=20.0, floor=0.01).fit(frame, y)
    above = np.abs(model.coef_) > 0.01
    assert 0 < above.sum() < 5
    assert model.support_.tolist() == above.tolist()
    assert model.selected_.tolist() == [c for c, use in zip("abcde", above, strict=True) if use]
    assert ol.OSLOG(a=20.0, floor=0.01).fit(X, y).selected_.tolist() == list(np.flatnonzero(above))


def test_standardized_selects_by_the_weights_of_standardized_columns():
    X, y = changing(4, rows=400, d=6)
    X = np.column_stack([1e-6 * X, np.ones(400)])  # in these units, all weights are large
    model = ol.Standardized(ol.CIRR(a=20.0)).fit(X, y)
    assert set(model.selected_) <= set(range(6))  # a constant column is left out
    assert {0, 5} <= set(model.selected_)
    assert not model.support_.all()
    dense = ol.Standardized(ol.Ridge()).fit(X, y)
    assert not hasattr(dense, "support_")
    with pytest.raises(AttributeError, match=r"Standardized\(Ridge\(\)\) selects no columns"):
        assert dense.selected_ is None


def test_before_the_first_row_nothing_is_selected():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        assert ol.CIRR().support_ is None


@pytest.mark.parametrize("name", ["CIRR", "OSLOG"])
def test_a_column_that_is_silent_for_long_leaves_no_number_near_underflow(name):
    """Numbers near underflow make arithmetic slow, and take the state out of its usual range."""
    X, y = changing(5, rows=3000)
    X[20:, 1] = 0.0
    model = ol.LEARNERS[name](forgetting=0.5)
    assert ol.certificate(model, X, y).holds.all()
    A = model._state.A
    assert np.all(A[1] == 0.0)
    assert np.abs(A[A != 0.0]).min() > 1e-50
    assert np.all((model.coef_ == 0.0) | (np.abs(model.coef_) > 1e-50))
