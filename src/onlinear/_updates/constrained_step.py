"""Steps of learners whose weights stay in a set: a learner's step, and then projections.

The sets are handed to the compiled step as one array, the *form*: the number of sets, how many of
them make up a cycle of Dykstra's algorithm (0: none), p for the p-norm geometry, the geometry, the
rule that a row breaks after which the weights are not finite, and the record of each set
(:meth:`onlinear.sets.Set.record`). First, the sets of the cycle are
projected on by Dykstra's algorithm, then each of the others once, in order.

Dykstra's algorithm projects θ on each set in turn, but first adds back to θ the correction that
the previous projection on the same set has made: v ← P_i(θ + p_i), p_i ← θ + p_i − v, θ ← v. It
ends when the corrections no longer change; θ itself may stand still for many cycles and then go on.
Wherever it ends, θ is no farther from any point of the intersection than it was at the start, which
is all that the bounds need (Boyle & Dykstra 1986; Bauschke & Lewis 2000 for Bregman projections).
"""

import math
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from onlinear._engine.status import FINE, OVERFLOW
from onlinear._engine.step import Step
from onlinear._numerics.linalg import finite, kernel, scale
from onlinear._updates import projections
from onlinear._updates.projections import weights_from
from onlinear.sets._values import LENGTH

__all__ = ["constrained", "excess", "form_of", "into", "rebound"]

SETS, CYCLE, POWER, GEOMETRY, RULE, RECORDS = range(6)  # indices in a form
CYCLES = 1000  # of Dykstra's algorithm, at most
STILL = 1e-13  # relative change of the corrections in a cycle at which it ends


def form_of(
    records: list[list[float]], cycle: int, p: float, geometry: int, rule: int = OVERFLOW
) -> np.ndarray:
    """Return the form of the sets with these records, the first ``cycle`` of them in a cycle."""
    head = [float(len(records)), float(cycle), p, float(geometry), float(rule)]
    return np.array(sum(records, head), dtype=np.float64)


project = projections.project  # a global name of this module, so that it can be bound anew


@kernel
def into(form, theta, w, room):
    """Project θ, in place, on the sets of a form; w and the rows of ``room`` are scratch.

    ``room`` has as many rows as a cycle has sets, and one more.
    """
    geometry, p = int(form[GEOMETRY]), form[POWER]
    sets, cycle = int(form[SETS]), int(form[CYCLE])
    start = RECORDS
    if cycle > 0:
        _dykstra(geometry, p, form, cycle, theta, w, room)
        for _ in range(cycle):
            start += int(form[start + LENGTH])
    for _ in range(sets - cycle):
        project(geometry, p, form, start, theta, w)
        start += int(form[start + LENGTH])


@kernel
def _dykstra(geometry, p, form, cycle, theta, w, room):
    """Project θ, in place, on the intersection of the first ``cycle`` sets of a form."""
    n = theta.size
    for i in range(cycle):
        for j in range(n):
            room[i, j] = 0.0
    whole = room[cycle]
    for _ in range(CYCLES):
        start = RECORDS
        moved, size = 0.0, 0.0
        for i in range(cycle):
            for j in range(n):
                theta[j] += room[i, j]
                whole[j] = theta[j]
            project(geometry, p, form, start, theta, w)
            for j in range(n):
                correction = whole[j] - theta[j]
                moved += (correction - room[i, j]) ** 2
                size += correction * correction + theta[j] * theta[j]
                room[i, j] = correction
            start += int(form[start + LENGTH])
        if not moved > STILL * STILL * size:
            break


@kernel
def excess(form, theta, w, kept, again):
    """Return by how much the projection on any one set of a form moves a weight of θ, at most.

    It is relative to the largest weight. The vectors w, ``kept`` and ``again`` are scratch.
    """
    geometry, p = int(form[GEOMETRY]), form[POWER]
    weights_from(geometry, p, theta, kept)
    most, largest = 0.0, 0.0
    start = RECORDS
    for _ in range(int(form[SETS])):
        scale(1.0, theta, again)
        project(geometry, p, form, start, again, w)
        weights_from(geometry, p, again, w)
        for j in range(w.size):
            most = max(most, abs(w[j] - kept[j]))
            largest = max(largest, abs(kept[j]))
        start += int(form[start + LENGTH])
    return most / largest if most > 0.0 else 0.0


# --- steps -------------------------------------------------------------------------------------


def plain(state, params, x, y, work):
    """Placeholder for a learner's own step."""
    raise NotImplementedError


def pair(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN; for states of t and w.

    The learner's own step runs on a copy of the state, whose weights are then projected.
    """
    if math.isnan(y):
        return plain(state, params[:-1], x, y, work[:2])
    t, w = state
    form = params[-1]
    count, trial = work[2][:1], work[3]
    count[0] = t[0]
    scale(1.0, w, trial)
    m, rule = plain((count, trial), params[:-1], x, y, work[:2])
    if rule != FINE:
        return m, rule
    into(form, trial, work[4], work[5:])
    if not finite(trial):
        return m, int(form[RULE])
    scale(1.0, trial, w)
    t[0] = count[0]
    return m, FINE


def triple(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN; for states of t, θ and w."""
    if math.isnan(y):
        return plain(state, params[:-1], x, y, work[:2])
    t, theta, w = state
    form = params[-1]
    n, k = theta.size, theta.size // x.size  # EGPM has k = 2 weights per input
    count, trial, moved = work[2][:1], work[3 : 3 + k], work[3 + k : 3 + 2 * k]
    count[0] = t[0]
    scale(1.0, theta.reshape(-1), trial.reshape(-1))
    scale(1.0, w.reshape(-1), moved.reshape(-1))
    copy = (count, trial.reshape(theta.shape), moved.reshape(w.shape))
    m, rule = plain(copy, params[:-1], x, y, work[:2])
    if rule != FINE:
        return m, rule
    new, scratch = trial.reshape(-1), moved.reshape(-1)
    into(form, new, scratch, work[3 + 2 * k :].reshape((-1, n)))
    weights_from(int(form[GEOMETRY]), form[POWER], new, scratch)
    if not (finite(new) and finite(scratch)):
        return m, int(form[RULE])
    scale(1.0, new, theta.reshape(-1))
    scale(1.0, scratch, w.reshape(-1))
    t[0] = count[0]
    return m, FINE


def rebound(function: Any, **names: Any) -> Any:
    """Return a function, or a kernel, with some of its global names bound to other kernels."""
    own = getattr(function, "py_func", function)
    made = FunctionType(own.__code__, {**own.__globals__, **names}, own.__name__)
    return made if own is function else kernel(made)


def with_custom(custom: Callable[..., Any]) -> dict[str, Any]:
    """Return ``into`` and ``excess`` for forms with a custom set, whose projection is given."""
    on_given = rebound(projections._on_given, given=custom)
    one = rebound(projections.project, _on_given=on_given)
    cycle = rebound(_dykstra, project=one)
    return {
        "into": rebound(into, project=one, _dykstra=cycle),
        "excess": rebound(excess, project=one),
    }


@cache
def constrained(
    step: Step, *, dual: bool, copies: int, cycle: int, custom: Callable[..., Any] | None
) -> Step:
    """Return a learner's step followed by projections on the sets of a form, its last parameter.

    ``dual`` says whether the state has θ and w, or w only, ``copies`` how many weights there are
    per input, ``cycle`` how many sets a cycle of Dykstra's algorithm has at most, and ``custom`` is
    the projection of a custom set, if there is one.
    """
    names = {} if custom is None else {"into": with_custom(custom)["into"]}
    template = rebound(triple if dual else pair, plain=kernel(step.function), **names)
    template.__module__, template.__name__ = step.function.__module__, "step_within"
    return Step(template, 3 + copies * (cycle + 3))
