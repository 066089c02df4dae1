"""Keyed: one model per key, millions of them, with shared parameters and memory."""

import copy
import os
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from datetime import timedelta
from math import nan
from operator import attrgetter
from typing import Any

import numpy as np

from onlinear._learner.base import Learner
from onlinear._learner.kernel_base import check_fixed
from onlinear._learner.replay_result import Replay
from onlinear._state_files import model_codec
from onlinear._state_files.key_codec import MissingKeyError, canonical
from onlinear._validation import checks
from onlinear._wrappers.keyed import shards, state_file
from onlinear._wrappers.keyed.late_labels import LateLabels
from onlinear._wrappers.keyed.models import Models
from onlinear._wrappers.keyed.settings import KeyedSettings
from onlinear._wrappers.keyed.statistics import KeyStatistics, statistics_columns, statistics_of
from onlinear._wrappers.keyed.table_runs import TableRuns
from onlinear._wrappers.late.pending import LateCounts, Pending
from onlinear._wrappers.late.waiting_rows import MOST_ROWS

__all__ = ["KeyStatistics", "Keyed"]


def _shows(attribute: str, doc: str) -> Any:
    """Return a read-only property that shows an attribute of one of the parts."""
    return property(attrgetter(attribute), doc=doc)


class Keyed:
    """One model per key, each giving the same bits as if it were alone.

    Models are made as their keys appear, as copies of one learner, and are stored together: a
    million of them take little more memory than their numbers. A replay takes the events of each
    key in their order, in several threads if there are several cores. Costs O(1) per event, and
    what a round of the learner costs.

    Parameters
    ----------
    model : Learner
        What every key begins with: a copy of it, including what it has learnt. Any learner except
        those with a kernel, whose state grows.
    memory_limit : int or None, default None
        Bytes of memory for models and their keys, enough for at least 16 models. When there is no
        room left, the least recently used models are sent to disk, and come back with the next
        event of their key, bit for bit. (A key that is not an integer counts as 200 bytes more.
        What a replay needs for its rows is not counted.)
    max_age : int, timedelta or None, default None
        Models unused for so many events, or so long, are sent to disk too.
    spill : path or None, default None
        An existing folder for what is sent to disk; None is the folder for temporary files. The
        file is removed with the ``Keyed``: to keep models, ``save`` them.
    pooled : bool, default False
        Whether a new key begins with the average weights of the others rather than with those of
        ``model``. The average is taken when the number of keys reaches 8, 16, 32, …; a model that
        has learnt t rows of width d counts t/(t + d). For learners whose state is weights, or
        weights and Σ.
    threads : int or None, default None
        How many threads ``replay`` and ``predict`` may use, threads ≥ 1; None means as many as
        there are cores.
    waiting : int, default 1_000_000
        How many rows wait for a delayed label at most, as ``limit`` of :class:`onlinear.Late`.
    expire_after : int, timedelta or None, default None
        How late a label may be, as in :class:`onlinear.Late`.
    clock : callable, default time.time
        Returns the time in seconds, if ``max_age`` or ``expire_after`` is a time: it may be the
        stream's own. A file does not hold the clock.

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
        """Put the parts together: models, runs of tables through them, their delayed labels."""
        self._models = models
        self._tables = TableRuns(models)
        self._late = LateLabels(models, pending)

    def __repr__(self) -> str:
        """Show what keys begin with, and how many there are."""
        return f"<Keyed {self._models.initial!r}: {len(self)} keys>"

    # --- one event ------------------------------------------------------------------------------

    def predict_one(self, key: Any, x: Any, id: Any = None) -> float:
        """Predict the label of one row of a key; change no model.

        With an ``id`` the row is remembered until its label comes: see :meth:`learn_one`. Ids are
        shared by all keys: if each key numbers its own rows, use ``(key, number)``.

        >>> import onlinear as ol
        >>> ol.Keyed(ol.LASER()).predict_one("north", [1.0, 2.0])  # nothing learnt yet
        0.0
        """
        try:
            key = canonical(key)
        except MissingKeyError:
            if not self._models.skips:
                raise
            if id is not None:
                self._late.pending.leave_out()
            return nan
        if id is None:
            return self._models.predict(key, x)
        return self._late.predict(id, key, x)

    def learn_one(self, key: Any = None, x: Any = None, y: Any = None, *, id: Any = None) -> bool:
        """Learn the label of one row of a key, or of a waiting row, given its ``id``.

        A key given with an ``id`` has to be that of the row. Return whether the label was learnt:
        a bad row may be skipped, and a label whose ``id`` no row waits for is counted in ``late_``.

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
            return self._late.learn(id, checks.label(y), key)
        if y.__class__ is not float:
            y = checks.label(y)
        try:
            key = canonical(key)
        except MissingKeyError:
            if not self._models.skips:
                raise
            self._models.skip_event()
            return False
        return self._models.learn(key, x, y)

    def expire(self) -> int:
        """Expire the rows whose time has run out, as every row or label does; return how many."""
        return self._late.pending.expire()

    # --- tables of events -----------------------------------------------------------------------

    def replay(self, keys: Any, X: Any, y: Any) -> Replay:
        """Predict each row by the model of its key, then learn its label; in order for each key.

        The bits are those of calling ``predict_one`` and ``learn_one`` row by row, however the
        stream is cut into tables. It is all or nothing: if a row breaks a rule, or on Ctrl-C, every
        model is as it was before the call (with ``on_bad="skip"`` such a row, or one without a key,
        is skipped and counted instead). A Ctrl-C at the very end may come after all was learnt, as
        ``events_`` tells. On a terminal, a replay of more than two seconds shows a progress bar.

        Parameters
        ----------
        keys : array, list or Series
            The key of each row: numbers, strings, tuples, anything hashable (with ``memory_limit``
            or ``max_age``, anything that a file can hold). 1, 1.0 and True are one key.
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

    def predict(self, keys: Any, X: Any) -> np.ndarray:
        """Predict every row by the model of its key as it is now; learn nothing."""
        return self._tables.predict(keys, X)

    # --- the models -----------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._models)

    def __contains__(self, key: Any) -> bool:
        try:
            return self._models.record(canonical(key)) is not None
        except MissingKeyError:
            return False

    def __iter__(self) -> Iterator[Hashable]:
        """Return the keys, integers first, in order."""
        return iter(self._models.keys())

    def __getitem__(self, key: Any) -> Learner:
        """Return a copy of the model of a key: changing it changes nothing here."""
        model = self._models.model(canonical(key))
        if model is None:
            raise KeyError(key)
        return model

    def __delitem__(self, key: Any) -> None:
        """Remove a key and its model; its waiting rows expire."""
        known = key in self
        try:
            waited = self._late.pending.expire_key(canonical(key))
        except MissingKeyError:
            waited = 0
        if not (known or waited):
            raise KeyError(key)
        if known:
            self._models.remove(canonical(key))

    def statistics(self, key: Any = None) -> Any:
        """Return what happened to the model of a key, or a table of all models.

        The table is a dict of columns, in the order of the keys; ``pandas.DataFrame(...)`` accepts
        it. The error is that of predictions made before a row was learnt; with a delayed label, of
        the prediction made when the row came. ``last_event`` is the number of the last event,
        counted from 0.

        >>> import onlinear as ol
        >>> sensors = ol.Keyed(ol.Ridge())
        >>> sensors.learn_one("north", [1.0], 2.0)
        True
        >>> sensors.statistics("north")
        KeyStatistics(rounds=1, skipped=0, mean_squared_error=4.0, last_event=0)
        """
        if key is None:
            return {"key": list(self), **statistics_columns(self._models.chunks())}
        if key not in self:
            raise KeyError(key)
        return statistics_of(self._models.record(canonical(key)))

    # --- settings and counts --------------------------------------------------------------------

    memory_limit: int | None = _shows(
        "_models.settings.memory_limit", "Bytes of memory for models and their keys."
    )
    max_age: int | timedelta | None = _shows(
        "_models.settings.max_age", "How long an unused model stays in memory."
    )
    spill: Any = _shows("_models.settings.spill", "The folder for what is sent to disk.")
    pooled: bool = _shows(
        "_models.settings.pooled", "Whether a new key begins with the average of the others."
    )
    threads: int | None = _shows("_models.settings.threads", "How many threads a replay may use.")
    waiting: int = _shows("_late.pending.limit", "How many rows wait for a delayed label at most.")
    expire_after: int | timedelta | None = _shows(
        "_late.pending.expire_after", "How late a label may be."
    )
    events_: int = _shows("_models.events", "How many events were learnt or skipped.")
    n_skipped_: int = _shows("_models.skipped", "How many events were skipped.")
    late_: LateCounts = _shows(
        "_late.pending.counts",
        "How many rows wait, were learnt, expired; how many labels matched no row, and why.",
    )

    nbytes: int = _shows("_models.nbytes", "How much memory models and keys take, in bytes.")

    @property
    def clock(self) -> Callable[[], float]:
        """Returns the time in seconds; may be set, for example after a load."""
        return self._late.pending.clock

    @clock.setter
    def clock(self, clock: Callable[[], float]) -> None:
        self._late.pending.clock = self._models.age_limit.clock = clock

    # --- copies and files -----------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Return copies of models and waiting rows: what pickle, copy and deepcopy keep."""
        return {"models": self._models.contents(), "pending": copy.deepcopy(self._late.pending)}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Take models and waiting rows back."""
        pending = kept["pending"]
        self._assemble(Models.from_contents(kept["models"], pending.clock), pending)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all models and waiting rows to one file, as :meth:`onlinear.Learner.save` does.

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
    def _rebuilt(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> "Keyed":
        """Return what a header and arrays describe."""
        keyed = cls.__new__(cls)
        keyed._assemble(*state_file.rebuilt(header, arrays))
        return keyed

    @staticmethod
    def _merged(keyed: Sequence["Keyed"]) -> "Keyed":
        """Return the models of several shards in one; see :func:`onlinear.merge`."""
        for shard in keyed:
            if not isinstance(shard, Keyed):
                raise TypeError(f"merge needs all Keyed or none, got {shard!r:.60}")
        return shards.merged(keyed)


model_codec.register_reader("keyed", Keyed._rebuilt, mapped=True)
