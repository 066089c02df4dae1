"""The story of a run: what a learner did with a stream, in bounded memory however long it is.

A story is the same to the bit however the stream is cut into calls, and can be put down and taken
up again in the middle.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from onlinear import _checks, _saving
from onlinear._certified import Certified
from onlinear._engine import BAD_INPUT, Outcome
from onlinear._ledger import Ledger
from onlinear._model import Learner
from onlinear._problems import Skipped, words_of
from onlinear._progress import bar
from onlinear._replay import Replay
from onlinear._thinning import Curves, Extremes, Last, Regular
from onlinear.algorithms import Auto
from onlinear.hindsight import BestFixed
from onlinear.scaling import Standardized

__all__ = ["COMPARED", "CURVES", "Story", "has_intercept"]

MOST_WEIGHED = 200  # columns up to which weights are kept
COMPARED = 300  # columns up to which there is a best fixed predictor and a certificate
MOST_RECORDS = 600  # of the weights
SAMPLED, NUMBERS = 4000, 400_000  # rows kept as they were, and the numbers in them
RECENT = 300  # last rows kept
CURVES = LOSS, MEAN, FIXED, COMPARATOR, CEILING = range(5)
# sums so far: rows learnt, their loss, that of the mean of the labels before, y₁, Σ (y − y₁)
LEARNT, LOST, MEAN_LOST, ORIGIN, SUM = range(5)


def has_intercept(model: Learner) -> bool:
    """Whether a learner adds an intercept by itself."""
    return isinstance(model, Auto) or (isinstance(model, Standardized) and model._first() == 1)


class Story:
    """A learner and the record of what it did: see :meth:`replay` and :meth:`write`.

    Parameters
    ----------
    model : Learner
        A learner that has learnt nothing yet; from now on it is to learn through this object only.
    names : list of str
        The names of the columns.
    target : str
        The name of the label.
    """

    def __init__(self, model: Learner, names: Sequence[str], target: str) -> None:
        if not isinstance(model, Learner):
            raise TypeError(f"a report is on a learner, got {type(model).__name__}")
        if model._state is not None:
            raise ValueError(
                f"a report begins with the first row, got a {type(model).__name__} that has "
                f"learnt {model.rounds_}"
            )
        model._numbers()
        self.model = model
        self.names, self.target = list(names), target
        self.first, self.last, self.seen = 0, -1, 0
        self.certified = self._certified()
        self._fixed = self._accounts()
        self.truth, self.predicted = Extremes.none(), Extremes.none()
        self.recent = Last.none(RECENT, 3)
        self.curves = Curves.none(len(CURVES))
        self.records = Regular.none(MOST_RECORDS, self._record_size())
        self.sample = Regular.none(self._sampled(), len(self.names) + 1)
        self.range = np.array([[np.inf], [-np.inf]]) * np.ones(len(self.names) + 1)
        self.sums = np.zeros(SUM + 1)
        self.skipped = Skipped({})

    # --- what is kept -------------------------------------------------------------------------

    @property
    def weighed(self) -> int:
        """How many weights are in a record: one a column, or none."""
        few = len(self.names) <= MOST_WEIGHED
        return len(self.names) if few and has_weights(self.model) else 0

    @property
    def experts(self) -> int:
        """How many experts are in a record."""
        return len(self.model._names_of_experts()) if isinstance(self.model, Auto) else 0

    def _record_size(self) -> int:
        return self.weighed + (self.experts + 3 if self.experts else 0)

    def _sampled(self) -> int:
        return min(SAMPLED, max(1, NUMBERS // (len(self.names) + 1)))

    def _certified(self) -> Certified | None:
        """Return the certificate, or None if there is no bound to speak of, or too much to do."""
        known = self.model._guarantee(search=False).known
        return Certified(self.model) if known and len(self.names) <= COMPARED else None

    def _accounts(self) -> Ledger | None:
        """Return the accounts of the best fixed predictor, or None if it is too much to do."""
        return Ledger(BestFixed().account) if len(self.names) <= COMPARED else None

    def _record(self) -> np.ndarray:
        """Return the weights now and, for Auto, those of its experts and its weighted loss."""
        if self.model._state is None:
            return np.full(self._record_size(), np.nan)
        parts = [self.model.coef_] if self.weighed else []
        if isinstance(self.model, Auto):
            regret = self.model.regret_
            losses = [regret.weighted, regret.combination, regret.ceiling]
            parts += [self.model._weights_of_experts()[0], np.array(losses)]
        return np.concatenate(parts)

    # --- the rounds ---------------------------------------------------------------------------

    def replay(self, X: Any, y: Any, start: int) -> Replay:
        """Predict and learn the rows ``start``, ``start + 1``, … of the stream, and record them.

        All or nothing: if a row is refused, or on Ctrl-C, learner and story are as they were.
        """
        X, _ = _checks.table(X)
        y = _checks.labels(y, len(X))
        if X.shape[1] != len(self.names):
            raise ValueError(f"the story is of {len(self.names)} columns, got {X.shape[1]}")
        if type(start) is not int or start <= self.last:
            raise ValueError(f"the story has come to row {self.last}, got rows from {start!r} on")
        with self._all_or_nothing(), np.errstate(over="ignore", invalid="ignore"):
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

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        before = self.__dict__.copy()  # what a story keeps is never changed in place
        try:
            with (self.certified or self.model)._all_or_nothing():
                yield
        except BaseException:
            self.__dict__.update(before)
            raise

    def _rounds(
        self,
        X: np.ndarray,
        y: np.ndarray,
        start: int,
        skipped: Skipped,
        records: list[np.ndarray],
    ) -> Callable[[], Replay]:
        """Return what replays the rows in pieces, a record after each that is to have one."""
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
            return Replay(predictions, y.copy(), np.array(bad, dtype=np.intp))

        return run

    def _notice(self, outcome: Outcome, X: np.ndarray, first: int, skipped: Skipped) -> None:
        """Count a row that was skipped."""
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
        """Thin the rows just learnt, together with what was kept of those before."""
        n, seen = len(X), self.seen + len(X)
        rows, y, first = start + np.arange(n, dtype=float), run.labels, self.first
        learnt = np.ones(n, dtype=bool)
        learnt[run.bad_rows] = False
        loss, mean = self._losses(run, learnt)
        fixed = self._best_fixed(X, y, learnt)
        self.curves = self.curves.with_rows(
            first, rows, np.column_stack([loss, mean, fixed, comparator, ceiling])
        )
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

    def _losses(self, run: Replay, learnt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the learner's loss so far at each row, and that of the mean of earlier labels."""
        sums = self.sums.copy()
        loss = _running(sums[LOST], np.where(learnt, run.losses, 0.0))
        y = run.labels[learnt]
        mean = np.full(len(learnt), sums[MEAN_LOST])
        if y.size:
            if sums[LEARNT] == 0:
                sums[ORIGIN] = y[0]
            off = y - sums[ORIGIN]
            totals = _running(sums[SUM], off)
            earlier = np.concatenate([[sums[SUM]], totals[:-1]])
            guess = earlier / np.maximum(1.0, sums[LEARNT] + np.arange(y.size))
            misses = (off - guess) ** 2
            if sums[LEARNT] == 0:
                misses[0] = y[0] ** 2  # as a learner's, the first prediction is 0
            lost = _running(sums[MEAN_LOST], misses)
            mean = _held(sums[MEAN_LOST], lost, learnt)
            sums[SUM], sums[MEAN_LOST] = totals[-1], lost[-1]
        sums[LEARNT] += y.size
        sums[LOST] = loss[-1]
        self.sums = sums
        return loss, mean

    def _best_fixed(self, X: np.ndarray, y: np.ndarray, learnt: np.ndarray) -> np.ndarray:
        """Return the best fixed predictor's loss at each row; NaN from where there is none."""
        if self._fixed is None:
            return np.full(len(y), np.nan)
        accounts = self._fixed.twin()
        before = 0.0 if accounts.tally is None else float(accounts.tally[0])
        if not learnt.all():
            X, y = X[learnt], y[learnt]
        if has_intercept(self.model):
            X = np.column_stack([X, np.ones(len(X))])
        known = _entered(accounts, np.ascontiguousarray(X), y)
        self._fixed = accounts if known.size == y.size else None
        values = np.full(y.size, np.nan)
        values[: known.size] = known
        return _held(before, values, learnt)

    def _range(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the least and the largest finite value of each column and of the label."""
        table = np.column_stack([X, y])
        if not np.isfinite(table).all():
            low = np.where(np.isfinite(table), table, np.inf).min(axis=0)
            high = np.where(np.isfinite(table), table, -np.inf).max(axis=0)
        else:
            low, high = table.min(axis=0), table.max(axis=0)
        return np.array([np.minimum(low, self.range[0]), np.maximum(high, self.range[1])])

    # --- to be put down and taken up again ----------------------------------------------------

    def described(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the story as a header for JSON and arrays; the learner is to be saved beside."""
        header = {
            "story": 1,
            "names": self.names,
            "target": self.target,
            "first": self.first,
            "last": self.last,
            "seen": self.seen,
            "compared": self._fixed is not None,
            "skipped": self.skipped.described(),
        }
        arrays = {
            "truth": self.truth.described(),
            "predicted": self.predicted.described(),
            "recent": self.recent.table,
            "curves": self.curves.described(),
            "records": self.records.described(),
            "sample": self.sample.described(),
            "range": self.range,
            "sums": self.sums,
        }
        if self._fixed is not None:
            arrays["fixed"] = self._fixed.record
        if self.certified is not None:
            arrays |= self.certified._described()
        return header, arrays

    @classmethod
    def restored(
        cls, model: Learner, header: dict[str, Any], arrays: dict[str, np.ndarray]
    ) -> "Story":
        """Return the story of a learner that was saved beside it; refuse what cannot be one."""
        try:
            return cls._restored(model, header, arrays)
        except (KeyError, TypeError, AttributeError, OverflowError, IndexError) as error:
            raise ValueError(f"it does not describe a story: {error!r}") from None

    @classmethod
    def _restored(
        cls, model: Learner, header: dict[str, Any], arrays: dict[str, np.ndarray]
    ) -> "Story":
        names, target = header["names"], header["target"]
        if type(names) is not list or not all(type(n) is str for n in [*names, target]):
            raise ValueError(f"it names its columns {names!r:.60} and its label {target!r:.60}")
        if header["story"] != 1:
            raise ValueError(f"it is of version {header['story']!r:.20}, this onlinear reads 1")
        fresh = type(model)(**model.get_params(deep=False))
        self = cls(fresh, names, target)
        self.model = model
        first, last, seen = header["first"], header["last"], _saving.count(header["seen"])
        if type(first) is not int or type(last) is not int or not seen <= last - first + 1 < 2**53:
            raise ValueError(f"it says it saw {seen} rows, {first!r} to {last!r}")
        self.first, self.last, self.seen = first, last, seen
        self.truth = Extremes.restored(arrays["truth"], first, last)
        self.predicted = Extremes.restored(arrays["predicted"], first, last)
        self.recent = Last.restored(arrays["recent"], first, last, RECENT, 3)
        self.curves = Curves.restored(arrays["curves"], first, last, len(CURVES))
        size = self._record_size()
        at = seen if size else 0
        self.records = Regular.restored(arrays["records"], first, last, MOST_RECORDS, size, at)
        self.sample = Regular.restored(
            arrays["sample"], first, last, self._sampled(), len(names) + 1, seen
        )
        self.range, self.sums = arrays["range"], arrays["sums"]
        self.skipped = Skipped.restored(header["skipped"])
        self._check_sums()
        if not (header["compared"] is True or "fixed" not in arrays):
            raise ValueError("it has accounts of a best predictor, and says it has none")
        self._take_accounts(arrays)
        return self

    def _check_sums(self) -> None:
        """Refuse sums no stream leads to, and those of another learner."""
        model, d = self.model, len(self.names)
        if self.range.shape != (2, d + 1) or self.sums.shape != (SUM + 1,):
            raise ValueError("its sums are of other columns")
        learnt = self.sums[LEARNT]
        if not (np.isfinite(self.sums[LEARNT]) and 0 <= learnt <= self.seen and learnt % 1 == 0):
            raise ValueError(f"it says {learnt} of {self.seen} rows were learnt")
        if not (self.sums[LOST] >= 0 and self.sums[MEAN_LOST] >= 0):
            raise ValueError(f"it says the loss was {self.sums[LOST]}, {self.sums[MEAN_LOST]}")
        if not np.isfinite(self.sample.table).all():
            raise ValueError("its sample has numbers that are not finite")
        rounds = 0 if model._state is None else model.rounds_
        if rounds != learnt or (rounds and model.n_features_in_ != d):
            raise ValueError(
                f"it is the story of {learnt:g} rows of {d} columns, and the learner has learnt "
                f"{rounds}"
            )

    def _take_accounts(self, arrays: dict[str, np.ndarray]) -> None:
        if self.certified is not None:
            self.certified = Certified._restored(self.model, arrays)
        if "fixed" not in arrays:
            self._fixed = None
        elif self._fixed is not None and arrays["fixed"].size:
            if not (np.isfinite(arrays["fixed"]).all() and arrays["fixed"][0] >= 0):
                raise ValueError("its best fixed predictor has numbers that cannot be")
            self._fixed.begin(len(self.names) + has_intercept(self.model))
            self._fixed.record = arrays["fixed"]


def has_weights(model: Learner) -> bool:
    """Whether a learner has a weight for each column (kernel learners do not)."""
    try:
        _ = model.coef_
    except _checks.NotFittedError:
        return True
    except AttributeError:
        return False
    return True


def _running(before: float, values: np.ndarray) -> np.ndarray:
    """Return running sums that go on from ``before``, the same bits however they are cut."""
    values = np.array(values)
    if values.size:
        values[0] += before
    return np.cumsum(values)


def _held(before: float, values: np.ndarray, learnt: np.ndarray) -> np.ndarray:
    """Return values of the rows learnt for all rows: the others leave them as they were."""
    if learnt.all():
        return values
    return np.asarray(np.concatenate([[before], values])[np.cumsum(learnt)])


def _entered(accounts: Ledger, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Enter rows up to the first that is refused; return the tally after each."""
    if y.size == 0:
        return np.zeros(0)
    try:
        return np.asarray(accounts.add(X, y)[0])
    except ValueError:
        if y.size == 1:
            return np.zeros(0)
    half = y.size // 2
    known = _entered(accounts, X[:half], y[:half])
    if known.size < half:
        return known
    return np.concatenate([known, _entered(accounts, X[half:], y[half:])])
