"""A certificate is worth something only if a learner that is wrong breaks it."""

import math

import numpy as np
import pytest
from hostile import CERTIFIED
from mutants import COVARIANCE, FORGOTTEN_DRIFT, NEVER_RESET, PROJECTION, SIGN

import onlinear as ol

ROWS = 3000
SETTINGS = {
    "AAR": {"b": 1.0},
    "ARCOR": {"r": 5.0, "radius": 1.0, "q": 4.0},
    "DriftNetwork": {"C": 2, "r": 5.0},
    "AROWR": {"r": 10.0, "b": 10.0},
    "CIRR": {"a": 0.1},
    "EG": {"alpha": 0.01},
    "EGPM": {"U": 2.0, "alpha": 0.01},
    "EGU": {"alpha": 0.01, "Y": 2.0},
    "GD": {"eta": 0.2, "radius": 1.0},
    "LASER": {"b": 1.0, "c": 50.0, "shrink": False, "clip": 2.0},
    "NLMS": {"eta": 0.5},
    "OGD": {"eta": 0.2},
    "ONS": {"gamma": 0.05, "epsilon": 1.0, "radius": 1.0},
    "OSLOG": {"a": 0.1, "clip": 2.0},
    "PNorm": {"p": 3.0, "eta": 0.1, "radius": 1.0},
    "RLS": {"forgetting": 1.0, "b": 100.0},
    "CRRLS": {"forgetting": 1.0, "reset_every": 500},
    "Ridge": {"b": 100.0},
    "WEMM": {"b": 1.1},
}


def streams():
    """Return streams in everybody's domain: 0 ≤ x, ‖x‖ ≤ 1, 0 ≤ y ≤ 2, truths in the ball."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(ROWS, 3))
    X[np.arange(ROWS), rng.integers(3, size=ROWS)] = 0.0
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    noise = rng.choice([0.0, 1.0], size=ROWS)
    still = X @ [0.0, 1.0, 0.0]
    turning = np.where(np.arange(ROWS) // 200 % 2, X[:, 0], X[:, 2])
    return {"still": (X, still), "noisy": (X, still + noise), "turning": (X, turning)}


STREAMS = streams()
TRUTH = np.array([0.005, 0.99, 0.005])  # nearly, inside everybody's class
OTHER_FORMS = [  # of the bounds, by parameters
    ("AAR", {"clip": 2.0}),
    ("ARCOR", {"r": 100.0, "q": math.inf}),
    ("EG", {}),
    ("EGPM", {"U": 2.0}),
    ("EGU", {"Y": 2.0}),
    ("GD", {"eta": 0.2}),
    ("LASER", {"c": 50.0}),
    ("LASER", {"b": 100.0, "c": 1e5, "shrink": False}),
    ("OSLOG", {"a": 10.0}),
    ("OGD", {"eta": 0.2, "radius": 1.0}),
    ("OGD", {"eta": 0.2, "schedule": "sqrt", "radius": 1.0}),
    ("PNorm", {"eta": 0.1}),
    ("RLS", {"forgetting": 0.99, "b": 100.0}),
    ("RLS", {"forgetting": 0.9, "shrink": True}),
    ("RLS", {"forgetting": 0.99, "b": 100.0, "clip": 2.0}),
    ("CRRLS", {"forgetting": 0.9, "reset_every": 50}),
    ("Ridge", {"clip": 2.0}),
]


def broken_on(make):
    """Return the streams on which a certificate that applies does not hold."""
    broken = []
    for name, (X, y) in STREAMS.items():
        with np.errstate(all="ignore"):  # a mutant may run away
            proof = ol.certificate(make(), X, y)
        assert proof.failed is None
        if not proof.holds.all():
            broken.append(name)
    return broken


@pytest.mark.parametrize("name", CERTIFIED)
def test_the_sound_learner_keeps_its_certificate(name):
    assert broken_on(lambda: ol.LEARNERS[name](**SETTINGS[name])) == []


@pytest.mark.parametrize("name", CERTIFIED)
def test_a_wrong_sign_breaks_the_certificate(name):
    assert broken_on(lambda: SIGN[name](**SETTINGS[name], on_bad="skip"))


@pytest.mark.parametrize(("name", "params"), OTHER_FORMS)
def test_a_wrong_sign_breaks_the_other_forms_of_a_bound(name, params):
    assert broken_on(lambda: ol.LEARNERS[name](**params)) == []
    assert broken_on(lambda: SIGN[name](**params, on_bad="skip"))


@pytest.mark.parametrize(
    "name", [n for n in CERTIFIED if n not in ("CIRR", "DriftNetwork", "OSLOG")]
)
def test_a_wrong_sign_breaks_the_certificate_against_a_given_predictor(name):
    X, y = STREAMS["still"]
    sound = ol.certificate(ol.LEARNERS[name](**SETTINGS[name]), X, y, comparator=TRUTH)
    assert sound.failed is None
    assert sound.holds.all()
    with np.errstate(all="ignore"):
        broken = ol.certificate(SIGN[name](**SETTINGS[name], on_bad="skip"), X, y, comparator=TRUTH)
    assert not broken.holds.all()


@pytest.mark.parametrize("name", sorted(COVARIANCE))
def test_a_wrong_covariance_breaks_the_certificate(name):
    assert broken_on(lambda: COVARIANCE[name](**SETTINGS[name], on_bad="skip"))


@pytest.mark.parametrize("name", sorted(PROJECTION))
def test_a_wrong_projection_breaks_the_certificate(name):
    assert broken_on(lambda: PROJECTION[name](**SETTINGS[name], on_bad="skip"))


def test_no_certified_learner_is_left_out():
    known = {
        name
        for name, kind in ol.LEARNERS.items()
        if kind(**SETTINGS.get(name, {}))._guarantee().known
    }
    assert known == set(CERTIFIED) == set(SIGN)
    second_order = {name for name in known if ol.LEARNERS[name]._square}
    assert set(COVARIANCE) == second_order


def test_a_laser_that_forgets_its_drift_breaks_theorem_12():
    rng = np.random.default_rng(0)
    X, u = rng.normal(size=(ROWS, 2)), np.repeat([1.0, -1.0], ROWS // 2)
    y = X[:, 0] * u
    sound = ol.certificate(ol.LASER(c=20.0), X, y)
    broken = ol.certificate(FORGOTTEN_DRIFT(c=20.0), X, y)
    assert sound.holds.all()
    assert not broken.holds.all()


def test_an_arcor_that_never_resets_breaks_the_bound_against_a_switch():
    X, u = np.ones((4000, 1)), np.repeat([[1.0], [-1.0]], 2000, axis=0)
    params = {"r": 1.0, "radius": 1.0, "thresholds": [1 / 101]}
    sound = ol.certificate(ol.ARCOR(**params), X, u[:, 0], comparator=u)
    broken = ol.certificate(NEVER_RESET(**params), X, u[:, 0], comparator=u)
    assert sound.holds.all()
    assert not broken.holds.all()
