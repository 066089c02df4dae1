"""Every learner against its slow textbook form, on friendly and hostile streams."""

import math

import numpy as np
import oracles
import pytest
from numpy.testing import assert_allclose
from small_streams import (
    STREAMS,
    as_given,
    of_probabilities,
    of_two_classes,
    positive,
    within_unit_ball,
    within_unit_box,
)

import onlinear as ol
from onlinear import losses
from onlinear._learner.bounds.ledger import Ledger
from onlinear.kernels import RBF, Linear, Polynomial

# learner: the domain its streams are brought into, and the parameters tried there
CASES = {
    "Ridge": (as_given, [{}, {"b": 0.1}, {"b": 30.0, "clip": 0.3}]),
    "AAR": (as_given, [{}, {"b": 0.1}, {"b": 5.0, "clip": 0.3}]),
    "RLS": (
        as_given,
        [
            {},
            {"forgetting": 0.9},
            {"forgetting": 0.97, "b": 4.0},
            {"forgetting": 0.9, "shrink": True, "clip": 0.3},
            {"forgetting": 0.97, "hint": "last"},
            {"forgetting": 1.0, "b": 0.3, "clip": 0.4, "hint": "last"},
        ],
    ),
    "AROWR": (as_given, [{}, {"r": 0.2, "b": 3.0}, {"r": 50.0}]),
    "AROW": (
        of_two_classes,
        [{}, {"r": 0.2, "b": 3.0}, {"r": 2.0, "margin": 0.0}, {"r": 0.5, "margin": 0.3}],
    ),
    "LogisticLASER": (
        of_probabilities,
        [{}, {"b": 0.3, "c": 2.0}, {"b": 7.0, "c": 0.5, "reach": 0.0}, {"c": 10.0, "reach": 9.0}],
    ),
    "WEMM": (
        within_unit_ball,
        [
            {},
            {"b": 1.05},
            {"b": 20.0},
            {"b": 1.5, "weight": 1.7},
            {"b": 3.0, "c": 1e3},
            {"c": 1e3, "weight": 4.0},
        ],
    ),
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
    "KernelAAR": (
        within_unit_ball,
        [{}, {"b": 0.1, "clip": 0.3}, {"kernel": Polynomial(3), "b": 2.0}, {"kernel": Linear()}],
    ),
    "KernelARCOR": (
        within_unit_ball,
        [
            {},
            {"r": 0.3, "radius": 0.6, "q": 1.5},
            {"kernel": Polynomial(2), "r": 0.5, "thresholds": (0.5, 0.3, 0.02), "radius": 1.0},
            {"kernel": Linear(), "q": math.inf, "radius": 0.3},
            {"kernel": RBF(gamma=5.0), "r": 0.1, "q": 1.0, "radius": 0.8},
        ],
    ),
    "KernelCRRLS": (
        within_unit_ball,
        [
            {},
            {"kernel": RBF(gamma=5.0), "forgetting": 0.9, "reset_every": 7},
            {"kernel": Polynomial(2), "forgetting": 0.8, "reset_every": 30},
            {"reset_every": 1},
        ],
    ),
    "KernelGD": (
        within_unit_ball,
        [{"eta": 0.25}, {"kernel": Polynomial(2), "eta": 0.2, "radius": 0.4}],
    ),
    "KernelLASER": (
        within_unit_ball,
        [
            {},
            {"b": 0.3, "c": 2.0},
            {"kernel": RBF(gamma=5.0), "b": 0.5, "c": 0.5, "shrink": False, "clip": 0.4},
            {"kernel": Polynomial(2), "c": math.inf},
        ],
    ),
    "KernelWEMM": (within_unit_ball, [{"b": 1.05}, {"kernel": Polynomial(2), "b": 5.0}]),
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
    "Auto": (
        as_given,
        [{}, {"lags": 0}, {"lags": 3, "units": "given"}, {"lags": 1, "guaranteed": True}],
    ),
    "DriftNetwork": (as_given, [{}, {"C": 1, "r": 0.2}, {"C": 6, "radius": 0.7}]),
    "ONS": (as_given, [{}, {"gamma": 2.0, "epsilon": 0.3}, {"epsilon": 5.0, "radius": 0.5}]),
    "NLMS": (as_given, [{}, {"eta": 1.9}, {"eta": 1.0, "epsilon": 0.7}]),
    "GD": (
        within_unit_ball,
        [
            {},
            {"eta": 0.99},
            {"eta": 0.25, "radius": 0.4},
            {"eta": 0.5, "radius": 0.4, "loss": losses.Huber(0.2)},
            {"eta": 0.3, "loss": losses.Quantile(0.7)},
        ],
    ),
    "PNorm": (
        within_unit_ball,
        [
            {},
            {"p": 2.0, "eta": 0.9},
            {"p": 3.0, "eta": 0.3, "radius": 0.4},
            {"p": 8.0, "eta": 0.1, "radius": 0.5, "loss": losses.Absolute()},
        ],
    ),
    "OGD": (
        within_unit_ball,
        [
            {},
            {"eta": 0.9},
            {"eta": 1.0, "schedule": "sqrt"},
            {"eta": 3.0, "schedule": "sqrt", "radius": 0.4},
        ],
    ),
    "EGU": (
        positive,
        [
            {},
            {"alpha": 0.4},
            {"eta": 2.0, "Y": 1.1},
            {"eta": 0.9, "alpha": 1.0, "Y": 2.0, "X": 3.0},
            {"implicit": True},
            {"implicit": True, "eta": 30.0, "alpha": 0.3, "Y": 1.1},
        ],
    ),
    "EG": (
        within_unit_box,
        [
            {},
            {"alpha": 0.3},
            {"eta": 2.0, "alpha": 0.9, "X": 1.5},
            {"X": 3.0},
            {"eta": 1.0, "alpha": 0.2, "loss": losses.Absolute()},
            {"implicit": True},
            {"implicit": True, "eta": 30.0, "alpha": 0.2, "X": 2.0},
        ],
    ),
    "EGPM": (
        within_unit_box,
        [
            {},
            {"U": 3.0, "alpha": 0.2},
            {"eta": 1.0, "X": 2.0},
            {"eta": 0.5, "U": 2.0, "loss": losses.Insensitive(0.1)},
        ],
    ),
    "CIRR": (
        as_given,
        [
            {},
            {"a": 0.5, "floor": 0.0},
            {"a": 8.0, "floor": 1e-3, "w0": 0.5},
            {"a": 2.0, "forgetting": 0.9, "clip": 0.3},
        ],
    ),
    "OSLOG": (
        as_given,
        [
            {},
            {"a": 0.5, "first": "w0"},
            {"a": 8.0, "floor": 1e-3, "w0": 0.5, "clip": 0.3},
            {"a": 2.0, "forgetting": 0.9},
        ],
    ),
}
EVERY_CASE = [
    pytest.param(name, params, id=f"{name}-{number}")
    for name, (_, choices) in CASES.items()
    for number, params in enumerate(choices)
]


def close(actual, wanted, rtol=1e-9):
    """Compare entry by entry, but none closer than a hundredth of rtol of the largest.

    A small prediction is a difference of large terms, and an explicit inverse of columns of scales
    1e-3..1e3 knows its small entries only to that (the oracle's rounding, not the learner's).
    """
    assert_allclose(actual, wanted, rtol=rtol, atol=0.01 * rtol * np.abs(wanted).max())


def test_every_learner_has_an_oracle_and_cases():
    assert set(oracles.ORACLES) == set(CASES) == set(ol.LEARNERS)


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize(("name", "params"), EVERY_CASE)
@pytest.mark.parametrize("seed", range(3))
def test_learners_agree_with_their_oracles(name, params, stream, seed):
    X, y = CASES[name][0](*STREAMS[stream](np.random.default_rng(seed)))
    model = ol.LEARNERS[name](**params)
    run = ol.replay(model, X, y)
    wanted = oracles.ORACLES[name](X, y, **params)
    # in its first rounds shrinkage amplifies rounding: in exact arithmetic both sides are off 4e-10
    rtol = 1e-7 if (name, stream) in (("CIRR", "mixed_scales"), ("OSLOG", "mixed_scales")) else 1e-9
    close(run.predictions, wanted.predictions, rtol)
    if wanted.w is not None:
        close(model.coef_, wanted.w, rtol)
    if wanted.S is not None:
        close(model.covariance_, wanted.S)
    if name in ("ARCOR", "KernelARCOR"):
        assert model.resets_ == len(wanted.resets)


def resets_of_the_account(model, X, y):
    """Return how often the account of the bound, which sees no learner, thinks ARCOR resets."""
    ledger = Ledger(model._guarantee().account)
    ledger.add(X, y)
    return int(ledger.state[-1][0]) - 1


def resets(model, X, y):
    """Return the rounds, counted from 1, in which ARCOR resets."""
    counts = [0]
    for x, label in zip(X, y, strict=True):
        model.learn_one(x, label)
        counts.append(model.resets_)
    return tuple(np.flatnonzero(np.diff(counts)) + 1)


@pytest.mark.parametrize("seed", range(400))
def test_arcor_resets_when_the_eigenvalues_say_so(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 7))
    X = rng.normal(size=(150, d)) * 10.0 ** rng.uniform(-1.5, 1.0)
    if seed % 4 == 1:
        X *= 10.0 ** rng.uniform(-2, 2, size=d)
    if seed % 4 == 2:
        X = rng.normal(size=(150, max(1, d // 2))) @ rng.normal(size=(max(1, d // 2), d))
    if seed % 4 == 3:
        X *= rng.standard_t(1.5, size=(150, 1))
    y = rng.normal(size=150)
    params = {
        "r": 10.0 ** rng.uniform(-1.5, 1.5),
        "q": rng.choice([1.0, 1.3, 2.0, 3.0]),
        "radius": rng.choice([0.3, 1.0, math.inf]),
    }
    if seed % 5 == 0:
        params["thresholds"] = np.sort(rng.uniform(0.001, 0.9, size=6))[::-1]
    wanted = oracles.arcor(X, y, **params).resets
    assert resets(ol.ARCOR(**params), X, y) == wanted
    if math.isfinite(params["radius"]):
        assert resets_of_the_account(ol.ARCOR(**params), X, y) == len(wanted)


def test_arcor_resets_at_the_same_rounds_however_a_tied_stream_is_turned():
    """One-hot rows and r = 1: Σ⁻¹ is diagonal and whole, so λ_max often equals Λ_i⁻¹ = i + 1."""
    rng = np.random.default_rng(0)
    d, T = 4, 300
    chosen = rng.integers(d, size=T)
    X, y = np.eye(d)[chosen], rng.normal(size=T)
    wanted, ties = [], 0
    counts, segment = np.ones(d, dtype=int), 1
    for t, i in enumerate(chosen, 1):
        counts[i] += 1
        ties += counts.max() == segment + 1
        if counts.max() > segment + 1:
            counts[:], segment = 1, segment + 1
            wanted.append(t)
    assert len(wanted) > 10
    assert ties > 10
    for _ in range(60):
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
        assert resets(ol.ARCOR(), X @ turn, y) == tuple(wanted)
        assert oracles.arcor(X @ turn, y).resets == tuple(wanted)
        assert resets_of_the_account(ol.ARCOR(radius=1.0), X @ turn, y) == len(wanted)
