"""A learner's state as one flat array, and views of its parts."""

from collections.abc import Sequence

import numpy as np

__all__ = ["LINE", "before_aligned", "joined", "views"]

LINE = 64  # bytes of a cache line: rounds with unaligned arrays are a fifth slower


def before_aligned(arrays: Sequence[np.ndarray]) -> int:
    """Return how many of the concatenated numbers are before the array that is to be aligned.

    The array to align is the first matrix or, if there is none, the first vector of several
    numbers.
    """
    places = range(len(arrays))
    aligned = max(places, key=lambda j: (arrays[j].ndim, arrays[j].size > 1), default=0)
    return sum(array.size for array in arrays[:aligned])


def joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Concatenate arrays to a record, with the first matrix aligned to a cache line."""
    size = sum(array.size for array in arrays)
    flat = np.empty(size + LINE // 8)
    first = -(flat.ctypes.data + 8 * before_aligned(arrays)) % LINE // 8
    record = flat[first : first + size]
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
