"""Merge ``Keyed`` objects (shards) whose keys differ, or whose learners can be merged.

The record of a key is an array: the numbers of rows learnt and skipped and other counts, then the
state of the key's model (:mod:`onlinear._wrappers.keyed.record_header`).
"""

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from onlinear._learner.base import Learner
from onlinear._learner.merging import merge
from onlinear._wrappers.keyed.key_batch import KeyBatch, one_key
from onlinear._wrappers.keyed.model_store import ONE_ROW, ModelStore
from onlinear._wrappers.keyed.models import Models
from onlinear._wrappers.keyed.record_header import HEAD, KEY, LAST, LEARNT

if TYPE_CHECKING:
    from onlinear._wrappers.keyed.keyed import Keyed

__all__ = ["merged"]


def merged(shards: Sequence["Keyed"]) -> "Keyed":
    """Return one ``Keyed`` with the models of all shards; refuse shards that cannot be merged."""
    first = shards[0]
    for shard in shards:
        if not isinstance(shard, type(first)):
            raise TypeError(f"merge needs all Keyed or none, got {shard!r:.60}")
        _check_alike(first, shard)
        if shard is not first and shard.late_.waiting:
            raise ValueError(
                "merge needs shards in which no row waits for its label, except the first, got "
                f"{shard.late_.waiting} in {shard}"
            )
    one = copy.copy(first)
    for shard in shards[1:]:
        one._late.pending.absorb(shard._late.pending)
        _absorb(one._models, shard._models)
    return one


def _check_alike(first: "Keyed", other: "Keyed") -> None:
    """Refuse shards whose learners, settings or columns cannot be merged."""
    one, two = first._models.initial, other._models.initial
    same = type(one) is type(two) and one.get_params() == two.get_params()
    if not same or first.pooled or other.pooled or one._state is not None or two._state is not None:
        raise ValueError(
            f"merge needs shards of the same new learner, without pooling, got {first} and {other}"
        )
    stores = first._models.store, other._models.store
    if stores[0] is not None and stores[1] is not None:
        here, there = ((store.shape, store.names) for store in stores if store is not None)
        if here != there:
            raise ValueError(f"merge needs shards with the same columns, got {here} and {there}")


def _absorb(models: Models, shard: Models) -> None:
    """Add the models and counts of a shard, as if its rows came after those of ``models``."""
    events = models.events
    stamp = max(models.stamp, shard.stamp)
    models.counts = models.counts.plus(shard.events, shard.skipped)._replace(stamp=stamp)
    if shard.store is None:
        return
    store = models.store or models.begin(shard.store.shape[0], shard.store.names)
    for keys, rows in shard.store.cache.chunks():
        rows = rows.copy()
        rows[:, LAST] += events
        known = store.cache.read(keys)[1]
        (new,) = np.nonzero(~known)
        store.cache.add(keys.take(new), rows[new])
        for row in np.flatnonzero(known).tolist():
            _merge_key(store, shard.store, keys, row, rows[row])


def _merge_key(
    store: ModelStore, shard: ModelStore, keys: KeyBatch, row: int, record: np.ndarray
) -> None:
    """Merge the models that two shards have for the same key; write the result to ``store``."""
    key = keys.key(row)
    if not getattr(type(store.initial), "_sums_only", False):
        raise ValueError(
            f"merge needs shards with different keys, as {store.initial} cannot be merged, got "
            f"{key!r:.60} in two of them"
        )
    both: list[Any] = [store.model(key), shard.model(key)]
    _put(store, key, merge(both), record)


def _put(store: ModelStore, key: Any, model: Learner, other: np.ndarray) -> None:
    """Store the merged model of a key; add the counts in ``other``, the other shard's record."""
    keys = one_key(key)
    own = store.cache.read(keys)[0]
    own[0, LEARNT:KEY] += other[LEARNT:KEY]
    own[0, LAST] = other[LAST]
    if model._record is not None:  # else both have skipped all rows
        own[0, HEAD:] = model._record
    slots = np.empty(1, dtype=np.int64)
    store.cache.load(keys, ONE_ROW, slots)
    store.cache.segments.put(slots, own)
