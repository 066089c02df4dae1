"""The bounds of AROW and LogisticLASER: margins below 1, hypotheses, and what breaks them."""

import math

import numpy as np
import pytest

import onlinear as ol
from onlinear.losses import Logistic


def hostile_signs(seed, margin):
    """Return an AROW and a stream with labels ±1 chosen by an adversary, or by a rule."""
    rng = np.random.default_rng(seed)
    rows, d = int(rng.integers(5, 120)), int(rng.integers(1, 8))
    X = rng.normal(size=(rows, d)) * 10 ** rng.uniform(-1, 1)
    u = rng.normal(size=d) * 10 ** rng.uniform(-1, 1)
    params = {"r": 10 ** rng.uniform(-2, 2), "b": 10 ** rng.uniform(-1, 1), "margin": margin}
    model, stubborn, y = ol.AROW(**params, classes=(-1, 1)), rng.choice([0.0, 0.6, 1.0]), []
    for x in X:
        true = 1 if u @ x >= 0 else -1
        y.append(true if rng.uniform() < stubborn else (1 if model._number_one(x) <= 0 else -1))
        model.learn_one(x, y[-1])
    return ol.AROW(**params, classes=(-1, 1)), X, np.array(y), u


@pytest.mark.parametrize("margin", [0.0, 0.4, 1.0])
def test_the_bound_on_mistakes_holds_against_any_u_with_any_margin(margin):
    nearest = 0.0
    for seed in range(150):
        model, X, y, u = hostile_signs(seed, margin)
        proof = ol.certificate(model, X, y, comparator=u)
        assert proof.failed is None
        assert proof.holds.all(), (seed, proof)
        mistakes = np.cumsum(proof.run.predictions * proof.run.labels <= 0)
        assert proof.loss.tolist() == mistakes.tolist()
        nearest = max(nearest, float(np.max(proof.loss / proof.ceiling)))
    assert nearest > 0.9


def test_with_a_smaller_margin_a_comparator_has_to_be_given():
    X, y = np.eye(2), [True, False]
    assert ol.certificate(ol.AROW(margin=0.0), X, y).failed.startswith(
        "no bound is known for AROW with a margin below 1, unless weights"
    )
    moved = ol.certificate(ol.AROW(), X, y, comparator=X)
    assert moved.failed.startswith("the bound holds against one u for all rounds")


def test_the_squared_hinge_bound_needs_the_uncertainty_of_arow_itself():
    """An AROWR that learns every row is soon more certain, and its factor 1 + max χ/r too small.

    AROW learns the first row, predicts the next hundred with a margin above 1, so does not learn
    them, and then loses much on a large row.
    """
    X = np.concatenate([[0.1], np.full(100, 0.2), [30.0]])[:, None]
    y = np.concatenate([np.ones(101), [-1.0]])
    proof = ol.certificate(ol.AROW(r=1e-3, classes=(-1, 1)), X, y)
    other = ol.certificate(ol.AROWR(r=1e-3), X, y)
    assert proof.holds.all()
    assert proof.loss[-1] > 3.0 * other.ceiling[-1]


def bold(factor):
    """Return a LogisticLASER with another κ, in its rounds and in its bound."""

    def _params(self):
        params = ol.LogisticLASER._params(self)
        return params._replace(kappa=factor * params.kappa)

    return type("Bold", (ol.LogisticLASER,), {"_params": _params})


def nearest_of(kind):
    """Return the largest loss/ceiling against u = reach, with rows and labels that suit u."""
    nearest = 0.0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x = rng.choice([1.0, 1.0, 0.3], size=40)
        y = (rng.uniform(size=40) < 0.97).astype(float)
        proof = ol.certificate(kind(b=0.05, reach=8.0), x[:, None], y, comparator=[8.0])
        assert proof.failed is None
        nearest = max(nearest, float(np.max(proof.loss / proof.ceiling)))
    return nearest


def test_a_larger_curvature_breaks_the_bound_of_logistic_laser():
    assert nearest_of(ol.LogisticLASER) <= 1.0
    assert nearest_of(bold(4.0)) > 1.2


def test_a_comparator_beyond_the_reach_is_refused_at_its_row():
    X, y = np.array([[1.0], [2.0], [5.0]]), [0.0, 1.0, 1.0]
    proof = ol.certificate(ol.LogisticLASER(reach=4.0), X, y, comparator=[1.0])
    assert proof.failed_from == 2
    assert proof.failed.startswith("the bound holds against one u with |uᵀx| ≤ 4; row 2 has u")
    drifting = ol.certificate(
        ol.LogisticLASER(c=5.0, reach=4.0), X, y, comparator=[[1.0], [1.5], [0.5]]
    )
    assert drifting.failed is None
    loss = float(np.sum(Logistic()([1.0, 3.0, 2.5], y)))
    assert drifting.comparator[-1] == pytest.approx(loss)
    extra = drifting.ceiling[-1] - loss
    assert extra > 1.0 + 5.0 * (0.25 + 1.0)  # b‖u_1‖², the drift, and Σ E


def test_the_extra_terms_are_at_most_the_logarithms():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (rng.uniform(size=300) < 0.5).astype(float)
    proof = ol.certificate(ol.LogisticLASER(b=0.5, reach=4.0), X, y, comparator=np.zeros(3))
    extra = proof.ceiling[-1] - proof.comparator[-1]
    kappa = math.tanh(2.0) / 2.0
    most = np.linalg.slogdet(np.eye(3) + kappa * X.T @ X / (8 * 0.5))[1] / kappa
    assert 0 < extra < most
