"""The bound on the squared loss of Auto with ``guaranteed=True``; it runs Auto again.

The bound of :mod:`onlinear.algorithms._auto.correction` is against Auto without the correction and
against its LASERs. Their predictions are computed here anew, from the rows and labels alone; the
least-squares problem of the correction is solved apart from them, as in other bounds.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from onlinear._engine.status import FINE
from onlinear._engine.step import Tally
from onlinear._learner.bounds.guarantee import (
    COMPARATOR,
    EXTRA,
    Guarantee,
    Path,
    compete,
    enter,
    lose,
    tallied,
)
from onlinear._learner.bounds.ledger import Account
from onlinear._numerics.linalg import scale
from onlinear._validation.states import check_sums
from onlinear.algorithms._auto.check import check_states
from onlinear.algorithms._auto.correction import begin_to_correct, corrected, differences
from onlinear.algorithms._auto.labels import FIRST, SIZE, judge
from onlinear.algorithms._auto.rounds import (
    FIRST_ROWS,
    GUESS,
    LABELS,
    LARGEST,
    MIDDLE,
    RIDGES,
    issue_ticket,
    learn_label,
    refused,
    scratch,
    split_scratch,
)
from onlinear.algorithms._auto.state import AutoParams, AutoState

__all__ = ["bound", "guarantee"]


@Tally.with_scratch(lambda d: scratch(d) + -(-SIZE // d))
def bound(state, params, x, y, work):
    """Add a row to the bound. The state ends with that of an Auto without the correction."""
    tally, notes, t, v, S = state[:5]
    own, K = state[5:], v.size
    rounds, labels, d, F = own[0], own[LABELS], x.size, own[RIDGES].shape[1]
    if refused(x, y, d)[1] != FINE:
        return lose(tally, notes, refused(x, y, d)[1], y)
    ticket, tidy, values, room = split_scratch(work, d, F)
    h, u = room[5][:K], room[6][:K]
    z, copy = values[:K], work.reshape(work.size)[work.size - SIZE :]
    issue_ticket(own, x, room[0], room[1], tidy, ticket)
    numbers = ticket[d + F :]
    guess, off = numbers[GUESS], y - labels[FIRST]  # ŷ = 0 in the first round
    comparator, extra = tally[COMPARATOR], tally[EXTRA]
    if S[0, 0] == 0.0:
        comparator += (off - guess) * (off - guess)
    else:
        differences(ticket[d : d + F], numbers[MIDDLE], guess, z)
        prediction = guess + corrected(v, S, z, h)
        scale(1.0, labels, copy)
        near, believed = judge(copy, rounds[0] + 1.0, off, guess)
        if believed:
            gain, chi, rule = compete((t, v, S), math.inf, z, near - guess, (h, u))
            if rule != FINE:
                return lose(tally, notes, rule, gain)
            comparator += gain
            extra += (near - guess) * (near - guess) * chi / (1.0 + chi)
            extra += (off - near) * (off + near - 2.0 * prediction)
        else:
            extra += (off - prediction) * (off - prediction)
    learn_label(own, params, ticket, y, tidy, values, room)
    begin_to_correct(rounds[0], labels, own[FIRST_ROWS], y - labels[FIRST], v, S)
    return enter(tally, notes, comparator, 1.0, extra)


def check_bound(state: tuple[np.ndarray, ...]) -> None:
    """Refuse a state of the bound that no rows can produce."""
    if math.isfinite(state[0][COMPARATOR]):
        check_sums("Σ of the correction", state[4])
        check_states(AutoState(*(array[None] for array in state[5:])), LARGEST)


def guarantee(params: AutoParams, init: Callable[..., Any]) -> Guarantee:
    """Return the bound; ``init(params, d)`` is the initial state of Auto without the correction."""

    def begin(d: int) -> tuple[np.ndarray, ...]:
        own = init(params, d)
        K = own.rounds.size
        return *tallied(np.zeros(1), np.zeros(K), np.zeros((K, K))), *own

    def price(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return tally[COMPARATOR] + tally[EXTRA], np.zeros(1, dtype=bool)

    least = "min over v of β‖v‖² + loss of g + vᵀz (g is Auto not corrected, z its LASERs less g)"
    added = "Σ (y−g)²·χ/(1+χ) + what outlying labels cost"
    return Guarantee(
        f"loss ≤ comparator + {added} (the forward algorithm on z)",
        least,
        Account("Auto", begin, bound, tuple(params), check=check_bound),
        f"loss ≤ {least} + {added} (the forward algorithm on z)",
        price,
    )
