"""Projections on linear constraints from far away, where Newton's method alone overshoots."""

import numpy as np
import pytest

import onlinear as ol
from onlinear._updates import projections
from onlinear._updates.projections import P_NORM, POSITIVE, SHARES, weights_from
from onlinear.losses import Quantile
from onlinear.sets import HalfSpace, HyperPlane, Intersection


def weights(geometry, p, theta):
    w = np.zeros(theta.size)
    weights_from(geometry, p, theta.copy(), w)
    return w


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("geometry", [POSITIVE, SHARES, P_NORM])
def test_the_constraint_holds_after_the_projection(geometry, equal):
    rng = np.random.default_rng(geometry)
    checked = 0
    for _ in range(400):
        n, p = int(rng.integers(1, 8)), float(rng.choice([2.0, 3.0, 10.0, 100.0]))
        a = rng.normal(size=n)
        a /= np.linalg.norm(a)
        theta = np.clip(rng.normal(size=n) * 10 ** rng.uniform(-2, 2.5), -600.0, 600.0)
        c = a @ weights(geometry, p, rng.normal(size=n) * 10 ** rng.uniform(-2, 1))
        if not equal and a @ weights(geometry, p, theta) <= c:
            continue
        projections._on_half_space(geometry, p, a, c, equal, theta)
        w = weights(geometry, p, theta)
        assert abs(a @ w - c) <= 1e-9 * max(abs(c), np.abs(w).max())
        checked += 1
    assert checked > 100


def test_a_certificate_holds_where_a_step_leads_far_outside():
    X, y = np.tile([1.0, 0.0], (6, 1)), np.zeros(6)
    within = HalfSpace([-1.0, 0.0], -0.3)
    model = ol.EGU(eta=12.0, Y=1.0, loss=Quantile(0.5), within=within)
    proof = ol.certificate(model, X, y, comparator=np.array([0.3, 0.1]))
    assert proof.failed is None
    assert proof.holds.all()


@pytest.mark.parametrize(
    ("within", "n", "expected"),
    [
        (HalfSpace([-1.0] + [0.0] * 299, -1.0), 300, 1.0),
        (HalfSpace([-1.0] + [0.0] * 49, -5.0), 50, 5.0),
        (HyperPlane([1.0, 1.0], 500.0), 2, 250.0),
        (Intersection(HyperPlane([1.0], 250.0), HalfSpace([1.0], 500.0), exact=True), 1, 250.0),
    ],
)
def test_weights_of_egu_are_where_the_set_has_them(within, n, expected):
    model = ol.EGU(within=within)
    model.learn_one(np.zeros(n), 0.0)
    assert model.coef_[0] == pytest.approx(expected, rel=1e-12)


def test_shares_of_eg_are_in_the_set_after_a_label_far_away():
    model = ol.EG(within=HyperPlane([1.0, 0.0], 0.05))
    model.learn_one([1.0, 0.0], -150.0)
    assert model.coef_ == pytest.approx([0.05, 0.95], rel=1e-12)
