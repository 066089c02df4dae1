"""Tables as compiled code reads them: dense rows, and sparse rows (CSR)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from onlinear._numerics.jit import intrinsic

__all__ = ["Rows", "row_to_read", "to_read"]


def to_read(array: np.ndarray) -> np.ndarray:
    """Return a read-only view of an array.

    Compiled code gets all tables as read-only arrays; otherwise the code would be compiled twice,
    once for writable arrays of users and once for read-only ones.
    """
    array = array.view()
    array.flags.writeable = False
    return array


def _as_it_is(x):
    return x


@intrinsic(without_jit=_as_it_is)
def row_to_read(typing_context, x):
    """Return a row as a read-only array: the type that rows of a table have.

    With one type for all rows, the functions that a step calls are compiled once, for single rows
    and tables alike.
    """

    def generate(context, builder, signature, values):
        return values[0]

    return x.copy(readonly=True)(x), generate


@dataclass(frozen=True, eq=False)
class Rows:
    """A sparse table (CSR): the entries of row i are at ``indptr[i]:indptr[i+1]``.

    In each row the columns increase, without duplicates, and there is at least one entry (a stored
    zero changes nothing). Compiled code does not check the order of columns, so create tables with
    :meth:`checked`.
    """

    data: np.ndarray  # float64
    indices: np.ndarray  # int64
    indptr: np.ndarray  # int64
    shape: tuple[int, int]

    @classmethod
    def checked(
        cls, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]
    ) -> Self:
        """Check CSR arrays and return a table of them; copy and sort entries out of order."""
        rows, d = shape
        sizes = indptr[1:] - indptr[:-1]
        if sizes.size != rows or indptr[0] != 0 or sizes.min() < 0:
            need = f"an indptr of {rows + 1} numbers that start at 0 and never decrease"
            raise ValueError(f"X needs {need}, got {indptr}")
        stop = indptr[-1]
        if stop > min(data.size, indices.size):
            got = f"{data.size} values and {indices.size} column indices"
            raise ValueError(f"X needs {stop} entries, as its indptr says, got {got}")
        data, indices = data[:stop], indices[:stop]
        if stop and not 0 <= indices.min() <= indices.max() < d:
            raise ValueError(f"X needs columns 0 ≤ j < {d}, got {indices.min()} … {indices.max()}")
        if not _rises(indices, indptr):
            data, indices, indptr = _ordered(data, indices, sizes)
        empty = indptr[1:] == indptr[:-1]
        if empty.any():
            at = indptr[1:][empty]
            data, indices = np.insert(data, at, 0.0), np.insert(indices, at, 0)
            indptr = indptr + _sums(empty)
        return cls(data, indices, indptr, shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, row: int) -> np.ndarray:
        """Return a row as a vector."""
        x = np.zeros(self.shape[1])
        part = slice(self.indptr[row], self.indptr[row + 1])
        x[self.indices[part]] += self.data[part]
        return x

    def write(self, start: int, end: int, room: np.ndarray) -> None:
        """Write rows start, …, end − 1 to the first rows of the dense table ``room``."""
        room[: end - start] = 0.0
        entries = slice(self.indptr[start], self.indptr[end])
        row = np.repeat(np.arange(end - start), np.diff(self.indptr[start : end + 1]))
        room[row, self.indices[entries]] += self.data[entries]  # 0.0 + −0.0 is 0.0

    @cached_property
    def longest(self) -> int:
        """The largest number of entries in a row."""
        return int((self.indptr[1:] - self.indptr[:-1]).max())


def _rises(indices: np.ndarray, indptr: np.ndarray) -> bool:
    """Whether the columns increase in every row."""
    rises = indices[1:] > indices[:-1]
    firsts = indptr[1:-1]
    rises[firsts[(firsts > 0) & (firsts < indices.size)] - 1] = True
    return bool(rises.all())


def _ordered(
    data: np.ndarray, indices: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return data, indices and indptr, sorted by row and column; add up duplicates in order."""
    row = np.repeat(np.arange(sizes.size), sizes)
    order = np.lexsort((indices, row))  # stable: duplicates stay in order
    row, indices = row[order], indices[order]
    new = (np.diff(row, prepend=-1) > 0) | (np.diff(indices, prepend=-1) != 0)
    sums = np.bincount(np.cumsum(new) - 1, weights=data[order])
    return sums, indices[new], _sums(np.bincount(row[new], minlength=sizes.size))


def _sums(sizes: np.ndarray) -> np.ndarray:
    """Return where consecutive parts of the given sizes begin, and where the last part ends."""
    return np.concatenate([[0], np.cumsum(sizes)])
