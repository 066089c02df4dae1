"""A certificate is worth something only if a learner that is wrong breaks it."""

import math

import numpy as np
import pytest
from hostile import CERTIFIED
from mutants import (
    COVARIANCE,
    FORGOTTEN_DRIFT,
    KERNEL_COVARIANCE,
    NEVER_FADED,
    NEVER_RESET,
    NEVER_RESET_IN_KERNEL_SPACE,
    PROJECTION,
    REPELLED,
    SIGN,
)

import onlinear as ol
from onlinear._learner.kernel_base import KernelLearner
from onlinear.kernels import RBF, Linear

ROWS = 3000
FEW = 400  # for learners whose rounds get slower and slower
SETTINGS = {
    "AAR": {"b": 1.0},
    "ARCOR": {"r": 5.0, "radius": 1.0, "q": 4.0},
    "DriftNetwork": {"C": 2, "r": 5.0},
    "AROW": {"r": 1.0, "b": 0.1},
    "AROWR": {"r": 10.0, "b": 10.0},
    "Auto": {"guaranteed": True},
    "CIRR": {"a": 0.1},
    "EG": {"alpha": 0.01},
    "EGPM": {"U": 2.0, "alpha": 0.01},
    "EGU": {"alpha": 0.01, "Y": 2.0},
    "GD": {"eta": 0.2, "radius": 1.0},
    "KernelAAR": {"b": 1.0},
    "KernelARCOR": {"kernel": Linear(), "r": 5.0, "radius": 1.0, "q": 4.0},
    "KernelCRRLS": {"forgetting": 0.99, "reset_every": 100},
    "KernelGD": {"eta": 0.2, "radius": 1.0},
    "KernelLASER": {"b": 1.0, "c": 50.0, "shrink": False, "clip": 2.0},
    "KernelWEMM": {"b": 1.1},
    "LASER": {"b": 1.0, "c": 50.0, "shrink": False, "clip": 2.0},
    "LogisticLASER": {"b": 0.01, "reach": 8.0},
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


def class_streams():
    """Return streams with labels 0 and 1 that a classifier can learn."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 3))
    X *= 2 / np.linalg.norm(X, axis=1, keepdims=True)
    still = X @ CLASS_TRUTH > 0
    noisy = still ^ (rng.uniform(size=ROWS) < 0.1)
    return {"still": (X, still * 1.0), "noisy": (X, noisy * 1.0)}


CLASS_TRUTH = np.array([-2.0, 2.0, 0.0])
STREAMS, CLASS_STREAMS = streams(), class_streams()
TRUTH = np.array([0.005, 0.99, 0.005])  # nearly, inside everybody's class
OTHER_FORMS = [  # of the bounds, by parameters
    ("AAR", {"clip": 2.0}),
    ("ARCOR", {"r": 100.0, "q": math.inf}),
    ("EG", {}),
    ("EG", {"eta": 2.0, "alpha": 0.01, "implicit": True}),
    ("EGPM", {"U": 2.0}),
    ("EGU", {"Y": 2.0}),
    ("EGU", {"alpha": 0.01, "Y": 2.0, "implicit": True}),
    ("GD", {"eta": 0.2}),
    ("KernelAAR", {"clip": 2.0}),
    ("KernelARCOR", {"r": 1.0, "q": math.inf}),
    ("KernelGD", {"eta": 0.2}),
    ("KernelLASER", {"c": 50.0}),
    ("KernelLASER", {"b": 1.0, "c": 100.0, "shrink": False}),
    ("KernelLASER", {"b": 1.0, "c": math.inf, "shrink": False, "clip": 2.0}),
    ("LASER", {"c": 50.0}),
    ("LASER", {"b": 100.0, "c": 1e5, "shrink": False}),
    ("CIRR", {"a": 0.1, "forgetting": 0.98, "clip": 2.0}),
    ("OSLOG", {"a": 10.0}),
    ("OSLOG", {"a": 0.1, "forgetting": 0.98}),
    ("OSLOG", {"a": 0.1, "forgetting": 0.98, "clip": 2.0}),
    ("OGD", {"eta": 0.2, "radius": 1.0}),
    ("OGD", {"eta": 0.2, "schedule": "sqrt", "radius": 1.0}),
    ("PNorm", {"eta": 0.1}),
    ("RLS", {"forgetting": 0.99, "b": 100.0}),
    ("RLS", {"forgetting": 0.9, "shrink": True}),
    ("RLS", {"forgetting": 0.9, "hint": "last"}),
    ("RLS", {"forgetting": 0.99, "b": 100.0, "clip": 2.0}),
    ("CRRLS", {"forgetting": 0.9, "reset_every": 50}),
    ("Ridge", {"clip": 2.0}),
    ("WEMM", {"b": 1.1, "weight": 2.0}),
    ("WEMM", {"b": 2.0, "c": 1e4}),
]


def broken_on(make):
    """Return the streams on which a certificate that applies does not hold."""
    broken = []
    classifier = isinstance(make(), (ol.AROW, ol.LogisticLASER))
    for name, (X, y) in (CLASS_STREAMS if classifier else STREAMS).items():
        if isinstance(make(), KernelLearner):
            X, y = X[:FEW], y[:FEW]
        with np.errstate(all="ignore"):  # a mutant may run away
            proof = ol.certificate(make(), X, y)
        assert proof.failed is None
        if not proof.holds.all():
            broken.append(name)
    return broken


def near_the_truth(kernel, X, y):
    """Return a function of the kernel's space near y, with a norm below 1."""
    V = X[:12]
    K = np.column_stack([kernel(V, v) for v in V])
    at_rows = np.column_stack([kernel(X, v) for v in V])
    beta = np.linalg.solve(at_rows.T @ at_rows + 0.1 * K + 1e-9 * np.eye(12), at_rows.T @ y)
    return V, beta * min(1.0, 0.99 / math.sqrt(beta @ K @ beta))


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
    "name", [n for n in CERTIFIED if n not in ("Auto", "CIRR", "DriftNetwork", "OSLOG")]
)
def test_a_wrong_sign_breaks_the_certificate_against_a_given_predictor(name):
    classifier = name in ("AROW", "LogisticLASER")
    X, y = (CLASS_STREAMS if classifier else STREAMS)["still"]
    truth = CLASS_TRUTH if classifier else TRUTH
    if name.startswith("Kernel"):
        X, y = X[:FEW], y[:FEW]
        truth = near_the_truth(SETTINGS[name].get("kernel", RBF()), X, y)
    sound = ol.certificate(ol.LEARNERS[name](**SETTINGS[name]), X, y, comparator=truth)
    assert sound.failed is None
    assert sound.holds.all()
    with np.errstate(all="ignore"):
        broken = ol.certificate(SIGN[name](**SETTINGS[name], on_bad="skip"), X, y, comparator=truth)
    assert not broken.holds.all()


@pytest.mark.parametrize("name", sorted(COVARIANCE))
def test_a_wrong_covariance_breaks_the_certificate(name):
    assert broken_on(lambda: COVARIANCE[name](**SETTINGS[name], on_bad="skip"))


@pytest.mark.parametrize("name", sorted(KERNEL_COVARIANCE))
def test_a_wrong_covariance_in_a_kernel_space_breaks_the_certificate(name):
    params = {"b": 1.0, "c": 1e4} if name == "KernelLASER" else SETTINGS[name]
    assert broken_on(lambda: KERNEL_COVARIANCE[name](**params, on_bad="skip"))


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


def test_an_rls_drawn_away_from_its_hint_breaks_the_bound():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)), 10 + np.cumsum(0.1 * rng.normal(size=300))
    params = {"forgetting": 0.5, "hint": "last"}
    assert ol.certificate(ol.RLS(**params), X, y).holds.all()
    assert not ol.certificate(REPELLED(**params), X, y).holds.all()


@pytest.mark.parametrize("name", ["CIRR", "OSLOG"])
def test_one_that_forgets_nothing_breaks_the_bound_with_forgetting(name):
    X = np.ones((2000, 1))
    y = np.repeat([1.0, -1.0], 1000)
    params = {"a": 0.1, "forgetting": 0.9, "clip": 1.0}
    assert ol.certificate(ol.LEARNERS[name](**params), X, y).holds.all()
    assert not ol.certificate(NEVER_FADED[name](**params), X, y).holds.all()


def test_a_kernel_arcor_that_never_resets_breaks_the_bound_against_a_switch():
    X, y = np.ones((1500, 1)), np.repeat([1.0, -1.0], 750)
    params = {"kernel": Linear(), "r": 1.0, "radius": 1.0, "thresholds": [1 / 31]}
    switch = np.ones((1, 1)), y[:, None]
    sound = ol.certificate(ol.KernelARCOR(**params), X, y, comparator=switch)
    broken = ol.certificate(NEVER_RESET_IN_KERNEL_SPACE(**params), X, y, comparator=switch)
    assert sound.failed is None
    assert sound.holds.all()
    assert not broken.holds.all()
