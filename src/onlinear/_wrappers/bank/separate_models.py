"""Run the models of a bank one after another, each over a whole table.

A bank, which is several models that learn the same rows, does so if the table is sparse, or if some
model processes blocks of rows by matrix products (``in_bulk``).
"""

from collections.abc import Callable, Sequence

import numpy as np

from onlinear._engine.status import Outcome
from onlinear._engine.tables import Rows
from onlinear._learner.base import Learner

__all__ = ["predict_again", "run"]


def run(
    models: Sequence[Learner],
    X: np.ndarray | Rows,
    y: np.ndarray,
    in_bulk: Sequence[bool],
    *,
    learn: bool,
    refusal: Callable[[int, Outcome, np.ndarray], ValueError],
    progress: Callable[[int, int], None],
) -> tuple[np.ndarray, np.ndarray]:
    """Run every model over a table; return predictions and a mask of bad rows, one row per model.

    The labels y are one per row or, in a table, a row of them for each model. The function
    ``refusal`` makes the error for a row that model number k refuses. If several models refuse
    rows, the error for the earliest of these rows is raised.
    """
    count, rows = len(models), len(X)
    predictions = np.empty((count, rows))
    bad = np.zeros((count, rows), dtype=np.bool_)
    refusals: list[tuple[int, int, ValueError]] = []
    for k, model in enumerate(models):

        def refused(outcome: Outcome, x: np.ndarray, k: int = k, **_: bool) -> ValueError:
            error = refusal(k, outcome, x)
            refusals.append((outcome.row, k, error))
            return error

        def advance(row: int, rows: int, k: int = k) -> None:
            progress(k * rows + row, count * rows)

        try:
            predictions[k], skipped = model._rounds(
                *(model._step, X, y if y.ndim == 1 else y[k], learn, refused, advance),
                in_bulk=in_bulk[k],
            )
        except ValueError:
            if not refusals or refusals[-1][1] != k:
                raise
            continue  # another learner may refuse an earlier row
        bad[k, skipped] = True
    if refusals:
        raise min(refusals, key=lambda each: each[:2])[2]
    return predictions, bad


def predict_again(
    models: Sequence[Learner],
    X: np.ndarray | Rows,
    names: list[str] | None,
    y: np.ndarray,
    predictions: np.ndarray,
) -> None:
    """Replace predictions of models that predict a table in another way than a stream's next row.

    Such a model is Auto: it uses past labels to predict the next row of the stream, but not to
    predict a table, whose rows need not come next.
    """
    for k, model in enumerate(models):
        other = model._for_tables()
        if other is not model:
            predictions[k] = other._run_table(X, names, y, learn=False)[0]
