"""Base class of filters that forward a random sample of the rows that seem irrelevant.

The random number of round t depends only on the seed and t, so decisions do not depend on how
earlier rounds were run (row by row or by a replay).
"""

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from onlinear._validation.checks import LARGEST, asked, number, whole
from onlinear.filtering._filter import Filter, Look
from onlinear.filtering._items import Row

__all__ = ["Exploring", "Seed", "toss"]

Seed = int | Callable[[int], float]


def checked(owner: str, seed: Any) -> Seed:
    """Return the seed if it is valid; raise an error otherwise."""
    whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
    if (whole and 0 <= seed <= LARGEST) or (callable(seed) and not isinstance(seed, type)):
        return seed  # type: ignore[no-any-return]
    raise ValueError(
        f"{owner} needs a seed that is a whole number ≥ 0, or a function of the round t = 1, 2, … "
        f"that returns a number in [0, 1), got seed={seed!r}"
    )


def toss(seed: Seed, t: int) -> float:
    """Return the random number of round t, in [0, 1); it depends only on the seed and t."""
    if callable(seed):
        return float(seed(t))
    digest = hashlib.blake2b(t.to_bytes(8), key=int(seed).to_bytes(8), digest_size=8).digest()
    return (int.from_bytes(digest) >> 11) / 2**53


def plain(seed: Seed) -> int:
    """Return the seed for a state file; refuse a seed that is a function."""
    if callable(seed):
        raise ValueError(f"a filter needs a seed that is a number to be saved, got seed={seed!r}")
    return int(seed)


class Exploring(Filter, base=True):
    """A filter that forwards rows that seem relevant, and a random sample of the rest."""

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        name = type(self).__name__
        given = asked(name, **params)
        self._p = None if given.p is None else number(given, "p", least=0, most=1)
        self._horizon = None if given.horizon is None else whole(given, "horizon", least=1)
        self._seed = checked(name, params["seed"])

    @property
    def _rounds(self) -> int:
        """The number of rounds T: the horizon if it is given, or else the rounds so far."""
        return self._horizon or max(self.seen_, 1)

    def probability(self) -> float:
        """Return the probability of forwarding the current row if it seems irrelevant."""
        raise NotImplementedError

    def _look(self, x: Row) -> Look:
        if self._relevant(x):
            return Look(True)
        trial = toss(self._seed, self.seen_) < self.probability()
        return Look(trial, trial)

    def _plain_params(self) -> dict[str, Any]:
        return {**super()._plain_params(), "seed": plain(self._seed)}
