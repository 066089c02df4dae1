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

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from onlinear._state_files import named_values
from onlinear._validation.checks import number
from onlinear.losses._formulas import (
    ABSOLUTE,
    HINGE,
    HUBER,
    INSENSITIVE,
    LOGISTIC,
    MISTAKES,
    POISSON,
    QUANTILE,
    SQUARE,
    SQUARED_HINGE,
    linked,
    values,
)

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
    return usable(type(owner).__name__, owner.loss)


def usable(owner: str, given: Any) -> Loss:
    """Return a loss; raise an error if it is none."""
    if not isinstance(given, Loss):
        raise ValueError(
            f"{owner} needs a loss such as onlinear.losses.Logistic(), got loss={given!r}"
        )
    return given


def plain(given: Loss) -> dict[str, Any]:
    """Return a loss as a dict for a state file."""
    return named_values.plain(given)


def rebuilt(described: dict[str, Any]) -> Loss:
    """Return the loss that a state file describes."""
    return named_values.rebuilt(described, BUILT_IN)  # type: ignore[no-any-return]
