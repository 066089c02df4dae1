"""``Late``: learning with delayed labels, which may arrive in any order, twice, or never."""

import copy
import math
import os
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np

from onlinear._engine.transaction import (
    Guarded,
    GuardedBy,
    Transaction,
    atomic,
    check_idle,
    exclusive,
)
from onlinear._learner import notebook
from onlinear._learner.base import Learner, full_name
from onlinear._state_files import file_format, key_codec, model_codec
from onlinear._validation import checks
from onlinear._wrappers.late.pending import LateCounts, Pending

__all__ = ["Late"]


class Late(GuardedBy):
    """A learner with delayed labels: rows are remembered by id until their label arrives.

    ``predict_one(x, id=...)`` predicts a row and remembers it; ``learn_one(id=..., y=...)`` learns
    the row when its label arrives. Labels may arrive in any order. No row is learnt twice. Labels
    that arrive twice, too late, or with an unknown id are counted in ``counts_`` and otherwise
    ignored. ``Late`` adds O(1) time per row to that of the learner. A waiting row takes 8 bytes for
    each number that is stored for it (its features; a few more for Auto), and 140 to 300 bytes in
    addition, depending on how many ids of learnt or expired rows are remembered.

    If a label is refused, or the learner skips it (``on_bad="skip"``), the row keeps waiting for a
    valid label. A row that cannot be predicted is not remembered.

    Parameters
    ----------
    model : Learner
        Any learner, new or trained. The learner is not copied: ``late.model`` is the given object,
        and can also be used directly.
    limit : int, default 1_000_000
        How many rows can wait, limit ≥ 1: when one more arrives, the oldest expires. The ids of the
        last ``limit`` rows that were learnt or expired are remembered too; an older id that
        arrives again counts as new.
    expire_after : int, timedelta or None, default None
        How long a row waits for its label before it expires: for a number of later rows,
        expire_after ≥ 1, or for a time, expire_after > 0. None means no limit.
    clock : callable, default time.time
        Returns the time in seconds; used if ``expire_after`` is a time. The clock may also return
        the time of the latest row in the data. State files hold the arrival times of the rows, but
        not the clock: with ``time.time``, saved rows keep ageing while no process runs.

    Examples
    --------
    >>> import onlinear as ol
    >>> late = Late(ol.Ridge(), expire_after=100)
    >>> late.predict_one([1.0, 2.0], id="monday")
    0.0
    >>> late.predict_one([2.0, 1.0], id="tuesday")
    0.0
    >>> late.learn_one(id="tuesday", y=4.0)
    True
    >>> late.learn_one(id="tuesday", y=4.0)  # a duplicate
    False
    >>> late.counts_.waiting, late.counts_.learnt, late.counts_.duplicate_labels
    (1, 1, 1)
    >>> late
    <Late Ridge(): 1 row waits, 1 learnt, 0 expired>
    """

    def __init__(
        self,
        model: Learner,
        limit: int = 1_000_000,
        expire_after: int | timedelta | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not isinstance(model, Learner):
            raise TypeError(f"Late needs a learner, got {checks.described(model)}")
        model._numbers()
        self.model = model
        self._pending = Pending(limit, expire_after, clock=clock)

    @property
    def _guard(self) -> Guarded:
        return self.model

    # --- the round ----------------------------------------------------------------------------

    @exclusive
    def predict_one(self, x: Any, id: Any = None) -> float:
        """Predict the label of one row, and remember it if it has an ``id``; learn nothing.

        An id is a number, a string, bytes, a tuple of them, or any other hashable object (but such
        an id cannot be saved to a file). If a row with the same id already waits, was learnt or has
        expired, the new row is only predicted.
        """
        if id is not None:
            id = key_codec.canonical(id)
        prediction = self.model._number_one(x)
        if id is None:
            return prediction
        pending = self._pending
        with Transaction(self._guards(), pending.mend):
            if math.isnan(prediction):
                self.model._learn_one(x, math.nan)  # counts the row as skipped
                pending.leave_out()
            else:
                pending.add(id, self.model._ticket(x))
        return prediction

    @exclusive
    def learn_one(self, x: Any = None, y: Any = None, *, id: Any = None) -> bool:
        """Learn the label of a waiting row, given its ``id``, or of a row ``x`` at once.

        Return whether the label was learnt. A waiting row is learnt by
        :meth:`onlinear.Learner.learn_late`.

        >>> import onlinear as ol
        >>> late = Late(ol.Ridge())
        >>> late.learn_one([1.0, 2.0], 3.0)
        True
        >>> late.learn_one(id=7, y=3.0)  # an unknown id
        False
        >>> late.counts_.unknown
        1
        """
        if (x is None) == (id is None):
            got = "neither" if x is None else f"both, id={id!r:.60}"
            raise ValueError(f"learn_one needs a row x or the id of a waiting row, got {got}")
        if y is None:
            raise ValueError("learn_one needs a label y, got None")
        model = self.model
        skipped = model.n_skipped_
        if id is None:
            model._learn_one(x, model._label(y))
            return model.n_skipped_ == skipped
        pending, rounds = self._pending, _rounds(model)

        def recover() -> None:
            pending.mend()
            if _rounds(model) > rounds and id in pending:  # learnt, but still listed as waiting
                pending.settle(id)

        with Transaction(self._guards(), recover):
            row = pending.find(id)
            if row is None:
                return False
            model.learn_late(row.ticket, y)
            if model.n_skipped_ > skipped:
                return False
            pending.settle(id)
        return True

    @exclusive
    def expire(self) -> int:
        """Expire waiting rows that are too old; return how many there were.

        Rows that are too old also expire whenever a new row or a label arrives.
        """
        with Transaction(self._guards(), self._pending.mend):
            return self._pending.expire()

    # --- settings and counts ------------------------------------------------------------------

    @property
    @atomic
    def counts_(self) -> LateCounts:
        """Counts of waiting, learnt and expired rows, and of labels that matched no waiting row."""
        return self._pending.counts

    @property
    @atomic
    def waiting_(self) -> int:
        """How many rows wait for their label."""
        return len(self._pending)

    @property
    def limit(self) -> int:
        """How many rows can wait."""
        return self._pending.limit

    @property
    def expire_after(self) -> int | timedelta | None:
        """The longest delay of a label: a number of rows or a time; None if there is no limit."""
        return self._pending.expire_after

    @property
    def clock(self) -> Callable[[], float]:
        """A function that returns the time in seconds; can be set, for example after loading."""
        return self._pending.clock

    @clock.setter
    def clock(self, clock: Callable[[], float]) -> None:
        self._pending.clock = clock

    def __repr__(self) -> str:
        """Show the learner and how many rows wait."""
        counts = self.counts_
        wait = "row waits" if counts.waiting == 1 else "rows wait"
        settled = f"{counts.learnt} learnt, {counts.expired} expired"
        return f"<Late {self.model!r}: {counts.waiting} {wait}, {settled}>"

    def _repr_html_(self) -> str:
        """Show the counts and the learner, in a notebook."""
        counts = self.counts_._asdict()
        return notebook.facts_page("Late", counts, notebook.model_page(self.model))

    # --- files --------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner, waiting rows and counts to one file, as :meth:`Learner.save` does.

        >>> import onlinear as ol
        >>> late = Late(ol.Ridge())
        >>> late.predict_one([1.0, 0.0], id="monday")
        0.0
        >>> late.save("late.onl")
        >>> late = ol.load("late.onl")
        >>> late.learn_one(id="monday", y=3.0)
        True
        """
        check_idle(self, "save")
        file_format.write(path, *self._described())

    @atomic
    def _described(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the header and arrays of a state file with the learner and the waiting rows."""
        header, arrays = model_codec.described(self.model, full_name(type(self.model)))
        about, waiting = self._pending.described()
        return {**header, "late": about}, arrays | waiting

    @exclusive
    def __getstate__(self) -> dict[str, Any]:
        """Return copies of the learner and of the waiting rows, for pickle, copy and deepcopy."""
        return {"model": copy.copy(self.model), "_pending": copy.deepcopy(self._pending)}

    @classmethod
    def _rebuilt(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> "Late":
        """Return the ``Late`` object that the header and arrays of a state file describe."""
        late = cls(model_codec.rebuilt(header, arrays, Learner._classes))
        late._pending = Pending.rebuilt(header["late"], arrays)
        return late


def _rounds(model: Learner) -> int:
    return 0 if model._state is None else model.rounds_


model_codec.register_reader("late", Late._rebuilt)
