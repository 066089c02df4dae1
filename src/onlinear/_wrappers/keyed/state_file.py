"""Save and load the models of ``Keyed``, some at a time, and the rows that wait for a label.

A record is one array: counters of a key (:mod:`onlinear._wrappers.keyed.record_header`), then the
state of its model.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from onlinear._learner.base import Learner, full_name
from onlinear._learner.kernel_base import check_fixed
from onlinear._state_files import file_format, key_codec, model_codec
from onlinear._validation import states
from onlinear._wrappers.keyed.key_batch import KeyBatch, integer_batch, key_batch
from onlinear._wrappers.keyed.model_store import ModelStore
from onlinear._wrappers.keyed.models import EventCounts, Models
from onlinear._wrappers.keyed.record_header import HEAD, LAST, LEARNT, LOSS, SKIPPED, STAMP
from onlinear._wrappers.keyed.settings import KeyedSettings
from onlinear._wrappers.late.pending import Pending
from onlinear._wrappers.late.state_file import plain_age, read_age

__all__ = ["rebuilt", "save"]

ROWS = 4096  # how many records are read at a time


def save(models: Models, pending: Pending, path: str | os.PathLike[str]) -> None:
    """Write models, and the rows that wait for a label, to one file."""
    initial, settings, store = models.initial, models.settings, models.store
    about, template = model_codec.described(initial, full_name(type(initial)))
    waits, rows = pending.described()
    header: dict[str, Any] = {
        "keyed": about,
        "memory_limit": settings.memory_limit,
        "max_age": plain_age(settings.max_age),
        "pooled": settings.pooled,
        "threads": settings.threads,
        "waits": waits,
        "events": models.events,
        "skips": models.skipped,
        "runs": models.stamp,
    }
    arrays: dict[str, Any] = {**template, **rows}
    if store is not None:
        header["columns"] = [store.shape[0], store.names]
        integers, others = store.cache.all_keys()
        arrays["start"], arrays["whole"] = store.start, integers
        arrays["others"], arrays["others lengths"] = key_codec.joined(others)
        shape = (integers.size + len(others), store.cache.size)
        _check_start(store, store.start)
        chunks = _checked(store, models.stamp, models.events)
        arrays["records"] = file_format.Pieces(shape, np.dtype(np.float64), chunks)
    file_format.write(path, header, arrays)


def _checked(store: ModelStore, stamp: float, events: int) -> Iterator[np.ndarray]:
    """Yield the records of all models, some at a time; refuse records that could not be loaded."""
    for _, rows in store.cache.chunks():
        _check_records(store, stamp, events, rows)
        yield rows


def rebuilt(
    header: dict[str, Any], arrays: dict[str, Any], spill: Any = None
) -> tuple[Models, Pending]:
    """Return the models and waiting rows that the header and arrays of a state file describe.

    Invalid contents raise an error. The caller chooses the folder ``spill`` for models that are
    moved to disk: a state file must not decide where loading writes.
    """
    template = {"state": arrays["state"]} if "state" in arrays else {}
    initial = model_codec.rebuilt(header["keyed"], template, Learner._classes)
    check_fixed("Keyed needs a learner", initial)
    settings = KeyedSettings(
        memory_limit=header["memory_limit"],
        max_age=read_age(header["max_age"]),
        spill=spill,
        pooled=header["pooled"],
        threads=header["threads"],
    )
    models = Models(initial, settings.checked())
    waits = {name: rows for name, rows in arrays.items() if name.startswith("late ")}
    pending = Pending.rebuilt(header["waits"], waits, owner="Keyed")
    models.counts = _counts(header)
    if "columns" in header:
        d, names = header["columns"]
        model_codec.check_contents(d, arrays["start"], names, initial._matrices())
        _fill(models.begin(d, names), models, arrays)
    return models, pending


def _counts(header: dict[str, Any]) -> EventCounts:
    """Return the numbers of events, skipped events and runs in a header; refuse invalid numbers."""
    events, skipped = model_codec.count(header["events"]), model_codec.count(header["skips"])
    stamp = float(model_codec.count(int(header["runs"])))
    if stamp != header["runs"] or max(stamp, events) >= 2**53:
        raise ValueError(f"it says there were {header['runs']!r} runs, {events!r:.60} events")
    return EventCounts(events, skipped, stamp)


def _fill(store: ModelStore, models: Models, arrays: dict[str, Any]) -> None:
    """Add the records of a state file to the store of models, some records at a time."""
    size = store.cache.size
    start, integers, records = arrays["start"], arrays["whole"], arrays["records"]
    others = key_codec.parted(arrays["others"], arrays["others lengths"])
    if start.shape != (size,) or records.shape != (integers.size + len(others), size):
        raise ValueError(f"its models are {records.shape} numbers, not {size} each")
    if integers.dtype != np.int64 or records.dtype != np.float64 or integers.ndim != 1:
        raise ValueError(f"its keys are {integers.dtype} and its models {records.dtype}")
    _check_start(store, start)
    store.start = start
    for keys in _key_chunks(integers, others):
        rows = records.take(keys.rows)
        _check_records(store, models.stamp, models.events, rows)
        store.cache.add(keys, rows)


def _key_chunks(integers: np.ndarray, others: Sequence[Any]) -> Iterator[KeyBatch]:
    """Yield chunks of keys, in the order of their records."""
    for first in range(0, integers.size, ROWS):
        yield integer_batch(integers[first : first + ROWS])
    for first in range(0, len(others), ROWS):
        keys = key_batch(others[first : first + ROWS])
        if keys.integers.size or keys.missing.size:
            raise ValueError("it has integers or missing keys among its non-integer keys")
        yield keys


def _check_start(store: ModelStore, start: np.ndarray) -> None:
    """Refuse the record that new keys start with if a counter is not 0 or its state is invalid."""
    if start[:HEAD].any():
        raise ValueError(f"its new keys start with the counts {start[:HEAD]}")
    _check(store, start[None])


def _check_records(store: ModelStore, stamp: float, events: int, rows: np.ndarray) -> None:
    """Refuse records that no sequence of events can lead to."""
    _check(store, rows)
    states.check_counts("was the last run of a model", rows[:, STAMP], 1, stamp)
    states.check_counts("was the last event of a model", rows[:, LAST], 0, events)
    for counted in (LEARNT, SKIPPED):
        states.check_counts("rows of a model were learnt or skipped", rows[:, counted], 0, events)


def _check(store: ModelStore, rows: np.ndarray) -> None:
    """Refuse records whose state or loss no sequence of rounds can lead to."""
    states.check_finite((rows[:, STAMP:LOSS],), "a record")
    states.check_range("a loss", rows[:, LOSS], 0)  # a loss may be infinite
    template = store.template
    template._check_states(states.stacked(rows[:, HEAD:], template._state))
