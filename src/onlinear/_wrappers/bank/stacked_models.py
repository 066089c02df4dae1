"""Stacks: a stack holds the states of models with the same step function, side by side.

The learners of a bank are divided into a few stacks. The loops over rows and models are the
engine's (:mod:`onlinear._engine.loops`: ``each``, ``banked``); this module calls them for blocks of
rows, and divides the models among threads. The models of a bank share only the rows, so the results
are the same to the bit for any number of threads.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.record_block import RecordBlock
from onlinear._engine.status import FINE, Outcome
from onlinear._engine.step import FIRST_BLOCK, Step, next_block
from onlinear._engine.tables import to_read
from onlinear._engine.threads import Crew
from onlinear._learner.base import Learner

__all__ = ["Stack", "check_columns", "one_row", "run", "stacked"]

# Several threads are used once a block takes this many seconds in one thread. Depending on the
# models, threads begin to save time at 0.4 to 1.2 ms; handing out eight slices takes 0.1 ms.
THREADS_PAY = 0.002
SLICES = 4  # per thread: models differ in cost, and a thread that is idle takes the next slice


class Stack(NamedTuple):
    """Models with the same step function: their states, parameters and places in the bank."""

    step: Step
    states: RecordBlock
    params: RecordBlock
    where: np.ndarray


def check_columns(models: list[Learner]) -> None:
    """Refuse learners that have learnt from different columns."""
    columns = [(model.n_features_in_, model._names) for model in models]
    for other in columns[1:]:
        if other != columns[0]:
            raise ValueError(
                "Bank needs learners that have learnt from the same columns, got "
                + " and ".join(
                    f"{d} features" + (f" {names}" if names else "")
                    for d, names in (columns[0], other)
                )
            )


def stacked(models: list[Learner]) -> list[Stack]:
    """Divide initialized learners into stacks, to whose memory the learners' states are moved.

    Learners with the same step function, the same shapes of state and parameters, and the same way
    to code labels share a stack.
    """
    alike: dict[Any, list[int]] = {}
    numbers = [[np.asarray(value) for value in model._numbers()] for model in models]
    for place, (model, values) in enumerate(zip(models, numbers, strict=True)):
        shapes = tuple(array.shape for array in model._state)
        kinds = tuple((value.dtype, value.shape) for value in values)
        alike.setdefault((model._step, shapes, kinds, model._coding()), []).append(place)
    stacks = []
    for (step, *_), places in alike.items():
        states = RecordBlock(len(places), models[places[0]]._state)
        params = RecordBlock(len(places), numbers[places[0]])
        for k, place in enumerate(places):
            states.put(k, models[place]._state)
            params.put(k, numbers[place])
            models[place]._begin(models[place].n_features_in_, states.records[k], own=True)
        stacks.append(Stack(step, states, params, np.array(places)))
    return stacks


class Ended(NamedTuple):
    """The result of running a slice of models over a block of rows.

    If a model refused a row, the fields are the number of the earliest row refused, the model's
    place in the bank, the rule and the value that broke the rule; otherwise ``rule`` is FINE.
    ``seconds`` is the time taken.
    """

    row: int
    place: int
    rule: int
    value: float
    seconds: float


class StackSlice(NamedTuple):
    """The models ``first``, …, ``last`` − 1 of a stack, and their scratch memory."""

    stack: Stack
    first: int
    last: int
    work: np.ndarray

    def rounds(
        self,
        X: np.ndarray,
        y: np.ndarray,
        labelled: bool,
        skips: np.ndarray,
        out: np.ndarray,
        bad: np.ndarray,
        start: int,
        stop: int,
    ) -> Ended:
        """Run rows start, …, stop − 1 of a table; see :func:`onlinear._engine.loops.banked`."""
        step, states, params, where = self.stack
        y = y if y.ndim == 1 else y[where[0]]
        began = time.perf_counter()
        row, model, rule, value = step.banked(
            *(states.arrays, params.arrays, X, y, self.work, labelled, where, skips, out, bad),
            *(self.first, self.last, start, stop),
        )
        return Ended(row, int(where[model]), rule, value, time.perf_counter() - began)


def _divided(slices: list[StackSlice], seconds: list[float], number: int) -> list[StackSlice]:
    """Divide slices into about ``number`` slices of equal cost, given the seconds each took."""
    share = sum(seconds) / number
    smaller = []
    for (stack, first, last, work), took in zip(slices, seconds, strict=True):
        pieces = min(last - first, max(1, round(took / share)))
        for start, stop in pairwise(np.linspace(first, last, pieces + 1).astype(int).tolist()):
            smaller.append(StackSlice(stack, start, stop, np.zeros_like(work)))
    return smaller


def run(
    stacks: list[Stack],
    X: np.ndarray,
    y: np.ndarray,
    *,
    labelled: bool,
    skips: np.ndarray,
    refusal: Callable[[int, Outcome, np.ndarray], ValueError],
    progress: Callable[[int, int], None],
    threads: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Run every model of a bank over the rows of a table, as ``Step.run`` does for one model.

    The labels y are one per row or, in a table, a row of them for each model. Return two arrays
    with one row per model: the predictions, and which rows of the table are bad.
    ``refusal`` makes the error for the earliest row that broke a rule of a model that does not skip
    bad rows.
    """
    (rows, d), models = X.shape, skips.size
    X, y = to_read(X), to_read(y)
    out, bad = np.empty((models, rows)), np.zeros((models, rows), dtype=np.bool_)
    slices = [StackSlice(each, 0, each.where.size, each.step.work(d)) for each in stacks]
    for part in slices:
        part.rounds(X, y, labelled, skips, out, bad, 0, 0)  # compile before any block is timed
    several = min(threads, models) > 1
    row, block, together = 0, FIRST_BLOCK, False
    with Crew(threads) as crew:
        while row < rows:
            began = time.perf_counter()
            stop = min(rows, row + block)
            calls = [
                partial(part.rounds, X, y, labelled, skips, out, bad, row, stop) for part in slices
            ]
            ended = crew.run(calls) if together else [call() for call in calls]
            broken = [end for end in ended if end.rule != FINE]
            if broken:
                first = min(broken)
                outcome = Outcome(first.row, first.rule, first.value)
                raise refusal(first.place, outcome, X[first.row])
            took = time.perf_counter() - began
            if several and not together and took > THREADS_PAY:
                slices = _divided(slices, [end.seconds for end in ended], SLICES * threads)
                together = True
            row, block = stop, next_block(block, took)
            progress(row, rows)
    return out, bad


def one_row(
    calls: Sequence[tuple[Any, ...]],
    x: np.ndarray,
    y: Any,
    labelled: bool,
    values: np.ndarray,
    rules: np.ndarray,
) -> int:
    """Run one round of every model; return how many models refuse the row.

    ``calls`` has, for each stack, its loop and the arguments of this loop; ``y`` is one label, or a
    column with a label for each model. The result of model k goes to ``values[k]``: its
    prediction, or the value that broke a rule. The rule that it broke, or FINE, goes to
    ``rules[k]``.
    """
    refused = 0
    for each, state, params, work, where in calls:
        own = y if y.__class__ is float else y[where[0], 0]
        refused += each(state, params, x, own, work, labelled, where, values, rules)
    return refused
