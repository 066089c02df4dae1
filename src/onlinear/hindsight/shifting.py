"""The best shifting sequence in hindsight: k segments, a fixed predictor in each.

    best_k(t) = min over s ≤ t of  best_{k−1}(s − 1) + cost(s, t)

Here best_k(t) is the least loss of k segments on rows 1..t, and cost(s, t) is the least-squares
loss of rows s..t. The recursion is computed by dynamic programming: for each start s in order,
cost(s, t) for all t comes from one run of the best fixed predictor over the rows from s on. Finding
the best sequence takes O(T²·(d² + k)) time and O(T·k) memory.

Bellman 1961; Herbster & Warmuth, JMLR 2001, who compare learners with shifting sequences.
"""

from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.progress import bar
from onlinear._engine.tables import to_read
from onlinear._learner.bounds.ledger import Ledger
from onlinear._validation import checks
from onlinear.hindsight.fixed import least_squares

__all__ = ["Shifting", "best_shifting"]


class Shifting(NamedTuple):
    """The best shifting sequence: a fixed predictor in each segment of consecutive rows.

    Attributes
    ----------
    loss : array
        After each round, the least loss of any sequence of at most ``segments`` predictors.
    starts : array of int
        The rows at which the segments of the best sequence for the whole stream begin.
    path : array
        The best sequence u_1..u_T for the whole stream, one row per round.
    """

    loss: np.ndarray
    starts: np.ndarray
    path: np.ndarray


def best_shifting(X: Any, y: Any, segments: int) -> Shifting:
    """Return the best sequence of at most ``segments`` predictors, each used for consecutive rows.

    The result is exact. Costs O(T²·(d² + segments)) time: seconds for a few thousand rows, far too
    long for millions. Within a segment, the predictor is the least-squares solution (the one of
    least norm, if there are several).

    >>> import numpy as np
    >>> y = np.array([1.0, 1.0, 1.0, 5.0, 5.0, 5.0])
    >>> best = best_shifting(np.ones((6, 1)), y, segments=2)
    >>> best.starts, best.path.ravel().round(9)
    (array([0, 3]), array([1., 1., 1., 5., 5., 5.]))
    >>> best.loss.round(9)
    array([0., 0., 0., 0., 0., 0.])
    """
    asked = checks.whole(checks.asked("best_shifting", segments=segments), "segments", least=1)
    checks.same_index(X, y=y)
    X, names = checks.table(X)
    rows = X.shape[0]
    X, y = to_read(X), to_read(checks.labels(y, rows))
    account = least_squares("best_shifting", 0.0)
    Ledger(account).add(X, y, names)  # raises with the number of a bad row in the whole table
    work, costs = account.step.work(X.shape[1]), np.empty((1, rows))
    k = min(asked, rows)
    loss = np.full((k, rows), np.inf)
    came_from = np.zeros((k, rows), dtype=np.intp)
    with bar("best_shifting") as advance:
        for start in range(rows):
            fresh = account.init(X.shape[1])
            account.step.chunk(fresh, account.params, X, y, work, True, costs, start, rows)
            cost = costs[0, start:]
            for j in range(min(k, start + 1)):
                if j == 0 and start > 0:
                    continue
                before = loss[j - 1, start - 1] if start else 0.0
                total = before + cost
                better = total < loss[j, start:]
                loss[j, start:][better] = total[better]
                came_from[j, start:][better] = start
            advance(start + 1, rows)
    fewest = np.minimum.accumulate(loss, axis=0)  # at most k segments
    starts = _trace(came_from, int(np.argmin(loss[:, -1])))
    return Shifting(fewest[-1], starts, _path(X, y, starts))


def _trace(came_from: np.ndarray, j: int) -> np.ndarray:
    """Return the first row of each segment of the best sequence of j + 1 segments.

    ``came_from[j, t]`` is the row at which the last of j + 1 segments of rows 0..t begins.
    """
    starts: list[int] = []
    end = came_from.shape[1] - 1
    while j >= 0:
        start = int(came_from[j, end])
        starts.append(start)
        j, end = j - 1, start - 1
    return np.array(starts[::-1], dtype=np.intp)


def _path(X: np.ndarray, y: np.ndarray, starts: np.ndarray) -> np.ndarray:
    path = np.empty_like(X)
    ends = [*starts[1:], X.shape[0]]
    for start, end in zip(starts, ends, strict=True):
        part = slice(int(start), int(end))
        lengths = np.linalg.norm(X[part], axis=0)
        lengths[lengths == 0] = 1.0
        path[part] = np.linalg.lstsq(X[part] / lengths, y[part], rcond=1e-12)[0] / lengths
    return path
