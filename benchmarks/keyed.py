"""Measure a Keyed of a million models: events per second, memory, and with a tenth of the memory.

    python benchmarks/keyed.py [--repeats 5] [--keys 1000000] [--events 10000000]

The models are LASERs of eight inputs; the keys of events are random. "Keys mapped" is a replay
without looking up the keys, but with the undo log. Two threads need two idle cores. Memory is
measured as the growth of the process while it learns rows that are already in memory.
"""

import gc
import pickle
import sys
import time
from itertools import pairwise
from pathlib import Path

from timing import parser, table, targets, typical

# isort: split

import numpy as np

import onlinear as ol
from onlinear._engine.segments import ask_for, copied, numbers_at, where
from onlinear._engine.step import Outcome
from onlinear._numerics.linalg import kernel
from onlinear._wrappers.keyed.event_rounds import AHEAD, Events, EventTable
from onlinear._wrappers.keyed.key_batch import key_batch
from onlinear._wrappers.keyed.record_cache import RecordCache
from onlinear._wrappers.keyed.record_header import HEAD
from onlinear._wrappers.keyed.table_runs import TotalProgress

D = 8
LIMIT = "one thread, records read and written only"
NEW = "one thread, every second event the first of its key"
FEW = 20_000  # events that are run row by row
PARTS = 50  # the stream is split into so many replays to measure memory
SPILLED = 4  # the stream is split into so many replays with a memory limit


def stream(events: int, keys: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(events, D)), rng.normal(size=events)
    X[:, 0] = 1.0
    return rng.integers(keys, size=events), X, y


def model() -> ol.Learner:
    return ol.LASER(c=100.0, shrink=False)


def memory(what: str = "VmRSS") -> float:
    """Return the bytes that this process has in memory (VmRSS), or had at most (VmHWM)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(what):
            return 1024.0 * int(line.split()[1])
    return 0.0


def parts(rows: int, count: int) -> list[slice]:
    """Divide the rows into ``count`` parts; return their slices."""
    return [slice(a, b) for a, b in pairwise(rows * k // count for k in range(count + 1))]


@kernel
def touched(place, slots, bench):  # type: ignore[no-untyped-def]
    """Read and write the record of every event and nothing else: the cost of memory access."""
    bases, power, stride = place
    for k in range(slots.size):
        if k + AHEAD < slots.size:
            ask_for(where(bases, power, stride, slots[k + AHEAD]), 8 * bench.size)
        record = numbers_at(where(bases, power, stride, slots[k]), bench.size)
        copied(record, bench)
        copied(bench, record)


def mapped(keyed: ol.Keyed, table: EventTable, slots: np.ndarray, events: np.ndarray) -> Outcome:
    """Replay events whose keys have been looked up before."""
    rows = len(events)
    keyed._models.next_run()
    store = keyed._models.store
    assert store is not None
    which = Events(store.cache.segments, slots, events)
    progress = TotalProgress(lambda row, rows: None, rows)
    ended = keyed._tables._run(store, table, which, progress, rows, learn=True)
    for worker in store.workers:
        worker.undo_log.clear()
    return ended


def cache(keyed: ol.Keyed) -> RecordCache:
    assert keyed._models.store is not None
    return keyed._models.store.cache


def with_new_keys(keys: np.ndarray, X: np.ndarray, y: np.ndarray) -> None:
    """Replay events with a ``Keyed`` that has no models yet."""
    ol.Keyed(model(), threads=1).replay(keys, X, y)


def by_dict(keys: np.ndarray, X: np.ndarray, y: np.ndarray) -> dict[int, ol.Learner]:
    """Predict and learn events with a dict that holds a separate learner for each key."""
    models: dict[int, ol.Learner] = {}
    for key, x, label in zip(keys.tolist(), X, y.tolist(), strict=True):
        own = models.get(key)
        if own is None:
            own = models[key] = model()
        own.predict_one(x)
        own.learn_one(x, label)
    return models


def one_by_one(keyed: ol.Keyed, keys: np.ndarray, X: np.ndarray, y: np.ndarray) -> None:
    for key, x, label in zip(keys.tolist(), X, y.tolist(), strict=True):
        keyed.predict_one(key, x)
        keyed.learn_one(key, x, label)


def grown(keys: np.ndarray, X: np.ndarray, y: np.ndarray) -> tuple[ol.Keyed, float]:
    """Learn the stream; return the ``Keyed``, and by how many bytes memory grew at most."""
    small = ol.Keyed(model())
    small.replay(keys[:1000], X[:1000], y[:1000])  # compiles
    del small
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak memory
    before = memory()
    keyed = ol.Keyed(model())
    for few in parts(len(X), PARTS):
        keyed.replay(keys[few], X[few], y[few])
    return keyed, memory("VmHWM") - before


def same(keyed: ol.Keyed, keys: np.ndarray, X: np.ndarray, y: np.ndarray) -> bool:
    """Return whether the models of some keys have the same bits as learners run alone."""
    for key in keys[:200].tolist():
        (rows,) = np.nonzero(keys == key)
        alone = model()
        ol.replay(alone, X[rows], y[rows], engine="rank-one")
        if pickle.dumps(alone) != pickle.dumps(keyed[key]):
            return False
    return True


def limited(
    keys: np.ndarray, X: np.ndarray, y: np.ndarray, all_of_it: ol.Keyed
) -> tuple[float, bool, float]:
    """Learn with a tenth of the memory; return events/s, whether models agree, memory share."""
    keyed = ol.Keyed(model(), memory_limit=all_of_it.nbytes // 10)
    began = time.perf_counter()
    for few in parts(len(X), SPILLED):
        keyed.replay(keys[few], X[few], y[few])
    seconds = time.perf_counter() - began
    pairs = zip(cache(keyed).chunks(), cache(all_of_it).chunks(), strict=True)
    agree = all(np.array_equal(a[1][:, HEAD:], b[1][:, HEAD:]) for a, b in pairs)
    return len(X) / seconds, agree, keyed.nbytes / all_of_it.nbytes


if __name__ == "__main__":
    options = parser(__doc__, repeats=5)
    options.add_argument("--keys", type=int, default=1_000_000)
    options.add_argument("--events", type=int, default=10_000_000)
    asked = options.parse_args()
    keys, X, y = stream(asked.events, asked.keys)
    keyed, needed = grown(keys, X, y)
    agree = same(keyed, keys, X, y)
    arithmetic = 8.0 * (1 + D + D * D) * len(keyed)
    speed, spilled, share = limited(keys, X, y, keyed)

    double = keyed
    keyed = ol.Keyed(model(), threads=1)
    keyed.replay(keys, X, y)
    slots, other = (cache(own).keys.slots_of(key_batch(keys)) for own in (keyed, double))
    few, events = slice(0, FEW), np.arange(len(X))
    place, bench = cache(keyed).segments.place, np.zeros(cache(keyed).size)
    rounds = EventTable(X, y, np.empty(len(X)), np.zeros(len(X), dtype=np.bool_))
    times = typical(
        {
            "one thread, keys mapped": lambda: mapped(keyed, rounds, slots, events),
            "two threads, keys mapped": lambda: mapped(double, rounds, other, events),
            LIMIT: lambda: touched(place, slots, bench),
            "one thread": lambda: keyed.replay(keys, X, y),
            "two threads": lambda: double.replay(keys, X, y),
        },
        asked.repeats,
    )
    single = typical(
        {
            "row by row": lambda: one_by_one(keyed, keys[few], X[few], y[few]),
            "a dict of learners, row by row": lambda: by_dict(keys[few], X[few], y[few]),
        },
        asked.repeats,
    )
    first = slice(0, min(2 * asked.keys, len(X)))
    both = np.random.default_rng(1).permutation(np.arange(first.stop) // 2)
    new = typical({NEW: lambda: with_new_keys(both, X[first], y[first])}, asked.repeats)
    rates = {name: asked.events / seconds for name, seconds in times.items()}
    rates[NEW] = first.stop / new[NEW]
    rates |= {name: FEW / seconds for name, seconds in single.items()}
    rates["a tenth of the memory"] = speed
    slowest = rates["a dict of learners, row by row"]
    table(
        (
            f"{asked.keys:,} keys, {asked.events:,} events",
            "million events/s",
            "× as fast as a dict",
        ),
        [
            (name, f"{rate / 1e6:.3f}", f"{rate / slowest:.1f}")
            for name, rate in sorted(rates.items(), key=lambda item: -item[1])
        ],
    )
    one, two = rates["one thread, keys mapped"], rates["two threads, keys mapped"]
    targets(
        [
            ("million events/s, one thread, keys mapped", one / 1e6, "≥ 4"),
            ("the same, over the machine's limit", one / rates[LIMIT], ""),
            ("two threads over one", two / one, "≥ 1.5"),
            ("million events/s, keys included", rates["one thread"] / 1e6, "≥ 2"),
            (f"million events/s, {NEW}", rates[NEW] / 1e6, "≥ 2"),
            ("memory at most, over the arithmetic size", needed / arithmetic, "≤ 1.3"),
            ("keys that have the bits of learners alone", float(agree), "≥ 1"),
            ("a tenth of the memory: the same bits", float(spilled), "≥ 1"),
            ("a tenth of the memory: models and keys, over all", share, "≤ 0.1"),
        ]
    )
    if not (agree and spilled):
        sys.exit("bits differ")
