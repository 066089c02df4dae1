"""Every learner against its slow textbook form, on friendly and hostile streams."""

import math

import numpy as np
import oracles
import pytest
from numpy.testing import assert_allclose
from streams import STREAMS, as_given, positive, within_unit_ball, within_unit_box

import onlinear as ol

# learner: the domain its streams are brought into, and the parameters tried there
CASES = {
    "Ridge": (as_given, [{}, {"b": 0.1}, {"b": 30.0}]),
    "AAR": (as_given, [{}, {"b": 0.1}, {"b": 5.0, "clip": 0.3}]),
    "RLS": (as_given, [{}, {"forgetting": 0.9}, {"forgetting": 0.97, "b": 4.0}]),
    "AROWR": (as_given, [{}, {"r": 0.2, "b": 3.0}, {"r": 50.0}]),
    "WEMM": (within_unit_ball, [{}, {"b": 1.05}, {"b": 20.0}]),
    "LASER": (
        as_given,
        [
            {},
            {"b": 0.3, "c": 2.0},
            {"b": 7.0, "c": 0.5},
            {"c": math.inf},
            {"b": 2.0, "c": 10.0, "clip": 0.4},
            {"c": 5.0, "shrink": False},
            {"b": 0.5, "c": 0.5, "shrink": False, "clip": 0.4},
        ],
    ),
    "CRRLS": (as_given, [{}, {"forgetting": 0.9, "reset_every": 7}, {"reset_every": 1}]),
    "ARCOR": (
        as_given,
        [
            {},
            {"r": 5.0, "radius": 0.6, "q": 1.5},
            {"q": math.inf, "radius": 0.3},
            {"r": 0.5, "thresholds": (0.5, 0.3, 0.02), "radius": 1.0},
            {"q": 1.0},
        ],
    ),
    "ONS": (as_given, [{}, {"gamma": 2.0, "epsilon": 0.3}, {"epsilon": 5.0, "radius": 0.5}]),
    "NLMS": (as_given, [{}, {"eta": 1.9}, {"eta": 1.0, "epsilon": 0.7}]),
    "GD": (within_unit_ball, [{}, {"eta": 0.99}, {"eta": 0.25, "radius": 0.4}]),
    "OGD": (within_unit_ball, [{}, {"eta": 0.9}, {"eta": 1.0, "schedule": "sqrt"}]),
    "EGU": (positive, [{}, {"alpha": 0.4}, {"eta": 0.9, "alpha": 1.0, "Y": 2.0, "X": 3.0}]),
    "EG": (within_unit_box, [{}, {"alpha": 0.3}, {"eta": 2.0, "alpha": 0.9, "X": 1.5}, {"X": 3.0}]),
    "EGPM": (within_unit_box, [{}, {"U": 3.0, "alpha": 0.2}, {"eta": 1.0, "X": 2.0}]),
    "CIRR": (as_given, [{}, {"a": 0.5, "floor": 0.0}, {"a": 8.0, "floor": 1e-3, "w0": 0.5}]),
    "OSLOG": (as_given, [{}, {"a": 0.5, "first": "w0"}, {"a": 8.0, "floor": 1e-3, "w0": 0.5}]),
}
EVERY_CASE = [
    pytest.param(name, params, id=f"{name}-{number}")
    for name, (_, choices) in CASES.items()
    for number, params in enumerate(choices)
]


def close(actual, wanted, rtol=1e-9):
    """Compare entry by entry, up to rounding of the largest: a small one may be a difference."""
    assert_allclose(
        actual, wanted, rtol=rtol, atol=1e-3 * rtol * np.abs(wanted).max(initial=1e-300)
    )


def test_every_learner_has_an_oracle_and_cases():
    assert set(oracles.ORACLES) == set(CASES) == set(ol.LEARNERS)


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize(("name", "params"), EVERY_CASE)
def test_learners_agree_with_their_oracles(name, params, stream):
    X, y = CASES[name][0](*STREAMS[stream](np.random.default_rng(0)))
    model = ol.LEARNERS[name](**params)
    run = ol.replay(model, X, y)
    wanted = oracles.ORACLES[name](X, y, **params)
    close(run.predictions, wanted.predictions)
    close(model.coef_, wanted.w)
    if wanted.S is not None:
        close(model.covariance_, wanted.S)
    if name == "ARCOR":
        assert model.resets_ == len(wanted.resets)
