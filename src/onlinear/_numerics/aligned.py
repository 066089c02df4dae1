"""Memory that begins at a cache line: rounds with other memory are up to a fifth slower."""

import numpy as np

__all__ = ["LINE", "zeros"]

LINE = 64  # bytes of a cache line


def zeros(count: int, before: int = 0) -> np.ndarray:
    """Return ``count`` zeros; element ``before``, counted from 0, begins a cache line."""
    memory = np.zeros(count + LINE // 8)
    first = -(memory.ctypes.data + 8 * before) % LINE // 8
    return memory[first : first + count]
