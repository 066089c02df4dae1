"""Record predictions, losses and weights of a learner for a report, in bounded memory.

The record is bit for bit the same however the stream is split into calls of ``replay``.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onlinear._engine.progress import bar
from onlinear._engine.status import BAD_INPUT, Outcome
from onlinear._engine.transaction import Guarded, GuardedBy, all_or_nothing, atomic, put_back
from onlinear._evaluation.certified import Certified
from onlinear._evaluation.report.data_problems import Skipped, words_of
from onlinear._evaluation.report.downsampling import Curves, Extremes, Last, Regular
from onlinear._evaluation.report.running_sums import (
    Sums,
    best_fixed,
    running_right,
    running_totals,
)
from onlinear._learner.base import Learner
from onlinear._learner.bounds.ledger import Ledger
from onlinear._learner.class_measures import classes_of, has_probabilities
from onlinear._learner.measures import bins_of
from onlinear._learner.replay_result import Replay
from onlinear._validation import checks
from onlinear.algorithms import Auto
from onlinear.hindsight import BestFixed
from onlinear.losses import SQUARED
from onlinear.scaling import Standardized

__all__ = ["BINS", "COMPARED", "MOST_WEIGHED", "Recorder", "has_intercept"]

MOST_WEIGHED = 200  # weights are recorded for at most so many columns
COMPARED = 300  # with more columns, best fixed predictor and certificate are not computed
MOST_RECORDS = 600  # snapshots of the weights
SAMPLED, NUMBERS = 4000, 400_000  # at most so many rows, and numbers, are sampled
RECENT = 300  # last rows that are kept
BINS = 20  # of predicted probabilities
CURVES = LOSS, MEAN, FIXED, COMPARATOR, CEILING, LEARNT, LABELS, PREDICTIONS, RIGHT = range(9)


def has_intercept(model: Learner) -> bool:
    """Whether a learner adds an intercept to the features itself."""
    return isinstance(model, Auto) or (isinstance(model, Standardized) and model._first() == 1)


class Recorder(GuardedBy):
    """A learner and the record of its run; ``Story`` adds state files and the report."""

    def __init__(self, model: Learner, names: Sequence[str], target: str) -> None:
        if not isinstance(model, Learner):
            raise TypeError(f"a report is on a learner, got {checks.described(model)}")
        if model._state is not None:
            raise ValueError(
                "a report begins with the first row, got "
                f"{checks.with_article(type(model).__name__)} that has learnt {model.rounds_} rows"
            )
        model._check_one("a report")
        model._numbers()
        self.model = model
        self.names, self.target = list(names), target
        self.weighed = _weights(model, len(self.names))
        self.first, self.last, self.seen = 0, -1, 0
        self.certified = self._certified()
        self._fixed = self._accounts()
        self.truth, self.predicted = Extremes.none(), Extremes.none()
        self.recent = Last.none(RECENT, 3)
        self.curves = Curves.none(len(CURVES))
        self.records = Regular.none(MOST_RECORDS, self._record_size())
        self.sample = Regular.none(self._sampled(), len(self.names) + 1)
        self.range = np.array([[np.inf], [-np.inf]]) * np.ones(len(self.names) + 1)
        self.sums = Sums()
        self.bins = np.zeros((BINS, 3))  # by predicted probability p: rows, Σ p, Σ y
        self.skipped = Skipped({})

    @property
    def _guard(self) -> Guarded:
        return self.model

    @property
    def name(self) -> str:
        """The class name of the learner, or of the inner learner if it is standardized."""
        model = self.model
        return type(model.learner if isinstance(model, Standardized) else model).__name__

    @property
    def right(self) -> float:
        """How many rows' classes were predicted right; NaN if the labels are no classes."""
        if not self.curves.rows.size:
            return 0.0 if classes_of(self.model._loss) else np.nan
        return float(self.curves.table[-1, RIGHT])

    # --- what is kept -------------------------------------------------------------------------

    @property
    def experts(self) -> int:
        """How many experts of Auto are recorded; 0 for other learners."""
        return len(self.model._names_of_experts()) if isinstance(self.model, Auto) else 0

    def _record_size(self) -> int:
        return self.weighed + (self.experts + 3 if self.experts else 0)

    def _sampled(self) -> int:
        return min(SAMPLED, max(1, NUMBERS // (len(self.names) + 1)))

    def _certified(self) -> Certified | None:
        """Return the certificate, or None if no bound is known or the bound is too expensive."""
        guarantee = self.model._guarantee(search=False)
        affordable = guarantee.account.growing is None and len(self.names) <= COMPARED
        return Certified(self.model) if guarantee.known and affordable else None

    def _accounts(self) -> Ledger | None:
        """Return an object that tracks the best fixed predictor; None if that is too expensive.

        It is also None for losses other than the square, for which a sum over rows is not enough.
        """
        known = self.model._loss == SQUARED and len(self.names) <= COMPARED
        return Ledger(BestFixed().account) if known else None

    def _record(self) -> np.ndarray:
        """Return the current weights; for Auto, also its experts' weights and its bound's terms.

        The terms are ``weighted``, ``combination`` and ``ceiling`` of ``Auto.regret_``.
        """
        if self.model._state is None:
            return np.full(self._record_size(), np.nan)
        parts = [self.model.coef_] if self.weighed else []
        if isinstance(self.model, Auto):
            regret = self.model.regret_
            losses = [regret.weighted, regret.combination, regret.ceiling]
            parts += [self.model._weights_of_experts()[0], np.array(losses)]
        return np.concatenate(parts)

    # --- the rounds ---------------------------------------------------------------------------

    @atomic
    def replay(self, X: Any, y: Any, start: int) -> Replay:
        """Predict and learn the rows ``start``, ``start + 1``, … of the stream, and record them.

        The labels y are numbers, those of a classifier the numbers that its step takes.
        If a row is refused, or on Ctrl-C, the learner and the record are left unchanged.
        """
        X, _ = checks.table(X)
        y = checks.labels(y, len(X))
        if X.shape[1] != len(self.names):
            raise ValueError(f"the record has {len(self.names)} columns, got {X.shape[1]}")
        if type(start) is not int or start <= self.last:
            raise ValueError(f"the record ends at row {self.last}, got rows from {start!r} on")
        with all_or_nothing(self), np.errstate(over="ignore", invalid="ignore"):
            if self.seen == 0:
                self.first = start
            skipped, records = self.skipped.copy(), list[np.ndarray]()
            rounds = self._rounds(X, y, start, skipped, records)
            comparator = ceiling = np.full(len(X), np.nan)
            if self.certified is None:
                run = rounds()
            else:
                proof = self.certified._replay(X, y, None, "rank-one", rounds)
                run, comparator, ceiling = proof.run, proof.comparator, proof.ceiling
            self._keep(X, run, start, records, comparator, ceiling)
            self.skipped = skipped
        return run

    def _snapshot(self) -> Callable[[], None]:
        """Return a function that restores learner and record as they are now."""
        attributes = self.__dict__.copy()  # recorded objects are never changed in place
        model = (self.certified or self.model)._snapshot()

        def restore() -> None:
            put_back(self, attributes)
            model()

        return restore

    def _rounds(
        self,
        X: np.ndarray,
        y: np.ndarray,
        start: int,
        skipped: Skipped,
        records: list[np.ndarray],
    ) -> Callable[[], Replay]:
        """Return a function that replays the rows in pieces and records the weights in between."""
        seen, rows, predictions = self.seen, len(X), np.empty(len(X))
        places = self.records.places_until(seen + rows) if self._record_size() else range(0)

        def piece(begin: int, end: int, advance: Callable[[int, int], None]) -> list[int]:
            part = X[begin:end]
            predictions[begin:end], bad = self.model._run_table(
                part,
                self.names,
                y[begin:end],
                learn=True,
                progress=lambda row, _: advance(begin + row, rows),
                first=start + begin,
                noticed=lambda outcome: self._notice(outcome, part, start + begin, skipped),
            )
            return [begin + row for row in bad]

        def run() -> Replay:
            bad, begin = list[int](), 0
            with bar("replay") as advance:
                for place in places:
                    bad += piece(begin, place - seen, advance)
                    records.append(self._record())
                    begin = place - seen
                if begin < rows:
                    bad += piece(begin, rows, advance)
            loss = self.model._loss
            return Replay(predictions, y.copy(), np.array(bad, dtype=np.intp), loss)

        return run

    def _notice(self, outcome: Outcome, X: np.ndarray, first: int, skipped: Skipped) -> None:
        """Count a skipped row, by the rule that it broke and the column at fault."""
        row, rule = first + outcome.row, outcome.rule
        column = int(outcome.value) if rule == BAD_INPUT else -1
        why = self.model._why(outcome._replace(row=row), X[outcome.row], in_table=True)
        skipped.add(rule, column, row, words_of(rule, column, self.names, self.target, str(why)))

    def _keep(
        self,
        X: np.ndarray,
        run: Replay,
        start: int,
        records: list[np.ndarray],
        comparator: np.ndarray,
        ceiling: np.ndarray,
    ) -> None:
        """Add the rows just learnt to the record."""
        n, seen = len(X), self.seen + len(X)
        rows, y, first = start + np.arange(n, dtype=float), run.labels, self.first
        learnt = np.ones(n, dtype=bool)
        learnt[run.bad_rows] = False
        self.sums, loss, mean = self.sums.with_rows(run, learnt)
        self._fixed, fixed = best_fixed(
            self._fixed, X, y, learnt, intercept=has_intercept(self.model)
        )
        begun = self.curves.rows.size > 0
        before = self.curves.table[-1, LEARNT : PREDICTIONS + 1] if begun else np.zeros(3)
        totals = running_totals(before, run, learnt, self.sums.origin)
        right = running_right(self.right, run, learnt)
        self.curves = self.curves.with_rows(
            first, rows, np.column_stack([loss, mean, fixed, comparator, ceiling, totals, right])
        )
        if has_probabilities(run.loss):
            self.bins = _binned(self.bins, run.predictions[learnt], y[learnt])
        self.truth = self.truth.with_rows(first, rows, y)
        self.predicted = self.predicted.with_rows(first, rows, run.predictions)
        self.recent = self.recent.with_rows(np.column_stack([rows, y, run.predictions])[-RECENT:])
        if self._record_size():
            places = self.records.places_until(seen)
            at = np.array([place - self.seen - 1 for place in places], dtype=np.intp)
            table = np.array(records).reshape(len(places), self._record_size())
            self.records = self.records.with_places(seen, places, rows[at], table)
        places = self.sample.places_until(seen)
        at = np.array([place - self.seen - 1 for place in places], dtype=np.intp)
        at = at[learnt[at]]
        table = np.column_stack([X[at], y[at]])
        self.sample = self.sample.with_places(seen, at + self.seen + 1, rows[at], table)
        self.range = self._range(X, y)
        self.seen, self.last = seen, start + n - 1

    def _range(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the smallest and largest finite value so far, of each column and of the label."""
        table = np.column_stack([X, y])
        if not np.isfinite(table).all():
            low = np.where(np.isfinite(table), table, np.inf).min(axis=0)
            high = np.where(np.isfinite(table), table, -np.inf).max(axis=0)
        else:
            low, high = table.min(axis=0), table.max(axis=0)
        return np.array([np.minimum(low, self.range[0]), np.maximum(high, self.range[1])])


def _binned(bins: np.ndarray, probabilities: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the rows, Σ p and Σ y of each bin of probabilities after adding rows."""
    bins = bins.copy()
    added = np.column_stack([np.ones(y.size), probabilities, y])
    np.add.at(bins, bins_of(probabilities, BINS), added)
    return bins


def _weights(model: Learner, d: int) -> int:
    """Return how many weights to record: 0 if there are none or too many, else one per column."""
    if d > MOST_WEIGHED:
        return 0
    fresh = type(model)(**model.get_params(deep=False))
    fresh._begin(d)
    return d if hasattr(fresh, "coef_") else 0
