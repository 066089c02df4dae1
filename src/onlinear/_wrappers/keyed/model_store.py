"""The models of all keys, once the number of columns is known: one record per key.

A record is one array: counters of a key (:mod:`onlinear._wrappers.keyed.record_header`), then the
state of its model. A slot is the position of a record in memory.
"""

import copy
from collections.abc import Hashable
from typing import Any

import numpy as np

from onlinear._engine.record import before_aligned
from onlinear._engine.status import FINE, Outcome
from onlinear._engine.tables import to_read
from onlinear._engine.transaction import all_or_nothing
from onlinear._learner.base import FLOAT, Learner
from onlinear._validation import checks
from onlinear._wrappers.keyed import pooling
from onlinear._wrappers.keyed.event_loop import event_loop
from onlinear._wrappers.keyed.event_rounds import WorkRecord
from onlinear._wrappers.keyed.integer_table import FREE
from onlinear._wrappers.keyed.key_batch import one_key
from onlinear._wrappers.keyed.record_cache import RecordCache
from onlinear._wrappers.keyed.record_header import HEAD, KEY, LAST, LEARNT, LOSS, SKIPPED, STAMP
from onlinear._wrappers.keyed.settings import KeyedSettings

__all__ = ["ONE_ROW", "ModelStore"]

ONE_ROW = np.zeros(1, dtype=np.int64)
NO_LOG = np.empty((0, 0)), np.empty(0, dtype=np.int64)


class ModelStore:
    """The models of all keys, stored as one record each; all models have the same parameters.

    Parameters
    ----------
    initial : Learner
        The learner that every key starts with.
    settings : KeyedSettings
        The memory limit, the folder for models on disk, the number of threads.
    d : int
        The number of columns.
    names : list of str or None
        Names of the columns.
    """

    def __init__(
        self, initial: Learner, settings: KeyedSettings, d: int, names: list[str] | None
    ) -> None:
        template = copy.deepcopy(initial)
        if template._state is None:
            template._begin(d)
            template._name_columns(names)
        if settings.pooled:
            pooling.check(template)
        assert template._record is not None
        self.initial, self.template, self.pooled = initial, template, settings.pooled
        self.shape, self.names = (d,), names
        self.params = template._numbers()
        self.start = np.concatenate([np.zeros(HEAD), template._record])  # the record of a new key
        size, folder = self.start.size, settings.folder
        before = HEAD + before_aligned(template._state)
        self.cache = RecordCache(size, settings.capacity(size), folder, before)
        self.workers = [WorkRecord(template, folder) for _ in range(settings.cores)]
        self._single: tuple[Any, ...] | None = None  # function and arrays for single rounds

    # --- one round ------------------------------------------------------------------------------

    def row(self, x: Any) -> np.ndarray:
        """Return a row as an array; refuse a row whose columns are not those of the models."""
        if x.__class__ is np.ndarray and x.dtype is FLOAT and x.shape == self.shape:
            return np.ascontiguousarray(x)
        if checks.sparse(x):
            return checks.sparse_row(x, self.shape[0])[0]
        return checks.row(x, self.shape[0], self.names)

    def round(
        self,
        slot: int,
        start: np.ndarray,
        x: np.ndarray,
        y: float,
        run: tuple[float, float, bool, int, int],
        key: Hashable,
        *,
        labelled: bool,
    ) -> tuple[float, bool]:
        """Predict a row with the model in a slot and, if ``labelled``, learn its label.

        If the slot is FREE, the row is predicted with a copy of the record ``start``. Return the
        prediction, and whether the row was bad.
        """
        call, memory, table, (row, label, where), scratch, results = (
            self._single or self._prepare_single()
        )
        row[0], label[0], where[0] = x, y, slot
        out, bad, _, _ = results
        bad[0] = False
        _, rule, value, _ = call(
            *(*memory, start, self.params, *table, scratch, labelled),
            *(self.cache.segments.place, where, ONE_ROW, run, results),
        )
        if rule != FINE:
            raise self.refusal(Outcome(0, rule, value), x, key, in_table=False)
        return float(out[0]), bool(bad[0])

    def _prepare_single(self) -> tuple[Any, ...]:
        """Return the compiled loop over events, and the arrays with which it runs one event."""
        own = WorkRecord(self.template)
        event = np.empty((1, self.shape[0])), np.empty(1), ONE_ROW.copy()
        results = np.empty(1), np.zeros(1, dtype=np.bool_), *NO_LOG
        call = self.template._step.around(event_loop)
        table = [to_read(array) for array in event[:2]]
        self._single = call, (own.record, own.state), table, event, own.scratch, results
        return self._single

    @property
    def last_was_bad(self) -> bool:
        """Whether the last row that :meth:`round` or :meth:`put_model` was given was bad."""
        return self._single is not None and bool(self._single[-1][1][0])

    def refusal(self, outcome: Outcome, x: np.ndarray, key: Any, *, in_table: bool) -> ValueError:
        """Return the error for a row of a key that was refused."""
        error = self.template._refusal(outcome, x, in_table=in_table, whole="every model")
        return ValueError(f"key {key!r:.60}: {error}")

    # --- the models -----------------------------------------------------------------------------

    def record(self, key: Hashable) -> np.ndarray | None:
        """Return a copy of the record of a key, or None if the key is unknown."""
        rows, known = self.cache.read(one_key(key))
        return rows[0] if known[0] else None

    def model(self, key: Hashable) -> Learner | None:
        """Return a copy of the model of a key, or None if the key is unknown."""
        record = self.record(key)
        if record is None:
            return None
        model = copy.deepcopy(self.initial)
        if record[LEARNT] or self.pooled or model._state is not None:
            model._begin(self.shape[0], record[HEAD:])
            model._name_columns(self.names)
        if record[SKIPPED]:
            model.n_skipped_ = self.initial.n_skipped_ + int(record[SKIPPED])
        return model

    def put_model(
        self, key: Hashable, model: Learner, *, learnt: bool, stamp: float, event: int
    ) -> None:
        """Store the model of a key after an event, which the model has ``learnt`` or skipped."""
        cache, slots = self.cache, ONE_ROW.copy()
        cache.load(one_key(key), ONE_ROW, slots)
        record = cache.segments.rows(slots)
        if record[0, STAMP] == 0.0:
            record[0, :KEY], record[0, HEAD:] = 0.0, self.start[HEAD:]
        record[0, [STAMP, LAST]] = stamp, event
        if learnt:
            record[0, HEAD:] = model._record
            record[0, LEARNT] += 1.0
        else:
            record[0, SKIPPED] += 1.0
        *_, results = self._single or self._prepare_single()
        results[1][0] = not learnt
        cache.segments.put(slots, record)

    def put_loss(self, key: Hashable, loss: float) -> None:
        """Set the sum of squared errors of a key; its record may be on disk."""
        slots = ONE_ROW.copy()
        with all_or_nothing(self.cache):
            self.cache.load(one_key(key), ONE_ROW, slots)
            self.cache.segments.put_number(slots, LOSS, np.array([loss]))

    def forget_new(self, key: Hashable, count: int, start: np.ndarray) -> None:
        """Undo the addition of a key: if it is new, remove it, so that there are ``count`` keys.

        ``start`` becomes again the record that new keys start with.
        """
        self.start = start
        slot = self.cache.keys.slot(key)
        if self.cache.count > count and slot != FREE:
            self.cache.segments.put_number(np.array([slot]), STAMP, np.zeros(1))
        self.cache.recover(count)

    def pool(self, keys_before: int) -> None:
        """Recompute the average that new keys start with, if keys were added and it is due.

        It is due when there are 8, 16, 32, … keys.
        """
        count = self.cache.count
        if count > keys_before and pooling.due(count):
            records = (rows for _, rows in self.cache.chunks())
            self.start = pooling.averaged(self.template, self.start, records)
