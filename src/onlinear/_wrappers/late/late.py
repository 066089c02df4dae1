"""Late: a learner whose labels come late, in any order, more than once, or never."""

import math
import os
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np

from onlinear._learner.base import Learner, _full_name
from onlinear._state_files import file_format, key_codec, model_codec
from onlinear._wrappers.late.mixin import Waits
from onlinear._wrappers.late.pending import LateCounts, Pending

__all__ = ["Late"]


class Late(Waits):
    """A learner whose labels come late: rows are remembered by an id until their label is here.

    ``predict_one(x, id=...)`` predicts a row and remembers it, ``learn_one(id=..., y=...)`` learns
    it when its label comes, in any order. No row is learnt twice, and none waits for ever if you
    say so: what comes twice, too late, or with an id nobody knows is counted in ``counts_`` and
    changes nothing else. Costs what the learner costs and O(1) a row, which takes 8 bytes for each
    number that is kept of it (its entries; for Auto a few more) and 140 to 300 beside, ids of those
    that were settled included.

    A label that is refused leaves the row waiting, for a better one; so does one that the learner
    leaves out (``on_bad="skip"``). A row that cannot be predicted is not remembered.

    Parameters
    ----------
    model : Learner
        Any learner, with what it has learnt. It is held, not copied: ``late.model`` is the object
        given, and may also be used by itself.
    limit : int, default 1_000_000
        How many rows wait at most, limit ≥ 1: when one more comes, the oldest is given up. Of the
        last so many rows that were learnt or given up the id is remembered: one that comes again
        after more than that is new.
    expire_after : int, timedelta or None, default None
        How late a label may be: by so many rows that were remembered after its own,
        expire_after ≥ 1, or by so much time, expire_after > 0. A row that is older is given up.
        None means as late as it likes.
    clock : callable, default time.time
        Returns the time in seconds, where ``expire_after`` is one: the stream's own, perhaps. A
        file does not hold it; it holds the times, so that those of ``time.time`` go on while
        nothing runs.

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
    >>> late.learn_one(id="tuesday", y=4.0)  # again
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
            raise TypeError(f"Late needs a learner, got {type(model).__name__}")
        model._numbers()
        self.model = model
        self._pending = Pending(limit, expire_after, clock=clock)

    # --- the round ----------------------------------------------------------------------------

    def predict_one(self, x: Any, id: Any = None) -> float:
        """Predict the label of one row, and with an ``id`` remember it; the learner is unchanged.

        An id is a number, a string, bytes, a tuple of them, or anything that can be hashed (which a
        file cannot hold). A row whose id waits already, or was settled, is predicted only.
        """
        if id is not None:
            id = key_codec.canonical(id)
        prediction = self.model.predict_one(x)
        if id is None:
            return prediction
        if math.isnan(prediction):
            self._pending.leave_out()
        else:
            self._pending.add(id, self.model._ticket(x))
        return prediction

    def learn_one(self, x: Any = None, y: Any = None, *, id: Any = None) -> bool:
        """Learn the label of a row that waits, by its ``id``, or of a row ``x`` at once.

        Returns whether it was learnt. A row is learnt as by :meth:`onlinear.Learner.learn_late`.

        >>> import onlinear as ol
        >>> late = Late(ol.Ridge())
        >>> late.learn_one([1.0, 2.0], 3.0)
        True
        >>> late.learn_one(id=7, y=3.0)  # nobody knows it
        False
        >>> late.counts_.unknown
        1
        """
        if (x is None) == (id is None):
            got = "neither" if x is None else f"both, id={id!r:.60}"
            raise ValueError(f"learn_one needs a row x or the id of one that waits, got {got}")
        if y is None:
            raise ValueError("learn_one needs a label y, got None")
        model = self.model
        skipped = model.n_skipped_
        if id is None:
            model.learn_one(x, y)
            return model.n_skipped_ == skipped
        row = self._pending.find(id)
        if row is None:
            return False
        with self._once(id, lambda: _rounds(model)):
            model.learn_late(row.ticket, y)
            if model.n_skipped_ > skipped:
                return False
            self._pending.settle(id)
        return True

    # --- what became of it --------------------------------------------------------------------

    @property
    def counts_(self) -> LateCounts:
        """How many rows wait, were learnt, expired; how many labels came in vain, and why."""
        return self._pending.counts

    @property
    def waiting_(self) -> int:
        """How many rows wait for their label."""
        return len(self._pending)

    @property
    def limit(self) -> int:
        """How many rows wait at most."""
        return self._pending.limit

    def __repr__(self) -> str:
        """Show the learner, and how many rows wait."""
        counts = self.counts_
        wait = "row waits" if counts.waiting == 1 else "rows wait"
        settled = f"{counts.learnt} learnt, {counts.expired} expired"
        return f"<Late {self.model!r}: {counts.waiting} {wait}, {settled}>"

    # --- files --------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write learner, rows that wait and counts to one file, as :meth:`Learner.save` does.

        >>> import onlinear as ol
        >>> late = Late(ol.Ridge())
        >>> late.predict_one([1.0, 0.0], id="monday")
        0.0
        >>> late.save("late.onl")
        >>> late = ol.load("late.onl")
        >>> late.learn_one(id="monday", y=3.0)
        True
        """
        header, arrays = model_codec.described(self.model, _full_name(type(self.model)))
        about, waiting = self._pending.described()
        file_format.write(path, {**header, "late": about}, arrays | waiting)

    @classmethod
    def _rebuilt(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> "Late":
        """Return the learner and its rows that a header and arrays describe."""
        late = cls(model_codec.rebuilt(header, arrays, Learner._classes))
        late._pending = Pending.rebuilt(header["late"], arrays)
        return late


def _rounds(model: Learner) -> int:
    return 0 if model._state is None else model.rounds_


model_codec.register_reader("late", Late._rebuilt)
