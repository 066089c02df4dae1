"""``Keyed``: one model per key, for millions of keys; all models have the same parameters."""

import copy
import os
import time
from collections.abc import Callable, Hashable, Iterator
from datetime import timedelta
from math import nan
from operator import attrgetter
from typing import Any

import numpy as np

from onlinear._engine.transaction import Guarded, GuardedBy, atomic, exclusive
from onlinear._learner.base import Learner
from onlinear._learner.kernel_base import check_fixed
from onlinear._learner.replay_result import Replay
from onlinear._state_files import model_codec
from onlinear._state_files.key_codec import MissingKeyError, canonical
from onlinear._validation import checks
from onlinear._wrappers.keyed import notebook_view, shards, state_file
from onlinear._wrappers.keyed.late_labels import LateLabels
from onlinear._wrappers.keyed.models import Models
from onlinear._wrappers.keyed.settings import KeyedSettings
from onlinear._wrappers.keyed.statistics import KeyStatistics, statistics_columns, statistics_of
from onlinear._wrappers.keyed.table_runs import TableRuns
from onlinear._wrappers.late.pending import LateCounts, Pending
from onlinear._wrappers.late.waiting_rows import MOST_ROWS

__all__ = ["KeyStatistics", "Keyed"]


def _shows(attribute: str, doc: str) -> Any:
    """Return a read-only property that shows an attribute of an internal part of ``Keyed``."""
    return property(atomic(attrgetter(attribute)), doc=doc)


class Keyed(GuardedBy):
    """One model per key; each model gives bit for bit the results that it would give alone.

    A model is created when its key first appears, as a copy of one learner. Models are stored
    compactly: a million of them take little more memory than the numbers in their states. An event
    is a row of a key, with its label. A replay runs the events of each key in order, in several
    threads if there are several cores. An event costs O(1) on top of a round of the learner.

    Parameters
    ----------
    model : Learner
        The learner that every key starts with, as a copy, including what it has learnt. Any learner
        except kernel learners, whose state grows.
    memory_limit : int or None, default None
        Bytes of memory for models and their keys; must suffice for at least 16 models. When the
        limit is reached, the least recently used models are moved to disk until their key's next
        event. A key that is not an integer counts as 200 bytes more; the rows of a replay do not
        count.
    max_age : int, timedelta or None, default None
        Models unused for this number of events, or for this time, are moved to disk too.
    spill : path or None, default None
        An existing folder for models that are moved to disk; None means the folder for temporary
        files. The models there are removed with the ``Keyed`` object; ``save`` keeps them.
    pooled : bool, default False
        Whether a new key starts with the average weights of the other keys rather than with those
        of ``model``. The average is computed when there are 8, 16, 32, … keys; in the average, a
        model that has learnt t rows of d features has weight t/(t + d). The learner's state must
        consist of weights, or of weights and their covariance matrix Σ.
    threads : int or None, default None
        How many threads ``replay`` and ``predict`` may use, at least 1; None means one per core.
    waiting, expire_after
        How many rows can wait for a delayed label, and how late a label may be: as ``limit`` and
        ``expire_after`` of :class:`onlinear.Late`.
    clock : callable, default time.time
        Returns the time in seconds, for ``max_age`` and ``expire_after``; it is not saved.

    Examples
    --------
    >>> import onlinear as ol
    >>> sensors = ol.Keyed(ol.LASER(c=100.0, shrink=False))
    >>> sensors.learn_one("north", [1.0, 2.0], 3.0)
    True
    >>> sensors.predict_one("north", [1.0, 2.0])
    2.5
    >>> sensors.predict_one("south", [1.0, 2.0])  # a new key
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
        max_age: int | timedelta | None = None,
        spill: str | os.PathLike[str] | None = None,
        pooled: bool = False,
        threads: int | None = None,
        waiting: int = 1_000_000,
        expire_after: int | timedelta | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        check_fixed("Keyed needs a learner", model)
        settings = KeyedSettings(memory_limit, max_age, spill, pooled, threads).checked()
        asked = checks.asked("Keyed", waiting=waiting)
        limit = checks.whole(asked, "waiting", least=1, most=MOST_ROWS)
        pending = Pending(limit, expire_after, clock=clock, owner="Keyed")
        self._assemble(Models(model, settings, clock), pending)

    def _assemble(self, models: Models, pending: Pending) -> None:
        """Create the internal parts: one for models, one for tables, one for delayed labels."""
        self._models = models
        self._tables = TableRuns(models)
        self._late = LateLabels(models, pending)

    @property
    def _guard(self) -> Guarded:
        return self._models

    def __repr__(self) -> str:
        """Show the learner that keys start with, and the number of keys."""
        return f"<Keyed {self._models.initial!r}: {len(self)} keys>"

    _repr_html_ = notebook_view.page

    @exclusive
    def predict_one(self, key: Any, x: Any, id: Any = None) -> float:
        """Predict the label of one row of a key; change no model.

        With an ``id``, the row is remembered until its label arrives: see :meth:`learn_one`. Ids
        must be unique across keys: if each key numbers its own rows, use ``(key, number)``.

        >>> import onlinear as ol
        >>> ol.Keyed(ol.LASER()).predict_one("north", [1.0, 2.0])  # nothing learnt yet
        0.0
        """
        key = self._key(key)
        if key is None:
            if id is not None:
                self._late.leave_out()
            return nan
        if id is None:
            return self._models.predict(key, x)
        return self._late.predict(id, key, x)

    @exclusive
    def learn_one(self, key: Any = None, x: Any = None, y: Any = None, *, id: Any = None) -> bool:
        """Learn the label of one row of a key, or of a waiting row, given its ``id``.

        A key given with an ``id`` must be the key of the waiting row. Return whether the label was
        learnt. It is not learnt if the row is bad and bad rows are skipped. A label whose ``id``
        belongs to no waiting row is not learnt either; it is counted in ``late_``.

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
        if (x is None) == (id is None):
            got = "no row and no id" if x is None else f"both, id={id!r:.60}"
            raise ValueError(f"learn_one needs a key and a row x, or the id of a row, got {got}")
        if y is None:
            raise ValueError("learn_one needs a label: (key, x, y), or (id=..., y=...), got y=None")
        if id is not None:
            return self._late.learn(id, self._models.initial._label(y), key)
        y, key = self._models.initial._label(y), self._key(key)
        if key is None:
            self._models.skip_event()
            return False
        return self._models.learn(key, x, y)

    def _key(self, key: Any) -> Hashable:
        """Return the canonical form of a key; None if it is missing and bad rows are skipped."""
        try:
            return canonical(key)
        except MissingKeyError:
            if self._models.skips:
                return None
            raise

    @exclusive
    def expire(self) -> int:
        """Drop rows that have waited for a label longer than ``expire_after``; return how many."""
        return self._late.expire()

    # --- tables of events -----------------------------------------------------------------------

    @exclusive
    def replay(self, keys: Any, X: Any, y: Any) -> Replay:
        """Predict each row with the model of its key, then learn its label; in order for each key.

        The results are bit for bit those of calling ``predict_one`` and ``learn_one`` row by row,
        however the stream is split into tables. A replay is all or nothing: on a bad row, or on
        Ctrl-C, every model is left as it was before the call (with ``on_bad="skip"``, bad rows and
        rows without a key are skipped and counted instead). A Ctrl-C at the very end may come after
        all rows were learnt; ``events_`` then counts them. On a terminal, a replay of more than two
        seconds shows a progress bar.

        Parameters
        ----------
        keys : array, list or Series
            The key of each row: numbers, strings, tuples, anything hashable (with ``memory_limit``
            or ``max_age``, anything that a state file can hold). 1, 1.0 and True are the same key.
        X : array, list of rows, or DataFrame
            One row per event, with the same columns for every key.
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
        return self._tables.replay(keys, X, y)

    @exclusive
    def predict(self, keys: Any, X: Any) -> np.ndarray:
        """Predict every row with its key's model, as the next row of its key; learn nothing."""
        return self._tables.predict(keys, X)

    @atomic
    def __len__(self) -> int:
        return len(self._models)

    @exclusive
    def __contains__(self, key: Any) -> bool:
        return self._record(key) is not None

    def _record(self, key: Any) -> np.ndarray | None:
        """Return the record of a key (counters, then its model's state), or None for a new key."""
        try:
            return self._models.record(canonical(key))
        except MissingKeyError:
            return None

    @exclusive
    def __iter__(self) -> Iterator[Hashable]:
        """Return an iterator over all keys, the integers first."""
        return iter(self._models.keys())

    @exclusive
    def __getitem__(self, key: Any) -> Learner:
        """Return a copy of the model of a key; changing it does not change the original."""
        model = self._models.model(canonical(key))
        if model is None:
            raise KeyError(key)
        return model

    @exclusive
    def __delitem__(self, key: Any) -> None:
        """Remove a key and its model; its waiting rows expire."""
        try:
            found = self._late.remove_key(canonical(key))
        except MissingKeyError:
            found = False
        if not found:
            raise KeyError(key)

    @exclusive
    def statistics(self, key: Any = None) -> Any:
        """Return counts and the error of the model of a key, or a table of them for all keys.

        The table is a dict of columns, which ``pandas.DataFrame`` accepts, with one entry per key,
        in the order in which iteration returns the keys. The error is the mean squared error of
        predictions made before the label was learnt; for a delayed label, the prediction is the one
        made when the row arrived. ``last_event`` is the number of the model's last event among the
        events of all keys, counted from 0.

        >>> import onlinear as ol
        >>> sensors = ol.Keyed(ol.Ridge())
        >>> sensors.learn_one("north", [1.0], 2.0)
        True
        >>> sensors.statistics("north")
        KeyStatistics(rounds=1, skipped=0, mean_squared_error=4.0, last_event=0)
        """
        if key is None:
            return {"key": self._models.keys(), **statistics_columns(self._models.chunks())}
        record = self._record(key)
        if record is None:
            raise KeyError(key)
        return statistics_of(record)

    # --- settings and counts --------------------------------------------------------------------

    memory_limit: int | None = _shows("_models.settings.memory_limit", "Memory limit in bytes.")
    max_age: Any = _shows("_models.settings.max_age", "How long unused models stay in memory.")
    spill: Any = _shows("_models.settings.spill", "The folder for models that are moved to disk.")
    pooled: bool = _shows("_models.settings.pooled", "Whether new keys start with average weights.")
    threads: int | None = _shows("_models.settings.threads", "How many threads a replay may use.")
    waiting: int = _shows("_late.pending.limit", "How many rows can wait for a delayed label.")
    expire_after: Any = _shows("_late.pending.expire_after", "How late a label may be.")
    events_: int = _shows("_models.events", "How many events were learnt or skipped.")
    n_skipped_: int = _shows("_models.skipped", "How many events were skipped.")
    late_: LateCounts = _shows("_late.pending.counts", "Counts of waiting rows and their labels.")
    nbytes: int = _shows("_models.nbytes", "How much memory models and keys take, in bytes.")

    @property
    def clock(self) -> Callable[[], float]:
        """A function that returns the time in seconds; can be set, for example after loading."""
        return self._late.pending.clock

    @clock.setter
    def clock(self, clock: Callable[[], float]) -> None:
        self._late.pending.clock = self._models.age_limit.clock = clock

    # --- copies and files -----------------------------------------------------------------------

    @exclusive
    def __getstate__(self) -> dict[str, Any]:
        """Return copies of models and waiting rows, for pickle, copy and deepcopy."""
        return {"models": self._models.contents(), "pending": copy.deepcopy(self._late.pending)}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Restore models and waiting rows."""
        pending = kept["pending"]
        self._assemble(Models.from_contents(kept["models"], pending.clock), pending)

    @exclusive
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all models and waiting rows to one file, like :meth:`onlinear.Learner.save`.

        >>> import onlinear as ol
        >>> sensors = ol.Keyed(ol.Ridge())
        >>> sensors.learn_one("north", [1.0, 0.0], 3.0)
        True
        >>> sensors.save("sensors.onl")
        >>> ol.load("sensors.onl").predict_one("north", [1.0, 0.0])
        1.5
        """
        state_file.save(self._models, self._late.pending, path)

    @classmethod
    def _rebuilt(cls, header: dict[str, Any], arrays: dict[str, Any], spill: Any = None) -> "Keyed":
        """Return the ``Keyed`` object that the header and arrays of a state file describe."""
        keyed = cls.__new__(cls)
        keyed._assemble(*state_file.rebuilt(header, arrays, spill))
        return keyed

    _merged = staticmethod(shards.merged)


model_codec.register_reader("keyed", Keyed._rebuilt, last="records", settings=("spill",))
