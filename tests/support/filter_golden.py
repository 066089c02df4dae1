"""Reference decisions and margins of filters on streams given by formulas, to twelve digits.

The numbers are in ``tests/data/golden``. The margins are of the first ten and the last five rounds.
"""

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from golden import golden_file, tuples

import onlinear as ol
from onlinear.kernels import RBF

ROUNDS = [*range(10), *range(55, 60)]


class Golden(NamedTuple):
    name: str
    make: Callable[..., Any]
    decisions: str
    counts: tuple[int, int, int]  # hits, false alarms, misses
    f: float
    margins: tuple[float, ...]
    rounds: Any = ROUNDS


def directions():
    t, i = np.arange(1, 61)[:, None], np.arange(1, 4)
    r = ((7 * t**2 + 31 * t * i + 53 * i**2) % 127 - 63).astype(float)
    r[(r == 0).all(axis=1)] = (1.0, 0.0, 0.0)
    noise = 40 * (13 * t[:, 0] % 5 - 2)
    y = np.where(3 * r[:, 0] - r[:, 1] + 2 * r[:, 2] + noise >= 0, 1.0, -1.0)
    return r / np.linalg.norm(r, axis=1, keepdims=True), y


def coin(t):
    return (7919 * t % 10007) / 10007


def every_eighth():
    return np.where(3 * np.arange(1, 601) % 8 == 1, 1.0, -1.0)


def digest(decisions):
    text = "".join(map(str, np.asarray(decisions).astype(int)))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


NAMED = {"coin": coin, "RBF(gamma=2.0)": RBF(gamma=2.0)}  # parameters that JSON cannot express


def _made(filter: str, params: dict[str, Any]) -> Callable[..., Any]:
    return partial(getattr(ol, filter), **{name: NAMED.get(v, v) for name, v in params.items()})


_FILE = golden_file("filters.json")
SIMPLE_DECISIONS = _FILE["simple"]["decisions, digested"]  # of 600
SIMPLE_MARGINS = {int(t): margin for t, margin in _FILE["simple"]["margins"].items()}
CASES = tuple(
    Golden(name, _made(case.pop("filter"), case.pop("params")), **tuples(case))
    for name, case in _FILE["on directions"].items()
)
RIDGE = tuple(case for case in CASES if case.name in ("ridge", "ridge-0.05", "ridge-full"))
