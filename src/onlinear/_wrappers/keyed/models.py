"""Models by key, and one round of one of them: what :class:`onlinear.Keyed` is made on."""

import copy
import datetime
import os
import threading
import time
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from onlinear._engine.record import before_matrix
from onlinear._engine.segments import Segments
from onlinear._engine.status import FINE, Outcome
from onlinear._engine.tables import to_read
from onlinear._learner.base import FLOAT, Learner
from onlinear._learner.kernel_base import check_fixed
from onlinear._validation import checks
from onlinear._wrappers.keyed import pooling
from onlinear._wrappers.keyed.age_limit import Ages
from onlinear._wrappers.keyed.event_loop import event_loop
from onlinear._wrappers.keyed.event_rounds import AHEAD, Bench
from onlinear._wrappers.keyed.key_index import FREE, one_key
from onlinear._wrappers.keyed.record_cache import AT_LEAST, OVERHEAD, Residence
from onlinear._wrappers.keyed.record_header import HEAD, LEARNT, SKIPPED, STAMP
from onlinear._wrappers.keyed.settings import KeyedSettings, Settled, folder_here
from onlinear._wrappers.late.pending import MOST, Pending

__all__ = ["ONE", "Models"]

COUNTS = ("events_", "n_skipped_", "_stamp")
FEWEST = 16  # models that a memory limit has to leave room for
ONE = np.zeros(1, dtype=np.int64)
NO_LOG = np.empty((0, 0)), np.empty(0, dtype=np.int64)


class Models(Settled):
    """Models that share their parameters and a learner to begin with, each in a record by key."""

    def __init__(
        self,
        model: Learner,
        *,
        memory_limit: int | None = None,
        max_age: int | datetime.timedelta | None = None,
        spill: str | os.PathLike[str] | None = None,
        pooled: bool = False,
        threads: int | None = None,
        waiting: int = 1_000_000,
        expire_after: int | datetime.timedelta | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        check_fixed("Keyed needs a learner", model)
        self._settings = KeyedSettings(memory_limit, max_age, spill, pooled, threads).checked()
        self._ages = Ages(self.max_age)
        limit = checks.whole(checks.asked("Keyed", waiting=waiting), "waiting", least=1, most=MOST)
        self._pending = Pending(limit, expire_after, clock=clock, owner="Keyed")
        self._model = copy.deepcopy(model)
        self._home: Residence | None = None
        self._stamp = 0.0  # runs
        self.events_ = 0  # events learnt or skipped
        self.n_skipped_ = 0
        if model._state is not None:
            self._begin(model.n_features_in_, model._names)

    def __len__(self) -> int:
        return 0 if self._home is None else self._home.count

    # --- state ----------------------------------------------------------------------------------

    def _begin(self, d: int, names: list[str] | None) -> None:
        """Take rows of width d."""
        model = copy.deepcopy(self._model)
        if model._state is None:
            model._begin(d)
            model._name_columns(names)
        if self.pooled:
            pooling.check(model)
        assert model._record is not None
        start = np.concatenate([np.zeros(HEAD), model._record])
        before = HEAD + before_matrix(model._state)
        home = Residence(start.size, self._capacity(start.size), self._folder(), before)
        self._template, self._start, self._home = model, start, home
        self._shape, self._names = (d,), names
        self._params = model._numbers()
        self._benches = [Bench(model, self._folder()) for _ in range(self._cores())]
        self._lock = threading.Lock()  # for the benches
        self._local = threading.local()  # a bench of its own for each thread that calls

    def _capacity(self, size: int) -> int | None:
        """Return how many models there is room for in memory; None is no limit."""
        if self.memory_limit is None:
            if self.max_age is None:
                return None
            return int(checks.physical_memory() / 2) // (8 * size)
        each = Segments(size).stride + OVERHEAD
        asked = checks.asked("Keyed", memory_limit=self.memory_limit)
        least = AT_LEAST + FEWEST * each
        limit = checks.whole(asked, "memory_limit", least=least)
        return int(min(limit, checks.physical_memory()) - AT_LEAST) // each

    def _forget(self) -> None:
        """Have no width: bad rows do not say how wide the next will be."""
        if self._home is not None and self._model._state is None:
            self._home = None

    def __getstate__(self) -> dict[str, Any]:
        """Return models and what waits: what pickle, copy and deepcopy keep."""
        kept = {name: self.__dict__[name] for name in COUNTS}
        kept |= {"settings": self._settings._asdict(), "model": self._model}
        kept["pending"] = copy.deepcopy(self._pending)
        if self._home is not None:
            kept["begun"] = self._shape[0], self._names, self._start.copy()
            kept["records"] = list(self._home.pieces())
        return kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Take models and what waits back."""
        settings = {**kept["settings"], "spill": folder_here(kept["settings"]["spill"])}
        Models.__init__(self, kept["model"], **settings)
        self.events_, self.n_skipped_, self._stamp = (kept[name] for name in COUNTS)
        self._pending = kept["pending"]
        if "begun" in kept:
            d, names, start = kept["begun"]
            self._begin(d, names)
            self._start = start
            assert self._home is not None
            for keys, rows in kept["records"]:
                self._home.add(keys, rows)

    # --- the round ------------------------------------------------------------------------------

    def _learn(self, key: Hashable, x: Any, y: float) -> bool:
        """Learn one row of a canonical key."""
        began = self._home is None
        if self._home is None:
            self._begin(checks.width(x), checks.row_names(x))
        home = self._home
        assert home is not None
        skipped, events = self.n_skipped_, self.events_
        try:
            self._stamp += 1.0
            self._let_go()
            x = self._row(x)
            slot = home.keys.slot(key)
            if slot == FREE:
                self._learn_new(home, key, x, y)
            else:
                home.touch(slot)
                self._round(slot, self._start, x, y, True, key)
            if began and self.n_skipped_ > skipped:
                self._forget()
            self.events_ = events + 1
        except BaseException:
            if began:
                self._forget()
            if self._learnt_now(key):  # Ctrl-C came after it
                self.events_ = events + 1
            raise
        return self.n_skipped_ == skipped

    def _learnt_now(self, key: Hashable) -> bool:
        """Whether the run that is on has come to a key."""
        if self._home is None:
            return False
        return bool(self._home.get(one_key(key))[0][0, STAMP] == self._stamp)

    def _learn_new(self, home: Residence, key: Hashable, x: np.ndarray, y: float) -> None:
        """Learn one row of a key that is not in memory."""
        count, start, slots = home.count, self._start, ONE.copy()
        try:
            home.bring(one_key(key), ONE, slots)
            self._round(int(slots[0]), self._start, x, y, True, key)
            if self.pooled and home.count > count and pooling.due(home.count):
                self._start = self._pooled_start(home)
        except BaseException:
            self._start = start
            self._forget_new(home, key, count)
            raise

    def _forget_new(self, home: Residence, key: Hashable, count: int) -> None:
        """Be as if a key had not come, if it was not there; there were so many keys."""
        slot = home.keys.slot(key)
        if home.count > count and slot != FREE:
            home.segments.put_number(np.array([slot]), STAMP, np.zeros(1))
        home.recover(count)

    def _round(
        self, slot: int, start: np.ndarray, x: np.ndarray, y: float, labelled: bool, key: Any
    ) -> float:
        """One round of the model in a slot, or of ``start`` if it has none."""
        home = self._home
        assert home is not None
        local = self._local
        if not hasattr(local, "numbers"):
            bench = Bench(self._template)
            local.call = self._template._step.around(event_loop)
            local.state, local.work = (bench.record, bench.state), bench.work
            local.numbers = np.empty((1, x.size)), np.empty(1), ONE.copy()  # row, label, slot
            local.table = [to_read(array) for array in local.numbers[:2]]
            local.kept = np.empty(1), np.zeros(1, dtype=np.bool_), *NO_LOG
        row, label, where = local.numbers
        row[0], label[0], where[0] = x, y, slot
        out, bad, _, _ = local.kept
        bad[0] = False
        _, rule, value, _ = local.call(
            *(*local.state, start, self._params, *local.table, local.work, labelled),
            *(home.segments.place, where, ONE),
            *((self._stamp, float(self.events_), self._skips, 1, AHEAD), local.kept),
        )
        if rule != FINE:
            raise self._refusal(Outcome(0, rule, value), x, key, in_table=False)
        if labelled and bad[0]:
            self.n_skipped_ += 1
        return float(out[0])

    def _first(self, key: Hashable, x: Any) -> float:
        """Predict a row when nothing has been learnt."""
        try:
            return self._model.predict_one(x)
        except ValueError as error:
            raise ValueError(f"key {key!r:.60}: {error}") from None

    @property
    def _skips(self) -> bool:
        return self._model.on_bad == "skip"

    def _row(self, x: Any) -> np.ndarray:
        if x.__class__ is np.ndarray and x.dtype is FLOAT and x.shape == self._shape:
            return np.ascontiguousarray(x)
        if checks.sparse(x):
            return checks.sparse_row(x, self._shape[0])[0]
        return checks.row(x, self._shape[0], self._names)

    def _refusal(self, outcome: Outcome, x: np.ndarray, key: Any, *, in_table: bool) -> ValueError:
        error = self._template._refusal(outcome, x, in_table=in_table, whole="every model")
        return ValueError(f"key {key!r:.60}: {error}")

    def _let_go(self) -> None:
        """Send to disk what was not used for long."""
        if self.max_age is not None and self._home is not None:
            old, home = self._ages.old(self.events_, self._pending.clock), self._home
            if old:
                try:
                    home.evict_before(old)
                except BaseException:
                    home.recover(home.count)
                    raise

    def _pooled_start(self, home: Residence) -> np.ndarray:
        records = (rows for _, rows in home.pieces())
        return pooling.averaged(self._template, self._start, records)

    def _at(self, key: Hashable) -> Learner | None:
        if self._home is None:
            return None
        rows, known = self._home.get(one_key(key))
        return self._model_of(rows[0]) if known[0] else None

    def _model_of(self, record: np.ndarray) -> Learner:
        model = copy.deepcopy(self._model)
        if record[LEARNT] or self.pooled or model._state is not None:
            model._begin(self._shape[0], record[HEAD:])
            model._name_columns(self._names)
        if record[SKIPPED]:
            model.n_skipped_ = self._model.n_skipped_ + int(record[SKIPPED])
        return model
