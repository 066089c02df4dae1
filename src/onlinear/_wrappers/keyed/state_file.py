"""The models of many keys to a state file and back, some at a time, and shards made one."""

import copy
import os
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from onlinear._learner.base import Learner, _full_name
from onlinear._state_files import file_format, key_codec, model_codec
from onlinear._wrappers.keyed.key_index import Batch, batch, whole_batch
from onlinear._wrappers.keyed.record_header import HEAD, KEY, LAST, LEARNT, LOSS, STAMP
from onlinear._wrappers.keyed.settings import folder_here
from onlinear._wrappers.late.pending import MICROSECOND, Pending

if TYPE_CHECKING:
    from onlinear._wrappers.keyed.keyed import Keyed

__all__ = ["merged", "rebuilt", "save"]

ROWS = 4096  # at a time


def save(keyed: "Keyed", path: str | os.PathLike[str]) -> None:
    """Write the models and what waits to one file."""
    about, template = model_codec.described(keyed._model, _full_name(type(keyed._model)))
    waits, rows = keyed._pending.described()
    age = keyed.max_age
    header: dict[str, Any] = {
        "keyed": about,
        "memory_limit": keyed.memory_limit,
        "max_age": {"microseconds": age // MICROSECOND} if isinstance(age, timedelta) else age,
        "spill": keyed._folder(),
        "pooled": keyed.pooled,
        "threads": keyed.threads,
        "waits": waits,
        "events": keyed.events_,
        "skips": keyed.n_skipped_,
        "runs": keyed._stamp,
    }
    arrays: dict[str, Any] = {**template, **rows}
    home = keyed._home
    if home is not None:
        header["columns"] = [keyed._shape[0], keyed._names]
        whole, others = home.names()
        arrays["start"], arrays["whole"] = keyed._start, whole
        arrays["others"], arrays["others lengths"] = key_codec.joined(others)
        shape = (whole.size + len(others), home.size)
        pieces = (rows for _, rows in home.pieces())
        arrays["records"] = file_format.Pieces(shape, np.dtype(np.float64), pieces)
    file_format.write(path, header, arrays)


def rebuilt(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> "Keyed":
    """Return the models that a header and arrays describe, or refuse them."""
    from onlinear._wrappers.keyed.keyed import Keyed

    template = {"state": np.array(arrays["state"])} if "state" in arrays else {}
    age = header["max_age"]
    if isinstance(age, dict):
        age = timedelta(microseconds=model_codec.count(age["microseconds"]))
    keyed = Keyed(
        model_codec.rebuilt(header["keyed"], template, Learner._classes),
        memory_limit=header["memory_limit"],
        max_age=age,
        spill=folder_here(header.get("spill")),
        pooled=header["pooled"],
        threads=header["threads"],
    )
    waits = {name: np.array(rows) for name, rows in arrays.items() if name.startswith("late ")}
    keyed._pending = Pending.rebuilt(header["waits"], waits, owner="Keyed")
    keyed.events_ = model_codec.count(header["events"])
    keyed.n_skipped_ = model_codec.count(header["skips"])
    keyed._stamp = float(model_codec.count(int(header["runs"])))
    if keyed._stamp != header["runs"] or max(keyed._stamp, keyed.events_) >= 2**53:
        raise ValueError(
            f"it says there were {header['runs']!r} runs, {keyed.events_!r:.60} events"
        )
    if "columns" in header:
        d, names = header["columns"]
        model_codec.check_contents(d, np.array(arrays["start"]), names, keyed._model._matrices())
        keyed._begin(d, names)
        _fill(keyed, arrays)
    return keyed


def _fill(keyed: "Keyed", arrays: dict[str, np.ndarray]) -> None:
    """Take in the records of a file, some at a time."""
    home = keyed._home
    assert home is not None
    start, records = np.array(arrays["start"]), arrays["records"]
    whole = np.array(arrays["whole"])
    others = key_codec.parted(np.array(arrays["others"]), np.array(arrays["others lengths"]))
    if start.shape != (home.size,) or records.shape != (whole.size + len(others), home.size):
        raise ValueError(f"its models are {records.shape} numbers, not {home.size} each")
    if whole.dtype != np.int64 or records.dtype != np.float64:
        raise ValueError(f"its keys are {whole.dtype} and its models {records.dtype}")
    _check(keyed, start[None])
    keyed._start = start
    for keys, first in _parts(whole, others):
        rows = np.array(records[first : first + keys.rows])
        _check(keyed, rows)
        if not (rows[:, STAMP] > 0).all() or not (rows[:, STAMP] <= keyed._stamp).all():
            raise ValueError("it has a model that no run has come to")
        home.add(keys, rows)


def _parts(whole: np.ndarray, others: Sequence[Any]) -> Iterator[tuple[Batch, int]]:
    """Return keys, some at a time, and the number of the first."""
    for first in range(0, whole.size, ROWS):
        yield whole_batch(whole[first : first + ROWS]), first
    for first in range(0, len(others), ROWS):
        keys = batch(others[first : first + ROWS])
        if keys.whole.size or keys.missing.size:
            raise ValueError("it has whole numbers among other keys")
        yield keys, whole.size + first


def _check(keyed: "Keyed", rows: np.ndarray) -> None:
    """Refuse records no sequence of rounds leads to; the first of them is looked at closely."""
    counts, rest = rows[:, STAMP:LOSS], rows[:, HEAD:]
    if not (np.isfinite(counts).all() and np.isfinite(rest).all()):
        raise ValueError("its models have numbers that are not finite")
    if not ((counts >= 0).all() and (rows[:, LOSS] >= 0).all()):  # which may be infinite
        raise ValueError("its models have counts below 0")
    model = copy.deepcopy(keyed._template)
    model._begin(keyed._shape[0], rest[0])
    model._check_state()


def merged(shards: Sequence["Keyed"]) -> "Keyed":
    """Return the models of several shards in one; see :func:`onlinear.merge`."""
    from onlinear._learner.merging import merge
    from onlinear._wrappers.keyed.keyed import Keyed

    first = shards[0]
    for shard in shards:
        if not isinstance(shard, Keyed):
            raise TypeError(f"merge needs all Keyed or none, got {shard!r:.60}")
        _check_alike(first, shard)
        if shard is not first and shard.late_.waiting:
            raise ValueError(
                "merge needs shards in which no row waits for its label, but for the first, got "
                f"{shard.late_.waiting} in {shard}"
            )
    one = copy.copy(first)
    for shard in shards[1:]:
        before = one.events_  # the events of this shard come after those
        one._pending.absorb(shard._pending)
        one.events_ += shard.events_
        one.n_skipped_ += shard.n_skipped_
        one._stamp = max(one._stamp, shard._stamp)
        home = shard._home
        if home is None:
            continue
        if one._home is None:
            one._begin(shard._shape[0], shard._names)
        assert one._home is not None
        for keys, rows in home.pieces():
            rows = rows.copy()
            rows[:, LAST] += before
            known = one._home.get(keys)[1]
            (new,) = np.nonzero(~known)
            one._home.add(keys.take(new), rows[new])
            for row in np.flatnonzero(known).tolist():
                key = keys.key(row)
                if not getattr(type(first._model), "_sums_only", False):
                    raise ValueError(
                        f"merge needs shards with different keys, as {first._model} cannot be "
                        f"merged, got {key!r:.60} in two of them"
                    )
                both: list[Any] = [one[key], shard[key]]
                _put(one, key, merge(both), rows[row])
    return one


def _put(keyed: "Keyed", key: Any, model: Learner, other: np.ndarray) -> None:
    """Make a model that of a key, adding what is counted of the other."""
    home = keyed._home
    assert home is not None
    keys = batch([key])
    own = home.get(keys)[0]
    own[0, LEARNT:KEY] += other[LEARNT:KEY]
    own[0, LAST] = other[LAST]
    if model._record is not None:  # else both have skipped rows only
        own[0, HEAD:] = model._record
    slots = np.empty(1, dtype=np.int64)
    home.bring(keys, np.zeros(1, dtype=np.int64), slots)
    home.segments.put(slots, own)


def _check_alike(first: "Keyed", other: "Keyed") -> None:
    """Refuse shards whose models are not of one kind."""
    one, two = first._model, other._model
    same = type(one) is type(two) and one.get_params() == two.get_params()
    if not same or first.pooled or other.pooled or one._state is not None or two._state is not None:
        raise ValueError(
            "merge needs shards of one learner that had learnt nothing, and not pooled, got "
            f"{first} and {other}"
        )
    if None not in (first._home, other._home):
        here, there = ((shard._shape, shard._names) for shard in (first, other))
        if here != there:
            raise ValueError(f"merge needs shards with the same columns, got {here} and {there}")


model_codec.register_reader("keyed", rebuilt, mapped=True)
