"""The theorems in their true form: identities, hostile streams, and the papers' own shapes."""

import math

import hostile
import numpy as np
import pytest
from minmax_oracles import drifting_least_squares
from table import stream

import onlinear as ol
from onlinear import hindsight
from onlinear.algorithms import wemm

SIX = ("random_rows", "rotating", "switching", "collinear", "heavy_tailed", "adaptive")
SEEDS = range(3)


def six(kind, seed, make=ol.AAR, rows=60, d=3):
    """Return a stream of one of the six kinds; the adaptive adversary plays against ``make()``."""
    rng = np.random.default_rng(seed)
    if kind == "adaptive":
        X, y = hostile.random_rows(rng, rows, d)
        return X, hostile.adversary(make, X, y, rng)
    return getattr(hostile, kind)(rng, rows, d)


def least_penalised(X, y, b, weights=None):
    """Return min b‖u‖² + Σ a(y − uᵀx)², by an orthogonal factorisation."""
    root = np.ones(len(y)) if weights is None else np.sqrt(weights)
    rows = np.vstack([math.sqrt(b) * np.eye(X.shape[1]), root[:, None] * X])
    labels = np.concatenate([np.zeros(X.shape[1]), root * y])
    return np.sum((labels - rows @ np.linalg.lstsq(rows, labels, rcond=None)[0]) ** 2)


def certainties(X, b, weigh=lambda chi: 1.0):
    """Return χ_t = xᵀA⁻¹x before each row, A = bI + Σ weigh(χ)·xxᵀ, by solving anew each time."""
    A, found = b * np.eye(X.shape[1]), []
    for x in X:
        found.append(x @ np.linalg.solve(A, x))
        A += weigh(found[-1]) * np.outer(x, x)
    return np.array(found)


# --- identities -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", SIX)
def test_wemm_loses_exactly_the_least_weighted_loss(kind, seed):
    """Thesis, Theorem 4."""
    b = 1.2 * np.max(np.sum(six(kind, seed)[0] ** 2, axis=1))
    X, y = six(kind, seed, lambda: ol.WEMM(b))
    weights = 1 / (1 - certainties(X, b, lambda chi: 1 / (1 - chi)))
    proof = ol.certificate(ol.WEMM(b), X, y)
    for t in (1, 2, 30, 60):
        expected = least_penalised(X[:t], y[:t], b, weights[:t])
        assert proof.loss[t - 1] == pytest.approx(expected, rel=1e-10)
        assert proof.comparator[t - 1] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", SIX)
def test_arowr_loses_the_least_loss_once_each_round_is_weighted(kind, seed):
    """Σ ℓ_t·r/(r+χ_t) = min over u of (rb‖u‖² + L(u)), with χ of AROWR's own Σ."""
    r, b = 0.7, 3.0
    X, y = six(kind, seed, lambda: ol.AROWR(r, b))
    losses = ol.replay(ol.AROWR(r, b), X, y).losses
    weighted = losses * r / (r + certainties(X, b, lambda chi: 1 / r))
    for t in (1, 2, 30, 60):
        expected = least_penalised(X[:t], y[:t], r * b)
        assert weighted[:t].sum() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", SIX)
def test_the_best_drifting_sequence_is_brute_force_least_squares(kind, seed):
    X, y = six(kind, seed, rows=25)
    for b, c in ((1.0, 10.0), (0.1, 0.5)):
        best = hindsight.best_drifting(X, y, b, c)
        path = hindsight.drifting_path(X, y, b, c)
        misses = np.sum((y - np.sum(X * path, axis=1)) ** 2)
        cost = b * path[0] @ path[0] + c * hindsight.squared_drift(path) + misses
        assert cost == pytest.approx(best[-1], rel=1e-10)
        for t in (1, 2, 25):
            brute = drifting_least_squares(X[:t], y[:t], b, c)
            assert best[t - 1] == pytest.approx(brute, rel=1e-10)


@pytest.mark.parametrize("kind", SIX)
def test_laser_unshrunk_loses_the_least_cost_once_each_round_is_weighted(kind):
    """The Kalman filter's identity, Σ ℓ_t/(1+χ_t) = min Q_T."""
    b, c = 2.0, 5.0
    X, y = six(kind, 0, lambda: ol.LASER(b, c, shrink=False))
    losses = ol.replay(ol.LASER(b, c, shrink=False), X, y).losses
    S, total = np.eye(3) / b, 0.0
    for x, loss in zip(X, losses, strict=True):
        chi = x @ S @ x
        total += loss / (1 + chi)
        S = np.linalg.inv(np.linalg.inv(S) + np.outer(x, x)) + np.eye(3) / c
    assert total == pytest.approx(drifting_least_squares(X, y, b, c), rel=1e-8)


# --- hostile streams ------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*hostile.CERTIFIED, *hostile.WITH_LOSS])
def test_certificates_hold_on_hostile_streams(name):
    """The thousand of them are ``benchmarks/hostile_streams.py``."""
    assert [wrong for seed in range(48) for wrong in hostile.broken_bounds(name, seed)] == []


# --- the shapes of the papers ---------------------------------------------------------------


def ceilings(model, X, y, u=None):
    proof = ol.certificate(model, X, y, comparator=u)
    assert proof.failed is None
    return proof.ceiling


@pytest.mark.parametrize("kind", SIX)
def test_aar_has_vovks_and_forsters_logarithm(kind):
    X, y = six(kind, 1)
    b, Y = 0.5, np.abs(y).max()
    log_det = np.linalg.slogdet((b * np.eye(3) + X.T @ X) / b)[1]
    vovk = hindsight.best_fixed(X, y, b)[-1] + Y**2 * log_det
    assert ceilings(ol.AAR(b), X, y)[-1] <= vovk
    same = ceilings(ol.LASER(b, c=math.inf), X, y)
    assert ceilings(ol.AAR(b), X, y).tobytes() == same.tobytes()


def test_ridge_clipped_has_four_times_that_logarithm():
    X, y = stream(200)
    b, Y = 0.5, np.abs(y).max()
    log_det = np.linalg.slogdet((b * np.eye(5) + X.T @ X) / b)[1]
    azoury = hindsight.best_fixed(X, y, b)[-1] + 4 * Y**2 * log_det
    assert ceilings(ol.Ridge(b, clip=Y), X, y)[-1] <= azoury


@pytest.mark.parametrize("kind", SIX)
def test_lasers_extra_is_at_most_lemma_13_without_its_first_term(kind):
    b, c = 0.5, 20.0
    X, y = six(kind, 2, lambda: ol.LASER(b, c))
    D, traces = b * np.eye(3), 0.0
    for t, x in enumerate(X):
        if t:
            traces += np.trace(D)
            D = np.linalg.inv(np.linalg.inv(D) + np.eye(3) / c)
        D += np.outer(x, x)
    lemma_13 = np.linalg.slogdet(D / b)[1] + traces / c
    best, Y = hindsight.best_drifting(X, y, b, c)[-1], np.abs(y).max()
    assert ceilings(ol.LASER(b, c), X, y)[-1] <= (best + Y**2 * lemma_13) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_wemms_weighted_loss_obeys_theorems_5_and_6(seed):
    rng = np.random.default_rng(seed)
    X, y = hostile.KINDS[seed % len(hostile.KINDS)](rng, 80, 3)
    longest = np.linalg.norm(X, axis=1).max()
    b = longest**2 * rng.choice([1.05, 2.0])
    chi = certainties(X, b, lambda chi: 1 / (1 - chi))
    u = rng.normal(size=3) * rng.choice([0.1, 1.0])
    losses = (y - X @ u) ** 2
    weighted = np.sum(losses / (1 - chi))
    assert weighted <= wemm.theorem_5(losses, -np.log1p(-chi).sum(), b, longest) * (1 + 1e-12)
    assert weighted <= wemm.theorem_6(losses, 3, b, longest) * (1 + 1e-12)


def test_arcors_extra_is_at_most_the_logarithms_of_its_segments():
    """2(R_B² + Y²) Σ_segments ln det Σ̃⁻¹, the row of a reset belonging to the segment it ends."""
    X, y = stream(300)
    model, r, radius = ol.ARCOR(r=0.3, radius=0.7, q=1.5), 0.3, 0.7
    logs, gram, resets = 0.0, np.eye(5), 0
    watched = ol.ARCOR(r=r, radius=radius, q=1.5)
    for x, label in zip(X, y, strict=True):
        watched.learn_one(x, float(label))
        gram += np.outer(x, x) / r
        if watched.resets_ > resets:
            logs += np.linalg.slogdet(gram)[1]
            gram, resets = np.eye(5), watched.resets_
    logs += np.linalg.slogdet(gram)[1]
    proof = ol.certificate(model, X, y)
    assert resets > 5
    assert proof.bound[-1] <= 2 * (radius**2 + np.abs(y).max() ** 2) * logs


def test_cirrs_extra_is_at_most_the_positive_parts_and_the_logarithms():
    X, y = stream(80)
    a, Y = 0.5, np.abs(y).max()
    model = ol.CIRR(a, floor=0.0)
    before, w, extra = None, np.ones(5), 0.0
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        M = np.linalg.inv(a * np.diag(1 / np.abs(w)) + X[:t].T @ X[:t])
        v = M @ X[:t].T @ y[:t]
        extra += Y**2 * math.log1p(x @ M @ x)
        if before is not None:
            extra += a * np.sum(v * v * np.maximum(1 / np.abs(before) - 1 / np.abs(w), 0))
        model.learn_one(x, float(label))
        before, w = w, model.coef_
    assert ol.certificate(ol.CIRR(a, floor=0.0), X, y).bound[-1] <= extra


def least_over_k(loss, price, q):
    """Return the least of (L + kp)/(k(2 − k − 2q)) over k; with one k, it is a printed theorem."""
    k = np.linspace(0, 2 - 2 * q, 1_000_001)[1:-1]
    return np.min((loss + k * price) / (k * (2 - k - 2 * q)))


def test_at_the_theorems_rates_the_shifting_bounds_are_the_theorems_or_below():
    rng = np.random.default_rng(0)
    X, y = stream(60, d=4)
    u = rng.dirichlet(np.ones(4), size=3)[np.sort(rng.integers(3, size=60))]
    loss = np.cumsum((y - np.sum(X * u, axis=1)) ** 2)[-1]
    one, two = hindsight.total_drift(u, norm=1), hindsight.total_drift(u)
    # Theorem 14, (43)
    longest = np.linalg.norm(X, axis=1).max()
    gd = 2 * loss + 4 * longest**2 * (u[-1] @ u[-1] / 2 + two)
    found = ceilings(ol.GD.from_range(longest, radius=1.0), X, y, u)[-1]
    price = 4 * longest**2 * (u[-1] @ u[-1] / 2 + two)
    assert found == pytest.approx(least_over_k(loss, price, 1 / 4), rel=1e-9)
    assert found <= gd
    # Theorem 16, (45): the entropy of the last predictor is kept here
    spread, alpha = np.ptp(X, axis=1).max(), 0.01
    inside = (1 - alpha) * u + alpha / 4
    loss_inside = np.sum((y - np.sum(X * inside, axis=1)) ** 2)
    drift = 0.5 * math.log(4 / alpha) * hindsight.total_drift(inside, norm=1)
    last = np.sum(inside[-1] * np.log(inside[-1]))
    eg = 1.5 * loss_inside + 1.5 * spread**2 * (math.log(4) + last + drift)
    found = ceilings(ol.EG.from_range(spread, alpha), X, y, inside)[-1]
    price = 1.5 * spread**2 * (math.log(4) + last + drift)
    assert found == pytest.approx(least_over_k(loss_inside, price, 1 / 6), rel=1e-9)
    assert found <= eg
    # Theorem 18, (50), with the tail's sign put right
    high, Y, alpha = X.max(), 1.0, 0.3
    entropy = -np.sum(u[-1] * np.log(u[-1]))
    egu = 3 * loss + 3 * high * Y * (
        math.log(4) + math.log(4 / alpha) * one + alpha * 59 - 1 - entropy + 1
    )
    found = ceilings(ol.EGU.from_range(high, Y, alpha), X, y, u)[-1]
    assert found == pytest.approx(egu, rel=1e-12)


def test_egpm_at_the_theorems_rate_has_its_bound():
    """L ≤ 3(L_u + U²X² ln 2n)."""
    X, y = stream(60, d=4)
    u, U, reach = np.array([0.5, -0.5, 0.2, 0.0]), 2.0, np.abs(X).max()
    theorem = 3 * (np.sum((y - X @ u) ** 2) + U**2 * reach**2 * math.log(8))
    assert ceilings(ol.EGPM.from_range(reach, U), X, y, u)[-1] <= theorem


def test_theorem_14_is_met_with_equality():
    """One round, x = 1, y = 2, u = 1: gradient descent loses 4, and the bound is 2·1 + 4·½."""
    proof = ol.certificate(ol.GD.from_range(1.0), [[1.0]], [2.0], comparator=[1.0])
    assert proof.loss[0] == proof.ceiling[0] == 4.0


def test_the_certificates_never_take_the_learners_word():
    """A learner that predicts nonsense is compared with the same figures as a sound one."""
    from mutants import SIGN

    X, y = stream(40)
    sound, broken = ol.certificate(ol.AAR(), X, y), ol.certificate(SIGN["AAR"](), X, y)
    assert sound.ceiling.tobytes() == broken.ceiling.tobytes()
    assert sound.comparator.tobytes() == broken.comparator.tobytes()
    assert broken.loss[-1] > sound.loss[-1]


# --- parameters from theory -----------------------------------------------------------------


def test_lasers_c_is_the_least_of_its_bound():
    T, V, X, Y, d = 5000, 2.0, 1.5, 0.8, 7
    c = ol.LASER.from_drift(T, V, X, Y, d).c

    def rate(c):
        return c * V + Y**2 * T * d * 2 * X * math.sqrt(2 * c) / c

    assert rate(c) < min(rate(0.99 * c), rate(1.01 * c))
    closed_form = 3 * (math.sqrt(2) * Y**2 * d * X) ** (2 / 3) * T ** (2 / 3) * V ** (1 / 3)
    assert rate(c) == pytest.approx(closed_form)


@pytest.mark.parametrize("seed", range(5))
def test_laser_from_drift_keeps_the_corrected_corollary(seed):
    """L ≤ b‖u_1‖² + L(u) + 3(√2Y²dX)^{2/3} T^{2/3} V^{1/3} + Y² ln|D_T/b|."""
    rng = np.random.default_rng(seed)
    T, d = 400, 3
    X = rng.normal(size=(T, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    u = np.cumsum(rng.normal(size=(T, d)) * 0.02, axis=0)
    y = np.sum(X * u, axis=1) + 0.1 * rng.normal(size=T)
    V, Y = hindsight.squared_drift(u), np.abs(y).max()
    model = ol.LASER.from_drift(T, V, 1.0, Y, d)
    D = model.b * np.eye(d)
    for t, x in enumerate(X):
        if t:
            D = np.linalg.inv(np.linalg.inv(D) + np.eye(d) / model.c)
        D += np.outer(x, x)
    closed_form = 3 * (math.sqrt(2) * Y**2 * d) ** (2 / 3) * T ** (2 / 3) * V ** (1 / 3)
    loss = np.sum((y - np.sum(X * u, axis=1)) ** 2)
    most = model.b * u[0] @ u[0] + loss + closed_form + Y**2 * np.linalg.slogdet(D / model.b)[1]
    proof = ol.certificate(model, X, y, comparator=u)
    assert proof.loss[-1] <= proof.ceiling[-1] <= most


def test_laser_from_drift_without_drift_and_with_too_much():
    assert ol.LASER.from_drift(100, 0.0, 1.0, 1.0, 3).c == math.inf
    with pytest.raises(ValueError, match=r"needs V ≤ .*, got V=1e\+06"):
        ol.LASER.from_drift(100, 1e6, 1.0, 1.0, 3)
    small = ol.LASER.from_drift(100, 300.0, 1.0, 1.0, 3)
    assert small.b <= 2 * math.sqrt(2 * small.c) - 1


def test_arcor_from_drift_balances_the_two_terms_of_its_bound():
    T, r, radius = 10**6, 0.5, 2.0
    for power in (0.2, 0.5, 0.8):
        V = radius * (T / r) ** power
        q = ol.ARCOR.from_drift(T, V, radius, r).q
        resets = (T / r) ** (1 / q)
        assert resets == pytest.approx(resets ** (q - 1) * V / radius)
    assert ol.ARCOR.from_drift(T, 0.0, radius, r).q == math.inf
    assert ol.ARCOR.from_drift(T, T * radius * 10, radius, r).q == 1.0


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (lambda: ol.LASER.from_drift(0, 1.0, 1.0, 1.0, 1), "LASER.from_drift .* 1 ≤ T"),
        (lambda: ol.LASER.from_drift(10, -1.0, 1.0, 1.0, 1), "LASER.from_drift .* 0 ≤ V"),
        (lambda: ol.ARCOR.from_drift(10, 1.0, radius=0.0), "ARCOR.from_drift .* 0 < radius"),
        (lambda: ol.EGU.from_drift(1, 1.0, 1.0, 1.0), "EGU.from_drift .* 2 ≤ T"),
        (lambda: ol.EGU.from_range(0.0, 1.0), "0 < X"),
        (lambda: ol.GD.from_range(-1.0), "GD.from_range .* 0 < X"),
        (lambda: ol.EG.from_range(0.0), "0 < X"),
        (lambda: ol.EGPM.from_range(1.0, U=0.0), "0 < U"),
    ],
)
def test_what_theory_is_told_is_checked(call, rule):
    with pytest.raises(ValueError, match=rule):
        call()
