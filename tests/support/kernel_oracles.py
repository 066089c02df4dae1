"""Oracles of kernel learners: linear learners on features whose inner products are the kernel."""

import numpy as np
from first_order_oracles import Run

from onlinear.kernels import RBF


def gram(kernel, X):
    return np.array([kernel(X, x) for x in X])


def features(kernel, X):
    """Return rows whose inner products are K(x_i, x_j), by an eigendecomposition."""
    values, vectors = np.linalg.eigh(gram(kernel, X))
    return vectors * np.sqrt(np.maximum(values, 0.0))


def in_feature_space(linear):
    """Return the oracle of a kernel learner, given that of the linear one."""

    def oracle(X, y, kernel=RBF(), budget=None, **params):  # noqa: B008
        assert budget is None
        run = linear(features(kernel, X), y, **params)
        return Run(run.predictions, None, None, run.resets)

    return oracle


def normal_equations(X, y, kernel, b, budget, c=np.inf, weighted=False):
    """Return m and χ of each round for the last ``budget`` examples, solved afresh.

    Labels s and t covary by (1/b + (min(s, t) − o)/c)·K(x_s, x_t), and have the noise 1, or 1 − χ.
    Time counts from the origin o, which is moved to the oldest example once that has aged by more
    than half the budget.
    """
    K, t, origin = gram(kernel, X), np.arange(len(X)), 0
    noise, m, chi = np.ones(len(X)), np.zeros(len(X)), np.zeros(len(X))
    for i in t:
        if i - budget - origin > budget // 2:
            origin = i - budget
        cov = (1 / b + (np.minimum(t[:, None], t) - origin) / c) * K
        past = t[max(0, i - budget) : i]
        solved = np.linalg.solve(cov[np.ix_(past, past)] + np.diag(noise[past]), cov[past, i])
        m[i], chi[i] = solved @ y[past], cov[i, i] - solved @ cov[past, i]
        noise[i] = 1 - chi[i] if weighted else 1.0
    return m, chi


def figure_3_3(X, y, kernel, b):
    """Kernel WEMM as printed: four nested sums for each entry of β."""
    K = gram(kernel, X)
    alpha, beta, predictions = np.zeros(0), np.zeros((0, 0)), []
    for t in range(len(X)):
        k = K[t, :t]
        predictions.append(sum(alpha[i] * k[i] for i in range(t)))
        e = y[t] - sum(alpha[i] * k[i] for i in range(t))
        new_alpha, new_beta = np.zeros(t + 1), np.zeros((t + 1, t + 1))
        for i in range(t):
            new_alpha[i] = alpha[i] + e * sum(beta[i, j] * k[j] for j in range(t))
            for j in range(t):
                new_beta[i, j] = beta[i, j] - sum(
                    beta[l, j] * beta[i, m] * k[m] * k[l] for l in range(t) for m in range(t)
                )
            new_beta[t, i] = -sum(beta[l, i] * k[l] for l in range(t)) / b
            new_beta[i, t] = -sum(beta[i, l] * k[l] for l in range(t)) / b
        new_alpha[t], new_beta[t, t] = e / b, -1 / b**2
        alpha, beta = new_alpha, new_beta
    return np.array(predictions), alpha


def descent_with_a_budget(X, y, kernel, eta, radius, budget):
    """Kernel GD on explicit weights, each example's share of them remembered."""
    rows = features(kernel, X)
    shares, predictions = [], []
    for x, label in zip(rows, y, strict=True):
        w = np.sum([a * z for a, z in shares], axis=0) if shares else np.zeros(rows.shape[1])
        predictions.append(w @ x)
        shares = [*shares, (-2 * eta * (w @ x - label), x)][-budget:]
        length = np.linalg.norm(np.sum([a * z for a, z in shares], axis=0))
        if radius is not None and length > radius:
            shares = [(a * radius / length, z) for a, z in shares]
    return np.array(predictions)
