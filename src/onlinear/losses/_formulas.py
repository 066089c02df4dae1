"""The formulas of :mod:`onlinear.losses`, for compiled code, which knows a loss by two numbers."""

import math

from onlinear._numerics.linalg import kernel, short

__all__ = [
    "ABSOLUTE",
    "HINGE",
    "HUBER",
    "INSENSITIVE",
    "LOGISTIC",
    "MISTAKES",
    "POISSON",
    "QUANTILE",
    "SQUARE",
    "SQUARED_HINGE",
    "allowed",
    "answered",
    "charged",
    "excess",
    "linked",
    "probability",
    "rounding",
    "sigmoid",
    "slope",
    "unlinked",
    "value",
    "values",
]

(
    SQUARE,
    LOGISTIC,
    HINGE,
    SQUARED_HINGE,
    MISTAKES,
    ABSOLUTE,
    INSENSITIVE,
    HUBER,
    QUANTILE,
    POISSON,
) = range(10)

EDGE = 2.0**-53  # the least distance of a predicted probability from 0 and 1
LEAST_MEAN = 2.0**-1000  # the least mean that Poisson predicts
LARGEST_EXPONENT = 709.0  # e^709 fits in a float


@kernel
def sigmoid(a):
    """Return σ(a) = 1/(1 + e^−a)."""
    if a >= 0.0:
        return 1.0 / (1.0 + math.exp(-a))
    grown = math.exp(a)
    return grown / (1.0 + grown)


@kernel
def _exp(a):
    """Return e^a, infinity if it is too large for a float."""
    return math.exp(a) if a < LARGEST_EXPONENT else math.inf


@short
def probability(a, rest):
    """Return σ(a), rounded as the docstring of this module says, given σ(−|a|)."""
    above = 1.0 if a >= 0.0 else 0.0  # arithmetic: a branch would be mispredicted half of the time
    turned = 2.0 * above - 1.0
    p = above - turned * rest
    p -= EDGE if above - p < turned * rest else 0.0  # if 1 − rest was rounded up
    return min(max(p, EDGE), 1.0 - EDGE)


@short
def excess(a, rest, y):
    """Return σ(a) − y to full precision, given σ(−|a|)."""
    above = 1.0 if a >= 0.0 else 0.0
    return (above - y) - (2.0 * above - 1.0) * rest


@kernel
def linked(kind, a):
    """Return the prediction for an activation."""
    if kind == LOGISTIC:
        return probability(a, sigmoid(-abs(a)))
    if kind == POISSON:
        return max(_exp(a), LEAST_MEAN)
    return a


@short
def answered(kind, p, a, y):
    """Return the prediction for an activation and, for its label y, the slope of the loss.

    For a NaN label, which stands for no label, the slope means nothing.
    """
    if kind == SQUARE:
        return a, 2.0 * (a - y)
    if kind == LOGISTIC:
        rest = sigmoid(-abs(a))
        return probability(a, rest), excess(a, rest, y)
    if kind == POISSON:
        mean = _exp(a)
        return max(mean, LEAST_MEAN), mean - y
    return a, slope(kind, p, a, y)


@kernel
def rounding(kind, y):
    """Return the most by which a prediction's loss exceeds its activation's, through rounding.

    For Poisson, a rounded mean e^a is that of an activation off by up to ε = 2⁻⁵¹(1 + |a|), which
    costs at most |e^a − y|ε. If |a − ln y| ≤ 1, this is below 2y·2⁻⁵¹(2 + |ln y|); otherwise, it is
    below 3ε times the loss itself, and not counted.
    """
    if kind == LOGISTIC:
        return 2.0 * EDGE
    if kind == POISSON:
        return 8.0 * EDGE * y * (2.0 + abs(math.log(y))) if y > 0.0 else LEAST_MEAN
    return 0.0


@kernel
def unlinked(kind, prediction):
    """Return the activation for a prediction."""
    if kind == LOGISTIC:
        p = min(max(prediction, EDGE), 1.0 - EDGE)
        return math.log(p / (1.0 - p))
    if kind == POISSON:
        return math.log(max(prediction, LEAST_MEAN))
    return prediction


@kernel
def allowed(kind, y):
    """Return whether a loss allows the label y."""
    if kind == LOGISTIC:
        return 0.0 <= y <= 1.0
    if kind == POISSON:
        return y >= 0.0
    if kind in (HINGE, SQUARED_HINGE, MISTAKES):
        return y == 1.0 or y == -1.0
    return True


@short
def slope(kind, p, a, y):
    """Return the derivative of the loss at the activation a, given the label y."""
    if kind == SQUARE:
        return 2.0 * (a - y)
    if kind == LOGISTIC:
        return excess(a, sigmoid(-abs(a)), y)
    if kind == POISSON:
        return _exp(a) - y
    if kind == HINGE:
        return -y if y * a < 1.0 else 0.0
    if kind == SQUARED_HINGE:
        return -2.0 * y * max(0.0, 1.0 - y * a)
    if kind == MISTAKES:
        return -y if y * a <= 0.0 else 0.0
    e = a - y
    if kind == HUBER:
        return min(max(e, -p), p)
    over, under = 1.0, -1.0  # the slopes above and below the label
    if kind == QUANTILE:
        over, under = 1.0 - p, -p
    elif kind == INSENSITIVE and abs(e) <= p:
        return 0.0
    return over if e > 0.0 else under if e < 0.0 else 0.0


@kernel
def _softplus(a):
    """Return ln(1 + e^a)."""
    return max(a, 0.0) + math.log1p(math.exp(-abs(a)))


@kernel
def _times_log(y):
    """Return y ln y, which is 0 at 0."""
    return y * math.log(y) if y > 0.0 else 0.0


@kernel
def value(kind, p, a, y):
    """Return the loss of the activation a, given the label y."""
    e = a - y
    if kind == SQUARE:
        return e * e
    if kind == LOGISTIC:
        surprise = (y * _softplus(-a) if y > 0.0 else 0.0) + (
            (1.0 - y) * _softplus(a) if y < 1.0 else 0.0
        )
        return max(0.0, surprise + _times_log(y) + _times_log(1.0 - y))
    if kind == POISSON:
        if y == 0.0:
            return _exp(a)
        off = a - math.log(y)
        return y * (math.expm1(off) - off) if off < LARGEST_EXPONENT else math.inf
    if kind == HINGE:
        return max(0.0, 1.0 - y * a)
    if kind == SQUARED_HINGE:
        return max(0.0, 1.0 - y * a) ** 2
    if kind == MISTAKES:
        return 1.0 if y * a <= 0.0 else 0.0
    if kind == HUBER:
        return 0.5 * e * e if abs(e) <= p else p * abs(e) - 0.5 * p * p
    if kind == QUANTILE:
        return (1.0 - p) * e if e > 0.0 else -p * e
    return max(0.0, abs(e) - p)  # p is 0 for Absolute


@kernel
def charged(kind, p, prediction, y):
    """Return the loss of a prediction, the link of an activation, given the label y."""
    return value(kind, p, unlinked(kind, prediction), y)


@kernel
def values(kind, p, a, y, predicted, out):
    """Write the loss of each activation to ``out``; of each prediction, if ``predicted``."""
    for i in range(a.size):
        out[i] = charged(kind, p, a[i], y[i]) if predicted else value(kind, p, a[i], y[i])
