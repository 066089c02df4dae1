"""Ridge regression on sparse rows in dual form, for text with a large vocabulary.

With the labelled rows S, their labels y and the prior's precision a, the matrix C = I + SSᵀ/a = LLᵀ
grows by one row per label, as in :mod:`onlinear._updates.dual`. For a row x,

    k = Sx,   q = L⁻¹k/a,   χ = ‖x‖²/a − qᵀq,   z = L⁻¹y,   w = SᵀL⁻ᵀz/a
    margin = wᵀx/(1 + χ)

w is stored, so comparing a margin with a threshold usually costs O(number of non-zeros of x) and
needs no triangular solve: since 0 ≤ χ ≤ ‖x‖²/a, wᵀx often decides the comparison without χ. The
entries of S are stored row after row, and k is computed in one pass over them with x as a dense
vector. Visiting only the columns of x would take as long, since most entries belong to common
words.
"""

import math
from typing import Any, Self

import numpy as np

from onlinear._numerics.linalg import dot, kernel
from onlinear._state_files.model_codec import count
from onlinear._updates.dual import MOST, check_factor, solve_columns, solve_rows
from onlinear._validation.checks import holds
from onlinear._validation.states import check_counts, check_finite, check_range
from onlinear.filtering._items import Row, entries

__all__ = ["SparseRidge"]

FIRST_ROOM = 64  # rows for which memory is allocated at first
NOISE = 0.5  # smallest valid entry on the diagonal of L; without rounding it is at least 1
NEAR = 1e-6  # tolerance for a state that is read from a file
LESS = "forward fewer rows (a smaller c), or hash to fewer columns and use form='primal'"
LANES = 4  # rows made dense at once
TILE = 16  # rows of Q transposed at a time, so that they stay in cache
PANEL = 256  # rows of L per matrix product


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
def weigh(alpha, rho, starts, columns, kept, n, w):
    """Compute the weights w = ρSᵀα from the first n rows of S, where ρ = 1/a."""
    for j in range(w.size):
        w[j] = 0.0
    for i in range(n):
        share = rho * alpha[i]
        for place in range(starts[i], starts[i + 1]):
            w[columns[place]] += share * kept[place]


@kernel
def store(Q, corner, n, L):
    """Store rows n, n + 1, … of L; each is a column of Q followed by a row of ``corner``."""
    for i in range(corner.shape[0]):
        start = (n + i) * (n + i + 1) // 2 + n
        for j in range(i + 1):
            L[start + j] = corner[i, j]
    for first in range(0, n, TILE):
        for i in range(corner.shape[0]):
            start = (n + i) * (n + i + 1) // 2
            for j in range(first, min(first + TILE, n)):
                L[start + j] = Q[j, i]


@kernel
def unpack(L, first, last, out):
    """Copy rows first, …, last − 1 of L, which is stored row after row, into a matrix."""
    for i in range(first, last):
        start = i * (i + 1) // 2
        for j in range(i + 1):
            out[i - first, j] = L[start + j]
        for j in range(i + 1, last):
            out[i - first, j] = 0.0


class SparseRidge:
    """Ridge regression on sparse rows, and the margin of RIDGE-FIL (:mod:`.ridge`, eq. (3))."""

    def __init__(self, d: int, a: float, topics: tuple[int, ...] = ()) -> None:
        self.rho = 1.0 / a
        self._learnt = 0, np.zeros(d)  # n and w, in one tuple so that they change together
        self._spread = np.zeros((d, LANES))
        self._spreading = False  # whether _spread is in use; if not, it is all zeros
        self.z = np.zeros((FIRST_ROOM, *topics))  # one column per topic, if there are several
        self.L = np.zeros(FIRST_ROOM * (FIRST_ROOM + 1) // 2)
        self.values = np.zeros(FIRST_ROOM)
        self.columns = np.zeros(FIRST_ROOM, dtype=int)
        self.starts = np.zeros(FIRST_ROOM + 1, dtype=int)
        self._seen: tuple[Any, ...] = ()
        self._inverses: dict[tuple[int, int], np.ndarray] = {}  # of diagonal blocks of L

    @property
    def n(self) -> int:
        """How many labels were learnt."""
        return self._learnt[0]

    known = n

    @property
    def w(self) -> np.ndarray:
        """The weights w of the ridge regression."""
        return self._learnt[1]

    # --- the round ----------------------------------------------------------------------------

    def margin(self, row: Row) -> float:
        """Return the margin wᵀx/(1 + χ) of a row."""
        x = entries(row)
        chi = self._solved(x)[1]
        return inner(self.w, *x) / (1.0 + chi)  # type: ignore[no-any-return]

    def reaches(self, row: Row, threshold: float) -> bool:
        """Return whether a row's margin is at least a threshold ≤ 0; compute χ only if needed."""
        x = entries(row)
        variance, m = self._variance(x), inner(self.w, *x)
        if m >= threshold:
            return True
        if m < threshold * (1.0 + variance):
            return False
        return m / (1.0 + self._solved(x)[1]) >= threshold  # type: ignore[no-any-return]

    def _variance(self, x: tuple[np.ndarray, np.ndarray]) -> float:
        """Return ‖x‖²/a, the largest possible χ; refuse a row too large for double precision."""
        variance = self.rho * dot(x[1], x[1])
        if not variance <= MOST:
            raise ValueError(
                f"RidgeFilter needs ‖x‖²/a ≤ {MOST:g}, or rounding errors are too large (rescale "
                f"the rows, or use a larger a), got {variance:g}"
            )
        return variance  # type: ignore[no-any-return]

    def _solved(self, x: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, float]:
        """Return q and χ of a row; the result for the last row is cached."""
        if self._seen and self._seen[0] == self.n:
            _, seen, q, chi = self._seen
            if np.array_equal(seen[0], x[0]) and np.array_equal(seen[1], x[1]):
                return q, chi
        q = self.rho * self._products([x], self.n, np.empty((self.n, LANES)))[:, 0]
        solve_rows(self.L, self.n, q)
        chi = max(self._variance(x) - dot(q, q), 0.0)
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
        self._keep(x, self.n)
        self._learnt = self.n + 1, self._weights(self.n + 1)

    def learn_all(self, rows: list[Row], y: np.ndarray) -> np.ndarray:
        """Learn a block of rows, with labels of one topic or several; return the rows' margins.

        Each margin is the one before the row is learnt. The factor L is extended by matrix
        products. Each new row of L begins with q = L⁻¹k/a, computed for the whole block at once;
        its other entries are a row of the Cholesky factor of the Schur complement of the block.
        """
        n, m = self.n, len(rows)
        block = [entries(row) for row in rows]
        for x in block:
            self._variance(x)
        self.reserve(m, sum(x[0].size for x in block))
        for i, x in enumerate(block):
            self._keep(x, n + i)
        K = np.empty((n + m, -(-m // LANES) * LANES))
        for first in range(0, m, LANES):
            self._products(block[first : first + LANES], n + m, K[:, first : first + LANES])
        K = K[:, :m]
        K *= self.rho
        Q = self._solved_all(K[:n], n)
        corner = np.linalg.cholesky(K[n:] + np.eye(m) - Q.T @ Q)
        store(Q, corner, n, self.L)
        margins = Q.T @ self.z[:n]
        for i in range(m):
            margins[i] += corner[i, :i] @ self.z[n : n + i]
            self.z[n + i] = (y[i] - margins[i]) / corner[i, i]
        self._learnt = n + m, self.w
        return np.asarray((margins.T / np.diag(corner) ** 2).T)  # the pivot squared is 1 + χ

    def _solved_all(self, Q: np.ndarray, n: int) -> np.ndarray:
        """Replace Q by L⁻¹Q, using the first n rows of L, and return it.

        The rows of L are used in panels (blocks of rows), with one matrix product for each panel.
        """
        panel = np.empty((PANEL, n))
        for first in range(0, n, PANEL):
            last = min(first + PANEL, n)
            unpack(self.L, first, last, panel)
            part = panel[: last - first]
            inverse = self._inverses.get((first, last))
            if inverse is None:
                inverse = np.linalg.inv(part[:, first:last])
                if last - first == PANEL:  # a full panel: cache its inverse
                    self._inverses[first, last] = inverse
            Q[first:last] = inverse @ (Q[first:last] - part[:, :first] @ Q[:first])
        return Q

    def reweigh(self) -> None:
        """Update w with the labels learnt by :meth:`learn_all`."""
        self._learnt = self.n, self._weights(self.n)

    def _weights(self, n: int) -> np.ndarray:
        """Return the weights w of a ridge regression on the first n labels."""
        alpha, w = self.z[:n].copy(), np.zeros_like(self.w)
        solve_columns(self.L, n, alpha)
        weigh(alpha, self.rho, self.starts, self.columns, self.values, n, w)
        return w

    def _products(
        self, rows: list[tuple[np.ndarray, np.ndarray]], n: int, out: np.ndarray
    ) -> np.ndarray:
        """Fill ``out`` with Sx for the first n rows of S, a column for each of up to four x."""
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

    def reserve(self, rows: int, entries: int) -> None:
        """Allocate memory for more rows and more nonzero entries; arrays grow by a quarter or more.

        The array whose size is checked grows last, so that Ctrl-C in between does no harm.
        """
        n = self.n + rows
        if n > len(self.z):
            room = max(n, len(self.z) * 5 // 4)
            holds("RidgeFilter", room, room * room / 2, LESS)
            self.L = _grown(self.L, room * (room + 1) // 2)
            self.starts = _grown(self.starts, room + 1)
            self.z = _grown(self.z, room)
        filled = self.starts[self.n] + entries
        if filled > self.values.size:
            room = max(filled, self.values.size * 5 // 4)
            self.columns = _grown(self.columns, room)
            self.values = _grown(self.values, room)

    def _keep(self, x: tuple[np.ndarray, np.ndarray], n: int) -> None:
        """Store x as row n of S."""
        start = self.starts[n]
        stop = start + x[0].size
        self.columns[start:stop], self.values[start:stop] = x
        self.starts[n + 1] = stop

    # --- state files ----------------------------------------------------------------------------

    def described(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the header and arrays that describe the regression."""
        filled = self.starts[self.n]
        self._check()
        return {"form": "sparse", "n": self.n}, {
            "L": self.L[: self.n * (self.n + 1) // 2].copy(),
            "z": self.z[: self.n].copy(),
            "starts": self.starts[: self.n + 1].astype(float),
            "columns": self.columns[:filled].astype(float),
            "values": self.values[:filled].copy(),
        }

    @classmethod
    def restored(cls, header: Any, arrays: dict[str, np.ndarray], d: int, a: float) -> Self:
        """Return the regression that a header and arrays describe; refuse them if invalid."""
        made, n = cls(d, a), count(header["n"])
        L, z, starts, columns, values = (
            arrays[name] for name in ("L", "z", "starts", "columns", "values")
        )
        check_finite(arrays.values())
        sizes = (n * (n + 1) // 2, n, n + 1, values.size)
        if (L.size, z.size, starts.size, columns.size) != sizes:
            raise ValueError(f"its header says {n} rows, but its arrays have other sizes")
        check_counts("is the start of a row", starts)
        check_counts("is a column", columns, 0, d - 1)
        starts, columns = starts.astype(int), columns.astype(int)
        if starts[0] != 0 or np.any(np.diff(starts) < 0) or starts[-1] != values.size:
            raise ValueError("the lengths of its rows do not match their entries")
        made.reserve(n, values.size)
        made.L[: L.size], made.z[:n], made.starts[: n + 1] = L, z, starts
        made.columns[: values.size], made.values[: values.size] = columns, values
        made._learnt = n, made._weights(n)
        made._check()
        return made

    def _check(self) -> None:
        """Refuse a factor L that does not belong to the rows, or labels other than −1 and +1.

        The factor L is tested by the equation LLᵀv = v + SSᵀv/a for one random v, up to rounding. A
        wrong L passes this test with probability 0.
        """
        n, L, starts = self.n, self.L, self.starts
        check_factor(L, n, NOISE)
        v = np.random.default_rng(0).standard_normal(n)
        across, along, labels = np.zeros(n), np.zeros(n), np.zeros(n)
        w = np.zeros_like(self.w)
        weigh(v, self.rho, starts, self.columns, self.values, n, w)
        with np.errstate(over="ignore", invalid="ignore"):
            for i in range(n):
                row = L[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2]
                across[: i + 1] += v[i] * row
                labels[i] = row @ self.z[: i + 1]
            for i in range(n):
                part = slice(starts[i], starts[i + 1])
                along[i] = v[i] + self.values[part] @ w[self.columns[part]]
                along[i] -= L[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2] @ across[: i + 1]
            size = 1.0 + self.rho * np.sum(self.values[: starts[n]] ** 2)
        check_finite((self.w, self.z[:n]))
        check_range("a row of LLᵀ − I − SSᵀ/a", along, -NEAR * size, NEAR * size)
        check_range("a label", np.abs(labels), 1 - NEAR, 1 + NEAR)


def _grown(array: np.ndarray, room: int) -> np.ndarray:
    grown = np.zeros((room, *array.shape[1:]), dtype=array.dtype)
    grown[: len(array)] = array
    return grown
