"""Oracles: the learners in slow textbook form, straight from the mathematics of the papers.

Each oracle takes a stream and the learner's parameters and returns a :class:`Run`. Matrices are
inverted or solved afresh every round; nothing is updated by a rank-one formula.
"""

import math

import numpy as np
from auto_oracle import auto
from first_order_oracles import Run, eg, egpm, egu, gd, nlms, ogd, pnorm
from kernel_oracles import in_feature_space
from scipy.optimize import brentq
from slow_projections import project_ellipsoid


def solve(A, b):
    """Return A⁻¹b for positive definite A, scaled to a unit diagonal first.

    Columns of scales 1e-3..1e3 would otherwise cost the oracle ten digits.
    """
    scale = 1 / np.sqrt(np.diag(A))
    return (scale * np.linalg.solve(scale[:, None] * A * scale, (scale * b.T).T).T).T


def inv(A):
    return solve(A, np.eye(len(A)))


# --- second order, stationary: as least squares -----------------------------------------------


def weighted_least_squares(X, y, weights, prior):
    """Return argmin over u of prior·‖u‖² + Σ weight_s (y_s − uᵀx_s)², and the matrix of it."""
    A = prior * np.eye(X.shape[1]) + X.T @ (weights[:, None] * X)
    return solve(A, X.T @ (weights * y)), A


def ridge(X, y, b=1.0, clip=None):
    predictions = [weighted_least_squares(X[:t], y[:t], np.ones(t), b)[0] @ X[t] for t in _t(X)]
    w, A = weighted_least_squares(X, y, np.ones(len(y)), b)
    return Run(_clipped(np.array(predictions), clip), w, inv(A))


def aar(X, y, b=1.0, clip=None):
    """Ridge with the present row already in, under the label 0 (Azoury & Warmuth)."""
    pretended = [np.append(y[:t], 0.0) for t in _t(X)]
    fits = [
        weighted_least_squares(X[: t + 1], z, np.ones(t + 1), b)[0] for t, z in enumerate(pretended)
    ]
    return ridge(X, y, b)._replace(predictions=_clipped(np.sum(fits * X, axis=1), clip))


def rls(X, y, forgetting=0.99, b=1.0, shrink=False, clip=None, hint=None):
    """Least squares with weights r^(t−s) and the prior b·rᵗ‖u‖²; a hint is a label of the row."""

    def fit(labels):
        t = len(labels)
        weights = forgetting ** np.arange(t - 1.0, -1.0, -1.0)
        return weighted_least_squares(X[:t], labels, weights, b * forgetting**t)

    hints = [0.0, *y[:-1]] if hint == "last" else np.zeros(len(y))
    hinted = shrink or hint == "last"
    pretended = [[*y[:t], hints[t]] if hinted else y[:t] for t in _t(X)]
    predictions = np.array([fit(np.array(z))[0] @ x for x, z in zip(X, pretended, strict=True)])
    w, A = fit(y)
    return Run(_clipped(predictions, clip), w, inv(A))


def arowr(X, y, r=1.0, b=1.0):
    """Σ⁻¹ = bI + Σ xxᵀ/r and w = Σ·(Σ y x/r)."""

    def fit(t):
        A = b * np.eye(X.shape[1]) + X[:t].T @ X[:t] / r
        return solve(A, X[:t].T @ y[:t] / r), A

    w, A = fit(len(y))
    return Run(np.array([fit(t)[0] @ X[t] for t in _t(X)]), w, inv(A))


def arow(X, y, r=1.0, b=1.0, margin=1.0):
    """AROWR on the rounds with a small margin; the labels are 0 and 1."""
    signs, learnt, predictions = 2 * y - 1, [], []
    for t in _t(X):
        fit = arowr(X[learnt], signs[learnt], r, b) if learnt else None
        predictions.append(0.0 if fit is None else float(X[t] @ fit.w))
        m = signs[t] * predictions[-1]
        if m < margin or m <= 0:
            learnt.append(t)
    fit = arowr(X[learnt], signs[learnt], r, b)
    return Run(np.array(predictions), fit.w, fit.S)


def shrunk(m, chi):
    """Return the root a of a + χ·tanh(a/2) = m, found by bisection."""
    if m == 0:
        return 0.0
    low, high = min(m, 0.0), max(m, 0.0)
    return brentq(lambda a: a + chi * math.tanh(a / 2) - m, low, high, xtol=1e-15)


def logistic_laser(X, y, b=1.0, c=math.inf, reach=40.0):
    """Minimise quadratic costs; w minimises ½(u − w)ᵀP(u − w) + const., the cost so far.

    The activation is that of the minimiser if the losses of both labels are added to the cost.
    """
    kappa = math.tanh(reach / 2) / (reach / 2) if reach else 1.0
    P, w, predictions = 2 * b * np.eye(X.shape[1]), np.zeros(X.shape[1]), []
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        if t and math.isfinite(c):
            P = inv(inv(P) + np.eye(x.size) / (2 * c))
        m, chi = float(x @ w), float(x @ solve(P, x))
        a = shrunk(m, chi)
        p = 1 / (1 + math.exp(-a))
        predictions.append(p)
        curve = kappa * p * (1 - p)
        P_new = P + curve * np.outer(x, x)
        w = solve(P_new, P @ w + (curve * a - (p - label)) * x)
        P = P_new
    return Run(np.array(predictions), w, inv(P))


def wemm_weights(X, b, weight=1.0, c=np.inf):
    """Return the a_t = weight/(1 − x_tᵀA_{t−1}⁻¹x_t), (3.17) of the thesis for weight = 1.

    With drift, A_{t−1}⁻¹ + I/c is in the place of A_{t−1}⁻¹ from t = 2 on.
    """
    A, weights = b * np.eye(X.shape[1]), []
    for t, x in enumerate(X):
        if t > 0 and c < np.inf:
            A = inv(inv(A) + np.eye(x.size) / c)
        weights.append(weight / (1 - x @ solve(A, x)))
        A = A + weights[-1] * np.outer(x, x)
    return np.array(weights)


def wemm(X, y, b=2.0, weight=1.0, c=np.inf):
    """Thesis Figure 3.2: ŷ = b_{t−1}ᵀA_{t−1}⁻¹x_t, a batch problem with the weights a_t."""
    a = wemm_weights(X, b, weight, c)
    if c < np.inf:
        return weighted_laser(X, y, a, b, c)
    predictions = [weighted_least_squares(X[:t], y[:t], a[:t], b)[0] @ X[t] for t in _t(X)]
    w, A = weighted_least_squares(X, y, a, b)
    return Run(np.array(predictions), w, inv(A))


def weighted_laser(X, y, a, b, c):
    """Thesis (5.3) and (5.4) with weights a_t, predictions of the last minimiser u_{t−1}."""
    D, e, predictions = b * np.eye(X.shape[1]), np.zeros(X.shape[1]), []
    for t, (x, label, weight) in enumerate(zip(X, y, a, strict=True)):
        w = solve(D, e)
        predictions.append(w @ x)
        if t > 0:
            D = inv(inv(D) + np.eye(x.size) / c)
            e = D @ w
        D = D + weight * np.outer(x, x)
        e = e + weight * label * x
    return Run(np.array(predictions), solve(D, e), inv(D))


# --- second order, drifting ---------------------------------------------------------------------


def crrls(X, y, forgetting=0.99, reset_every=100):
    """Thesis Table 5.1, by P = Σ⁻¹; the gain Σx/(r + χ) is P̃⁻¹x."""
    w, P = np.zeros(X.shape[1]), np.eye(X.shape[1])
    predictions = []
    for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
        predictions.append(x @ w)
        P = forgetting * P + np.outer(x, x)
        w = w + (label - x @ w) * solve(P, x)
        if t % reset_every == 0:
            P = np.eye(x.size)
    return Run(np.array(predictions), w, inv(P))


def laser(X, y, b=1.0, c=100.0, shrink=True, clip=None):
    """Thesis (5.3), (5.4) and (5.10), by D_t and e_t; unshrunk, by :func:`kalman`."""
    if not shrink:
        run = kalman(X, y, b, c)
        return run._replace(predictions=_clipped(run.predictions, clip))
    I = np.eye(X.shape[1])
    moved_D, moved_e = b * I, np.zeros(X.shape[1])
    predictions = []
    for x, label in zip(X, y, strict=True):
        D = moved_D + np.outer(x, x)
        predictions.append(x @ solve(D, moved_e))
        e = moved_e + label * x
        moved_D = inv(inv(D) + I / c)
        moved_e = moved_D @ solve(D, e)  # (I + D/c)⁻¹ = (D⁻¹ + I/c)⁻¹D⁻¹
    return Run(_clipped(np.array(predictions), clip), solve(D, e), inv(D))


def kalman(X, y, b, c):
    """A Kalman filter for u_{t+1} = u_t + N(0, I/c), y = uᵀx + N(0, 1), in Joseph's form."""
    I = np.eye(X.shape[1])
    w, P, predictions = np.zeros(X.shape[1]), I / b, []
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        P = P + I / c if t else P
        predictions.append(x @ w)
        K = P @ x / (x @ P @ x + 1)
        J = I - np.outer(K, x)
        w, P = w + K * (label - x @ w), J @ P @ J.T + np.outer(K, K)
    return Run(np.array(predictions), w, P)


def arcor(X, y, r=1.0, radius=math.inf, q=2.0, thresholds=None):
    """Vaits & Crammer, Figure 1, by Σ⁻¹ and its eigenvalues."""
    I = np.eye(X.shape[1])
    w, P, i = np.zeros(X.shape[1]), I, 1
    predictions, resets = [], []
    for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
        predictions.append(x @ w)
        P = P + np.outer(x, x) / r
        w = w + (label - x @ w) * solve(P, x) / r
        if np.linalg.eigvalsh(P)[-1] > inverse_threshold(i, q, thresholds) * (1 + 1e-12):
            P, i = I, i + 1
            resets.append(t)
        w = project_ellipsoid(inv(P), w, radius)
    return Run(np.array(predictions), w, inv(P), tuple(resets))


def drift_network(X, y, C=4, r=1.0, radius=math.inf):
    """Vaits & Crammer, section 6: ARCORs, and one more on their predictions."""
    first = [arcor(X, y, r, radius, q) for q in (math.inf, *range(1, C + 1))]
    Z = np.column_stack([run.predictions for run in first])
    second = arcor(Z, y, r, 1.0, math.inf)
    return Run(second.predictions, second.w @ [run.w for run in first])


def inverse_threshold(i, q, thresholds):
    """Return Λ_i⁻¹ of the i-th segment."""
    if thresholds is not None:
        return 1 / thresholds[min(i, len(thresholds)) - 1]
    return math.inf if math.isinf(q) else i ** (q - 1) + 1


def ons(X, y, gamma=0.5, epsilon=1.0, radius=None):
    """Hazan et al., with the matrix A itself."""
    w, A = np.zeros(X.shape[1]), epsilon * np.eye(X.shape[1])
    predictions = []
    for x, label in zip(X, y, strict=True):
        predictions.append(x @ w)
        g = 2 * (x @ w - label) * x
        A = A + np.outer(g, g)
        w = w - solve(A, g) / gamma
        w = project_ellipsoid(inv(A), w, math.inf if radius is None else radius)
    return Run(np.array(predictions), w, inv(A))


# --- sparse shrinkage --------------------------------------------------------------------------


def cirr(X, y, a=1.0, floor=1e-12, w0=1.0, forgetting=1.0, clip=None):
    """Jamil & Bouchachia, Algorithm 1, by M⁻¹ = aD⁻¹ + S outright."""
    run, _ = _shrinkage(X, y, a, floor, w0, forgetting)
    return run._replace(predictions=_clipped(run.predictions, clip))


def oslog(X, y, a=1.0, floor=1e-12, w0=1.0, first="zero", clip=None, forgetting=1.0):
    """Algorithm 2: the weights of CIRR, one round late."""
    run, late = _shrinkage(X, y, a, floor, w0, forgetting)
    late[0] *= first == "w0"
    return run._replace(predictions=_clipped(late, clip))


def _shrinkage(X, y, a, floor, w0, r):
    w = np.broadcast_to(np.asarray(w0, dtype=float), X.shape[1])
    early, late = [], []
    for t, x in enumerate(X):
        late.append(w @ x)
        D = np.maximum(np.abs(w), floor)
        on = D > 0  # an infinite penalty: the weight is 0 and stays 0
        weighted = r ** np.arange(t, -1.0, -1.0)[:, None] * X[: t + 1, on]
        A = a * np.diag(1 / D[on]) + weighted.T @ X[: t + 1, on]  # M = A⁻¹
        early.append(x[on] @ solve(A, y[:t] @ weighted[:t]))
        w = np.zeros(x.size)
        w[on] = solve(A, y[: t + 1] @ weighted)
    return Run(np.array(early), w), np.array(late)


ORACLES = {
    "AAR": aar,
    "ARCOR": arcor,
    "AROW": arow,
    "AROWR": arowr,
    "Auto": auto,
    "CIRR": cirr,
    "CRRLS": crrls,
    "DriftNetwork": drift_network,
    "EG": eg,
    "EGPM": egpm,
    "EGU": egu,
    "GD": gd,
    "KernelAAR": in_feature_space(aar),
    "KernelARCOR": in_feature_space(arcor),
    "KernelCRRLS": in_feature_space(crrls),
    "KernelGD": in_feature_space(gd),
    "KernelLASER": in_feature_space(laser),
    "KernelWEMM": in_feature_space(wemm),
    "LASER": laser,
    "LogisticLASER": logistic_laser,
    "NLMS": nlms,
    "OGD": ogd,
    "ONS": ons,
    "OSLOG": oslog,
    "PNorm": pnorm,
    "RLS": rls,
    "Ridge": ridge,
    "WEMM": wemm,
}


def _t(X):
    return range(len(X))


def _clipped(predictions, limit):
    return predictions if limit is None else np.clip(predictions, -limit, limit)
