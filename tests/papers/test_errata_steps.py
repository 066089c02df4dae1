"""Misprints in steps of proofs, and in formulas, that change nothing: both sides, evaluated.

``docs/errata.md`` lists them under "Misprints without effect".
"""

import numpy as np
import pytest

import onlinear as ol
from onlinear import bregman

# --- Jamil & Bouchachia -------------------------------------------------------------------------


def stream(rows=12, n=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, n)), rng.normal(size=rows)


def test_the_steps_23_to_25_with_D_the_identity():
    a, (X, y) = 0.7, stream()
    A, b, least = a * np.eye(3), np.zeros(3), 0.0  # least: the f of Lemma 1
    for x, label in zip(X, y, strict=True):
        before, was = np.linalg.inv(A), least
        A = A + np.outer(x, x)  # after (24): A_t − A_{t−1} = xxᵀ, not A_{t−1} − A_t
        now = np.linalg.inv(A)
        said = b @ now @ x
        b_next = b + label * x
        least = was + label**2 - b_next @ now @ b_next + b @ before @ b
        regret = (label - said) ** 2 - (least - was)
        common = b @ (now @ np.outer(x, x) @ now - before + now) @ b
        assert regret == pytest.approx(label**2 * (x @ now @ x) + common)
        assert abs(regret - label**2 * (x @ before @ x) - common) > 1e-6  # (24) as printed
        of_25 = label**2 * (x @ now @ x) - (x @ before @ x) * said**2
        assert regret == pytest.approx(of_25)
        b = b_next
    w = np.array([1.0, -2.0, 0.5])
    left, loss = w @ A @ w - 2 * w @ b + np.sum(y**2), np.sum((y - X @ w) ** 2)
    assert left == pytest.approx(loss + a * w @ w)  # (23), which has ‖w‖² alone
    assert abs(left - loss - w @ w) > 0.1


def test_29_gives_the_weights_of_the_same_round():
    X, y = stream(rows=2)
    model = ol.OSLOG(a=0.5, floor=0.0, first="w0")
    weights = [np.ones(3)]
    for x, label in zip(X, y, strict=True):
        model.learn_one(x, label)
        weights.append(model.coef_)
    for t in (1, 2):
        A = 0.5 * np.diag(1 / np.abs(weights[t - 1])) + X[:t].T @ X[:t]
        assert weights[t] == pytest.approx(np.linalg.solve(A, X[:t].T @ y[:t]))


def test_the_posterior_of_lemma_5_needs_the_inverse_of_D_and_30_no_eta():
    (X, y), eta, a, D = stream(), 0.3, 0.5, np.array([0.5, 2.0, 0.1])
    S, b = X.T @ X, X.T @ y

    def minus_log(w, prior):
        return a * eta * w @ (prior * w) + eta * np.sum((y - X @ w) ** 2)

    best = np.linalg.solve(a * np.diag(1 / D) + S, b)  # (29)
    near = best + 1e-3 * np.random.default_rng(1).normal(size=(200, 3))
    assert all(minus_log(w, 1 / D) > minus_log(best, 1 / D) for w in near)
    assert any(minus_log(w, D) < minus_log(best, D) for w in near)  # as printed
    left = a * best @ (best / D) + np.sum((y - X @ best) ** 2)
    right = best @ (a * np.diag(1 / D) + S) @ best - 2 * best @ b
    assert left - right == pytest.approx(np.sum(y**2))  # (30): equal up to a constant in w
    other = near[0]
    shifted = a * other @ (other / D) + eta * np.sum((y - X @ other) ** 2)
    assert abs(shifted - other @ (a * np.diag(1 / D) + S) @ other + 2 * other @ b - y @ y) > 0.1


# --- Herbster & Warmuth -------------------------------------------------------------------------


def test_the_proof_of_theorem_6_ends_with_0():
    def g(p, w):
        return p * np.log(p / w) + w - p

    w, low, p = 0.02, 0.05, 0.3  # w_i < α/n < p_i
    assert g(p, w) > g(low, w) > g(w, w) == 0.0
    assert w * np.log(w / low) + w - w < 0.0  # what is printed in the place of g(w, w)


def lifted():
    w, alpha = np.array([0.02, 0.03, 0.15, 0.3, 0.5]), 0.4
    v = bregman.project_simplex(w, alpha)
    return w, alpha / w.size, v, v < alpha / w.size * (1 + 1e-12)


def test_claim_1_sums_over_the_weights_that_are_not_lifted():
    w, low, v, index = lifted()
    assert index.sum() == 2
    rest = 1 - index.sum() * low
    assert v[~index].sum() == pytest.approx(rest)
    assert w[~index].sum() == pytest.approx(1 - w[index].sum())
    assert abs(v[index].sum() - rest) > 0.1  # i ∈ Ψ, as printed
    np.testing.assert_allclose(v[~index], rest / w[~index].sum() * w[~index])


def test_the_second_line_of_claim_2_has_a_plus():
    w, low, v, index = lifted()
    m = (v[~index] / w[~index])[0]
    p, q = w[2], w[4]
    first = m * p * np.log(m) + low * np.log(low / q) - low * np.log(low / p)
    first -= m * p * np.log(m * p / q)
    assert first == pytest.approx(m * p * np.log(q / p) + low * np.log(p / q))
    assert first == pytest.approx((m * p - low) * np.log(q / p))  # the third line
    assert abs(first - m * p * np.log(q / p) + low * np.log(p / q)) > 0.01  # the second, as printed


def test_45_has_the_loss_of_the_sequence():
    X, y = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([1.0, 0.0])
    u = np.array([[0.95, 0.05], [0.05, 0.95]])
    proof = ol.certificate(ol.EG.from_range(X=1.0, alpha=0.1), X, y, comparator=u)
    assert proof.holds.all()
    of_path = np.sum((y - np.sum(u * X, axis=1)) ** 2)
    of_one = [np.sum((y - X @ each) ** 2) for each in u]
    assert of_path < min(of_one)  # so (45) is smaller than with the loss of one u of the sequence
    size = np.log(2) + 0.5 * np.log(2 / 0.1) * np.abs(np.diff(u, axis=0)).sum()
    assert proof.ceiling[-1] <= 1.5 * of_path + 1.5 * size


def test_the_display_in_the_proof_of_lemma_17_has_the_quotient_upside_down():
    D, u = bregman.unnormalised_entropy, np.array([1.0, 0.0])
    before, after = np.array([0.05, 0.7]), np.array([0.1, 0.7])  # w' and w''
    left = D(u, before) - D(u, after)
    moved = np.sum(before - after)
    assert left == pytest.approx(moved + np.sum(u * np.log(after / before)))
    assert abs(left - moved - np.sum(u * np.log(before / after))) > 1.0  # as printed


# --- Cesa-Bianchi, Conconi & Gentile ------------------------------------------------------------


def test_the_first_divergence_in_the_proof_of_theorem_3_has_the_square_of_the_norm():
    a, u = 0.8, np.array([0.0, 2.0])
    first = 0.5 * u @ (a * np.eye(2)) @ u  # d_1(u, w_1), w_1 = 0
    assert first == pytest.approx(0.5 * a * np.linalg.norm(u) ** 2)
    assert first > 0.5 * a * np.linalg.norm(u)  # the bound as printed; equal if ‖u‖ = 1
