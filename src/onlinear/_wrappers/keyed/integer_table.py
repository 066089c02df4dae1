"""A compiled hash table from integer keys to slots, the places of their records in memory.

A record is one array of numbers: counters of a key, then the state of its model. The table uses
open addressing: an entry has a key and its slot, side by side.
"""

import numpy as np

from onlinear._engine.segments import ask_for
from onlinear._numerics.jit import CompiledFunction
from onlinear._numerics.linalg import kernel

__all__ = [
    "FREE",
    "copy_entries",
    "empty_table",
    "enter_keys",
    "find_slot",
    "find_slots",
    "remove_keys",
]

AHEAD = 8  # how many keys ahead an entry is prefetched
FREE = -1  # the slot of an entry without a key


def empty_table(entries: int) -> np.ndarray:
    """Return a table of free entries; their number ``entries`` is a power of two."""
    table = np.empty((entries, 2), dtype=np.int64)
    table[:, 1] = FREE
    return table


@kernel(inline="always")
def _home(key, entries):
    """Return the entry at which the search for a key begins."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    return np.int64((mixed * np.uint64(0xD6E8FEB86659FD93)) >> np.uint64(20)) & (entries - 1)


@kernel
def _find(table, key):
    """Return the index of a key's entry, or of the free entry where the key would go."""
    last = table.shape[0] - 1
    entry = _home(key, table.shape[0])
    while table[entry, 1] != FREE and table[entry, 0] != key:
        entry = (entry + 1) & last
    return entry


@CompiledFunction
def find_slots(table, keys, slots):
    """Write each key's slot to ``slots`` (FREE if it has none); return how many keys have none."""
    entries, missing, base = table.shape[0], 0, table.ctypes.data
    for k in range(keys.size):
        if k + AHEAD < keys.size:
            ask_for(base + 16 * _home(keys[k + AHEAD], entries), 1)
        slots[k] = table[_find(table, keys[k]), 1]
        missing += slots[k] == FREE
    return missing


@CompiledFunction
def find_slot(table, key):
    """Return the slot of one key, or FREE if the key is not in the table."""
    return table[_find(table, key), 1]


@CompiledFunction
def enter_keys(table, keys, slots, missing, free, new):
    """Enter the keys at the indices ``missing``; new ones get the slots in ``free``, in order.

    Write the slots to ``slots`` and the new keys to ``new``; return how many keys are new.
    """
    entries, taken, base = table.shape[0], 0, table.ctypes.data
    for k in range(missing.size):
        if k + AHEAD < missing.size:
            ask_for(base + 16 * _home(keys[missing[k + AHEAD]], entries), 1)
        key = keys[missing[k]]
        entry = _find(table, key)
        if table[entry, 1] == FREE:
            table[entry, 0], table[entry, 1] = key, free[taken]
            new[taken] = key
            taken += 1
        slots[missing[k]] = table[entry, 1]
    return taken


@CompiledFunction
def copy_entries(table, larger):
    """Enter all keys of a table into a larger one."""
    entries, base = larger.shape[0], larger.ctypes.data
    for k in range(table.shape[0]):
        if k + AHEAD < table.shape[0]:
            ask_for(base + 16 * _home(table[k + AHEAD, 0], entries), 1)
        if table[k, 1] != FREE:
            entry = _find(larger, table[k, 0])
            larger[entry, 0], larger[entry, 1] = table[k, 0], table[k, 1]


@CompiledFunction
def remove_keys(table, keys):
    """Remove keys; entries after them move up, so that a search still finds every other key."""
    last = table.shape[0] - 1
    for k in range(keys.size):
        hole = _find(table, keys[k])
        if table[hole, 1] == FREE:
            continue
        entry = (hole + 1) & last
        while table[entry, 1] != FREE:
            home = _home(table[entry, 0], table.shape[0])
            if (entry - home) & last >= (entry - hole) & last:
                table[hole, 0], table[hole, 1] = table[entry, 0], table[entry, 1]
                hole = entry
            entry = (entry + 1) & last
        table[hole, 1] = FREE
