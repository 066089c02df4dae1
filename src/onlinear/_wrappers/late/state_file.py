"""Convert the waiting rows and settled ids of ``Late`` to arrays of a state file, and back.

A waiting row was predicted, but its label has not arrived. Rows that were learnt, or that expired
because they waited too long, are settled; of these rows, only the ids are kept.
"""

from datetime import timedelta
from typing import Any, NamedTuple

import numpy as np

from onlinear._state_files import key_codec, model_codec
from onlinear._validation.states import check_finite
from onlinear._wrappers.late.settled_ids import EXPIRED, LEARNT
from onlinear._wrappers.late.waiting_rows import RowColumns

__all__ = ["PendingContents", "check", "from_arrays", "plain_age", "read_age", "to_arrays"]

MICROSECOND = timedelta(microseconds=1)


class PendingContents(NamedTuple):
    """What a ``Pending`` keeps: waiting rows, settled ids, and how each id was settled."""

    rows: RowColumns
    settled: list[Any]
    how: np.ndarray


def plain_age(age: int | timedelta | None) -> Any:
    """Return an age limit (a number of rows or events, a timedelta or None) as a JSON value."""
    return {"microseconds": age // MICROSECOND} if isinstance(age, timedelta) else age


def read_age(age: Any) -> Any:
    """Return the age limit that :func:`plain_age` converted to this JSON value."""
    if isinstance(age, dict):
        return timedelta(microseconds=model_codec.count(age["microseconds"]))
    return age


def to_arrays(contents: PendingContents, *, timed: bool) -> dict[str, np.ndarray]:
    """Return waiting rows and settled ids as arrays of a state file."""
    rows = contents.rows
    check_finite((rows.tickets, rows.times), "a waiting row")
    arrays = {"tickets": rows.tickets, "numbers": rows.numbers, "how": contents.how}
    names = {"ids": rows.ids, "settled": contents.settled}
    if timed:
        arrays["times"] = rows.times
    if any(key is not None for key in rows.keys):
        names["keys"] = rows.keys
    for name, values in names.items():
        arrays[name], arrays[f"{name} lengths"] = key_codec.joined(values)
    return {f"late {name}": values for name, values in arrays.items()}


def from_arrays(arrays: dict[str, np.ndarray], *, timed: bool) -> PendingContents:
    """Return waiting rows and settled ids from a state file's arrays; refuse invalid arrays."""

    def vector(name: str, kind: str) -> np.ndarray:
        values = arrays[f"late {name}"]
        if values.ndim != 1 or values.dtype.str[1:] != kind:
            raise ValueError(f"its {name} are {values.dtype} of shape {values.shape}")
        return values

    def names(name: str) -> list[Any]:
        return key_codec.parted(vector(name, "u1"), vector(f"{name} lengths", "i8"))

    ids, settled, tickets = names("ids"), names("settled"), arrays["late tickets"]
    keys = names("keys") if "late keys" in arrays else [None] * len(ids)
    numbers, how = vector("numbers", "i8"), vector("how", "u1")
    times = vector("times", "f8") if timed else np.zeros(0)
    rows = len(ids)
    sizes = {len(keys), numbers.size, times.size if timed else rows, *tickets.shape[:1]}
    if (
        sizes != {rows}
        or tickets.ndim != 2
        or (rows and not tickets.size)
        or len(how) != len(settled)
    ):
        raise ValueError(f"it has {rows} waiting rows, but columns of {sorted(sizes)} rows")
    check_finite((tickets, times), "a waiting row")
    if tickets.dtype != np.float64:
        raise ValueError(f"its waiting rows are {tickets.dtype}, not float64")
    ids, settled = ([key_codec.canonical(id) for id in some] for some in (ids, settled))
    return PendingContents(RowColumns(ids, keys, tickets, numbers, times), settled, how)


def check(limit: int, counts: dict[str, int], contents: PendingContents) -> None:
    """Refuse contents and counts that no sequence of rows and labels can lead to."""
    waiting, settled, how = contents
    rows, gone = len(waiting.ids), counts["learnt"] + counts["expired"]
    if rows != counts["waiting"] or rows > limit or len(settled) != min(gone, limit):
        raise ValueError(
            f"it has {rows} waiting rows and {len(settled)} settled ones, which does not fit "
            f"limit={limit} and {counts}"
        )
    if len({*waiting.ids, *settled}) < rows + len(settled):
        raise ValueError("it has an id more than once")
    for kind, count in ((LEARNT, counts["learnt"]), (EXPIRED, counts["expired"])):
        if np.sum(how == kind) > count:
            raise ValueError(f"it has more settled rows than {counts}")
    if not np.isin(how, (LEARNT, EXPIRED)).all():
        raise ValueError("it has settled rows that are neither learnt nor expired")
    bounds = np.concatenate([[0], waiting.numbers, [gone + rows + 1]])
    if not np.all(np.diff(bounds) > 0):
        raise ValueError(f"the numbers of its waiting rows do not grow from 1 to {gone + rows}")
