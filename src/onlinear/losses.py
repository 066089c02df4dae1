"""Loss functions of the first-order learners: of the activation a = wᵀx and the label y.

    Square()                (a − y)²
    Logistic()              −y ln σ(a) − (1 − y) ln(1 − σ(a)) − H(y)     y in [0, 1], predicts σ(a)
    Hinge()                 max(0, 1 − ya)                              y = ±1
    SquaredHinge()          max(0, 1 − ya)²                             y = ±1
    Mistakes()              1 if ya ≤ 0, else 0                         y = ±1
    Absolute()              |a − y|
    Insensitive(epsilon)    max(0, |a − y| − epsilon)
    Huber(delta)            ½(a − y)², linear where |a − y| > delta
    Quantile(tau)           tau·(y − a) if a < y, else (1 − tau)·(a − y)
    Poisson()               e^a − ya + y ln y − y                       y ≥ 0, predicts e^a

Here σ(a) = 1/(1 + e^−a), and H(y) = −y ln y − (1 − y) ln(1 − y), which is 0 for labels 0 and 1. The
prediction is the *link* of the activation: σ(a), e^a, or a itself. Probabilities are kept 2^−53
away from 0 and 1, so that the loss of a prediction is finite, and above ½ they are rounded down: a
prediction then loses at most 2^−52 more than its activation. A learner's gradient step uses the
*slope*, the derivative of the loss with respect to a. The slope of ``Mistakes``, whose derivative
is useless, is −y after a mistake and otherwise 0 (Rosenblatt's perceptron).

Herbster & Warmuth, JMLR 2001, section 3; Helmbold, Kivinen & Warmuth, IEEE Trans. Neural Networks
1999 (matching losses); Huber 1964; Koenker & Bassett 1978.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from onlinear._numerics.linalg import kernel
from onlinear._state_files import named_values
from onlinear._validation.checks import number

__all__ = [
    "Absolute",
    "Hinge",
    "Huber",
    "Insensitive",
    "Logistic",
    "Loss",
    "Mistakes",
    "Poisson",
    "Quantile",
    "Square",
    "SquaredHinge",
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


@dataclass(frozen=True)
class Loss:
    """A loss function; its parameters are checked at first use."""

    kind: ClassVar[int]
    labels: ClassVar[str] = "finite labels"  # which labels the loss allows, in words

    def numbers(self) -> tuple[float, float]:
        """Return the loss as two numbers for compiled code: its kind and its parameter."""
        return float(self.kind), 0.0

    def __call__(self, a: Any, y: Any) -> np.ndarray:
        """Return the loss of each activation, given its label."""
        a, y = np.broadcast_arrays(np.asarray(a, dtype=float), np.asarray(y, dtype=float))
        out = np.empty(a.shape)
        values(*self.numbers(), np.ravel(a), np.ravel(y), False, np.ravel(out))
        return out

    def of_predictions(self, predictions: Any, y: Any) -> np.ndarray:
        """Return the loss of each prediction (the link of an activation), given its label."""
        m, y = np.asarray(predictions, dtype=float), np.asarray(y, dtype=float)
        m, y = np.broadcast_arrays(m, y)
        out = np.empty(m.shape)
        values(*self.numbers(), np.ravel(m), np.ravel(y), True, np.ravel(out))
        return out

    def link(self, a: Any) -> np.ndarray:
        """Return the prediction for each activation."""
        a = np.asarray(a, dtype=float)
        kind = self.numbers()[0]
        return np.array([linked(kind, each) for each in np.ravel(a)]).reshape(a.shape)


@dataclass(frozen=True)
class Square(Loss):
    """The square loss (a − y)².

    >>> from onlinear.losses import Square
    >>> Square()(3.0, 1.0)
    array(4.)
    """

    kind = SQUARE


SQUARED = Square()  # the default of learners


@dataclass(frozen=True)
class Logistic(Loss):
    """The logistic loss, for labels from 0 to 1; the prediction is the probability σ(a).

    For labels 0 and 1, the loss is −ln of the probability predicted for the label.

    >>> from onlinear.losses import Logistic
    >>> Logistic()([0.0, 2.0], [1.0, 1.0]).round(3)
    array([0.693, 0.127])
    >>> Logistic().link(0.0)
    array(0.5)
    """

    kind = LOGISTIC
    labels = "labels from 0 to 1"


@dataclass(frozen=True)
class Hinge(Loss):
    """The hinge loss max(0, 1 − ya), for labels −1 and 1.

    >>> from onlinear.losses import Hinge
    >>> Hinge()([0.5, 2.0], [1.0, 1.0])
    array([0.5, 0. ])
    """

    kind = HINGE
    labels = "labels −1 and 1"


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """The squared hinge loss max(0, 1 − ya)², for labels −1 and 1.

    >>> from onlinear.losses import SquaredHinge
    >>> SquaredHinge()([0.5, 2.0], [1.0, 1.0])
    array([0.25, 0.  ])
    """

    kind = SQUARED_HINGE
    labels = "labels −1 and 1"


@dataclass(frozen=True)
class Mistakes(Loss):
    """The number of mistakes: 1 if a does not have the sign of the label, which is −1 or 1.

    >>> from onlinear.losses import Mistakes
    >>> Mistakes()([0.5, -2.0, 0.0], [1.0, 1.0, 1.0])
    array([0., 1., 1.])
    """

    kind = MISTAKES
    labels = "labels −1 and 1"


@dataclass(frozen=True)
class Absolute(Loss):
    """The absolute loss |a − y|.

    >>> from onlinear.losses import Absolute
    >>> Absolute()(3.0, 1.0)
    array(2.)
    """

    kind = ABSOLUTE


@dataclass(frozen=True)
class Insensitive(Loss):
    """The loss max(0, |a − y| − epsilon), which ignores errors up to epsilon.

    Parameters
    ----------
    epsilon : float, default 0.1
        The largest error without a loss, epsilon ≥ 0.

    Examples
    --------
    >>> from onlinear.losses import Insensitive
    >>> Insensitive(0.5)([1.2, 3.0], [1.0, 1.0])
    array([0. , 1.5])
    """

    kind = INSENSITIVE
    epsilon: float = 0.1

    def numbers(self) -> tuple[float, float]:
        """Return the loss as two numbers for compiled code: its kind and its parameter."""
        return float(self.kind), number(self, "epsilon", least=0)


@dataclass(frozen=True)
class Huber(Loss):
    """Huber's loss: ½e² for an error |e| ≤ delta, and delta·|e| − ½delta² for a larger one.

    Parameters
    ----------
    delta : float, default 1.0
        The error from which on the loss grows linearly, delta > 0.

    Examples
    --------
    >>> from onlinear.losses import Huber
    >>> Huber(1.0)([1.5, 4.0], [1.0, 1.0])
    array([0.125, 2.5  ])
    """

    kind = HUBER
    delta: float = 1.0

    def numbers(self) -> tuple[float, float]:
        """Return the loss as two numbers for compiled code: its kind and its parameter."""
        return float(self.kind), number(self, "delta", above=0)


@dataclass(frozen=True)
class Quantile(Loss):
    """The quantile loss, whose best constant prediction is the tau-quantile of the labels.

    Parameters
    ----------
    tau : float, default 0.5
        The quantile to predict, 0 < tau < 1.

    Examples
    --------
    >>> from onlinear.losses import Quantile
    >>> Quantile(0.9)([0.0, 2.0], [1.0, 1.0]).round(3)
    array([0.9, 0.1])
    """

    kind = QUANTILE
    tau: float = 0.5

    def numbers(self) -> tuple[float, float]:
        """Return the loss as two numbers for compiled code: its kind and its parameter."""
        return float(self.kind), number(self, "tau", above=0, below=1)


@dataclass(frozen=True)
class Poisson(Loss):
    """The loss of counts y ≥ 0 with the predicted mean e^a: half of Poisson's deviance.

    >>> from onlinear.losses import Poisson
    >>> Poisson()([0.0, 0.0], [1.0, 0.0])
    array([0., 1.])
    >>> Poisson().link(0.0)
    array(1.)
    """

    kind = POISSON
    labels = "labels y ≥ 0"


# --- compiled code -----------------------------------------------------------------------------


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


@kernel
def probability(a, rest):
    """Return σ(a), rounded as the docstring of this module says, given σ(−|a|)."""
    if a < 0.0:
        return max(rest, EDGE)
    p = 1.0 - rest
    if 1.0 - p < rest:  # rounded up
        p -= EDGE
    return min(p, 1.0 - EDGE)


@kernel
def excess(a, rest, y):
    """Return σ(a) − y to full precision, given σ(−|a|)."""
    return rest - y if a < 0.0 else (1.0 - y) - rest


@kernel
def linked(kind, a):
    """Return the prediction for an activation."""
    if kind == LOGISTIC:
        return probability(a, sigmoid(-abs(a)))
    if kind == POISSON:
        return max(_exp(a), LEAST_MEAN)
    return a


@kernel
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
def rounding(kind):
    """Return the most by which a prediction's loss exceeds its activation's, through rounding."""
    return 2.0 * EDGE if kind == LOGISTIC else 0.0


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


@kernel
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


# --- state files -------------------------------------------------------------------------------

BUILT_IN: dict[str, type[Loss]] = {
    each.__name__: each
    for each in (
        Square,
        Logistic,
        Hinge,
        SquaredHinge,
        Mistakes,
        Absolute,
        Insensitive,
        Huber,
        Quantile,
        Poisson,
    )
}


def checked(owner: Any) -> Loss:
    """Return the parameter ``loss`` of a learner; raise an error if it is no loss."""
    given = owner.loss
    if not isinstance(given, Loss):
        raise ValueError(
            f"{type(owner).__name__} needs a loss such as onlinear.losses.Logistic(), got "
            f"loss={given!r}"
        )
    return given


def plain(given: Loss) -> dict[str, Any]:
    """Return a loss as a dict for a state file."""
    return named_values.plain(given)


def rebuilt(described: dict[str, Any]) -> Loss:
    """Return the loss that a state file describes."""
    return named_values.rebuilt(described, BUILT_IN)  # type: ignore[no-any-return]
