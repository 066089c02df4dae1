"""Save and load the models and delayed labels of ``Keyed``, some models at a time."""

import copy
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from onlinear._learner.base import Learner, full_name
from onlinear._learner.kernel_base import check_fixed
from onlinear._state_files import file_format, key_codec, model_codec
from onlinear._wrappers.keyed.key_batch import KeyBatch, integer_batch, key_batch
from onlinear._wrappers.keyed.model_store import ModelStore
from onlinear._wrappers.keyed.models import EventCounts, Models
from onlinear._wrappers.keyed.record_header import HEAD, LOSS, STAMP
from onlinear._wrappers.keyed.settings import KeyedSettings, existing_folder
from onlinear._wrappers.late.pending import Pending
from onlinear._wrappers.late.state_file import plain_age, read_age

__all__ = ["rebuilt", "save"]

ROWS = 4096  # records read at a time


def save(models: Models, pending: Pending, path: str | os.PathLike[str]) -> None:
    """Write models and delayed labels to one file."""
    initial, settings, store = models.initial, models.settings, models.store
    about, template = model_codec.described(initial, full_name(type(initial)))
    waits, rows = pending.described()
    header: dict[str, Any] = {
        "keyed": about,
        "memory_limit": settings.memory_limit,
        "max_age": plain_age(settings.max_age),
        "spill": settings.folder,
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
        chunks = (rows for _, rows in store.cache.chunks())
        arrays["records"] = file_format.Pieces(shape, np.dtype(np.float64), chunks)
    file_format.write(path, header, arrays)


def rebuilt(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> tuple[Models, Pending]:
    """Return what a header and arrays describe, or refuse them; the arrays may be memory-mapped."""
    template = {"state": np.array(arrays["state"])} if "state" in arrays else {}
    initial = model_codec.rebuilt(header["keyed"], template, Learner._classes)
    check_fixed("Keyed needs a learner", initial)
    settings = KeyedSettings(
        memory_limit=header["memory_limit"],
        max_age=read_age(header["max_age"]),
        spill=existing_folder(header.get("spill")),
        pooled=header["pooled"],
        threads=header["threads"],
    )
    models = Models(initial, settings.checked())
    waits = {name: np.array(rows) for name, rows in arrays.items() if name.startswith("late ")}
    pending = Pending.rebuilt(header["waits"], waits, owner="Keyed")
    models.counts = _counts(header)
    if "columns" in header:
        d, names = header["columns"]
        model_codec.check_contents(d, np.array(arrays["start"]), names, initial._matrices())
        _fill(models.begin(d, names), models.stamp, arrays)
    return models, pending


def _counts(header: dict[str, Any]) -> EventCounts:
    """Return the counts of a header, or refuse them."""
    events, skipped = model_codec.count(header["events"]), model_codec.count(header["skips"])
    stamp = float(model_codec.count(int(header["runs"])))
    if stamp != header["runs"] or max(stamp, events) >= 2**53:
        raise ValueError(f"it says there were {header['runs']!r} runs, {events!r:.60} events")
    return EventCounts(events, skipped, stamp)


def _fill(store: ModelStore, stamp: float, arrays: dict[str, np.ndarray]) -> None:
    """Add the records of a file, some at a time."""
    size = store.cache.size
    start, records = np.array(arrays["start"]), arrays["records"]
    integers = np.array(arrays["whole"])
    others = key_codec.parted(np.array(arrays["others"]), np.array(arrays["others lengths"]))
    if start.shape != (size,) or records.shape != (integers.size + len(others), size):
        raise ValueError(f"its models are {records.shape} numbers, not {size} each")
    if integers.dtype != np.int64 or records.dtype != np.float64:
        raise ValueError(f"its keys are {integers.dtype} and its models {records.dtype}")
    _check(store, start[None])
    store.start = start
    for keys, first in _key_chunks(integers, others):
        rows = np.array(records[first : first + keys.rows])
        _check(store, rows)
        if not (rows[:, STAMP] > 0).all() or not (rows[:, STAMP] <= stamp).all():
            raise ValueError("it has a model that no run has come to")
        store.cache.add(keys, rows)


def _key_chunks(integers: np.ndarray, others: Sequence[Any]) -> Iterator[tuple[KeyBatch, int]]:
    """Yield chunks of keys, with the index of the first of each."""
    for first in range(0, integers.size, ROWS):
        yield integer_batch(integers[first : first + ROWS]), first
    for first in range(0, len(others), ROWS):
        keys = key_batch(others[first : first + ROWS])
        if keys.integers.size or keys.missing.size:
            raise ValueError("it has integers, or nothing, among its other keys")
        yield keys, integers.size + first


def _check(store: ModelStore, rows: np.ndarray) -> None:
    """Refuse records that no sequence of rounds leads to; the first is checked as a learner is."""
    counts, rest = rows[:, STAMP:LOSS], rows[:, HEAD:]
    if not (np.isfinite(counts).all() and np.isfinite(rest).all()):
        raise ValueError("its models have numbers that are not finite")
    if not ((counts >= 0).all() and (rows[:, LOSS] >= 0).all()):  # the loss may be infinite
        raise ValueError("its models have counts below 0")
    model = copy.deepcopy(store.template)
    model._begin(store.shape[0], rest[0])
    model._check_state()
