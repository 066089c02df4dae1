"""Predict, or predict and learn, a table of events (rows, each with its key), for ``Keyed``.

Either all events of a table are learnt or, if an error occurs, none.
"""

from collections.abc import Callable, Iterator
from math import nan
from typing import Any

import numpy as np

from onlinear._engine.progress import bar
from onlinear._engine.status import FINE, Outcome
from onlinear._engine.transaction import Transaction
from onlinear._learner.replay_result import Replay
from onlinear._validation import checks
from onlinear._wrappers.keyed import pooling
from onlinear._wrappers.keyed.event_loop import EventRun
from onlinear._wrappers.keyed.event_rounds import AHEAD, Events, EventTable, run_events
from onlinear._wrappers.keyed.integer_table import FREE
from onlinear._wrappers.keyed.key_batch import KeyBatch, key_batch
from onlinear._wrappers.keyed.model_store import ModelStore
from onlinear._wrappers.keyed.models import Models

__all__ = ["TableRuns", "TotalProgress"]


class TotalProgress:
    """Shows on a progress bar how many events of a table are done."""

    def __init__(self, advance: Callable[[int, int], None], rows: int) -> None:
        self._advance, self._rows, self._done = advance, rows, 0

    def __call__(self, events: int) -> None:
        """Show that ``events`` more events are done."""
        self._done += events
        self._advance(self._done, self._rows)


def _no_progress(row: int, rows: int) -> None:
    pass


class TableRuns:
    """Predicts and learns tables of events, each row with the model of its key."""

    def __init__(self, models: Models) -> None:
        self._models = models

    # --- predict --------------------------------------------------------------------------------

    def predict(self, keys: Any, X: Any) -> np.ndarray:
        """Predict every row with the current model of its key."""
        X, _, keys = self._checked(keys, X)
        models, store = self._models, self._models.store
        present = np.delete(np.arange(keys.rows), keys.missing)
        table = EventTable(X, np.empty(0), np.full(len(X), nan), np.zeros(len(X), dtype=np.bool_))
        if store is None:
            for row in present.tolist():
                table.out[row] = models.predict_first(keys.key(row), X[row])
            return table.out
        cache = store.cache
        slots = cache.keys.slots_of(keys)
        with bar("predict") as advance:
            progress = TotalProgress(advance, len(X))
            away = present[:0] if cache.disk is None else present[slots[present] == FREE]
            here = np.setdiff1d(present, away)
            if here.size:
                self._predict(store, table, Events(cache.segments, slots, here), keys, progress)
            for some, segments, own in cache.copies(keys, away):
                self._predict(store, table, Events(segments, own, some), keys, progress)
        return table.out

    def _predict(
        self,
        store: ModelStore,
        table: EventTable,
        events: Events,
        keys: KeyBatch,
        progress: TotalProgress,
    ) -> None:
        """Predict some rows; raise an error if a row breaks a rule of the learner."""
        ended = self._run(store, table, events, progress, len(table.X), learn=False)
        if ended.rule != FINE:
            row = ended.row
            raise store.refusal(ended, table.X[row], keys.key(row), in_table=True)

    # --- replay ---------------------------------------------------------------------------------

    def replay(self, keys: Any, X: Any, y: Any) -> Replay:
        """Predict each row with the model of its key, then learn its label; all rows or none."""
        checks.same_index(X, y=y)
        X, names, keys = self._checked(keys, X)
        models = self._models
        y = models.initial._labels(y, len(X))
        with bar("replay") as advance:
            if models.store is None:
                table = self._learn_first(keys, X, y, names, advance)
            else:
                table = self._learn(models.store, keys, X, y, advance)
        loss = models.initial._loss
        return Replay(table.out, y.copy(), np.flatnonzero(table.bad), loss)

    def _learn_first(
        self,
        keys: KeyBatch,
        X: np.ndarray,
        y: np.ndarray,
        names: list[str] | None,
        advance: Callable[[int, int], None],
    ) -> EventTable:
        """Learn the first table, whose rows fix the number of columns; learn all rows or none."""
        models, counts = self._models, self._models.counts

        def recover() -> None:
            models.forget_width()
            models.counts = counts

        with Transaction(models._guards(), recover):
            table = self._learn(models.begin(X.shape[1], names), keys, X, y, advance)
            if table.bad[0]:
                models.counts = counts._replace(stamp=models.stamp)
                self._begin_later(keys, table, names)
        return table

    def _begin_later(self, keys: KeyBatch, table: EventTable, names: list[str] | None) -> None:
        """Learn again from the first row that is not bad, where learning row by row would begin.

        When rows are learnt one by one, a bad row does not fix the number of columns, so bad rows
        at the beginning of the stream create no keys. Here the same must hold.
        """
        models, rows = self._models, len(table.bad)
        first = rows if table.bad.all() else int(table.bad.argmin())
        models.forget_width()
        models.counts = models.counts.plus(first, first)
        if first < rows:
            store = models.begin(table.X.shape[1], names)
            left = keys.take(np.arange(first, rows))
            again = self._learn(store, left, table.X[first:], table.y[first:], _no_progress)
            table.out[first:] = again.out

    def _learn(
        self,
        store: ModelStore,
        keys: KeyBatch,
        X: np.ndarray,
        y: np.ndarray,
        advance: Callable[[int, int], None],
    ) -> EventTable:
        """Predict and learn all rows of a table, or none if an error occurs."""
        models, cache = self._models, store.cache
        table = EventTable(X, y, np.full(len(X), nan), np.zeros(len(X), dtype=np.bool_))
        table.bad[keys.missing] = True
        progress = TotalProgress(advance, len(X))
        models.evict_old()
        _clear_logs(store)  # an interrupt may have left some
        with Transaction(models._guards(), _undo(models, store)):
            cache.begin()
            models.next_run()
            self._learn_rows(store, keys, table, progress)
            models.counts = models.counts.plus(len(X), int(table.bad.sum()))
            cache.commit()
        _clear_logs(store)
        return table

    def _learn_rows(
        self, store: ModelStore, keys: KeyBatch, table: EventTable, progress: TotalProgress
    ) -> None:
        """Learn the rows that have a key; if any breaks a rule, raise the error of the first."""
        slots, broken = np.full(keys.rows, FREE), Outcome(len(table.X), FINE, 0.0)
        for piece in self._pieces(store, keys):
            for rows in store.cache.portions(keys, piece):
                store.cache.load(keys, rows, slots)
                events = Events(store.cache.segments, slots, rows)
                ended = self._run(store, table, events, progress, broken.row, learn=True)
                if ended.rule != FINE:
                    broken = ended
            if broken.rule != FINE:
                row = broken.row
                raise store.refusal(broken, table.X[row], keys.key(row), in_table=True)

    def _pieces(self, store: ModelStore, keys: KeyBatch) -> Iterator[np.ndarray]:
        """Yield the rows that have a key, in pieces; with pooling, average weights after each.

        With pooling, new keys start with the average weights of the other keys. A piece ends at the
        row whose key makes the number of keys 8, 16, 32, …; then the average is computed. Without
        pooling, all rows are one piece.
        """
        rows = np.delete(np.arange(keys.rows), keys.missing)
        if not store.pooled:
            yield rows
            return
        while rows.size:
            count, cut = store.cache.count, rows.size
            new = store.cache.first_rows_of_new(keys.take(rows))
            for number, row in enumerate(new.tolist(), start=count + 1):
                if pooling.due(number):
                    cut = row + 1
                    break
            yield rows[:cut]
            rows = rows[cut:]
            store.pool(count)

    # --- both -----------------------------------------------------------------------------------

    def _checked(self, keys: Any, X: Any) -> tuple[np.ndarray, list[str] | None, KeyBatch]:
        """Return rows, column names and keys; refuse keys and rows that do not fit together.

        The columns have to be those of earlier rows.
        """
        checks.same_index(X, keys=keys)
        X, names = checks.table(X)
        keys = key_batch(keys)
        if keys.rows != len(X):
            raise ValueError(
                f"keys and X need the same number of rows, got {keys.rows} and {len(X)}"
            )
        store = self._models.store
        if store is not None:
            checks.same_columns("Keyed", store.shape[0], store.names, X, names)
        if keys.missing.size and not self._models.skips:
            raise ValueError(
                f"Keyed needs a key in every row, row {keys.missing[0]} has none; every model is "
                "unchanged"
            )
        return X, names, keys

    def _run(
        self,
        store: ModelStore,
        table: EventTable,
        events: Events,
        progress: TotalProgress,
        before: int,
        *,
        learn: bool,
    ) -> Outcome:
        """Run the given events that come before row ``before``; return the outcome."""
        models = self._models
        how = EventRun(models.stamp, float(models.events), models.skips, before, AHEAD)
        return run_events(
            *(store.template._step, store.workers, store.start, store.params),
            *(table, events, how),
            labelled=learn,
            undoable=learn and store.cache.disk is None,
            progress=progress,
        )


def _undo(models: Models, store: ModelStore) -> Callable[[], None]:
    """Return a function that undoes the next run, unless that run has been committed."""
    counts, count, start, cache = models.counts, store.cache.count, store.start, store.cache
    run = counts.stamp + 1.0  # the number of the run to undo

    def restore() -> None:
        """Undo a run; if ``restore`` is interrupted, a second call completes the undoing."""
        if cache.committed():  # the run was finished, or not begun
            return
        models.counts, store.start = counts, start
        if cache.disk is not None:
            cache.roll_back(count)
            return
        for worker in store.workers:
            worker.undo_log.restore(cache.segments)
        cache.recover(count, run)
        _clear_logs(store)

    return restore


def _clear_logs(store: ModelStore) -> None:
    for worker in store.workers:
        worker.undo_log.clear()
