"""Custom sets and intersections, and how learners check and state files hold any set."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from onlinear._state_files import named_values
from onlinear._validation.checks import choice
from onlinear.sets._values import (
    GIVEN,
    Ball,
    Box,
    Capped,
    HalfSpace,
    HyperPlane,
    L1Ball,
    Set,
    Simplex,
)

__all__ = ["Custom", "Intersection", "checked", "members", "plain", "rebuilt", "register"]


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
        The sets; they must have a point in common. When the learner begins, it refuses sets for
        which Dykstra's algorithm proves that there is none. Sets may escape this whose distance is
        tiny beside their sizes, and no proof is tried if one is a ``Custom`` set. A bound against
        weights that change needs a bounded set, which must be the last one.
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
    choice(given, "exact", (True, False))
    if not given.sets:
        raise ValueError(f"Intersection needs one set or more, got {given!r}")
    for each in given.sets:
        if not isinstance(each, Set) or isinstance(each, Intersection):
            raise ValueError(
                "Intersection needs sets such as onlinear.sets.Ball(1.0), none of which is an "
                f"intersection, got {each!r}"
            )
    return given.sets


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
    if not isinstance(given, Custom):
        raise ValueError(
            "register needs a Custom set (other sets are saved without being registered), got "
            f"{given!r}"
        )
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
