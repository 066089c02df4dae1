"""A learner's state as one flat array, and views of its parts."""

from collections.abc import Sequence

import numpy as np

__all__ = ["LINE", "before_matrix", "joined", "views"]

LINE = 64  # bytes of a cache line: unaligned matrices are a fifth slower


def before_matrix(arrays: Sequence[np.ndarray]) -> int:
    """Return how many numbers are before the first matrix in the concatenated arrays."""
    before = 0
    for array in arrays:
        if array.ndim == 2:
            return before
        before += array.size
    return 0


def joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Return the concatenated arrays, with the first matrix aligned to a cache line."""
    size = sum(array.size for array in arrays)
    flat = np.empty(size + LINE // 8)
    first = -(flat.ctypes.data + 8 * before_matrix(arrays)) % LINE // 8
    record = flat[first : first + size]
    for view, array in zip(views(record, arrays), arrays, strict=True):
        view[...] = array
    return record


def views(record: np.ndarray, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return views of the parts of a record, with the shapes of the given arrays."""
    parts, first = [], 0
    for array in arrays:
        parts.append(record[first : first + array.size].reshape(array.shape))
        first += array.size
    return parts
