"""One model for each key, millions of them: the models share parameters, and one bank of arrays."""

import contextlib
import copy
import datetime
import os
import threading
from collections.abc import Callable, Hashable, Iterator
from math import nan
from typing import Any, NamedTuple

import numpy as np

from onlinear import _checks, _keyed_files, _pooling
from onlinear._ages import Ages
from onlinear._codes import canonical
from onlinear._engine import (
    FINE,
    HEAD,
    KEY,
    LAST,
    LEARNT,
    LOSS,
    SKIPPED,
    STAMP,
    Outcome,
    Run,
)
from onlinear._groups import AHEAD, Bench, EventTable, run
from onlinear._kernel_learner import check_fixed
from onlinear._keys import FREE, Batch, batch, one_key
from onlinear._model import FLOAT, Learner
from onlinear._pending import LateCounts, Pending
from onlinear._progress import bar
from onlinear._record import before_matrix
from onlinear._replay import Replay
from onlinear._residence import AT_LEAST, OVERHEAD, Residence
from onlinear._segments import Segments
from onlinear._threads import usable_cores

__all__ = ["KeyStatistics", "Keyed"]

SETTINGS = (
    *("memory_limit", "max_age", "spill", "pooled", "threads"),
    *("events_", "n_skipped_", "_stamp"),
)
FEWEST = 16  # models that a memory limit has to leave room for
ONE = np.zeros(1, dtype=np.int64)
NO_LOG = np.empty((0, 0)), np.empty(0, dtype=np.int64)


class KeyStatistics(NamedTuple):
    """What happened to the model of a key."""

    rounds: int
    skipped: int
    mean_squared_error: float
    last_event: int


class Keyed:
    """One model for each key, each giving the same bits as if it were alone.

    The models are made as their keys appear, from one learner, and stand in one bank of memory: a
    million of them take little more than their numbers. A replay takes the events of each key in
    their order, in several threads where there are cores. Costs O(1) a key, and what a round of the
    learner costs.

    Parameters
    ----------
    model : Learner
        What every key begins with: a copy of it, with what it has learnt, if anything. Any learner
        but those with a kernel, whose state grows.
    memory_limit : int or None, default None
        Bytes of memory for models and their keys, at least those of 16 models. When there is no
        more room the least recently used are sent to disk, and come back with the next event of
        theirs: the same bits. (A key that is no whole number takes some 200 bytes more, which are
        not counted; nor is what a replay needs for its rows.)
    max_age : int, timedelta or None, default None
        Models unused for so many events, or so long, are sent to disk too.
    spill : path or None, default None
        The folder for what is sent to disk; None is that of temporary files. The file goes when the
        ``Keyed`` does: to keep models, ``save`` them.
    pooled : bool, default False
        Whether a new key begins with the average weights of the others rather than with those of
        ``model``. The average is taken when there come to be 8, 16, 32, … keys; a model that has
        learnt t rows of width d counts t/(t + d). For learners whose state is weights, or weights
        and Σ.
    threads : int or None, default None
        How many threads a replay, or ``predict``, may use, threads ≥ 1; None means as many as there
        are cores.
    waiting : int, default 1_000_000
        How many rows wait for a late label at most, as ``limit`` of :class:`onlinear.Late`.
    expire_after : int, timedelta or None, default None
        How late a label may be, as of :class:`onlinear.Late`.

    Examples
    --------
    >>> import onlinear as ol
    >>> sensors = ol.Keyed(ol.LASER(c=100.0, shrink=False))
    >>> sensors.learn_one("north", [1.0, 2.0], 3.0)
    True
    >>> sensors.predict_one("north", [1.0, 2.0])
    2.5
    >>> sensors.predict_one("south", [1.0, 2.0])  # a key that is new
    0.0
    >>> run = sensors.replay(["north", "south", "north"], [[1.0, 0.0]] * 3, [1.0, 2.0, 1.0])
    >>> len(sensors), sensors["north"].rounds_
    (2, 3)
    """

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
    ) -> None:
        check_fixed("Keyed needs a learner", model)
        self.memory_limit, self.max_age, self.spill = memory_limit, max_age, spill
        self.pooled, self.threads = pooled, threads
        self._ages = Ages(max_age)
        self._pending = Pending(waiting, expire_after, owner="Keyed")
        self._cores()
        asked = _checks.asked("Keyed", memory_limit=memory_limit, pooled=pooled)
        if memory_limit is not None:
            self.memory_limit = _checks.whole(asked, "memory_limit", least=1)
        if threads is not None:
            self.threads = self._cores()
        if isinstance(max_age, np.integer):
            self.max_age = int(max_age)
        self.pooled = _checks.choice(asked, "pooled", (False, True))
        self._model = copy.deepcopy(model)
        self._home: Residence | None = None
        self._stamp = 0.0  # runs
        self.events_ = 0  # events learnt or skipped
        self.n_skipped_ = 0
        if model._state is not None:
            self._begin(model.n_features_in_, model._names)

    def _cores(self) -> int:
        if self.threads is None:
            return usable_cores()
        return _checks.whole(_checks.asked("Keyed", threads=self.threads), "threads", least=1)

    def __repr__(self) -> str:
        """Show what the keys begin with, and how many there are."""
        return f"<Keyed {self._model!r}: {len(self)} keys>"

    # --- state ----------------------------------------------------------------------------------

    def _begin(self, d: int, names: list[str] | None) -> None:
        """Take rows of width d."""
        model = copy.deepcopy(self._model)
        if model._state is None:
            model._begin(d)
            model._name_columns(names)
        if self.pooled:
            _pooling.check(model)
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

    def _folder(self) -> str | None:
        return None if self.spill is None else os.fspath(self.spill)

    def _capacity(self, size: int) -> int | None:
        """Return how many models there is room for in memory; None is no limit."""
        if self.memory_limit is None:
            if self.max_age is None:
                return None
            return int(_checks.physical_memory() / 2) // (8 * size)
        each = Segments(size).stride + OVERHEAD
        asked = _checks.asked("Keyed", memory_limit=self.memory_limit)
        least = AT_LEAST + FEWEST * each
        return (_checks.whole(asked, "memory_limit", least=least) - AT_LEAST) // each

    def _forget(self) -> None:
        """Have no width: bad rows do not say how wide the next will be."""
        if self._home is not None and self._model._state is None:
            self._home = None

    def __getstate__(self) -> dict[str, Any]:
        """Return models and what waits: what pickle, copy and deepcopy keep."""
        kept = {name: self.__dict__[name] for name in SETTINGS}
        kept |= {"model": self._model, "pending": copy.deepcopy(self._pending)}
        if self._home is not None:
            kept["begun"] = self._shape[0], self._names, self._start.copy()
            kept["records"] = list(self._home.pieces())
        return kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Take models and what waits back."""
        params = {name: kept[name] for name in SETTINGS[:5]}
        Keyed.__init__(self, kept["model"], **params)
        self.events_, self.n_skipped_, self._stamp = (kept[name] for name in SETTINGS[5:])
        self._pending = kept["pending"]
        if "begun" in kept:
            d, names, start = kept["begun"]
            self._begin(d, names)
            self._start = start
            assert self._home is not None
            for keys, rows in kept["records"]:
                self._home.add(keys, rows)

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
            if home.committed:  # it fell when all was done, or nothing yet
                raise
            if home.store is None:
                for bench in self._benches:
                    bench.undo.go_back(home.segments)
                home.recover(count)
            else:
                home.rollback(count)
            self.__dict__.clear()
            self.__dict__.update(attributes)
            raise
        finally:
            for bench in self._benches:
                bench.undo.forget()

    # --- the round ------------------------------------------------------------------------------

    def predict_one(self, key: Any, x: Any, id: Any = None) -> float:
        """Predict the label of one row of a key; never changes a model.

        With an ``id`` the row is remembered until its label comes: see :meth:`learn_one`.

        >>> import onlinear as ol
        >>> ol.Keyed(ol.LASER()).predict_one("north", [1.0, 2.0])  # nothing learnt yet
        0.0
        """
        key = canonical(key)
        if self._home is None:
            prediction = self._model.predict_one(x)
        else:
            x = self._row(x)
            slot = self._home.keys.slot(key)
            start = self._start
            if slot == FREE and self._home.store is not None:
                rows, known = self._home.get(one_key(key))
                start = rows[0] if known[0] else start
            prediction = self._round(slot, start, x, nan, False, key)
        if id is not None:
            if prediction != prediction:
                self._pending.leave_out()
            else:
                self._pending.add(id, self._ticket(key, x), key)
        return prediction

    def learn_one(self, key: Any = None, x: Any = None, y: Any = None, *, id: Any = None) -> bool:
        """Learn the label of one row of a key, or of a row that waits, by its ``id``.

        Returns whether it was learnt: not a bad row that is skipped, nor a label whose ``id`` no
        row has that waits, which ``late_`` counts.

        >>> import onlinear as ol
        >>> sensors = ol.Keyed(ol.Ridge())
        >>> sensors.learn_one("north", [1.0, 2.0], 3.0)
        True
        >>> sensors.predict_one("south", [1.0, 0.0], id=17)
        0.0
        >>> sensors.learn_one(id=17, y=4.0)  # in any order, and never twice
        True
        >>> sensors["south"].coef_
        array([2., 0.])
        """
        if id is not None:
            if key is not None or x is not None:
                raise ValueError(f"learn_one needs a key and a row, or an id: got both, id={id!r}")
            return self._learn_late(id, _checks.label(y))
        if y.__class__ is not float:
            y = _checks.label(y)
        return self._learn(canonical(key), x, y)

    def _learn(self, key: Hashable, x: Any, y: float) -> bool:
        """Learn one row of a canonical key."""
        began = self._home is None
        if self._home is None:
            self._begin(_checks.width(x), _checks.row_names(x))
        home = self._home
        assert home is not None
        skipped = self.n_skipped_
        try:
            x = self._row(x)
            slot = home.keys.slot(key)
            self._stamp += 1.0
            if slot == FREE:
                self._learn_new(home, key, x, y)
            else:
                home.touch(slot)
                self._round(slot, self._start, x, y, True, key)
            if began and self.n_skipped_ > skipped:
                self._forget()
        except BaseException:
            if began:
                self._forget()
            raise
        self.events_ += 1
        self._let_go()
        return self.n_skipped_ == skipped

    def _learn_new(self, home: Residence, key: Hashable, x: np.ndarray, y: float) -> None:
        """Learn one row of a key that is not in memory."""
        count, start, slots = home.count, self._start, ONE.copy()
        try:
            home.bring(one_key(key), ONE, slots)
            self._round(int(slots[0]), self._start, x, y, True, key)
            if self.pooled and home.count > count and _pooling.due(home.count):
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
            local.call = self._template._step.grouped
            local.state, local.work = (bench.record, bench.state), bench.work
            local.numbers = np.empty(1), np.zeros(1, dtype=np.int64)  # the label, the slot
            local.kept = np.empty(1), np.zeros(1, dtype=np.bool_), *NO_LOG
        label, where = local.numbers
        label[0], where[0] = y, slot
        out, bad, _, _ = local.kept
        bad[0] = False
        row, rule, value, _ = local.call(
            *(*local.state, start, self._params, x[None], label, local.work, labelled),
            *(home.segments.place, where, ONE),
            *((self._stamp, float(self.events_), self._skips, 1, AHEAD), local.kept),
        )
        if rule != FINE:
            raise self._refusal(Outcome(row, rule, value), x, key, in_table=False)
        if labelled and bad[0]:
            self.n_skipped_ += 1
        return float(out[0])

    @property
    def _skips(self) -> bool:
        return self._model.on_bad == "skip"

    def _row(self, x: Any) -> np.ndarray:
        if x.__class__ is np.ndarray and x.dtype is FLOAT and x.shape == self._shape:
            return np.ascontiguousarray(x)
        if _checks.sparse(x):
            return _checks.sparse_row(x, self._shape[0])[0]
        return _checks.row(x, self._shape[0], self._names)

    def _refusal(self, outcome: Outcome, x: np.ndarray, key: Any, *, in_table: bool) -> ValueError:
        error = self._template._refusal(outcome, x, in_table=in_table, whole="every model")
        return ValueError(f"key {key!r:.60}: {error}")

    def _let_go(self) -> None:
        """Send to disk what was not used for long."""
        if self.max_age is not None and self._home is not None:
            old, home = self._ages.old(self.events_), self._home
            if old:
                try:
                    home.evict_before(old)
                except BaseException:
                    home.recover(home.count)
                    raise

    def _pooled_start(self, home: Residence) -> np.ndarray:
        records = (rows for _, rows in home.pieces())
        return _pooling.averaged(self._template, self._start, records)

    # --- labels that come late ------------------------------------------------------------------

    def _ticket(self, key: Hashable, x: Any) -> np.ndarray:
        """Return what to keep of a row until its label comes."""
        if type(self._model)._ticket is Learner._ticket:
            return self._model._ticket(x)
        return (self._at(key) or self._model)._ticket(x)

    def _learn_late(self, id: Any, y: float) -> bool:
        """Learn the label of a row that waits."""
        row = self._pending.find(id)
        if row is None:
            return False
        runs = self._stamp
        try:
            if type(self._model).learn_late is Learner.learn_late:
                learnt = self._learn(row.key, row.ticket, y)
            else:
                learnt = self._learn_ticket(row.key, row.ticket, y)
            if learnt:
                self._pending.settle(id)
        except BaseException:
            if self._came_to(row.key) > runs and id in self._pending:
                self._pending.settle(id)  # Ctrl-C came after it was learnt: not to be learnt again
            raise
        return learnt

    def _came_to(self, key: Hashable) -> float:
        """Return the number of the run that came to a key last, 0 if none did."""
        return 0.0 if self._home is None else float(self._home.get(one_key(key))[0][0, STAMP])

    def _learn_ticket(self, key: Hashable, ticket: np.ndarray, y: float) -> bool:
        """Learn a row that waits by a learner to which it is more than the row."""
        model = self._at(key)
        if model is None:
            model = copy.deepcopy(self._model)
        skipped = model.n_skipped_
        try:
            model.learn_late(ticket, y)
        except ValueError as error:
            raise ValueError(f"key {key!r:.60}: {error}") from None
        if model.n_skipped_ > skipped:
            self.n_skipped_ += 1
            return False
        if self._home is None:
            self._begin(model.n_features_in_, model._names)
        home, slots = self._home, ONE.copy()
        assert home is not None
        assert model._record is not None
        count = home.count
        try:
            home.bring(one_key(key), ONE, slots)
            self._stamp += 1.0
            record = home.segments.rows(slots)
            if record[0, STAMP] == 0.0:
                record[0, :KEY] = 0.0
            record[0, HEAD:] = model._record
            record[0, [STAMP, LAST]] = self._stamp, self.events_
            record[0, LEARNT] += 1.0
            home.segments.put(slots, record)
        except BaseException:
            self._forget_new(home, key, count)
            raise
        self.events_ += 1
        self._let_go()
        return True

    @property
    def late_(self) -> LateCounts:
        """What became of rows that wait for their label, and of labels that came in vain."""
        return self._pending.counts

    # --- tables ---------------------------------------------------------------------------------

    def replay(self, keys: Any, X: Any, y: Any) -> Replay:
        """Predict each row by the model of its key, then learn its label; in order for each key.

        The same bits as calling ``predict_one`` and ``learn_one`` row by row, however the stream is
        cut. It is all or nothing: if a row breaks a rule, or on Ctrl-C, every model is as it was
        before the call (with ``on_bad="skip"`` such a row, or one without a key, is left out and
        counted instead). On a terminal, a replay of more than two seconds shows a progress bar.

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
        y = _checks.labels(y, len(X))
        with bar("replay") as advance:
            began = self._home is None
            if began:
                self._begin(X.shape[1], names)
            try:
                table = self._learn_table(keys, X, y, advance)
                if began and table.bad.all():
                    self._forget()
            except BaseException:
                if began:
                    self._forget()
                raise
        return Replay(table.out, y.copy(), np.flatnonzero(table.bad))

    def predict(self, keys: Any, X: Any) -> np.ndarray:
        """Predict every row by the model of its key as it is now, learning nothing."""
        if self._home is None:
            raise _checks.not_fitted("Keyed")
        X, _, keys = self._table(keys, X)
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
        X, names = _checks.table(X)
        keys = batch(keys)
        if keys.rows != len(X):
            raise ValueError(
                f"keys and X need as many rows as each other, got {keys.rows} and {len(X)}"
            )
        if self._home is not None:
            _checks.same_columns("Keyed", self._shape[0], self._names, X, names)
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
        self._let_go()
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
                if _pooling.due(number):
                    cut = row + 1
                    break
            yield rows[:cut]
            rows = rows[cut:]
            if home.count > count and _pooling.due(home.count):
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
                Run(self._stamp, float(self.events_), self._skips, last, AHEAD),
                labelled=learn,
                undone=learn and self._home is not None and self._home.store is None,
                progress=moved,
            )
        if ended.rule != FINE and not learn:
            raise self._refusal(ended, table.X[ended.row], keys.key(ended.row), in_table=True)
        return ended

    # --- the models -----------------------------------------------------------------------------

    def __len__(self) -> int:
        return 0 if self._home is None else self._home.count

    def __contains__(self, key: Any) -> bool:
        return self._home is not None and bool(self._home.get(one_key(canonical(key)))[1][0])

    def __iter__(self) -> Iterator[Hashable]:
        """Return the keys, whole numbers first, in order."""
        if self._home is None:
            return iter(())
        whole, others = self._home.names()
        return iter([*whole.tolist(), *others])

    def __getitem__(self, key: Any) -> Learner:
        """Return the model of a key, a copy: to change it leaves the others, and this, alone."""
        model = self._at(canonical(key))
        if model is None:
            raise KeyError(key)
        return model

    def __delitem__(self, key: Any) -> None:
        """Forget a key and its model."""
        if key not in self:
            raise KeyError(key)
        assert self._home is not None
        self._home.forget(one_key(canonical(key)))

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

    def statistics(self, key: Any = None) -> Any:
        """Return what happened to the model of a key, or a table of all of them.

        The table is a dict of columns, in the order of the keys: ``pandas.DataFrame(...)`` takes
        it. ``last_event`` is the number of the last event, from 0.

        >>> import onlinear as ol
        >>> sensors = ol.Keyed(ol.Ridge())
        >>> sensors.learn_one("north", [1.0], 2.0)
        True
        >>> sensors.statistics("north")
        KeyStatistics(rounds=1, skipped=0, mean_squared_error=4.0, last_event=0)
        """
        if key is not None:
            if key not in self:
                raise KeyError(key)
            assert self._home is not None
            rows, _ = self._home.get(one_key(canonical(key)))
            rounds, skipped, error, last = (column[0].item() for column in _columns(rows))
            return KeyStatistics(rounds, skipped, error, last)
        pieces = [] if self._home is None else [_columns(rows) for _, rows in self._home.pieces()]
        columns = [np.concatenate(column) for column in zip(*pieces, strict=True)]
        columns = columns or [np.empty(0)] * len(KeyStatistics._fields)
        return {"key": list(self), **dict(zip(KeyStatistics._fields, columns, strict=True))}

    @property
    def nbytes(self) -> int:
        """How much memory models and keys take, in bytes."""
        return 0 if self._home is None else self._home.nbytes

    # --- files ----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all models and what waits to one file, as :meth:`onlinear.Learner.save` does.

        >>> import onlinear as ol
        >>> sensors = ol.Keyed(ol.Ridge())
        >>> sensors.learn_one("north", [1.0, 0.0], 3.0)
        True
        >>> sensors.save("sensors.onl")
        >>> ol.load("sensors.onl").predict_one("north", [1.0, 0.0])
        1.5
        """
        _keyed_files.save(self, path)

    _merged = staticmethod(_keyed_files.merged)


class Moved:
    """Tells a progress bar how far all portions together are."""

    def __init__(self, advance: Callable[[int, int], None], rows: int) -> None:
        self._advance, self._rows, self._done = advance, rows, 0

    def __call__(self, events: int) -> None:
        """Take note of some more."""
        self._done += events
        self._advance(self._done, self._rows)


def _columns(rows: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the columns of the table of statistics."""
    rounds = rows[:, LEARNT]
    errors = np.divide(rows[:, LOSS], rounds, out=np.full(len(rows), nan), where=rounds > 0)
    return (
        rounds.astype(np.int64),
        rows[:, SKIPPED].astype(np.int64),
        errors,
        rows[:, LAST].astype(np.int64),
    )
