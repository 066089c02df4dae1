"""The constraint sets that a few numbers describe, as values and as records for compiled code.

The record of a set is a list of numbers: its kind, the length of the record, and the numbers of the
set, of which a vector comes last.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from onlinear._numerics.linalg import extremes, kernel, norm
from onlinear._validation.checks import number

__all__ = ["Ball", "Box", "Capped", "HalfSpace", "HyperPlane", "L1Ball", "Set", "Simplex"]

BALL, L1_BALL, BOX, SIMPLEX, CAPPED, HALF_SPACE, HYPER_PLANE, GIVEN, FLOOR = range(9)
KIND, LENGTH, NUMBER, VECTOR = range(4)  # indices in the record of a set; a vector is at the end

# the sizes that a set can have: with others, squares of weights overflow or count as 0
SMALLEST, LARGEST = 1e-100, 1e100

Numbers = Sequence[float] | np.ndarray
Limits = float | Numbers


@dataclass(frozen=True)
class Set:
    """A set of weights; its parameters are checked at first use."""

    kind: ClassVar[int]

    def record(self) -> list[float]:
        """Return the set as numbers for compiled code: kind, length of the record, and others."""
        rest = self._numbers()
        return [float(self.kind), 2.0 + len(rest), *rest]

    def _numbers(self) -> list[float]:
        raise NotImplementedError

    @property
    def width(self) -> int | None:
        """The number of weights that the set is for, or None if it is for any number."""
        return None

    @property
    def bounded(self) -> bool:
        """Whether the set is bounded."""
        return True


@dataclass(frozen=True)
class Ball(Set):
    """The weights with ‖w‖₂ ≤ radius; for ``PNorm``, those with ‖w‖_q ≤ radius.

    Parameters
    ----------
    radius : float, default 1.0
        The radius, from 1e-100 to 1e100.
    """

    kind = BALL
    radius: float = 1.0

    def _numbers(self) -> list[float]:
        return [number(self, "radius", least=SMALLEST, most=LARGEST)]


@dataclass(frozen=True)
class L1Ball(Set):
    """The weights with ‖w‖₁ ≤ radius; the projection sets small weights to 0.

    Parameters
    ----------
    radius : float, default 1.0
        The radius, from 1e-100 to 1e100.
    """

    kind = L1_BALL
    radius: float = 1.0

    def _numbers(self) -> list[float]:
        return [number(self, "radius", least=SMALLEST, most=LARGEST)]


@dataclass(frozen=True)
class Box(Set):
    """The weights with low ≤ w_i ≤ high, such as ``Box(low=0.0)``: no weight is negative.

    Parameters
    ----------
    low, high : float or sequence of float, default −inf and inf
        The limits of all weights or, as a sequence, of each weight; low ≤ high. Limits are from
        −1e100 to 1e100, or infinite. For ``EGU``, they must be at least 0, and ``high`` above 0.

    Examples
    --------
    >>> import onlinear as ol
    >>> from onlinear.sets import Box
    >>> model = ol.GD(eta=0.25, within=Box(low=0.0))
    >>> model.learn_one([1.0, -1.0], 2.0)
    >>> model.coef_
    array([1., 0.])
    """

    kind = BOX
    low: Limits = -math.inf
    high: Limits = math.inf

    def __post_init__(self) -> None:
        """Turn sequences into tuples, so that sets can be compared."""
        for name in ("low", "high"):
            object.__setattr__(self, name, _listed(getattr(self, name)))

    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Return both limits as vectors of the same length, 1 or the number of weights."""
        try:
            ends = (np.array(each, dtype=float, ndmin=1) for each in (self.low, self.high))
            low, high = np.broadcast_arrays(*ends)
        except (TypeError, ValueError):
            low = high = np.full(1, math.nan)
        if not (low.ndim == 1 and low.size and (low <= high).all()) or math.inf in (
            *low,
            *-high,
        ):
            raise ValueError(
                "Box needs numbers low ≤ high, or one of each for each weight, got "
                f"low={self.low!r}, high={self.high!r}"
            )
        for each in (*low, *high):
            if LARGEST < abs(each) < math.inf:
                raise ValueError(
                    f"Box needs limits from {-LARGEST:g} to {LARGEST:g}, or infinite ones, got "
                    f"{float(each)!r}"
                )
        return low, high

    def _numbers(self) -> list[float]:
        low, high = self.limits()
        return [float(low.size), *low, *high]

    @property
    def width(self) -> int | None:
        """The number of weights that the set is for, or None if it is for any number."""
        for_all = all(np.ndim(each) == 0 for each in (self.low, self.high))
        return None if for_all else self.limits()[0].size

    @property
    def bounded(self) -> bool:
        """Whether the set is bounded."""
        return bool(np.isfinite(self.limits()).all())


@dataclass(frozen=True)
class Simplex(Set):
    """The weights with w_i ≥ 0 and Σ w_i = total, such as shares of a whole.

    Parameters
    ----------
    total : float, default 1.0
        The sum of the weights, from 1e-100 to 1e100.
    """

    kind = SIMPLEX
    total: float = 1.0

    def _numbers(self) -> list[float]:
        return [number(self, "total", least=SMALLEST, most=LARGEST)]


@dataclass(frozen=True)
class Capped(Set):
    """The weights with w_i ≤ cap, for ``EG`` and ``EGPM``, whose weights sum to 1.

    In ``EGPM``, the cap is on the 2n weights w⁺ and w⁻, so that |u_i| ≤ U·cap.

    Parameters
    ----------
    cap : float, default 0.5
        The largest weight, 0 < cap ≤ 1; cap·n ≥ 1 for n weights.
    """

    kind = CAPPED
    cap: float = 0.5

    def _numbers(self) -> list[float]:
        return [number(self, "cap", above=0, most=1)]


@dataclass(frozen=True)
class _Linear(Set):
    """The constraint aᵀw ≤ c or aᵀw = c."""

    a: Numbers
    c: float = 0.0

    def __post_init__(self) -> None:
        """Turn a into a tuple, so that sets can be compared."""
        for name in ("a", "c"):
            object.__setattr__(self, name, _listed(getattr(self, name)))

    def direction(self) -> tuple[np.ndarray, float]:
        """Return a/‖a‖ and c/‖a‖."""
        c = number(self, "c")
        try:
            a = np.array(self.a, dtype=float)
        except (TypeError, ValueError):
            a = np.zeros(0)
        top = float(np.abs(a).max()) if a.size else 0.0
        if a.ndim != 1 or not 0 < top < math.inf:
            raise ValueError(
                f"{type(self).__name__} needs finite numbers a, one for each weight and not all 0, "
                f"got a={self.a!r}"
            )
        length = top * float(np.linalg.norm(a / top))
        if not abs(c) <= LARGEST * length:
            raise ValueError(
                f"{type(self).__name__} needs weights with aᵀw = c that are not too large, "
                f"|c| ≤ {LARGEST:g}·‖a‖, got c={self.c!r} and ‖a‖={length:g}"
            )
        return a / length, c / length

    def _numbers(self) -> list[float]:
        a, c = self.direction()
        return [c, *a]

    @property
    def width(self) -> int | None:
        """The number of weights that the set is for."""
        return self.direction()[0].size

    @property
    def bounded(self) -> bool:
        """Whether the set is bounded, which it is not."""
        return False


@dataclass(frozen=True)
class HalfSpace(_Linear):
    """The weights with aᵀw ≤ c: a linear constraint, such as a limit on a sum of weights.

    Parameters
    ----------
    a : sequence of float
        One coefficient for each weight.
    c : float, default 0.0
        The limit, |c| ≤ 1e100·‖a‖.

    Examples
    --------
    >>> import onlinear as ol
    >>> from onlinear.sets import HalfSpace
    >>> model = ol.GD(eta=0.25, within=HalfSpace([1.0, -1.0]))  # w_1 ≤ w_2
    >>> model.learn_one([1.0, 0.0], 2.0)
    >>> model.coef_
    array([0.5, 0.5])
    """

    kind = HALF_SPACE


@dataclass(frozen=True)
class HyperPlane(_Linear):
    """The weights with aᵀw = c: a linear equation that the weights must satisfy.

    Parameters
    ----------
    a : sequence of float
        One coefficient for each weight.
    c : float, default 0.0
        The value of aᵀw, |c| ≤ 1e100·‖a‖.
    """

    kind = HYPER_PLANE


def _listed(value: Any) -> Any:
    """Return a sequence of numbers as a tuple of floats, and any other value as it is."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple, np.ndarray)) and np.ndim(value) == 1:
        try:
            return tuple(float(each) for each in value)
        except (TypeError, ValueError):
            return value
    return value


# --- compiled code -----------------------------------------------------------------------------


@kernel
def highest(form, start, v):
    """Return the supremum of wᵀv over the set whose record begins at form[start]."""
    kind, size = form[start + KIND], form[start + NUMBER]
    low, high = extremes(v)
    if kind == BALL:
        return size * norm(v)
    if kind == L1_BALL:
        return size * max(high, -low)
    if kind == SIMPLEX:
        return size * high
    if kind != BOX:
        return math.inf if high > 0.0 or low < 0.0 else 0.0
    total = 0.0
    k = int(size)
    for i in range(v.size):
        j = start + VECTOR + (i if k > 1 else 0)
        if v[i] != 0.0:
            total += max(form[j] * v[i], form[j + k] * v[i])
    return total


@kernel
def heights(form, start, V, out):
    """Write :func:`highest` of each row of V to ``out``."""
    for i in range(out.size):
        out[i] = highest(form, start, V[i])
