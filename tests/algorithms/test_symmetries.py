"""Rotations and units act on the learners as they act on the mathematics."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from table import make, stream

import onlinear as ol

ROTATIONAL = [
    ("AAR", {}),
    ("ARCOR", {"radius": 0.5}),
    ("AROWR", {"r": 0.2}),
    ("CRRLS", {"reset_every": 11}),
    ("GD", {"eta": 0.2, "radius": 0.5}),
    ("LASER", {"c": 5.0}),
    ("NLMS", {}),
    ("OGD", {"eta": 0.2}),
    ("ONS", {"radius": 0.5}),
    ("RLS", {"forgetting": 0.9}),
    ("Ridge", {"b": 0.1}),
    ("WEMM", {}),
]
LINEAR_IN_Y = [case for case in ROTATIONAL if "radius" not in case[1] and case[0] != "ONS"]


def ids(cases):
    return [case[0] for case in cases]


@pytest.mark.parametrize("case", ROTATIONAL, ids=ids(ROTATIONAL))
def test_rotating_the_inputs_rotates_the_weights(case):
    X, y = stream(60)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))[0]
    model, turned = make(case), make(case)
    expected = ol.replay(model, X, y).predictions
    np.testing.assert_allclose(
        ol.replay(turned, X @ turn, y).predictions, expected, rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(turned.coef_, turn.T @ model.coef_, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("case", LINEAR_IN_Y, ids=ids(LINEAR_IN_Y))
@given(power=st.integers(-40, 40))
def test_units_of_the_label_carry_over_bit_for_bit(case, power):
    X, y = stream(30)
    scale = 2.0**power
    expected = ol.replay(make(case), X, y).predictions * scale
    assert ol.replay(make(case), X, y * scale).predictions.tobytes() == expected.tobytes()


@given(power=st.integers(-40, 40))
def test_units_of_the_input_carry_over_with_the_prior(power):
    """x → sx with b → s²b is a change of units of the weights; powers of 4 keep all bits."""
    X, y = stream(30)
    scale = 4.0**power
    for name, params in [("Ridge", {}), ("AAR", {}), ("RLS", {}), ("WEMM", {})]:
        b = ol.LEARNERS[name](**params).b
        expected = ol.replay(make((name, params)), X, y).predictions
        rescaled = ol.replay(make((name, {**params, "b": b * scale**2})), X * scale, y)
        assert rescaled.predictions.tobytes() == expected.tobytes(), name


@given(
    rows=st.lists(
        st.tuples(st.lists(st.floats(-1e8, 1e8), min_size=3, max_size=3), st.floats(-1e8, 1e8)),
        min_size=1,
        max_size=30,
    )
)
def test_sigma_stays_symmetric_and_positive_whatever_comes(rows):
    X, y = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    for case in [
        ("Ridge", {}),
        ("AROWR", {"r": 1e-3}),
        ("RLS", {"forgetting": 0.5}),
        ("CRRLS", {"forgetting": 0.5, "reset_every": 9}),
        ("LASER", {"c": 0.01}),
        ("ARCOR", {"radius": 1.0}),
        ("ONS", {"radius": 1.0}),
    ]:
        model = make(case)
        assert np.isfinite(ol.replay(model, X, y).predictions).all()
        S = model.covariance_
        assert np.array_equal(S, S.T), case
        root = np.sqrt(np.diag(S))
        assert np.linalg.eigvalsh(S / root[:, None] / root)[0] > 0, case
