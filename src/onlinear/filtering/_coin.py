"""The coins of filters that forward at random: the t-th depends on the seed and t alone."""

from collections.abc import Callable
from typing import Any

import numpy as np

from onlinear._checks import LARGEST

__all__ = ["Seed", "checked", "toss"]

Seed = int | Callable[[int], float]


def checked(owner: str, seed: Any) -> Seed:
    """Return a seed, or say what it has to be."""
    whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
    if (whole and 0 <= seed <= LARGEST) or (callable(seed) and not isinstance(seed, type)):
        return seed  # type: ignore[no-any-return]
    raise ValueError(
        f"{owner} needs a seed that is a whole number ≥ 0, or a function of the round t = 1, 2, … "
        f"that returns a number in [0, 1), got seed={seed!r}"
    )


def toss(seed: Seed, t: int) -> float:
    """Return the coin of round t, in [0, 1): the same however the rounds before it were run."""
    if callable(seed):
        return float(seed(t))
    return float(np.random.Generator(np.random.Philox(key=int(seed), counter=t)).random())


def plain(seed: Seed) -> int:
    """Return a seed as a state file can hold it; refuse a function."""
    if callable(seed):
        raise ValueError(f"a filter needs a number for its seed to be saved, got seed={seed!r}")
    return int(seed)
