"""A learner's state as one flat array (a *record*), and views of the arrays in it."""

from collections.abc import Sequence

import numpy as np

from onlinear._numerics.aligned import zeros

__all__ = ["before_aligned", "joined", "views"]


def before_aligned(arrays: Sequence[np.ndarray]) -> int:
    """Return how many numbers precede the array to align when the arrays are concatenated.

    The array to align is the first matrix or, if there is none, the first vector of several
    numbers.
    """
    places = range(len(arrays))
    aligned = max(places, key=lambda j: (arrays[j].ndim, arrays[j].size > 1), default=0)
    return sum(array.size for array in arrays[:aligned])


def joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Concatenate arrays into a record, with the first matrix aligned to a cache line."""
    record = zeros(sum(array.size for array in arrays), before_aligned(arrays))
    for view, array in zip(views(record, arrays), arrays, strict=True):
        view[...] = array
    return record


def views(record: np.ndarray, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Split a record into views of its arrays, which have the shapes of the given arrays."""
    parts, first = [], 0
    for array in arrays:
        parts.append(record[first : first + array.size].reshape(array.shape))
        first += array.size
    return parts
