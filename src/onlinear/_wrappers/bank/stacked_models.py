"""Teams: models of one step with their states side by side, run over the same rows.

A bank is some teams. The loops over rows and models are the engine's (``_engine.each``,
``.banked``); here the rows are handed to them in blocks, and the models to threads. Models share
nothing but the rows, so that one thread or several give the same bits.
"""

import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine import step as _engine
from onlinear._engine.record_block import Block
from onlinear._engine.step import FINE, Outcome, Step
from onlinear._engine.tables import to_read
from onlinear._engine.threads import Crew
from onlinear._learner.base import Learner

__all__ = ["Team", "assembled", "run"]

# Several threads are used from blocks that take so many seconds in one. They begin to gain at .4 to
# 1.2 ms; to hand out eight parts takes .1.
THREADS_PAY = 0.002
PARTS = 4  # for each thread: models differ in cost, and who is done takes the next part


class Team(NamedTuple):
    """Models of one step: states and parameters, a record each, and their places in the bank."""

    step: Step
    states: Block
    params: Block
    where: np.ndarray


def assembled(models: list[Learner]) -> list[Team]:
    """Return learners that have begun as teams; their states now stand in the teams' blocks.

    Learners are in one team if they have one step, one shape of state and one of parameters.
    """
    alike: dict[Any, list[int]] = {}
    numbers = [[np.asarray(value) for value in model._numbers()] for model in models]
    for place, (model, values) in enumerate(zip(models, numbers, strict=True)):
        shapes = tuple(array.shape for array in model._state)
        kinds = tuple((value.dtype, value.shape) for value in values)
        alike.setdefault((model._step, shapes, kinds), []).append(place)
    teams = []
    for (step, _, _), places in alike.items():
        states = Block(len(places), models[places[0]]._state)
        params = Block(len(places), numbers[places[0]])
        for k, place in enumerate(places):
            states.put(k, models[place]._state)
            params.put(k, numbers[place])
            models[place]._begin(models[place].n_features_in_, states.records[k], own=True)
        teams.append(Team(step, states, params, np.array(places)))
    return teams


class Ended(NamedTuple):
    """The earliest row a part refused (FINE if none), by the model in which place, and the time."""

    row: int
    place: int
    rule: int
    value: float
    seconds: float


class Part(NamedTuple):
    """Some models of a team, and scratch for them."""

    team: Team
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
        """Run rounds start..stop of a table; see :func:`onlinear._engine.step.banked`."""
        step, states, params, where = self.team
        began = time.perf_counter()
        row, model, rule, value = step.banked(
            *(states.arrays, params.arrays, X, y, self.work, labelled, where, skips, out, bad),
            *(self.first, self.last, start, stop),
        )
        return Ended(row, int(where[model]), rule, value, time.perf_counter() - began)


def _divided(parts: list[Part], seconds: list[float], number: int) -> list[Part]:
    """Return parts that take about the same time, given what the present ones took."""
    share = sum(seconds) / number
    smaller = []
    for (team, first, last, work), took in zip(parts, seconds, strict=True):
        pieces = min(last - first, max(1, round(took / share)))
        for start, stop in pairwise(np.linspace(first, last, pieces + 1).astype(int).tolist()):
            smaller.append(Part(team, start, stop, np.zeros_like(work)))
    return smaller


def run(
    teams: list[Team],
    X: np.ndarray,
    y: np.ndarray,
    *,
    labelled: bool,
    skips: np.ndarray,
    refused: Callable[[int, Outcome], None],
    progress: Callable[[int, int], None],
    threads: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Run the rounds of a table for every model of a bank, as ``Step.run`` does for one.

    Return predictions and bad rows, a row of the array for each model. ``refused`` is told of the
    earliest row that broke a rule of a model that does not skip, and has to raise.
    """
    (rows, d), models = X.shape, skips.size
    X, y = to_read(X), to_read(y)
    out, bad = np.empty((models, rows)), np.zeros((models, rows), dtype=np.bool_)
    parts = [Part(team, 0, team.where.size, team.step.work(d)) for team in teams]
    for part in parts:
        part.rounds(X, y, labelled, skips, out, bad, 0, 0)  # compiles, which is no block's work
    several = min(threads, models) > 1
    row, block, together = 0, _engine.FIRST_BLOCK, False
    with Crew(threads) as crew:
        while row < rows:
            began = time.perf_counter()
            stop = min(rows, row + block)
            calls = [
                partial(part.rounds, X, y, labelled, skips, out, bad, row, stop) for part in parts
            ]
            ended = crew.run(calls) if together else [call() for call in calls]
            broken = [end for end in ended if end.rule != FINE]
            if broken:
                first = min(broken)
                refused(first.place, Outcome(first.row, first.rule, first.value))
            took = time.perf_counter() - began
            if several and not together and took > THREADS_PAY:
                parts = _divided(parts, [end.seconds for end in ended], PARTS * threads)
                together = True
            row, block = stop, _engine.next_block(block, took)
            progress(row, rows)
    return out, bad
