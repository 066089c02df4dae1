"""The bounds of RLS and CR-RLS against sums that are computed anew from their definitions."""

import numpy as np
import pytest

import onlinear as ol
from onlinear.algorithms import _forgetting_bound

ROWS, D = 40, 3
SETTINGS = [
    ol.RLS(0.9, b=0.5),
    ol.RLS(0.7, b=2.0, shrink=True),
    ol.RLS(0.95, clip=30.0),
    ol.RLS(0.5, shrink=True, clip=30.0),
    ol.RLS(0.8, b=0.5, hint="last"),
    ol.RLS(0.6, clip=30.0, hint="last"),
    ol.RLS(1.0, b=2.0, hint="last"),
    ol.CRRLS(0.8, reset_every=9),
    ol.CRRLS(1.0, reset_every=15),
]


def drifting(seed):
    rng = np.random.default_rng(seed)
    u = rng.normal(size=D) + np.cumsum(0.2 * rng.normal(size=(ROWS, D)), axis=0)
    X = rng.normal(size=(ROWS, D))
    return X, np.sum(X * u, axis=1) + 0.1 * rng.normal(size=ROWS), u


def solved(X, y, r, b, start):
    """Return A, w and the minimum of F(u) = rᵗb‖u − start‖² + Σ r^(t−s)(y_s − uᵀx_s)²."""
    weights = r ** np.arange(len(y) - 1.0, -1.0, -1.0)
    A = r ** len(y) * b * np.eye(D) + (X.T * weights) @ X
    w = start + np.linalg.solve(A, (X.T * weights) @ (y - X @ start))
    away = w - start
    return A, w, r ** len(y) * b * away @ away + weights @ (y - X @ w) ** 2


def segments(model):
    """Return the first row and the end of every segment, and r and b."""
    if isinstance(model, ol.CRRLS):
        firsts = range(0, ROWS, model.reset_every)
        return [(i, min(i + model.reset_every, ROWS)) for i in firsts], model.forgetting, 1.0
    return [(0, ROWS)], model.forgetting, model.b


def written_out(model, X, y, u):
    """Return the cost C of the best sequence, the cost of u, and r·(χ/r) of each row: all anew.

    The cost of u is that of the theorem: L(u) + rb‖u_1 − w_0‖² + r Σ (F_t(u_{t+1}) − F_t(u_t)).
    """
    parts, r, b = segments(model)
    best, cost, chis = 0.0, np.sum((y - np.sum(X * u, axis=1)) ** 2), []
    start = np.zeros(D)
    for first, end in parts:
        cost += r * b * (u[first] - start) @ (u[first] - start)
        minima = []
        for t in range(first, end):
            A, w, _ = solved(X[first:t], y[first:t], r, b, start)
            chis.append(X[t] @ np.linalg.solve(A, X[t]))
            if t > first:
                here, there = u[t - 1] - w, u[t] - w
                cost += r * (there @ A @ there - here @ A @ here)
            minima.append(solved(X[first : t + 1], y[first : t + 1], r, b, start)[2])
        best += minima[-1] + (1 - r) * sum(minima[:-1])
        start = solved(X[first:end], y[first:end], r, b, start)[1]
    return best, cost, np.array(chis)


def widened(model, comparator, y, chis):
    """Return the bound, from a comparator's cost."""
    r = model.forgetting
    share = chis / (r + chis)
    if getattr(model, "hint", None):
        return comparator + np.sum(np.diff(y, prepend=0.0) ** 2 * share)
    if getattr(model, "shrink", False):
        return comparator + np.sum(y**2 * share)
    if getattr(model, "clip", None) is not None:
        return comparator + np.sum((np.abs(y) + model.clip) ** 2 * share)
    return comparator * (1.0 + chis.max() / r)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("model", SETTINGS, ids=repr)
def test_the_bound_is_the_theorems(model, seed):
    X, y, u = drifting(seed)
    best, cost, chis = written_out(model, X, y, u)
    proof = ol.certificate(type(model)(**model.get_params()), X, y)
    assert proof.failed is None
    assert proof.comparator[-1] == pytest.approx(best, rel=1e-9)
    assert proof.ceiling[-1] == pytest.approx(widened(model, best, y, chis), rel=1e-9)
    assert proof.holds.all()
    given = ol.certificate(type(model)(**model.get_params()), X, y, comparator=u)
    assert given.ceiling[-1] == pytest.approx(widened(model, cost, y, chis), rel=1e-8)
    assert given.holds.all()
    assert cost >= best


@pytest.mark.parametrize("model", SETTINGS, ids=repr)
def test_the_best_sequence_is_the_learners_own_weights(model):
    X, y, _ = drifting(1)
    learner = type(model)(**model.get_params())
    w = np.empty_like(X)
    for i, x in enumerate(X):
        learner.learn_one(x, y[i])
        w[i] = learner.coef_
    free = ol.certificate(type(model)(**model.get_params()), X, y)
    own = ol.certificate(type(model)(**model.get_params()), X, y, comparator=w)
    np.testing.assert_allclose(own.ceiling, free.ceiling, rtol=1e-9)


def test_a_fixed_comparator_pays_only_its_loss_and_the_prior():
    X, y, u = drifting(2)
    r, b = 0.8, 0.7
    proof = ol.certificate(ol.RLS(r, b, shrink=True), X, y, comparator=u[0])
    _, _, chis = written_out(ol.RLS(r, b), X, y, np.tile(u[0], (ROWS, 1)))
    cost = np.sum((y - X @ u[0]) ** 2) + r * b * u[0] @ u[0]
    assert proof.ceiling[-1] == pytest.approx(cost + np.sum(y**2 * chis / (r + chis)), rel=1e-9)


@pytest.mark.parametrize("model", SETTINGS, ids=repr)
def test_a_sequence_that_stays_has_the_bound_of_the_vector_it_repeats(model):
    X, y, u = drifting(4)
    one, every = (
        ol.certificate(type(model)(**model.get_params()), X, y, comparator=each).ceiling
        for each in (u[0], np.tile(u[0], (ROWS, 1)))
    )
    np.testing.assert_allclose(one, every, rtol=1e-13)


def silent(rows, r, seed=0):
    """Return a stream whose second column is 0 for so long that the guard acts, with forgetting r.

    Also return the rows 1/√(Σ_ii/3)·e_i that stand for the guard: for each row of the stream, a
    list of i, k = 3/Σ_ii and w_i, from the recursion in its textbook form.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2))
    X[5:-5, 1] = 0.0
    y = X @ np.array([1.0, -2.0]) + 0.1 * rng.normal(size=rows)
    w, S, peak, guards = np.zeros(2), np.eye(2), np.zeros(2), []
    for x, label in zip(X, y, strict=True):
        v = S @ x
        w = w + v * (label - x @ w) / (r + x @ v)
        S = (S - np.outer(v, v) / (r + x @ v)) / r
        peak = np.maximum(peak, x * x)
        guards.append([])
        for i in np.flatnonzero(np.diag(S) > np.maximum(1e9 / peak, 1.0)):
            guards[-1].append((i, 3 / S[i, i], w[i]))
            S = S - 0.75 * np.outer(S[i], S[i]) / S[i, i]
    return X, y, guards


@pytest.mark.parametrize("moves", [False, True])
def test_a_comparator_pays_for_its_error_on_the_rows_of_the_guard(moves):
    r, rows = 0.5, 120
    X, y, guards = silent(rows, r)
    assert sum(map(len, guards)) > 30
    u = np.tile([1e3, -7e5], (rows, 1))  # far off, so that the guard's rows matter
    if moves:
        u[40:80], u[90:] = [0.0, 3e5], [5.0, 1e5]
    A, theta, cost = np.eye(2), np.zeros(2), r * u[0] @ u[0]
    for t in range(rows):
        if t:
            cost += r * ((u[t] @ A - 2 * theta) @ u[t] - (u[t - 1] @ A - 2 * theta) @ u[t - 1])
        cost += (y[t] - X[t] @ u[t]) ** 2
        A, theta = r * A + np.outer(X[t], X[t]), r * theta + y[t] * X[t]
        for i, k, w in guards[t]:
            cost += k * (u[t, i] - w) ** 2
            A[i, i] += k
            theta[i] += k * w
    proof = ol.certificate(ol.RLS(r, shrink=True), X, y)
    added = proof.ceiling[-1] - proof.comparator[-1]
    given = ol.certificate(ol.RLS(r, shrink=True), X, y, comparator=u if moves else u[0])
    assert given.ceiling[-1] == pytest.approx(cost + added, rel=1e-12)
    without = np.sum((y - X @ u[0]) ** 2) + r * u[0] @ u[0]
    assert moves or cost > (1 + 1e-8) * without  # by design, the guard costs next to nothing


def test_many_rows_are_priced_as_a_few_are(monkeypatch):
    """The rows beside their comparators are copied some at a time."""
    X, y, u = drifting(6)
    whole = ol.certificate(ol.CRRLS(0.9, reset_every=9), X, y, comparator=u).ceiling
    monkeypatch.setattr(_forgetting_bound, "ROWS", 7)
    parts = ol.certificate(ol.CRRLS(0.9, reset_every=9), X, y, comparator=u).ceiling
    np.testing.assert_array_equal(parts, whole)


def test_the_guard_against_wind_up_costs_a_comparator_what_it_confirms():
    """A column that is silent for long: Σ₁₁ is divided by four, again and again."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    X[20:390, 1] = 0.0
    y = X @ np.array([1.0, -2.0]) + 0.1 * rng.normal(size=400)
    model = ol.RLS(0.5, shrink=True)
    for u in ([1.0, -2.0], [1.0, 500.0]):
        proof = ol.certificate(ol.RLS(0.5, shrink=True), X, y, comparator=np.array(u))
        assert proof.failed is None
        assert proof.holds.all()
    run = ol.replay(model, X, y)
    proof = ol.certificate(ol.RLS(0.5, shrink=True), X, y)
    assert proof.loss[-1] == pytest.approx(run.cumulative_loss[-1])
    assert proof.holds.all()


@pytest.mark.parametrize("forgetting", [0.3, 0.9, 1.0])
def test_a_hint_is_learnt_first_as_the_label_of_the_row(forgetting):
    X, y, _ = drifting(7)
    hinted = ol.replay(ol.RLS(forgetting, hint="last"), X, y).predictions
    for t in (0, 1, 7, 39):
        model = ol.RLS(forgetting).fit(X[:t], y[:t]) if t else ol.RLS(forgetting)
        model.learn_one(X[t], y[t - 1] if t else 0.0)
        assert hinted[t] == pytest.approx(model.predict_one(X[t]), rel=1e-9, abs=1e-12)


def test_a_hint_changes_predictions_and_not_what_is_learnt():
    X, y, _ = drifting(8)
    hinted, plain = ol.RLS(0.9, hint="last"), ol.RLS(0.9)
    some, others = (ol.replay(model, X, y).predictions for model in (hinted, plain))
    assert np.abs(some[1:] - others[1:]).min() > 0
    assert hinted.coef_.tobytes() == plain.coef_.tobytes()
    assert hinted.covariance_.tobytes() == plain.covariance_.tobytes()


def test_the_rows_of_a_table_are_predicted_without_a_hint():
    """The last label says nothing of them; the next row of the stream is predicted with it."""
    X, y, _ = drifting(9)
    hinted, plain = (ol.RLS(0.9, hint=hint).fit(X[:20], y[:20]) for hint in ("last", None))
    assert hinted.predict(X[20:]).tobytes() == plain.predict(X[20:]).tobytes()
    assert hinted.predict_one(X[20]) != plain.predict_one(X[20])
    inside = [ol.Standardized(ol.RLS(0.9, hint=hint)).fit(X, y) for hint in ("last", None)]
    assert inside[0].predict(X).tobytes() == inside[1].predict(X).tobytes()


def test_a_late_row_is_predicted_with_the_last_label_known_then():
    X, y, _ = drifting(10)
    late, model = ol.Late(ol.RLS(0.9, hint="last")), ol.RLS(0.9, hint="last")
    order = [2, 0, 1, 4, 3]
    predictions = [late.predict_one(x, id=i) for i, x in enumerate(X[:5])]
    assert predictions == [0.0] * 5  # no label is known, so the weights and the hint are 0
    for i in order:
        assert late.learn_one(id=i, y=y[i])
        model.learn_one(X[i], y[i])
        assert late.predict_one(X[6]) == model.predict_one(X[6])
    assert late.model._record.tobytes() == model._record.tobytes()


def test_blocks_of_rows_have_the_hints_of_single_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 70)), rng.normal(size=200)
    bulk, single = (
        ol.replay(ol.RLS(0.98, hint="last"), X, y, engine=engine).predictions
        for engine in ("bulk", "rank-one")
    )
    np.testing.assert_allclose(bulk, single, rtol=1e-9, atol=1e-12)


def test_what_a_hint_cannot_be():
    with pytest.raises(ValueError, match="RLS needs hint to be 'last' or None, got hint='first'"):
        ol.RLS(hint="first").predict_one([1.0])
    with pytest.raises(ValueError, match="needs shrink=False with a hint, got shrink=True"):
        ol.RLS(shrink=True, hint="last").predict_one([1.0])
    model = ol.RLS(hint="last").fit([[1.0]], [2.0])
    model.hint = None
    with pytest.raises(ValueError, match="RLS needs the hint it began with, hint='last', got"):
        model.predict_one([1.0])
    inside = ol.Standardized(ol.RLS()).fit([[1.0], [2.0]], [2.0, 1.0])
    inside.set_params(learner__hint="last")
    with pytest.raises(ValueError, match=r"it began with, .*learner__hint=None, got .*'last'"):
        inside.predict_one([1.0])


@pytest.mark.parametrize("forgetting", [0.3, 0.9, 1.0])
def test_the_discounted_forward_algorithm_learns_the_row_with_label_0_first(forgetting):
    """Its prediction is xᵀ(rA + xxᵀ)⁻¹rθ: that of RLS after a row with label 0."""
    X, y, _ = drifting(3)
    shrunk = ol.replay(ol.RLS(forgetting, shrink=True), X, y).predictions
    for t in (0, 1, 7, 39):
        model = ol.RLS(forgetting)
        for x, label in zip(X[:t], y[:t], strict=True):
            model.learn_one(x, label)
        model.learn_one(X[t], 0.0)
        assert shrunk[t] == pytest.approx(model.predict_one(X[t]), rel=1e-9, abs=1e-12)


def test_shrunk_predictions_without_forgetting_are_those_of_aar():
    X, y, _ = drifting(4)
    ours = ol.replay(ol.RLS(1.0, b=0.5, shrink=True), X, y).predictions
    np.testing.assert_allclose(ours, ol.replay(ol.AAR(0.5), X, y).predictions, rtol=1e-9)


def test_golden_numbers_of_the_discounted_forward_algorithm():
    rows = np.arange(1, 6)
    X, y = np.cos(np.outer(rows, [1, 2, 3])), np.sin(2 * rows)
    golden = [0, -0.130170850237, 0.0452161188014, -0.377588778864, 0.0663046067071]
    found = ol.replay(ol.RLS(0.8, shrink=True), X, y).predictions
    np.testing.assert_allclose(found, golden, rtol=1e-9, atol=1e-12)


def test_golden_numbers_of_the_hinted_form():
    rows = np.arange(1, 6)
    X, y = np.cos(np.outer(rows, [1, 2, 3])), np.sin(2 * rows)
    golden = [0, 0.455615420171, -0.560622912704, -0.493891296834, 0.700285271076]
    found = ol.replay(ol.RLS(0.8, hint="last"), X, y).predictions
    np.testing.assert_allclose(found, golden, rtol=1e-9, atol=1e-12)


def test_labels_beyond_the_clip_end_the_bound():
    X, y, _ = drifting(5)
    proof = ol.certificate(ol.RLS(0.9, clip=0.1), X, y)
    assert "|y| ≤ clip" in proof.failed
