"""One model for each key, millions of them: the models share parameters, and one bank of arrays."""

import os
from collections.abc import Hashable, Iterator
from math import nan
from typing import Any, NamedTuple

import numpy as np

from onlinear._learner.base import Learner
from onlinear._state_files.key_codec import MissingKeyError, canonical
from onlinear._validation import checks
from onlinear._wrappers.keyed import state_file
from onlinear._wrappers.keyed.key_index import FREE, one_key
from onlinear._wrappers.keyed.late_labels import LateLabels
from onlinear._wrappers.keyed.record_header import LAST, LEARNT, LOSS, SKIPPED
from onlinear._wrappers.keyed.replay import Tables

__all__ = ["KeyStatistics", "Keyed"]


class KeyStatistics(NamedTuple):
    """What happened to the model of a key."""

    rounds: int
    skipped: int
    mean_squared_error: float
    last_event: int


class Keyed(Tables, LateLabels):
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
        theirs: the same bits. (A key that is no whole number is counted as 200 bytes more. What a
        replay needs for its rows is not counted.)
    max_age : int, timedelta or None, default None
        Models unused for so many events, or so long, are sent to disk too.
    spill : path or None, default None
        The folder for what is sent to disk, which has to be there; None is that of temporary files.
        The file goes when the ``Keyed`` does: to keep models, ``save`` them.
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
    clock : callable, default time.time
        Returns the time in seconds, where ``max_age`` or ``expire_after`` is one: the stream's own,
        perhaps. A file does not hold it.

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

    def __repr__(self) -> str:
        """Show what the keys begin with, and how many there are."""
        return f"<Keyed {self._model!r}: {len(self)} keys>"

    # --- the round ------------------------------------------------------------------------------

    def predict_one(self, key: Any, x: Any, id: Any = None) -> float:
        """Predict the label of one row of a key; never changes a model.

        With an ``id`` the row is remembered until its label comes: see :meth:`learn_one`. Ids are
        those of all keys together: where each key counts its own rows, take ``(key, number)``.

        >>> import onlinear as ol
        >>> ol.Keyed(ol.LASER()).predict_one("north", [1.0, 2.0])  # nothing learnt yet
        0.0
        """
        try:
            key = canonical(key)
        except MissingKeyError:
            if not self._skips:
                raise
            if id is not None:
                self._pending.leave_out()
            return nan
        if self._home is None:
            prediction = self._first(key, x)
        else:
            x = self._row(x)
            slot = self._home.keys.slot(key)
            start = self._start
            if slot == FREE and self._home.store is not None:
                rows, known = self._home.get(one_key(key))
                start = rows[0] if known[0] else start
            prediction = self._round(slot, start, x, nan, False, key)
        if id is not None:
            self._remember(id, key, x, prediction)
        return prediction

    def learn_one(self, key: Any = None, x: Any = None, y: Any = None, *, id: Any = None) -> bool:
        """Learn the label of one row of a key, or of a row that waits, by its ``id``.

        A key given with an ``id`` has to be that of the row.
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
        if (x is None) == (id is None):
            got = "no row and no id" if x is None else f"both, id={id!r:.60}"
            raise ValueError(f"learn_one needs a key and a row x, or the id of a row, got {got}")
        if y is None:
            raise ValueError("learn_one needs a label: (key, x, y), or (id=..., y=...), got y=None")
        if id is not None:
            return self._learn_late(id, checks.label(y), key)
        if y.__class__ is not float:
            y = checks.label(y)
        try:
            key = canonical(key)
        except MissingKeyError:
            if not self._skips:
                raise
            self.events_ += 1
            self.n_skipped_ += 1
            return False
        return self._learn(key, x, y)

    # --- the models -----------------------------------------------------------------------------

    def __contains__(self, key: Any) -> bool:
        try:
            key = canonical(key)
        except MissingKeyError:
            return False
        return self._home is not None and bool(self._home.get(one_key(key))[1][0])

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
        """Forget a key and its model; its rows that wait for a label are given up."""
        known = key in self
        try:
            waited = self._pending.give_up(canonical(key))
        except MissingKeyError:
            waited = 0
        if not (known or waited):
            raise KeyError(key)
        if known:
            assert self._home is not None
            self._home.forget(one_key(canonical(key)))

    def statistics(self, key: Any = None) -> Any:
        """Return what happened to the model of a key, or a table of all of them.

        The table is a dict of columns, in the order of the keys: ``pandas.DataFrame(...)`` takes
        it. The error is that of what was predicted before a row was learnt, and with a late label
        of what was predicted when its row came. ``last_event`` is the number of the last event,
        from 0.

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
        state_file.save(self, path)

    _merged = staticmethod(state_file.merged)


for _method in (Keyed.__init__, Keyed.replay, Keyed.predict):
    _method.__qualname__ = f"Keyed.{_method.__name__}"  # by which Python names it in an error


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
