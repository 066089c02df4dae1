"""Interrupt calls by signals at random moments; check that each is complete or has no effect.

    python benchmarks/signals.py [--signals 2000] [--seed 0]

A timer interrupts learning, replays, saving, models by key (also spilled to disk) and delayed
labels, with one, two or three signals some microseconds apart, each of which raises
KeyboardInterrupt. After the signals, the object must be as before the call, or as after a complete
call, and a file must hold the object in one of these two states. The script exits with 1 if an
object or a file is in neither of these two states.
"""

import argparse
import copy
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import onlinear as ol

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(3000, 4)), RNG.normal(size=3000)
KEYS = [f"k{i % 40}" if i % 3 else i % 150 for i in range(3000)]


class Case(NamedTuple):
    """A test case: an object, a call of it, and ``tell``, which returns the object's state."""

    name: str
    make: Callable[[], Any]
    act: Callable[[Any], object]
    tell: Callable[[Any], object]


def tell_file(model: Any) -> object:
    model.save("told.onl")
    return Path("told.onl").read_bytes()


def tell_keyed(keyed: ol.Keyed) -> object:
    """Return the counts, keys, models and statistics of a ``Keyed``, as text."""
    counts = len(keyed), keyed.events_, keyed.n_skipped_, keyed.late_
    models = [keyed[key]._record.tobytes() for key in keyed]  # type: ignore[union-attr]
    return repr((counts, list(keyed), models, keyed.statistics()))


def tell_saved(model: Any) -> object:
    """Return the contents of the file that saving replaces."""
    return Path("kept.onl").read_bytes()


def learnt(model: Any) -> Any:
    ol.replay(model, X[:200], Y[:200])
    return model


def keyed(**settings: Any) -> ol.Keyed:
    made = ol.Keyed(ol.LASER(c=100.0), **settings)
    made.replay(KEYS[:1000], X[:1000], Y[:1000])
    for t in range(50):
        made.predict_one(KEYS[t], X[t], id=t)
    return made


def spilled() -> ol.Keyed:
    return keyed(memory_limit=40_000)


def bank() -> ol.Bank:
    return learnt(ol.Bank([ol.Ridge(), ol.NLMS()]))  # type: ignore[no-any-return]


def late() -> ol.Late:
    made = ol.Late(ol.Auto(), limit=30)
    for t in range(60):
        made.predict_one(X[t], id=t)
        made.learn_one(id=t - 5, y=Y[t])
    return made


def saved() -> Any:
    model = learnt(ol.Auto())
    model.save("kept.onl")
    return model


def save_later(model: Any) -> None:
    changed = copy.copy(model)
    changed.learn_one(X[0], 7.0)
    changed.save("kept.onl")


CASES = (
    Case("replay", lambda: learnt(ol.LASER()), lambda m: ol.replay(m, X, Y), tell_file),
    Case("replay of Auto", lambda: learnt(ol.Auto()), lambda m: ol.replay(m, X, Y), tell_file),
    Case("learn_one", lambda: learnt(ol.LASER()), lambda m: m.learn_one(X[0], 1.0), tell_file),
    Case("save", saved, save_later, tell_saved),
    Case("Bank", bank, lambda m: m.learn_one(X[0], 1.0), tell_file),
    Case("Certified", lambda: ol.Certified(ol.AAR()), lambda m: m.learn_one(X[0], 1.0), tell_file),
    Case("Late, a row", late, lambda m: m.predict_one(X[99], id=99), tell_file),
    Case("Late, a label", late, lambda m: m.learn_one(id=57, y=1.0), tell_file),
    Case("Keyed", keyed, lambda m: m.learn_one("k1", X[0], 1.0), tell_keyed),
    Case("Keyed, a new key", keyed, lambda m: m.learn_one("new", X[0], 1.0), tell_keyed),
    Case("Keyed, a late label", keyed, lambda m: m.learn_one(id=7, y=1.0), tell_keyed),
    Case("Keyed, replay", keyed, lambda m: m.replay(KEYS, X, Y), tell_keyed),
    Case("spilled", spilled, lambda m: m.learn_one(3, X[0], 1.0), tell_keyed),
    Case("spilled, replay", spilled, lambda m: m.replay(KEYS[:600], X[:600], Y[:600]), tell_keyed),
)  # fmt: skip


class Interrupter:
    """Raises KeyboardInterrupt in the main thread at random moments, by a system timer."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng, self._left = rng, 0
        self.came = 0
        signal.signal(signal.SIGALRM, self._strike)

    def _strike(self, *_: object) -> None:
        self.came += 1
        self._left -= 1
        if self._left > 0:  # the next signal comes soon, during recovery
            signal.setitimer(signal.ITIMER_REAL, float(self._rng.uniform(1e-6, 3e-4)))
        raise KeyboardInterrupt

    def run(self, act: Callable[[], object], within: float, signals: int) -> None:
        """Call ``act``, and interrupt it at a random moment of the next ``within`` seconds."""
        self._left = signals
        try:
            signal.setitimer(signal.ITIMER_REAL, float(self._rng.uniform(1e-6, within)))
            act()
        except KeyboardInterrupt:
            pass
        while True:
            try:
                self._left = 0
                signal.setitimer(signal.ITIMER_REAL, 0)
                return
            except KeyboardInterrupt:
                continue


def try_case(
    case: Case, interrupter: Interrupter, rng: np.random.Generator, runs: int
) -> Counter[str]:
    """Run a case ``runs`` times; count the calls that were complete, without effect, or neither."""
    start = case.make()
    case.act(copy.deepcopy(start))  # compile
    start.save("kept.onl")
    before = case.tell(start)
    done = copy.deepcopy(start)
    began = time.perf_counter()
    case.act(done)
    took = time.perf_counter() - began
    after = case.tell(done)
    seen: Counter[str] = Counter()
    for _ in range(runs):
        start.save("kept.onl")
        model = copy.deepcopy(start)
        interrupter.run(lambda: case.act(model), 1.3 * took, int(rng.integers(1, 4)))  # noqa: B023
        told = case.tell(model)
        seen["done" if told == after else "not begun" if told == before else "BETWEEN"] += 1
    return seen


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--signals", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    interrupter = Interrupter(rng)
    total: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        while interrupter.came < options.signals:
            for case in CASES:
                seen = try_case(case, interrupter, rng, 20)
                total.update({(case.name, what): n for what, n in seen.items()})
        os.chdir("/")
    for case in CASES:
        counts = [f"{total[case.name, what]:5}" for what in ("done", "not begun", "BETWEEN")]
        print(f"{case.name:20}", *counts)
    broken = sum(n for (_, what), n in total.items() if what == "BETWEEN")
    print(f"{interrupter.came} signals, {broken} calls left half done")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
