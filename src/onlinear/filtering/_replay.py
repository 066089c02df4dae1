"""``filter_replay``: run a filter over a table, revealing a label only if its row is forwarded.

A filter decides for each row whether to forward it. A row is relevant if its label is +1.
"""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from onlinear._engine.progress import bar
from onlinear._engine.transaction import Transaction, alone, mend, put_back
from onlinear._validation.checks import described, same_index, sparse
from onlinear._validation.checks import row as vector
from onlinear.filtering._filter import Filter, Task
from onlinear.filtering._items import Row, rows_of, signs

__all__ = ["FilterReplay", "filter_replay"]


@dataclass(frozen=True, eq=False)
class FilterReplay:
    """The decisions of a filter, round by round; ``run[a:b]`` is the result for some rounds only.

    Attributes
    ----------
    decisions : array of bool
        Whether each row was forwarded.
    labels : array
        All labels, −1 and +1, including those the filter did not see.
    expected : array or None
        uᵀx of each row (the mean of its label), if the true weights u are known.
    """

    decisions: np.ndarray
    labels: np.ndarray
    expected: np.ndarray | None = None

    def __getitem__(self, rounds: slice) -> "FilterReplay":
        """Return the result for a slice of the rounds."""
        expected = None if self.expected is None else self.expected[rounds]
        return FilterReplay(self.decisions[rounds], self.labels[rounds], expected)

    def __len__(self) -> int:
        return self.decisions.size

    @property
    def hits(self) -> int:
        """How many relevant rows (with the label +1) were forwarded."""
        return int(np.sum(self.decisions & (self.labels > 0)))

    @property
    def false_alarms(self) -> int:
        """How many irrelevant rows (with the label −1) were forwarded."""
        return int(np.sum(self.decisions & (self.labels < 0)))

    @property
    def misses(self) -> int:
        """How many relevant rows were not forwarded."""
        return int(np.sum(~self.decisions & (self.labels > 0)))

    @property
    def mistakes(self) -> int:
        """The number of false alarms plus the number of misses."""
        return self.false_alarms + self.misses

    @property
    def precision(self) -> float:
        """Share of forwarded rows that are relevant; NaN if none was forwarded."""
        return _share(self.hits, self.hits + self.false_alarms)

    @property
    def recall(self) -> float:
        """Share of relevant rows that were forwarded; NaN if none is relevant."""
        return _share(self.hits, self.hits + self.misses)

    @property
    def f_measure(self) -> float:
        """Harmonic mean of precision and recall, 2·hits/(2·hits + mistakes); NaN if 0/0."""
        return _share(2 * self.hits, 2 * self.hits + self.mistakes)

    @property
    def regret(self) -> np.ndarray:
        """Expected mistakes beyond those of the filter that knows u, summed up to each round.

        In the model of Cesa-Bianchi, Conconi & Gentile (NIPS 2003), a label is +1 with probability
        (1 + uᵀx)/2, and a decision against the sign of uᵀx costs |uᵀx| expected mistakes more than
        the other decision (their eq. (1)). The regret is known only if ``filter_replay`` was given
        ``u``.
        """
        if self.expected is None:
            raise ValueError("regret needs u: filter_replay(f, X, y, u=u)")
        wrong = self.decisions != (self.expected >= 0)
        return np.cumsum(np.abs(self.expected) * wrong)

    def __repr__(self) -> str:
        """Show the numbers of rows, forwarded rows and mistakes, and precision, recall and F."""
        return (
            f"<FilterReplay of {len(self)} rows: {int(self.decisions.sum())} forwarded, "
            f"F {self.f_measure:.3f} (precision {self.precision:.3f}, recall {self.recall:.3f}), "
            f"{self.mistakes} mistakes>"
        )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def filter_replay(f: Filter, X: Any, y: Any, u: Any = None) -> Any:
    """Decide on each row in order; the filter sees only the labels of the rows it forwards.

    (A filter made with ``feedback="full"`` sees every label, after its decision.) The filter
    continues from its present state and is changed in place. The decisions are the same as when
    ``decide`` and ``feedback`` are called row by row (up to rounding for a ``RidgeFilter`` in dual
    form with ``feedback="full"``, which learns in blocks). A replay is all or nothing: after an
    error or Ctrl-C the filter is as before. On a terminal, a progress bar appears after two
    seconds.

    Parameters
    ----------
    f : Filter
        Any filter.
    X : array, list of rows, DataFrame or SciPy sparse matrix
        One row per round.
    y : array
        Labels −1 and +1, or False and True. With several columns, one per topic, a copy of f runs
        on each column, and the result is a list; f must not have seen any row, and is not changed.
    u : array or None, default None
        The true weights, if known, or those of each row if they drift: the mean of the label of x
        is then uᵀx, and the result has ``regret``.

    Examples
    --------
    >>> import numpy as np
    >>> import onlinear as ol
    >>> X = np.random.default_rng(0).normal(size=(2000, 5))
    >>> X /= np.linalg.norm(X, axis=1, keepdims=True)
    >>> y = np.where(X[:, 0] > 0.5, 1, -1)
    >>> run = ol.filter_replay(ol.RidgeFilter(), X, y)
    >>> run[1000:].recall > 0.95
    True
    """
    if not isinstance(f, Filter):
        raise TypeError(f"filter_replay needs a filter, got {described(f)}")
    same_index(X, y=y)
    rows, d, names = rows_of(type(f).__name__, X)
    labels = signs(type(f).__name__, y)
    if len(labels) != len(rows):
        raise ValueError(f"X and y need the same number of rows, got {len(rows)} and {len(labels)}")
    f._fits(d, names)
    expected = None if u is None else _expected(X, u, d)
    decisions = np.zeros(labels.shape, dtype=bool)
    if labels.ndim == 2:
        return _topics(f, rows, d, names, labels, decisions, expected)
    if f._undo is not None:
        mend(f)
    nested = f._lock._is_owned()
    with f._lock, alone(f, nested):
        before = copy.deepcopy(vars(f))
        with Transaction(f._guards(), lambda: put_back(f, before)), bar("filter") as advance:
            f._start(d, names)
            f._run(Task(rows, labels, decisions, advance))
    return FilterReplay(decisions, labels, expected)


def _topics(
    f: Filter,
    rows: list[Row],
    d: int,
    names: list[str] | None,
    labels: np.ndarray,
    decisions: np.ndarray,
    expected: np.ndarray | None,
) -> list[FilterReplay]:
    """Run a copy of the filter on each column of labels."""
    if f.seen_ or expected is not None:
        raise ValueError(
            "labels of several topics need a filter that has seen nothing, and no u, got a filter "
            f"that has seen {f.seen_} rows" + ("" if expected is None else ", and u")
        )
    fresh = copy.deepcopy(f)
    fresh._start(d, names)
    with bar("filter") as advance:
        fresh._run_topics(Task(rows, labels, decisions, advance))
    pairs = zip(decisions.T, labels.T, strict=True)
    return [FilterReplay(forwarded.copy(), topic.copy()) for forwarded, topic in pairs]


def _expected(X: Any, u: Any, d: int) -> np.ndarray:
    """Return uᵀx of each row, for one u or a u for each row."""
    each = np.ndim(u) == 2
    u = np.asarray(u, dtype=float) if each else vector(u, None, what="u")
    if u.shape != ((X.shape[0] if sparse(X) else len(X), d) if each else (d,)):
        raise ValueError(
            f"u needs {d} finite numbers, one per column of X, or a row of {d} numbers for each "
            f"row of X, got {u.shape if each else u}"
        )
    if not np.isfinite(u).all():
        raise ValueError(f"u needs {d} finite numbers, one per column of X, got {u}")
    rows: Any = X if sparse(X) else np.asarray(X, dtype=float)
    if each:
        expected = np.asarray((rows.multiply(u) if sparse(X) else rows * u).sum(axis=1)).ravel()
    else:
        expected = np.asarray(rows @ u)
    if np.abs(expected).max() > 1 + 1e-9:
        worst = int(np.argmax(np.abs(expected)))
        raise ValueError(
            f"u needs |uᵀx| ≤ 1, as the mean of −1 and +1 is, got {expected[worst]:g} "
            f"in row {worst}"
        )
    return expected
