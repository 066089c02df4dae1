"""Tables of events of many keys: predicted, or predicted and learnt, all or nothing."""

import contextlib
from collections.abc import Callable, Iterator
from math import nan
from typing import Any

import numpy as np

from onlinear._engine.progress import bar
from onlinear._engine.segments import Segments
from onlinear._engine.status import FINE, Outcome
from onlinear._evaluation.replay import Replay
from onlinear._validation import checks
from onlinear._wrappers.keyed import pooling
from onlinear._wrappers.keyed.event_loop import EventRun
from onlinear._wrappers.keyed.event_rounds import AHEAD, EventTable, run
from onlinear._wrappers.keyed.key_index import FREE, Batch, batch
from onlinear._wrappers.keyed.models import Models
from onlinear._wrappers.keyed.record_cache import Residence

__all__ = ["Moved", "Tables"]


class Moved:
    """Tells a progress bar how far all portions together are."""

    def __init__(self, advance: Callable[[int, int], None], rows: int) -> None:
        self._advance, self._rows, self._done = advance, rows, 0

    def __call__(self, events: int) -> None:
        """Take note of some more."""
        self._done += events
        self._advance(self._done, self._rows)


class Tables(Models):
    """Models by key that take tables."""

    def replay(self, keys: Any, X: Any, y: Any) -> Replay:
        """Predict each row by the model of its key, then learn its label; in order for each key.

        The same bits as calling ``predict_one`` and ``learn_one`` row by row, however the stream is
        cut. It is all or nothing: if a row breaks a rule, or on Ctrl-C, every model is as it was
        before the call (with ``on_bad="skip"`` such a row, or one without a key, is left out and
        counted instead). Only a Ctrl-C at the very end may find all of it learnt, as ``events_``
        says. On a terminal, a replay of more than two seconds shows a progress bar.

        Parameters
        ----------
        keys : array, list or Series
            The key of each row: numbers, strings, tuples, anything hashable (what a file can hold,
            if there is a ``memory_limit`` or ``max_age``). 1, 1.0 and True are one key.
        X : array, list of rows, or DataFrame
            One row per event, of the same columns for every key.
        y : array or Series
            One label per row.

        Examples
        --------
        >>> import onlinear as ol
        >>> X, y = ol.streams.rotating(rows=6000, d=3, degrees=0.1)
        >>> sensors = ol.Keyed(ol.LASER(c=1000.0, shrink=False))
        >>> sensors.replay([row % 20 for row in range(6000)], X, y)
        <Replay of 6000 rows: mean squared error 0.0619721>
        """
        X, names, keys = self._table(keys, X)
        y = checks.labels(y, len(X))
        with bar("replay") as advance:
            began, counts = self._home is None, (self.events_, self.n_skipped_)
            if began:
                self._begin(X.shape[1], names)
            try:
                table = self._learn_table(keys, X, y, advance)
                if began and table.bad[0]:
                    self.events_, self.n_skipped_ = counts
                    self._begin_later(keys, table, names)
            except BaseException:
                if began:
                    self._forget()
                    self.events_, self.n_skipped_ = counts
                raise
        return Replay(table.out, y.copy(), np.flatnonzero(table.bad))

    def _begin_later(self, keys: Batch, table: EventTable, names: list[str] | None) -> None:
        """Begin anew with the first row that is not bad, as row by row.

        A bad row does not say how wide the others will be, so none before that one has made a key.
        """
        first = len(table.bad) if table.bad.all() else int(table.bad.argmin())
        self._forget()
        self.events_ += first
        self.n_skipped_ += first
        if first < len(table.bad):
            self._begin(table.X.shape[1], names)
            rows = np.arange(first, len(table.bad))
            again = self._learn_table(
                keys.take(rows), table.X[first:], table.y[first:], lambda row, rows: None
            )
            table.out[first:] = again.out

    def predict(self, keys: Any, X: Any) -> np.ndarray:
        """Predict every row by the model of its key as it is now, learning nothing."""
        X, _, keys = self._table(keys, X)
        if self._home is None:
            out = np.full(len(X), nan)
            for row in np.delete(np.arange(len(X)), keys.missing).tolist():
                out[row] = self._first(keys.key(row), X[row])
            return out
        table = EventTable(X, np.empty(0), np.full(len(X), nan), np.zeros(len(X), dtype=np.bool_))
        home = self._home
        slots = home.keys.locate(keys)
        with bar("predict") as advance:
            moved = Moved(advance, len(X))
            present = np.delete(np.arange(keys.rows), keys.missing)
            away = present[:0]
            if home.store is not None:
                away = present[slots[present] == FREE]
            here = np.setdiff1d(present, away)
            if here.size:
                self._rounds(table, home.segments, slots, here, keys, moved)
            for some, segments, own in home.copies(keys, away):
                self._rounds(table, segments, own, some, keys, moved)
        return table.out

    def _table(self, keys: Any, X: Any) -> tuple[np.ndarray, list[str] | None, Batch]:
        """Return rows, their names and keys, if they fit each other and what came before."""
        X, names = checks.table(X)
        keys = batch(keys)
        if keys.rows != len(X):
            raise ValueError(
                f"keys and X need as many rows as each other, got {keys.rows} and {len(X)}"
            )
        if self._home is not None:
            checks.same_columns("Keyed", self._shape[0], self._names, X, names)
        if keys.missing.size and not self._skips:
            raise ValueError(
                f"Keyed needs a key in every row, row {keys.missing[0]} has none; every model is "
                "unchanged"
            )
        return X, names, keys

    def _learn_table(
        self, keys: Batch, X: np.ndarray, y: np.ndarray, advance: Callable[[int, int], None]
    ) -> EventTable:
        """Learn all rows, or none."""
        home = self._home
        assert home is not None
        table = EventTable(X, y, np.full(len(X), nan), np.zeros(len(X), dtype=np.bool_))
        table.bad[keys.missing] = True
        moved = Moved(advance, len(X))
        self._let_go()
        with self._all_or_nothing():
            self._stamp += 1.0
            slots, broken = np.full(keys.rows, FREE), Outcome(len(X), FINE, 0.0)
            for rows in self._pieces(home, keys):
                for events in home.portions(keys, rows):
                    home.bring(keys, events, slots)
                    ended = self._rounds(
                        table, home.segments, slots, events, keys, moved, broken.row
                    )
                    if ended.rule != FINE:
                        broken = ended
                if broken.rule != FINE:
                    raise self._refusal(broken, X[broken.row], keys.key(broken.row), in_table=True)
            self.events_ += len(X)
            self.n_skipped_ += int(table.bad.sum())
        return table

    def _pieces(self, home: Residence, keys: Batch) -> Iterator[np.ndarray]:
        """Divide rows where the average that new keys begin with is to be taken; take it."""
        rows = np.delete(np.arange(keys.rows), keys.missing)
        if not self.pooled:
            yield rows
            return
        while rows.size:
            new = home.first_of_new(keys.take(rows))  # where keys appear that are new
            count, cut = home.count, rows.size
            for number, row in enumerate(new.tolist(), start=count + 1):
                if pooling.due(number):
                    cut = row + 1
                    break
            yield rows[:cut]
            rows = rows[cut:]
            if home.count > count and pooling.due(home.count):
                self._start = self._pooled_start(home)

    def _rounds(
        self,
        table: EventTable,
        segments: Segments,
        slots: np.ndarray,
        events: np.ndarray,
        keys: Batch,
        moved: "Moved",
        before: int | None = None,
    ) -> Outcome:
        """Run events; without ``before`` nothing is learnt, and a row that breaks a rule raises."""
        learn = before is not None
        last = len(table.X) if before is None else before
        with self._lock:
            ended = run(
                *(self._template._step, self._benches, self._start, self._params, table),
                *(segments, slots, events),
                EventRun(self._stamp, float(self.events_), self._skips, last, AHEAD),
                labelled=learn,
                undone=learn and self._home is not None and self._home.store is None,
                progress=moved,
            )
        if ended.rule != FINE and not learn:
            raise self._refusal(ended, table.X[ended.row], keys.key(ended.row), in_table=True)
        return ended

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Undo everything if the block fails or is interrupted."""
        attributes, home = self.__dict__.copy(), self._home
        assert home is not None
        count = home.count
        try:
            for bench in self._benches:
                bench.undo.forget()  # what an interrupt has left
            home.begin()
            yield
            home.commit()
        except BaseException:
            if home.kept():  # it fell when all was done, or nothing yet
                raise
            if home.store is None:
                for bench in self._benches:
                    bench.undo.go_back(home.segments)
                home.recover(count)
            else:
                home.rollback(count)
            self.__dict__.update(attributes)
            raise
        finally:
            for bench in self._benches:
                bench.undo.forget()
