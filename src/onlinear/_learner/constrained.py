"""The base class of first-order learners whose weights can be kept in a constraint set."""

import dataclasses
import re
from typing import Any, ClassVar

import numpy as np

from onlinear._engine.status import DOMAIN, FINE, OVERFLOW, Outcome
from onlinear._engine.step import Step
from onlinear._learner.common_point import have_no_common_point
from onlinear._learner.first_order import FirstOrder
from onlinear._updates.constrained_step import constrained, form_of
from onlinear._updates.projections import EUCLIDEAN, POSITIVE, SHARES
from onlinear.sets import Box, Capped, Custom, HalfSpace, HyperPlane, Intersection, Set
from onlinear.sets._combined import checked, members, plain, rebuilt
from onlinear.sets._values import FLOOR, HALF_SPACE, KIND, NUMBER

__all__ = ["NOT_PROJECTED", "NO_LIMIT", "Constrained", "floor"]

NOT_PROJECTED = (
    "needs a projection that leaves its weights finite (and, in EG, EGPM and EGU, above 0 where "
    "they were above 0), but that of within={within} does not"
)

EQUAL = 1e-12  # relative: coefficients that differ by less are equal
NO_LIMIT = 1e50  # a radius that no weights of usual size reach


def reason(error: Exception) -> str:
    """Return why Numba did not compile a function, in one line."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))  # without colours
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("Failed in nopython mode")]
    if not lines:
        return type(error).__name__
    return " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]


def floor(alpha: float) -> list[float]:
    """Return the record of the least weight that α sets: α/n."""
    return [float(FLOOR), 3.0, alpha]


class Constrained(FirstOrder):
    """A first-order learner that projects its weights on a set after every round.

    A subclass declares its geometry (:mod:`onlinear._updates.projections`) and the sets that it
    takes, besides linear constraints, intersections and custom sets.
    """

    within: Set | None = dataclasses.field(default=None, kw_only=True)

    _geometry: ClassVar[int]
    _sets: ClassVar[tuple[type[Set], ...]]
    _copies: ClassVar[int] = 1  # weights per input
    _any_label: ClassVar[float] = 1.0  # a label that is allowed whatever the loss

    # --- the sets -----------------------------------------------------------------------------

    def _members(self) -> tuple[Set, ...]:
        """Return the sets that ``within`` is made of, after a check that the learner takes them."""
        given = checked(self)
        if given is None:
            return ()
        found = members(given)
        allowed = (*self._sets, HalfSpace, HyperPlane, Custom)
        for each in found:
            if not isinstance(each, allowed):
                names = ", ".join(kind.__name__ for kind in allowed)
                raise ValueError(
                    f"{type(self).__name__} needs within to be {names} or an Intersection of them, "
                    f"the sets with a projection in its geometry, got within={given!r}"
                )
            self._check_set(each)
        if len({each.project for each in found if isinstance(each, Custom)}) > 1:
            raise ValueError(
                "Intersection needs to have one Custom set at most: let one function project on "
                f"all of them, got within={given!r}"
            )
        return found

    def _check_set(self, given: Set) -> None:
        """Refuse a set that has no point in common with the weights of the learner's geometry."""
        d = self.n_features_in_ if self._state is not None else None
        self._check_width(given, d)
        least = self._edges(given)
        if least is not None and not self._always_holds(given):
            low, c, high = least
            inside = low < c < high if isinstance(given, HyperPlane) else low < c
            if not inside:
                raise ValueError(
                    f"{type(self).__name__} needs a set that its weights can reach: aᵀw is between "
                    f"{low:g} and {high:g}, got {given!r}"
                )
        if isinstance(given, Box) and self._geometry == POSITIVE:
            floors, tops = given.limits()
            if not ((floors >= 0).all() and (tops > 0).all()):
                raise ValueError(
                    f"{type(self).__name__} needs Box limits low ≥ 0 and high > 0, since its "
                    f"weights are positive, got {given!r}"
                )

    def _check_width(self, given: Set, d: int | None) -> None:
        """Refuse a set for another number of weights than d, if d is known."""
        if d is None:
            return
        if given.width not in (None, d):
            raise ValueError(
                f"{type(self).__name__} needs a set for {d} weights, as x has {d} features, got "
                f"one for {given.width}: {given!r}"
            )
        if isinstance(given, Capped) and given.cap * d * self._copies < 1 - 1e-12:
            raise ValueError(
                f"{type(self).__name__} needs cap·{d * self._copies} ≥ 1, since its "
                f"{d * self._copies} weights sum to 1, got {given!r}"
            )

    def _edges(self, given: Set) -> tuple[float, float, float] | None:
        """Return inf aᵀw, c and sup aᵀw over all weights of an entropic geometry, else None."""
        if self._geometry not in (SHARES, POSITIVE) or not isinstance(
            given, (HalfSpace, HyperPlane)
        ):
            return None
        (c, *a), c_given = self._record_of(given)[2:], given.c
        low, high = min(a), max(a)
        if self._geometry == SHARES:
            size = c_given / c if c != 0 else float(np.linalg.norm(given.a))
            return low * size, c_given, high * size
        return (-np.inf if low < 0 else 0.0), c_given, (np.inf if high > 0 else 0.0)

    def _always_holds(self, given: Set) -> bool:
        """Return whether all weights that sum to 1 satisfy a constraint of equal coefficients."""
        if self._geometry != SHARES or not isinstance(given, (HalfSpace, HyperPlane)):
            return False
        low, c, high = self._edges(given) or (0.0, 0.0, 0.0)
        room = EQUAL * max(abs(low), abs(high))
        return high - low <= room and (
            abs(c - high) <= room if isinstance(given, HyperPlane) else c >= high - room
        )

    def _record_in_force(self, given: Set) -> list[float]:
        """Return the record of a set; of one that all weights are well within, if it always holds.

        A projection on equal coefficients would follow the rounding errors of aᵀw.
        """
        record = self._record_of(given)
        if self._always_holds(given):  # ‖a‖ = 1, and thus aᵀw ≤ 1
            record[KIND], record[NUMBER] = float(HALF_SPACE), 2.0
        return record

    def _record_of(self, given: Set) -> list[float]:
        """Return the record of a set, in terms of the weights that are projected."""
        return given.record()

    def _last(self) -> list[list[float]]:
        """Return the records of the sets that follow ``within``: of the radius or α, if given."""
        return []

    def _form(self, *, exact: bool = False) -> np.ndarray:
        """Return the form of all sets; if ``exact``, all of them are in one cycle."""
        found = self._members()
        records = [*map(self._record_in_force, found), *self._last()]
        within = self.within
        cycle = len(found) if isinstance(within, Intersection) and within.exact else 0
        if exact:
            cycle = len(records) if len(records) > 1 else 0
        rule = OVERFLOW if self._custom() is None else DOMAIN + len(self.algorithm.rules) - 1
        return form_of(records, cycle, self._power(), self._geometry, rule)

    def _power(self) -> float:
        return 2.0

    def _free(self, params: Any) -> Any:
        """Return the parameters of the step, without the limits that are among the sets."""
        raise NotImplementedError

    def _bounded(self) -> bool:
        """Whether the weights cannot grow without limit."""
        return bool(self._last()) or any(each.bounded for each in self._members())

    def _custom(self) -> Any:
        """Return the projection of the custom set, or None if there is none."""
        return next((each.project for each in self._members() if isinstance(each, Custom)), None)

    # --- the step -----------------------------------------------------------------------------

    @property
    def _step(self) -> Step:
        if self.within is None:
            return self.algorithm.step
        found = self._members()
        exact = isinstance(self.within, Intersection) and self.within.exact
        return constrained(
            self.algorithm.step,
            dual=self._geometry != EUCLIDEAN,
            copies=self._copies,
            cycle=len(found) if exact else 0,
            custom=self._custom(),
        )

    def _numbers(self) -> tuple[Any, ...]:
        numbers = super()._numbers()
        if self.within is None:
            return numbers
        return *self._free(self._params()), self._form()

    def _begin(self, d: int, record: np.ndarray | None = None, *, own: bool = False) -> None:
        for each in self._members():
            self._check_width(each, d)
        super()._begin(d, record, own=own)
        if record is None and self.within is not None:  # a row of zeros only projects the weights
            numbers, zeros = self._numbers(), np.zeros(d)
            one, state = self._step.one, tuple(self._state)
            try:
                value, rule = one(state, numbers, zeros, self._any_label, self._work, True, 0)
            except Exception as error:
                refusal = self._not_compiled(error)
                if refusal is None:
                    raise
                raise refusal from error
            if rule != FINE:
                raise self._why(Outcome(0, rule, value), zeros, in_table=False)
            self._state.t[0] = 0.0
            self._check_common_point()

    def _not_compiled(self, error: Exception) -> ValueError | None:
        """Return the error to raise if Numba's is the custom set's; the first step compiles it."""
        numba = type(error).__module__.startswith("numba.")  # without importing Numba
        if not numba or self._custom() is None:
            return None
        custom = next(each for each in self._members() if isinstance(each, Custom))
        return ValueError(
            f"{custom!r} does not compile: {reason(error)}; a projection changes w in place, see "
            "docs/guide/constraints.md"
        )

    def _check_common_point(self) -> None:
        """Refuse several sets that are known to have no point in common."""
        if self._custom() is not None:
            return
        records = [*map(self._record_in_force, self._members()), *self._last()]
        n = self._state[1].size
        if len(records) > 1 and have_no_common_point(records, self._geometry, self._power(), n):
            params = self.get_params()
            limits = {name: params.get(name) for name in ("radius", "alpha")}
            given = {name: value for name, value in limits.items() if value is not None}
            allowed = "".join(f" and allowed by {name}" for name in given)
            values = "".join(f", {name}={value!r}" for name, value in given.items())
            raise ValueError(
                f"{type(self).__name__} needs sets with a point in common, but no weights are in "
                f"all of them{allowed}, got within={self.within!r}{values}"
            )

    def _prepare(self) -> tuple[Any, ...]:
        self._work = self._scratch()  # its size depends on the set, which may have changed
        return super()._prepare()

    # --- files --------------------------------------------------------------------------------

    def _to_plain(self) -> dict[str, Any]:
        params = super()._to_plain()
        given = params.pop("within")
        return params if given is None else {**params, "within": plain(given)}

    @classmethod
    def _from_plain(cls, params: dict[str, Any]) -> dict[str, Any]:
        params = super()._from_plain(params)
        if "within" not in params:  # no set
            return params
        return {**params, "within": rebuilt(params["within"])}
