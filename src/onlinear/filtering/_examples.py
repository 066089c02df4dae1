"""The rows whose labels a filter has learnt: sparse rows, or rows that are compared by a kernel.

Sparse rows are stored row after row. All zᵀx, for the stored rows z, are computed in one pass over
the stored entries, with x as a dense vector. Visiting only the columns of x would take as long,
since most entries belong to common words.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from onlinear import kernels
from onlinear._numerics.linalg import dot, kernel
from onlinear._validation.states import check_counts
from onlinear.filtering._items import Row, dense, entries
from onlinear.kernels import Kernel, RowKernel, similarities

__all__ = ["FIRST_ROOM", "KernelRows", "SparseRows", "grown"]

FIRST_ROOM = 64  # rows, and entries, for which memory is allocated at first
LANES = 4  # rows made dense at once

Entries = tuple[np.ndarray, np.ndarray]  # the columns of a sparse row, and their values


@kernel
def products(spread, starts, columns, kept, n, out):
    """Fill ``out`` with SX for the first n rows of S; X is ``spread``, whose columns are rows x."""
    for i in range(n):
        a = b = c = d = 0.0
        for place in range(starts[i], starts[i + 1]):
            value, x = kept[place], spread[columns[place]]
            a += value * x[0]
            b += value * x[1]
            c += value * x[2]
            d += value * x[3]
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = a, b, c, d


@kernel
def inner(w, indices, values):
    """Return wᵀx for a sparse x, given by its indices and values."""
    total = 0.0
    for j in range(indices.size):
        total += w[indices[j]] * values[j]
    return total


@kernel
def weigh(alpha, starts, columns, kept, n, w):
    """Compute w = Sᵀα from the first n rows of S."""
    for j in range(w.size):
        w[j] = 0.0
    for i in range(n):
        for place in range(starts[i], starts[i + 1]):
            w[columns[place]] += alpha[i] * kept[place]


class SparseRows:
    """Sparse rows S; a sum Σ α_i z_i of them is stored as a vector w = Sᵀα."""

    def __init__(self, d: int) -> None:
        self.d = d
        self._spread = np.zeros((d, LANES))
        self._spreading = False  # whether _spread is in use; if not, it is all zeros
        self.values = np.zeros(FIRST_ROOM)
        self.columns = np.zeros(FIRST_ROOM, dtype=int)
        self.starts = np.zeros(FIRST_ROOM + 1, dtype=int)

    def taken(self, row: Row) -> Entries:
        """Return a row as its columns and values."""
        return entries(row)

    def size(self, x: Entries) -> float:
        """Return ‖x‖²."""
        return dot(x[1], x[1])  # type: ignore[no-any-return]

    def sum(self, alpha: np.ndarray) -> np.ndarray:
        """Return w = Σ α_i z_i over the first rows z_i."""
        w = np.empty(self.d)
        weigh(alpha, self.starts, self.columns, self.values, alpha.size, w)
        return w

    def at(self, w: np.ndarray, x: Entries) -> float:
        """Return wᵀx, for the w that :meth:`sum` returned."""
        return inner(w, *x)  # type: ignore[no-any-return]

    def times(self, x: Entries, n: int) -> np.ndarray:
        """Return all z_iᵀx of the first n rows z_i."""
        return self.times_each([x], n, np.empty((n, LANES)))[:, 0]

    def times_each(self, rows: Sequence[Entries], n: int, out: np.ndarray) -> np.ndarray:
        """Fill ``out`` with z_iᵀx of the first n rows z_i, a column for each of up to four x."""
        if self._spreading:  # an interrupted call has left values in the array
            self._spread[:] = 0.0
        self._spreading = True
        for lane, (indices, values) in enumerate(rows):
            self._spread[indices, lane] = values
        products(self._spread, self.starts, self.columns, self.values, n, out)
        for lane, (indices, _) in enumerate(rows):
            self._spread[indices, lane] = 0.0
        self._spreading = False
        return out

    def reserve(self, n: int, rows: Sequence[Entries]) -> None:
        """Allocate memory for more rows after the first n; arrays grow by a quarter or more."""
        if n + len(rows) >= self.starts.size:
            self.starts = grown(self.starts, max(n + len(rows) + 1, self.starts.size * 5 // 4))
        filled = self.starts[n] + sum(x[0].size for x in rows)
        if filled > self.values.size:
            room = max(filled, self.values.size * 5 // 4)
            self.columns = grown(self.columns, room)
            self.values = grown(self.values, room)

    def keep(self, x: Entries, n: int) -> None:
        """Store x as row n of S, for which there is memory."""
        start = self.starts[n]
        stop = start + x[0].size
        self.columns[start:stop], self.values[start:stop] = x
        self.starts[n + 1] = stop

    def row(self, i: int) -> Entries:
        """Return row i of S."""
        part = slice(self.starts[i], self.starts[i + 1])
        return self.columns[part], self.values[part]

    def arrays(self, n: int) -> dict[str, np.ndarray]:
        """Return the first n rows as arrays for a state file."""
        filled = self.starts[n]
        return {
            "starts": self.starts[: n + 1].astype(float),
            "columns": self.columns[:filled].astype(float),
            "values": self.values[:filled].copy(),
        }

    def restore(self, n: int, arrays: dict[str, np.ndarray]) -> None:
        """Take n rows from the arrays of a state file; refuse arrays that are not rows."""
        starts, columns, values = (arrays[name] for name in ("starts", "columns", "values"))
        if (starts.size, columns.size) != (n + 1, values.size):
            raise ValueError(f"its header says {n} rows, but its arrays have other sizes")
        check_counts("is the start of a row", starts)
        check_counts("is a column", columns, 0, self.d - 1)
        starts, columns = starts.astype(int), columns.astype(int)
        if starts[0] != 0 or np.any(np.diff(starts) < 0) or starts[-1] != values.size:
            raise ValueError("the lengths of its rows do not match their entries")
        self.reserve(0, [(columns[i:j], values[i:j]) for i, j in pairwise(starts)])
        self.starts[: n + 1] = starts
        self.columns[: values.size], self.values[: values.size] = columns, values


class KernelRows:
    """Dense rows z_i that a kernel K compares; Σ α_i K(z_i, ·) is stored as the coefficients α."""

    def __init__(self, d: int, given: Kernel | RowKernel) -> None:
        self.d = d
        self.kernel = given
        self.rows = np.zeros((FIRST_ROOM, d))

    def taken(self, row: Row) -> np.ndarray:
        """Return a row as a vector."""
        return dense(row, self.d)

    def _values(self, Z: np.ndarray, x: np.ndarray) -> np.ndarray:
        if not isinstance(self.kernel, Kernel):
            return kernels.evaluated(self.kernel, Z, x)
        out = np.empty(len(Z))
        similarities(np.array(self.kernel.numbers(self.d)), Z, len(Z), x, out)
        return out

    def size(self, x: np.ndarray) -> float:
        """Return K(x, x)."""
        return float(self._values(x[None], x)[0])

    def sum(self, alpha: np.ndarray) -> np.ndarray:
        """Return Σ α_i K(z_i, ·) over the first rows z_i: its coefficients α."""
        return alpha

    def at(self, alpha: np.ndarray, x: np.ndarray) -> float:
        """Return Σ α_i K(z_i, x), for the α that :meth:`sum` returned."""
        return dot(alpha, self.times(x, alpha.size))  # type: ignore[no-any-return]

    def times(self, x: np.ndarray, n: int) -> np.ndarray:
        """Return all K(z_i, x) of the first n rows z_i."""
        return self._values(self.rows[:n], x) if n else np.zeros(0)

    def reserve(self, n: int, rows: Sequence[np.ndarray]) -> None:
        """Allocate memory for more rows after the first n; the array grows by a quarter or more."""
        if n + len(rows) > len(self.rows):
            self.rows = grown(self.rows, max(n + len(rows), len(self.rows) * 5 // 4))

    def keep(self, x: np.ndarray, n: int) -> None:
        """Store x as row n, for which there is memory."""
        self.rows[n] = x

    def row(self, i: int) -> np.ndarray:
        """Return row i."""
        return self.rows[i]  # type: ignore[no-any-return]

    def arrays(self, n: int) -> dict[str, np.ndarray]:
        """Return the first n rows as an array for a state file."""
        return {"rows": self.rows[:n].copy()}

    def restore(self, n: int, arrays: dict[str, np.ndarray]) -> None:
        """Take n rows from the array of a state file."""
        rows = arrays["rows"]
        if rows.shape != (n, self.d):
            raise ValueError(f"its header says {n} rows of {self.d} columns, not {rows.shape}")
        self.reserve(0, list(rows))
        self.rows[:n] = rows


def grown(array: np.ndarray, room: int) -> np.ndarray:
    """Return a copy of an array with room for more rows, which are zero."""
    larger: Any = np.zeros((room, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return np.asarray(larger)
