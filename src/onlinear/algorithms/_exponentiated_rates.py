"""The learning rates of EG, EGPM and EGU, and their parameter α, the share of the least weight."""

import math

from onlinear._learner.base import Learner
from onlinear._learner.first_order import FirstOrder, rate_for_range
from onlinear._validation.checks import asked, number, whole
from onlinear.losses import SQUARED

__all__ = ["rate", "share", "share_for_drift", "theorems_rate"]


def theorems_rate(owner: Learner, numerator: float, square: float) -> float:
    """Return numerator/square, the learning rate in a learner's theorem; refuse 0 and infinity."""
    if not 0 < square < math.inf or numerator / square == math.inf:
        raise ValueError(
            f"{type(owner).__name__} needs ranges for which the default eta fits in floating "
            f"point, got {numerator:g}/{square:g} for {owner!r}: rescale the data, or give an eta"
        )
    return numerator / square


def rate(owner: FirstOrder, numerator: float, square: float, R2: float) -> float:
    """Return η; if it is None, numerator/square for the square loss, else the rate for R²."""
    if owner.eta is not None:  # type: ignore[attr-defined]
        return number(owner, "eta", above=0)
    if owner._loss == SQUARED:
        return theorems_rate(owner, numerator, square)
    return rate_for_range(type(owner).__name__, owner._loss, R2, math.sqrt(R2))


def share_for_drift(owner: str, T: int, V: float, n: int) -> float | None:
    """Return the α that minimises the bound against sequences on the simplex of n weights."""
    known = asked(owner, T=T, V=V, n=n)
    rounds, V = whole(known, "T", least=2), number(known, "V", least=0)
    rest = 1 - 1 / whole(known, "n", least=2)
    return min(V / (rest * (2 * (rounds - 1) + V)), 1.0) if V > 0 else None


def share(owner: Learner) -> float:
    """Return the learner's parameter α after a check; 0 if it is None."""
    return 0.0 if owner.alpha is None else number(owner, "alpha", above=0, most=1)  # type: ignore[attr-defined]
