"""Ridge regression on sparse rows, in dual form: for text, whose dimension is that of a vocabulary.

With the labelled rows S kept, C = I + SSᵀ/a = LLᵀ grows by a row a label, as in
:mod:`onlinear._dual`, and

    k = Sx,   q = L⁻¹k/a,   χ = ‖x‖²/a − qᵀq,   z = L⁻¹y,   w = SᵀL⁻ᵀz/a
    margin = wᵀx/(1 + χ)

w is kept, so that a margin known to lie above or below a threshold costs O(nnz) and no solution:
0 ≤ χ ≤ ‖x‖²/a. The entries of S stand one after the other, each with the place of the last entry of
the same column before it, so that k costs as many steps as S and x have words in common.
"""

import itertools
import math
from typing import Any, Self

import numpy as np

from onlinear._dual import solve_columns, solve_rows
from onlinear._kernels import dot, kernel
from onlinear._saving import count
from onlinear.filtering._filter import Row, entries

__all__ = ["SparseRidge"]

FIRST_ROOM = 64
STORED = ("values", "columns", "rows")  # of each entry of S
PANEL = 256  # rows of L a matrix product takes at once


@kernel
def common(indices, values, last, before, rows, kept, out, n):
    """out ← k = Sx: for each column of x its entries in S, from the last to the first."""
    for i in range(n):
        out[i] = 0.0
    for j in range(indices.size):
        place = last[indices[j]]
        while place >= 0:
            out[rows[place]] += values[j] * kept[place]
            place = before[place]


@kernel
def inner(w, indices, values):
    """Return wᵀx."""
    total = 0.0
    for j in range(indices.size):
        total += w[indices[j]] * values[j]
    return total


@kernel
def weigh(alpha, rho, columns, rows, kept, filled, w):
    """w ← ρSᵀα."""
    for j in range(w.size):
        w[j] = 0.0
    for place in range(filled):
        w[columns[place]] += rho * alpha[rows[place]] * kept[place]


@kernel
def unpack(L, first, last, out):
    """Rows first..last of L into a square array."""
    for i in range(first, last):
        start = i * (i + 1) // 2
        for j in range(i + 1):
            out[i - first, j] = L[start + j]
        for j in range(i + 1, last):
            out[i - first, j] = 0.0


class SparseRidge:
    """The margin of eq. (3) and the ridge regression behind it, on sparse rows."""

    def __init__(self, d: int, a: float, topics: tuple[int, ...] = ()) -> None:
        self.rho = 1.0 / a
        self.n = 0
        self.filled = 0
        self.w = np.zeros(d)
        self.last = np.full(d, -1)
        self.z = np.zeros((FIRST_ROOM, *topics))  # of every topic, if there are several
        self.L = np.zeros(FIRST_ROOM * (FIRST_ROOM + 1) // 2)
        self.values = np.zeros(FIRST_ROOM)
        self.columns, self.rows, self.before = (np.zeros(FIRST_ROOM, dtype=int) for _ in range(3))
        self._seen: tuple[Any, ...] = ()

    # --- the round ----------------------------------------------------------------------------

    def margin(self, row: Row) -> float:
        """Return wᵀx/(1 + χ)."""
        x = entries(row)
        return inner(self.w, *x) / (1.0 + self._solved(x)[1])  # type: ignore[no-any-return]

    def reaches(self, row: Row, threshold: float) -> bool:
        """Whether the margin is at least a threshold ≤ 0, with no more work than it takes."""
        x = entries(row)
        m = inner(self.w, *x)
        if m >= threshold:
            return True
        if m < threshold * (1.0 + self.rho * dot(x[1], x[1])):
            return False
        return m / (1.0 + self._solved(x)[1]) >= threshold  # type: ignore[no-any-return]

    def _solved(self, x: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, float]:
        """Return q and χ; those of the last row asked for are kept."""
        if self._seen and self._seen[0] == self.n:
            _, seen, q, chi = self._seen
            if np.array_equal(seen[0], x[0]) and np.array_equal(seen[1], x[1]):
                return q, chi
        q = np.empty(self.n)
        common(*x, self.last, self.before, self.rows, self.values, q, self.n)
        q *= self.rho
        solve_rows(self.L, self.n, q)
        chi = max(self.rho * dot(x[1], x[1]) - dot(q, q), 0.0)
        self._seen = (self.n, (x[0].copy(), x[1].copy()), q, chi)
        return q, chi

    def learn(self, row: Row, y: float) -> None:
        """Learn the label of a row."""
        x = entries(row)
        q, chi = self._solved(x)
        m, root = inner(self.w, *x), math.sqrt(1.0 + chi)
        self.reserve(1, x[0].size)
        start = self.n * (self.n + 1) // 2
        self.L[start : start + self.n] = q
        self.L[start + self.n] = root
        self.z[self.n] = (y - m) / root
        self.keep(x)
        self.reweigh()

    def learn_all(self, rows: list[Row], y: np.ndarray) -> np.ndarray:
        """Learn rows whose labels are all seen, of one topic or of several; return their margins.

        The same factor, by products of matrices: the rows of L of a whole block are Q = L⁻¹k/a for
        all of them at once, then the factor of what is left between themselves.
        """
        n, m = self.n, len(rows)
        block = [entries(row) for row in rows]
        self.reserve(m, sum(x[0].size for x in block))
        K = np.zeros((m, n + m))
        for i, x in enumerate(block):
            common(*x, self.last, self.before, self.rows, self.values, K[i], self.n)
            K[i, n + i] = dot(x[1], x[1])
            self.keep(x)
        K *= self.rho
        Q = self._solved_all(np.ascontiguousarray(K[:, :n].T), n)
        within = K[:, n:] + np.tril(K[:, n:], -1).T
        corner = np.linalg.cholesky(within + np.eye(m) - Q.T @ Q)
        margins = Q.T @ self.z[:n]
        for i in range(m):
            start = (n + i) * (n + i + 1) // 2
            self.L[start : start + n] = Q[:, i]
            self.L[start + n : start + n + i + 1] = corner[i, : i + 1]
            margins[i] += corner[i, :i] @ self.z[n : n + i]
            self.z[n + i] = (y[i] - margins[i]) / corner[i, i]
        return np.asarray((margins.T / np.diag(corner) ** 2).T)  # the pivot squared is 1 + χ

    def _solved_all(self, Q: np.ndarray, n: int) -> np.ndarray:
        """Q ← L⁻¹Q, for the first n rows of L, a panel of them at a time."""
        panel = np.empty((PANEL, n))
        for first in range(0, n, PANEL):
            last = min(first + PANEL, n)
            unpack(self.L, first, last, panel)
            part = panel[: last - first]
            Q[first:last] -= part[:, :first] @ Q[:first]
            Q[first:last] = np.linalg.solve(part[:, first:last], Q[first:last])
        return Q

    def reweigh(self) -> None:
        """Keep w up with the labels learnt."""
        alpha = self.z[: self.n].copy()
        solve_columns(self.L, self.n, alpha)
        weigh(alpha, self.rho, self.columns, self.rows, self.values, self.filled, self.w)

    def reserve(self, rows: int, entries: int) -> None:
        """Have room for more rows and entries; it grows by a quarter."""
        n = self.n + rows
        if n > len(self.z):
            room = max(n, len(self.z) * 5 // 4)
            self.z = _grown(self.z, room)
            self.L = _grown(self.L, room * (room + 1) // 2)
        filled = self.filled + entries
        if filled > self.values.size:
            room = max(filled, self.values.size * 5 // 4)
            for name in (*STORED, "before"):
                setattr(self, name, _grown(getattr(self, name), room))

    def keep(self, x: tuple[np.ndarray, np.ndarray]) -> None:
        """Store the row as the last of S."""
        indices, values = x
        places = np.arange(self.filled, self.filled + indices.size)
        self.values[places], self.columns[places], self.rows[places] = values, indices, self.n
        self.before[places] = self.last[indices]
        self.last[indices] = places
        self.filled += indices.size
        self.n += 1

    # --- state files ----------------------------------------------------------------------------

    def described(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the header and arrays that describe the regression."""
        sizes = {"form": "sparse", "n": self.n, "filled": self.filled}
        return sizes, {
            "L": self.L[: self.n * (self.n + 1) // 2],
            "z": self.z[: self.n],
            **{name: getattr(self, name)[: self.filled].astype(float) for name in STORED},
        }

    @classmethod
    def restored(cls, header: Any, arrays: dict[str, np.ndarray], d: int, a: float) -> Self:
        """Return what a header and arrays describe, or refuse it."""
        made = cls(d, a)
        n, filled = count(header["n"]), count(header["filled"])
        sizes = {"L": n * (n + 1) // 2, "z": n, **dict.fromkeys(STORED, filled)}
        if {name: array.size for name, array in arrays.items()} != sizes:
            raise ValueError(f"it says {n} rows of {filled} entries and holds others")
        if not np.isfinite(np.concatenate(list(arrays.values()))).all():
            raise ValueError("its state has numbers that are not finite")
        columns, rows = arrays["columns"].astype(int), arrays["rows"].astype(int)
        in_place = filled == 0 or (
            columns.min() >= 0 and columns.max() < d and rows.min() >= 0 and rows.max() < n
        )
        if not in_place or np.any(np.diff(rows) < 0):
            raise ValueError("its entries lie outside of its rows")
        if not np.all(arrays["L"][np.cumsum(np.arange(1, n + 1)) - 1] > 0):
            raise ValueError("its factor L has a diagonal that is not positive")
        starts = np.searchsorted(rows, np.arange(n + 1))
        made.reserve(n, filled)
        for first, last in itertools.pairwise(starts):
            made.keep((columns[first:last], arrays["values"][first:last]))
        made.L[: arrays["L"].size], made.z[:n] = arrays["L"], arrays["z"]
        made.reweigh()
        return made


def _grown(array: np.ndarray, room: int) -> np.ndarray:
    grown = np.zeros((room, *array.shape[1:]), dtype=array.dtype)
    grown[: len(array)] = array
    return grown
