"""Run a classifier of more than two classes: a binary learner for each class against the rest.

The arrays of the state have a first axis for the classes. The step runs over a table for each class
in turn, on this class' part of the state.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from onlinear._engine.status import Outcome
from onlinear._engine.step import Step
from onlinear._engine.tables import Rows
from onlinear._engine.transaction import all_or_nothing
from onlinear._learner.rounds import no_progress, rows_taken
from onlinear._validation import checks

__all__ = ["learn_row", "part_of", "predicted", "repeated", "rounds_of_many"]


def repeated(state: Any, count: int) -> Any:
    """Return the state of ``count`` binary learners, given that of one; of one, if count is 1."""
    if count == 1:
        return state
    arrays = [np.repeat(array[None], count, axis=0) for array in state]
    return type(state)(arrays[0][:, 0], *arrays[1:])  # t has one number for each class


def part_of(state: Any, k: int) -> tuple[np.ndarray, ...]:
    """Return views of the part of the state that belongs to class k."""
    return state.t[k : k + 1], *(array[k] for array in tuple(state)[1:])


def rounds_of_many(
    model: Any,
    codes: tuple[float, float],
    step: Step,
    X: np.ndarray | Rows,
    y: np.ndarray,
    learn: bool,
    refusal: Callable[..., ValueError],
    progress: Callable[[int, int], None],
    *,
    in_bulk: bool,
    noticed: Callable[[Outcome], None] | None,
) -> tuple[np.ndarray, list[int]]:
    """Run a table for each class; return predictions, a column per class, and the skipped rows.

    The labels y are the numbers of the classes, from 0, and ``codes`` are the step's labels for the
    rest and for the class. A row that one class' learner refuses is skipped by all: then the state
    is restored, and the table is run again without this row.
    """
    count, rows = len(model._state.t), len(X)
    predictions = np.empty((rows, count))
    before = model._record.copy() if learn else None
    skipped: dict[int, Outcome] = {}
    while True:
        labels = np.array(y, dtype=float)
        labels[list(skipped)] = math.nan
        refusals: list[set[int]] = []
        for k in range(count):
            here: set[int] = set()
            refusals.append(here)

            def refused(outcome: Outcome, here: set[int] = here) -> None:
                if model.on_bad == "raise":
                    raise refusal(outcome, X[outcome.row], in_table=True)
                here.add(outcome.row)
                skipped.setdefault(outcome.row, outcome)

            def advance(row: int, rows: int, k: int = k) -> None:
                progress(k * rows + row, count * rows)

            predictions[:, k] = step.run(
                part_of(model._state, k),
                model._numbers(),
                X,
                np.where(np.isfinite(labels), np.where(labels == k, codes[1], codes[0]), labels),
                model._scratch(),
                labelled=learn,
                refused=refused,
                progress=advance,
                in_bulk=in_bulk,
            )
        if before is None or all(here == set(skipped) for here in refusals):
            break
        model._record[:] = before
    bad = sorted(skipped)
    if noticed is not None:
        for row in bad:
            noticed(skipped[row])
    return predictions, bad


def predicted(model: Any, x: Any) -> np.ndarray:
    """Return the prediction of each class for one row; NaN if the row is bad and skipped."""
    if model._state is None:
        fresh = type(model)(**model.get_params(deep=False))
        fresh._begin(checks.width(x))
        return predicted(fresh, x)
    return np.asarray(_one_row(model, x, math.nan, learn=False)[0][0])


def learn_row(model: Any, x: Any, y: float) -> None:
    """Learn one row; y is the number of its class, from 0."""
    if model._state is None:
        with rows_taken(model, checks.width(x), checks.row_names(x)):
            learn_row(model, x, y)
        return
    with all_or_nothing(model):
        model.n_skipped_ += len(_one_row(model, x, y, learn=True)[1])


def _one_row(model: Any, x: Any, y: float, *, learn: bool) -> tuple[np.ndarray, list[int]]:
    """Run a table of one row for each class; return predictions and bad rows."""

    def refusal(outcome: Outcome, x: np.ndarray, **_: bool) -> ValueError:
        return model._refusal(outcome, x, in_table=False)  # type: ignore[no-any-return]

    row = model._row(x)[None]
    return model._rounds(  # type: ignore[no-any-return]
        model._step, row, np.array([y]), learn, refusal, no_progress
    )
