"""The models of ``Keyed``: predict and learn single events; read or remove a model.

An event is a row with its key. A run predicts and learns one event or a table of events; runs have
serial numbers. A record is one array of numbers: counters of a key, then the state of its model.
"""

import copy
import time
from collections.abc import Callable, Hashable, Iterator
from math import nan
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.transaction import Guarded, Transaction
from onlinear._learner.base import Learner
from onlinear._validation import checks
from onlinear._wrappers.keyed.age_limit import AgeLimit
from onlinear._wrappers.keyed.event_rounds import AHEAD
from onlinear._wrappers.keyed.integer_table import FREE
from onlinear._wrappers.keyed.key_batch import KeyBatch, one_key
from onlinear._wrappers.keyed.model_store import ONE_ROW, ModelStore
from onlinear._wrappers.keyed.record_header import STAMP
from onlinear._wrappers.keyed.settings import KeyedSettings, existing_folder

__all__ = ["EventCounts", "Models"]


class EventCounts(NamedTuple):
    """How many events there were, how many of them were skipped; the last run's serial number."""

    events: int
    skipped: int
    stamp: float

    def plus(self, events: int, skipped: int) -> "EventCounts":
        """Return the counts after ``events`` more events, of which ``skipped`` were skipped."""
        return self._replace(events=self.events + events, skipped=self.skipped + skipped)


class Models(Guarded):
    """Holds the models of all keys, which start as copies of one learner; runs single events.

    The store of models is created at the first row, which shows how many columns rows have. Whoever
    calls a method of ``Models`` must hold the lock of the ``Models`` object.
    """

    def __init__(
        self, model: Learner, settings: KeyedSettings, clock: Callable[[], float] = time.time
    ) -> None:
        self.settings = settings
        self.age_limit = AgeLimit(settings.max_age, clock)
        self.initial = copy.deepcopy(model)
        self.skips = model.on_bad == "skip"
        self.store: ModelStore | None = None
        self.counts = EventCounts(0, 0, 0.0)
        if model._state is not None:
            self.begin(model.n_features_in_, model._names)

    def __len__(self) -> int:
        return 0 if self.store is None else self.store.cache.count

    events = property(
        lambda self: self.counts.events, doc="How many events were learnt or skipped."
    )
    skipped = property(lambda self: self.counts.skipped, doc="How many events were skipped.")
    stamp = property(lambda self: self.counts.stamp, doc="The serial number of the last run.")

    # --- state ----------------------------------------------------------------------------------

    def begin(self, d: int, names: list[str] | None) -> ModelStore:
        """Create the store of models, for rows of width d."""
        self.store = ModelStore(self.initial, self.settings, d, names)
        return self.store

    def forget_width(self) -> None:
        """Drop the store if ``initial`` learnt no row; a later row then sets the row width."""
        if self.initial._state is None:
            self.store = None

    def contents(self) -> dict[str, Any]:
        """Return copies of settings, counts and models, for pickle, copy and deepcopy."""
        kept: dict[str, Any] = {"settings": self.settings._asdict(), "initial": self.initial}
        kept["counts"] = tuple(self.counts)
        store = self.store
        if store is not None:
            kept["begun"] = store.shape[0], store.names, store.start.copy()
            kept["records"] = list(store.cache.chunks())
        return kept

    @classmethod
    def from_contents(cls, kept: dict[str, Any], clock: Callable[[], float]) -> "Models":
        """Return the models that :meth:`contents` described."""
        settings = {**kept["settings"], "spill": existing_folder(kept["settings"]["spill"])}
        models = cls(kept["initial"], KeyedSettings(**settings), clock)
        models.counts = EventCounts(*kept["counts"])
        if "begun" in kept:
            d, names, start = kept["begun"]
            store = models.begin(d, names)
            store.start = start
            for keys, rows in kept["records"]:
                store.cache.add(keys, rows)
        return models

    # --- one event ------------------------------------------------------------------------------

    def predict(self, key: Hashable, x: Any) -> float:
        """Predict one row with its key's model; ``key`` is what ``key_codec.canonical`` gave."""
        store = self.store
        if store is None:
            return self.predict_first(key, x)
        x = store.row(x)
        slot, start = store.cache.keys.slot(key), store.start
        if slot == FREE and store.cache.disk is not None:
            record = store.record(key)
            start = start if record is None else record
        run = self.stamp, float(self.events), self.skips, 1, AHEAD
        return store.round(slot, start, x, nan, run, key, labelled=False)[0]

    def predict_first(self, key: Hashable, x: Any) -> float:
        """Predict one row with the initial learner, before any key has a model."""
        try:
            return self.initial._number_one(x)
        except ValueError as error:
            raise ValueError(f"key {key!r:.60}: {error}") from None

    def learn(self, key: Hashable, x: Any, y: float) -> bool:
        """Learn one row with the model of its key; return True if it was learnt, False if skipped.

        ``key`` is what ``key_codec.canonical`` gave.
        """
        began = self.store is None
        with self._event(key):
            self.next_run()
            store = self.store or self.begin(checks.width(x), checks.row_names(x))
            self.evict_old()
            x = store.row(x)
            slot, count = store.cache.keys.slot(key), store.cache.count
            if slot == FREE:
                slots = ONE_ROW.copy()
                store.cache.load(one_key(key), ONE_ROW, slots)
                slot = int(slots[0])
            else:
                store.cache.mark_changed(slot)
            run = self.stamp, float(self.events), self.skips, 1, AHEAD
            bad = store.round(slot, store.start, x, y, run, key, labelled=True)[1]
            if store.pooled:
                store.pool(count)
            if bad and began:
                self.forget_width()
            self.counts = self.counts.plus(1, bad)
        return not bad

    def _event(self, key: Hashable) -> Transaction:
        """Return a transaction for one row of a key: learn and count it, or change nothing."""
        counts, store = self.counts, self.store
        new = store is not None and store.cache.keys.slot(key) == FREE  # new, or on disk
        kept = None if store is None else (store.cache.count, store.start)

        def recover() -> None:
            """Remove a new key; count the event if, by the key's record, the event was learnt."""
            if store is None or kept is None:
                self.forget_width()
                self.counts = counts
                return
            if new:
                store.forget_new(key, *kept)
            record = store.record(key)
            learnt = record is not None and bool(record[STAMP] == counts.stamp + 1.0)
            after = counts.plus(learnt, learnt and store.last_was_bad)
            self.counts = after._replace(stamp=counts.stamp + learnt)  # no later run has its number

        return Transaction(self._guards(), recover)

    def next_run(self) -> None:
        """Give the next run, of a table or of one event, a new serial number."""
        self.counts = self.counts._replace(stamp=self.stamp + 1.0)

    def skip_event(self) -> None:
        """Count an event without a key as skipped."""
        self.counts = self.counts.plus(1, 1)

    def evict_old(self) -> None:
        """Move the models that were not used for ``max_age`` to disk."""
        if self.settings.max_age is not None and self.store is not None:
            first = self.age_limit.first_recent(self.events)
            if first:
                cache = self.store.cache
                with Transaction(self._guards(), cache._snapshot()):
                    cache.evict_before(first)

    # --- all models, and one of them ------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """How much memory models and keys take, in bytes."""
        return 0 if self.store is None else self.store.cache.nbytes

    def keys(self) -> list[Hashable]:
        """Return all keys, integers first, in order."""
        if self.store is None:
            return []
        integers, others = self.store.cache.all_keys()
        return [*integers.tolist(), *others]

    def chunks(self) -> Iterator[tuple[KeyBatch, np.ndarray]]:
        """Return an iterator over chunks of all keys and records, in the order of the keys."""
        return iter(()) if self.store is None else self.store.cache.chunks()

    def remove(self, key: Hashable) -> None:
        """Remove a known key and its model; after an interrupt, the removal is completed."""
        assert self.store is not None
        cache, keys = self.store.cache, one_key(key)
        count = cache.count - 1
        with Transaction(self._guards(), lambda: cache.finish_removal(keys, count)):
            cache.remove(keys)

    def model(self, key: Hashable) -> Learner | None:
        """Return a copy of the model of a key, or None if the key is unknown."""
        return None if self.store is None else self.store.model(key)

    def record(self, key: Hashable) -> np.ndarray | None:
        """Return a copy of the record of a key, or None if the key is unknown."""
        return None if self.store is None else self.store.record(key)

    def learn_ticket(self, key: Hashable, ticket: np.ndarray, y: float) -> bool:
        """Learn a delayed label, for a learner that must remember more of a round than the row x.

        ``ticket`` is what the learner's ``remember`` returned when the row was predicted: for Auto,
        x with the experts' predictions and the past labels of that time.
        """
        with self._event(key):
            self.next_run()
            self.evict_old()
            model = self.model(key)
            if model is None:
                model = copy.deepcopy(self.initial)
            skipped = model.n_skipped_
            try:
                model.learn_late(ticket, y)
            except ValueError as error:
                raise ValueError(f"key {key!r:.60}: {error}") from None
            learnt = model.n_skipped_ == skipped
            store = self.store
            if store is None and learnt:
                store = self.begin(model.n_features_in_, model._names)
            if store is not None:
                store.put_model(key, model, learnt=learnt, stamp=self.stamp, event=self.events)
            self.counts = self.counts.plus(1, not learnt)
        return learnt
