"""Constraint sets for the weights of first-order learners: what is known of them in advance.

    Ball(radius)                     ‖w‖₂ ≤ radius (‖w‖_q ≤ radius in PNorm)
    L1Ball(radius)                   ‖w‖₁ ≤ radius
    Box(low, high)                   low ≤ w_i ≤ high, with limits for all weights or for each
    Simplex(total)                   w_i ≥ 0, Σ w_i = total
    Capped(cap)                      w_i ≤ cap
    HalfSpace(a, c)                  aᵀw ≤ c
    HyperPlane(a, c)                 aᵀw = c
    Intersection(A, B, …)            the weights that are in every one of these sets
    Custom(project)                  your own projection

``GD``, ``PNorm``, ``EG``, ``EGPM`` and ``EGU`` take a set as ``within=``, and project their weights
on it after every round, in the geometry of the learner. Not every learner takes every set:

=========== ==== ======= ======== =====
set         GD   PNorm   EG, EGPM EGU
=========== ==== ======= ======== =====
Ball        yes  yes
L1Ball      yes
Box         yes                   yes
Simplex     yes                   yes
Capped                   yes
HalfSpace   yes  yes     yes      yes
HyperPlane  yes  yes     yes      yes
Custom      yes  yes     yes      yes
=========== ==== ======= ======== =====

The bounds of the learners hold for weights u in the set, because a projection on a set moves the
weights nearer to every u of the set, in the learner's divergence. This is also true of one
projection on each of several sets in turn, so that ``Intersection`` makes one such pass per round.
With ``exact=True``, it projects on the intersection itself, by Dykstra's algorithm.

Herbster & Warmuth, JMLR 2001, sections 3 and 6; Boyle & Dykstra 1986; Censor & Reich 1998
(Dykstra's algorithm for Bregman projections); Michelot 1986 (the projection on the simplex).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from onlinear._numerics.linalg import dot, extremes, kernel, norm
from onlinear._state_files import named_values
from onlinear._validation.checks import number

__all__ = [
    "Ball",
    "Box",
    "Capped",
    "Custom",
    "HalfSpace",
    "HyperPlane",
    "Intersection",
    "L1Ball",
    "Set",
    "Simplex",
    "register",
]

BALL, L1_BALL, BOX, SIMPLEX, CAPPED, HALF_SPACE, HYPER_PLANE, GIVEN, FLOOR = range(9)
KIND, LENGTH, NUMBER, VECTOR = range(4)  # indices in the record of a set; a vector is at the end

Limits = float | Sequence[float]


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
        The radius, radius > 0.
    """

    kind = BALL
    radius: float = 1.0

    def _numbers(self) -> list[float]:
        return [number(self, "radius", above=0)]


@dataclass(frozen=True)
class L1Ball(Set):
    """The weights with ‖w‖₁ ≤ radius; the projection sets small weights to 0.

    Parameters
    ----------
    radius : float, default 1.0
        The radius, radius > 0.
    """

    kind = L1_BALL
    radius: float = 1.0

    def _numbers(self) -> list[float]:
        return [number(self, "radius", above=0)]


@dataclass(frozen=True)
class Box(Set):
    """The weights with low ≤ w_i ≤ high, such as ``Box(low=0.0)``: no weight is negative.

    Parameters
    ----------
    low, high : float or sequence of float, default −inf and inf
        The limits of all weights or, as a sequence, of each weight; low ≤ high. Limits may be
        infinite. For ``EGU``, they must be at least 0, and ``high`` above 0.

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
            low, high = (
                np.atleast_1d(np.array(each, dtype=float)) for each in (self.low, self.high)
            )
            low, high = np.broadcast_arrays(low, high)
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
        The sum of the weights, total > 0.
    """

    kind = SIMPLEX
    total: float = 1.0

    def _numbers(self) -> list[float]:
        return [number(self, "total", above=0)]


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

    a: Sequence[float]
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
        The limit.

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
        The value of aᵀw.
    """

    kind = HYPER_PLANE


@dataclass(frozen=True, repr=False)
class Custom(Set):
    """A set that is given by your own projection.

    Parameters
    ----------
    project : function, compiled by :func:`onlinear.extend.kernel`
        ``project(w)`` changes the vector w into the point of the set that is nearest to w in the
        divergence of the learner: ½‖u − w‖² for ``GD``, the relative entropy for ``EG``, ``EGPM``
        (whose w has 2n entries, those of w⁺ and then those of w⁻) and ``EGU``. It must not allocate
        memory. A certificate with a given comparator checks in each round that the weights have
        come no farther from the comparator.
    support : function or None, default None
        ``support(v)`` returns sup ∇F(w)ᵀv over the weights w of the set, which is sup wᵀv for
        ``GD``. Without it, the bound holds for comparators that stay the same.

    Examples
    --------
    >>> import onlinear as ol
    >>> from onlinear.sets import Custom
    >>> @ol.extend.kernel
    ... def not_negative(w):
    ...     for i in range(w.size):
    ...         w[i] = max(w[i], 0.0)
    >>> model = ol.GD(eta=0.25, within=Custom(not_negative))
    >>> model.learn_one([1.0, -1.0], 2.0)
    >>> model.coef_
    array([1., 0.])
    """

    kind = GIVEN
    project: Callable[[np.ndarray], None]
    support: Callable[[np.ndarray], float] | None = None

    def __repr__(self) -> str:
        """Show the names of the functions."""
        given = [self.project] + [self.support] * (self.support is not None)
        return f"Custom({', '.join(getattr(each, '__qualname__', repr(each)) for each in given)})"

    def _numbers(self) -> list[float]:
        if not hasattr(self.project, "py_func"):
            raise ValueError(
                "Custom needs a function project(w) decorated with onlinear.extend.kernel, which "
                f"changes w in place, got project={self.project!r}"
            )
        if self.support is not None and not callable(self.support):
            raise ValueError(
                f"Custom needs a function support(v) or None, got support={self.support!r}"
            )
        return [0.0]

    @property
    def bounded(self) -> bool:
        """Whether the set is known to be bounded."""
        return self.support is not None


@dataclass(frozen=True, init=False, repr=False)
class Intersection(Set):
    """The weights that are in each of several sets.

    Parameters
    ----------
    *sets : Set
        The sets; they must have a point in common. A bound against weights that change needs a
        bounded set, which must be the last one.
    exact : bool, default False
        If False, a round projects once on each set, in the order given; afterwards the weights are
        in the last set, but not always in the others. If True, a round projects on the intersection
        by Dykstra's algorithm, which projects on each set many times. The bounds are the same.

    Examples
    --------
    >>> import onlinear as ol
    >>> from onlinear.sets import Ball, Box, Intersection
    >>> model = ol.GD(eta=0.25, within=Intersection(Box(low=0.0), Ball(0.5)))
    >>> model.learn_one([1.0, -1.0], 2.0)
    >>> model.coef_
    array([0.5, 0. ])
    """

    sets: tuple[Set, ...]
    exact: bool = False

    def __init__(self, *sets: Set, exact: bool = False) -> None:
        object.__setattr__(self, "sets", tuple(sets))
        object.__setattr__(self, "exact", exact)

    def __repr__(self) -> str:
        """Show the sets, and ``exact`` if it is True."""
        parts = [*map(repr, self.sets), *["exact=True"] * bool(self.exact)]
        return f"Intersection({', '.join(parts)})"


def members(given: Set) -> tuple[Set, ...]:
    """Return the sets of an intersection, or the set itself; raise an error for other values."""
    if not isinstance(given, Intersection):
        return (given,)
    if given.exact not in (True, False) or not given.sets:
        raise ValueError(
            f"Intersection needs one set or more, and exact=True or exact=False, got {given!r}"
        )
    for each in given.sets:
        if not isinstance(each, Set) or isinstance(each, Intersection):
            raise ValueError(
                "Intersection needs sets such as onlinear.sets.Ball(1.0), none of which is an "
                f"intersection, got {each!r}"
            )
    return given.sets


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


# --- state files: functions are stored by name, never as code ----------------------------------

BUILT_IN: dict[str, type[Any]] = {
    each.__name__: each for each in (Ball, L1Ball, Box, Simplex, Capped, HalfSpace, HyperPlane)
}
_registered: dict[str, Custom] = {}


def register(given: Custom) -> Custom:
    """Register a custom set, so that its learners can be saved and loaded; return it.

    A set is registered under the module and name of its function ``project``. State files contain
    only these two names, and loading uses only sets that are registered in this process.

    >>> from onlinear import extend, sets
    >>> @extend.kernel
    ... def not_negative(w):
    ...     for i in range(w.size):
    ...         w[i] = max(w[i], 0.0)
    >>> known = sets.register(sets.Custom(not_negative))
    """
    function = given.project
    _registered[f"{function.__module__}.{function.__qualname__}"] = given
    return given


def checked(owner: Any) -> Set | None:
    """Return the parameter ``within`` of a learner; raise an error if it is no set."""
    given = owner.within
    if given is not None and not isinstance(given, Set):
        raise ValueError(
            f"{type(owner).__name__} needs within=None or a set such as onlinear.sets.Box(low=0.0),"
            f" got within={given!r}"
        )
    return given


def plain(given: Set) -> dict[str, Any]:
    """Return a set as a dict for a state file; refuse a custom one that is not registered."""
    if isinstance(given, Intersection):
        return {"sets": [plain(each) for each in members(given)], "exact": bool(given.exact)}
    if type(given) in BUILT_IN.values():
        return named_values.plain(given)
    for name, known in _registered.items():
        if known == given:
            return {"registered": name}
    raise ValueError(
        "a custom set needs onlinear.sets.register(set) before it is saved or loaded, got "
        f"{given!r}"
    )


def rebuilt(described: dict[str, Any]) -> Set:
    """Return the set that a state file describes; a custom one must be registered already."""
    if "sets" in described:
        return Intersection(*map(rebuilt, described["sets"]), exact=described["exact"])
    if "name" in described:
        return named_values.rebuilt(described, BUILT_IN)  # type: ignore[no-any-return]
    name = described["registered"]
    if name not in _registered:
        raise ValueError(f"no set is registered as {name!r} (call onlinear.sets.register first)")
    return _registered[name]
