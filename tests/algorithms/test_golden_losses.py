"""Learners with a loss, and classifiers, against numbers worked out once, to twelve digits.

The stream is x_ti = cos(t·i), y_t = sin(2t) for t = 1..5 and i = 1..3, with labels made of y_t: its
sign, (sign + 1)/2 or ⌊2 + 2y⌋.
"""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import onlinear as ol
from onlinear.losses import (
    Absolute,
    Hinge,
    Huber,
    Insensitive,
    Logistic,
    Poisson,
    Quantile,
    Square,
    SquaredHinge,
)

ROWS = np.arange(1, 6)[:, None]
X = np.cos(ROWS * np.arange(1, 4))
REAL = np.sin(2 * ROWS[:, 0])
SIGN = np.sign(REAL)
HARD = (SIGN + 1) / 2
SOFT = (1 + REAL) / 2
COUNT = np.floor(2 + 2 * REAL)

BALL = {"eta": 0.5, "radius": 1.0}
SHARE = {"eta": 0.5, "alpha": 0.3, "X": 3.0}
PAIRS = {"U": 2.0, "eta": 0.2, "alpha": 0.3}
STEEP = [0, -0.451697374779, 0.484210557594, -0.844225383896, 0.477227737072]
GOLDEN = [
    (
        ol.GD(**BALL, loss=Logistic()),
        HARD,
        [0.5, 0.443776610384, 0.558197075793, 0.384551236585, 0.567895489995],
    ),
    (
        ol.GD(**BALL, loss=Logistic()),
        SOFT,
        [0.5, 0.448838773238, 0.542657163862, 0.395266804478, 0.539654522667],
    ),
    (ol.GD(**BALL, loss=Hinge()), SIGN, STEEP),
    (
        ol.GD(**BALL, loss=SquaredHinge()),
        SIGN,
        [0, -0.751475975888, 0.201424297383, -0.332407601562, -0.188020376455],
    ),
    (ol.GD(**BALL, loss=Absolute()), REAL, STEEP),
    (ol.GD(**BALL, loss=Insensitive(0.1)), REAL, STEEP),
    (
        ol.GD(**BALL, loss=Huber(0.5)),
        REAL,
        [0, -0.225848687389, 0.264503052131, -0.510980462028, 0.310863100637],
    ),
    (
        ol.GD(**BALL, loss=Quantile(0.9)),
        REAL,
        [0, -0.406527637301, 0.0399186370863, -0.553406038067, 0.282224993734],
    ),
    (
        ol.GD(**BALL, loss=Poisson()),
        COUNT,
        [1, 0.471669865372, 1.21151251428, 0.373070804887, 1.04622173548],
    ),
    (
        ol.EG(**SHARE, loss=Logistic()),
        HARD,
        [0.428343622507, 0.469553026768, 0.429659174742, 0.457009692715, 0.419081304269],
    ),
    (
        ol.EG(**SHARE, loss=Absolute()),
        REAL,
        [-0.288612342426, -0.179649296207, -0.275785094357, -0.337552256405, -0.199575810049],
    ),
    (
        ol.EG(**SHARE, loss=Quantile(0.9)),
        REAL,
        [-0.288612342426, -0.166744696397, -0.36926428898, -0.154467846341, -0.535081861708],
    ),
    (
        ol.EGPM(**PAIRS, loss=Logistic()),
        HARD,
        [0.5, 0.470001446504, 0.533236904892, 0.436240473944, 0.538305692839],
    ),
    (
        ol.EGPM(**PAIRS, loss=Hinge()),
        SIGN,
        [0, -0.238434230814, 0.287378522958, -0.510474644823, 0.318657797897],
    ),
    (
        ol.EGPM(**PAIRS, loss=Huber(0.5)),
        REAL,
        [0, -0.120138504921, 0.141799211741, -0.273525817551, 0.156175496377],
    ),
    (
        ol.PNorm(p=4.0, eta=0.2, radius=1.0, loss=Square()),
        REAL,
        [0, -0.333198108517, 0.393909019441, -0.368015374412, 0.2831789529],
    ),
    (
        ol.PNorm(p=4.0, eta=0.5, radius=1.0, loss=Logistic()),
        HARD,
        [0.5, 0.442993534397, 0.587665373891, 0.415244985294, 0.553919216648],
    ),
]


@pytest.mark.parametrize(("model", "y", "wanted"), GOLDEN, ids=lambda value: f"{value!r:.40}")
def test_predictions_are_the_golden_ones(model, y, wanted):
    assert_allclose(ol.replay(model, X, y).predictions, wanted, rtol=1e-9, atol=1e-11)


CLASSIFIED = [  # margins for AROW, probabilities for LogisticLASER
    (
        ol.AROW(r=0.5),
        SIGN,
        [0, -0.464424960652, 0.352731989523, -0.891652588222, 0.439073462868],
    ),
    (
        ol.AROW(r=0.5, margin=0.0),
        SIGN,
        [0, -0.464424960652, -0.0166847119174, -0.579904746408, 0.681219157216],
    ),
    (
        ol.LogisticLASER(b=0.5, c=math.inf, reach=4.0),
        HARD,
        [0.5, 0.444197037556, 0.541500088403, 0.363879248813, 0.571056296114],
    ),
    (
        ol.LogisticLASER(b=0.5, c=2.0, reach=4.0),
        HARD,
        [0.5, 0.449724928858, 0.539404947958, 0.383034749803, 0.531566528786],
    ),
]


@pytest.mark.parametrize(("model", "y", "wanted"), CLASSIFIED, ids=lambda value: f"{value!r:.40}")
def test_classifiers_have_the_golden_predictions(model, y, wanted):
    assert_allclose(ol.replay(model, X, y).predictions, wanted, rtol=1e-9, atol=1e-11)


def test_egu_has_the_golden_predictions():
    model = ol.EGU(eta=0.5, alpha=0.3, loss=Quantile(0.9))
    wanted = [0.648813879672, 0.939342956325, 1.23766778289, 0.712875406193, 1.00937432969]
    run = ol.replay(model, np.abs(X), np.abs(REAL))
    assert_allclose(run.predictions, wanted, rtol=1e-9)
