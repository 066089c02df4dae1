"""Ridge regression on sparse rows in dual form, for text with a large vocabulary.

With the labelled rows S, their labels y and the prior's precision a, the matrix C = I + SSᵀ/a = LLᵀ
grows by one row per label, as in :mod:`onlinear._updates.dual`. For a row x,

    k = Sx,   q = L⁻¹k/a,   χ = ‖x‖²/a − qᵀq,   z = L⁻¹y,   w = SᵀL⁻ᵀz/a
    margin = wᵀx/(1 + χ)

w is stored, so comparing a margin with a threshold usually costs O(number of non-zeros of x) and
needs no triangular solve: since 0 ≤ χ ≤ ‖x‖²/a, wᵀx often decides the comparison without χ.

If the target drifts, the prior variance of the weights is ρ_t = 1/a + (t − t_1)/c in round t, where
t_1 is the round of the first label, and ρ_i in the round of example i. Then
C_ij = ρ_min(i,j) x_iᵀx_j + [i = j], as for :class:`onlinear.KernelLASER`; q = L⁻¹(ρ_i k_i)_i,
χ = ρ_t‖x‖² − qᵀq, and w = Σ ρ_i (L⁻ᵀz)_i x_i.
"""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from onlinear._numerics.linalg import dot, kernel
from onlinear._state_files.model_codec import count
from onlinear._updates.dual import MOST, check_factor, solve_columns, solve_rows
from onlinear._validation.checks import holds
from onlinear._validation.states import check_finite, check_range
from onlinear.filtering._examples import FIRST_ROOM, LANES, Entries, SparseRows, grown
from onlinear.filtering._items import Row

__all__ = ["LESS", "NEAR", "NOISE", "SparseRidge", "times_factors"]

NOISE = 0.5  # smallest valid entry on the diagonal of L; without rounding it is at least 1
NEAR = 1e-6  # tolerance for a state that is read from a file
LESS = "forward fewer rows (explore less), or hash to fewer columns and use form='primal'"
TILE = 16  # rows of Q transposed at a time, so that they stay in cache
PANEL = 256  # rows of L per matrix product


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
    """Ridge regression on sparse rows, and the margin of RIDGE-FIL (:mod:`.ridge`, eq. (3)).

    ``elapsed`` is the number of rounds since the last label; it matters if the target drifts.
    """

    form = "sparse"  # in state files

    def __init__(
        self,
        d: int,
        a: float,
        topics: tuple[int, ...] = (),
        *,
        c: float = math.inf,
        owner: str = "RidgeFilter",
    ) -> None:
        self.a, self.c, self.owner = a, c, owner
        self.rows = SparseRows(d)
        self._learnt = 0, np.zeros(d)  # n and w, in one tuple so that they change together
        self.rho = np.zeros(FIRST_ROOM)
        self.z = np.zeros((FIRST_ROOM, *topics))  # one column per topic, if there are several
        self.L = np.zeros(FIRST_ROOM * (FIRST_ROOM + 1) // 2)
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

    def margin(self, row: Row, elapsed: int = 0) -> float:
        """Return the margin wᵀx/(1 + χ) of a row."""
        m, chi = self.look(row, elapsed)
        return m / (1.0 + chi)

    def look(self, row: Row, elapsed: int = 0) -> tuple[float, float]:
        """Return m = wᵀx and χ of a row."""
        x = self.rows.taken(row)
        chi = self._solved(x, elapsed)[1]
        return self.rows.at(self.w, x), chi

    def reaches(self, row: Row, threshold: float, elapsed: int = 0) -> bool:
        """Return whether a row's margin is at least a threshold ≤ 0; compute χ only if needed."""
        x = self.rows.taken(row)
        variance, m = self._variance(x, self._prior(elapsed)), self.rows.at(self.w, x)
        if m >= threshold:
            return True
        if m < threshold * (1.0 + variance):
            return False
        return m / (1.0 + self._solved(x, elapsed)[1]) >= threshold

    def near(self, row: Row, width: float, slack: float, elapsed: int = 0) -> bool:
        """Return whether wᵀx ≥ −width·√χ − slack; compute χ only if needed."""
        x = self.rows.taken(row)
        variance, m = self._variance(x, self._prior(elapsed)), self.rows.at(self.w, x) + slack
        if m >= 0.0:
            return True
        if m < -width * math.sqrt(variance):
            return False
        return m >= -width * math.sqrt(self._solved(x, elapsed)[1])

    def _prior(self, elapsed: int) -> float:
        """Return ρ, the prior variance of the weights, so many rounds after the last label."""
        n = self.n
        return float(self.rho[n - 1]) + elapsed / self.c if n else 1.0 / self.a

    def _variance(self, x: Entries, prior: float) -> float:
        """Return ρ‖x‖², the largest possible χ; refuse a row too large for double precision."""
        variance = prior * self.rows.size(x)
        if not variance <= MOST:
            more = "a larger a" if math.isinf(self.c) else "a larger a, or slower drift"
            raise ValueError(
                f"{self.owner} needs ‖x‖²/a ≤ {MOST:g}, or rounding errors are too large (rescale "
                f"the rows, or use {more}), got {variance:g}"
            )
        return variance

    def _solved(self, x: Entries, elapsed: int) -> tuple[np.ndarray, float]:
        """Return q and χ of a row; q of the last row is cached."""
        n = self.n
        if self._seen and self._seen[0] == n and all(map(np.array_equal, self._seen[1], x)):
            q = self._seen[2]
        else:
            q = self.rho[:n] * self.rows.times(x, n)
            solve_rows(self.L, n, q)
            self._seen = (n, (x[0].copy(), x[1].copy()), q)
        return q, max(self._variance(x, self._prior(elapsed)) - dot(q, q), 0.0)

    def learn(self, row: Row, y: float, elapsed: int = 0) -> None:
        """Learn the label of a row."""
        x, n = self.rows.taken(row), self.n
        q, chi = self._solved(x, elapsed)
        m, root = self.rows.at(self.w, x), math.sqrt(1.0 + chi)
        self.reserve([x])
        start = n * (n + 1) // 2
        self.L[start : start + n] = q
        self.L[start + n] = root
        self.z[n] = (y - m) / root
        self.rho[n] = self._prior(elapsed)
        self.rows.keep(x, n)
        self._learnt = n + 1, self._weights(n + 1)

    def learn_all(
        self, rows: Sequence[Row], y: np.ndarray, elapsed: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Learn a block of rows, with labels of one topic or several; return their m and 1 + χ.

        They are those before the row is learnt. The first row comes ``elapsed`` rounds after the
        last label. The factor L is extended by matrix products. Each new row of L begins with
        q = L⁻¹(ρ_i k_i)_i, computed for the whole block at once; its other entries are a row of the
        Cholesky factor of the Schur complement of the block.
        """
        n, m = self.n, len(rows)
        block = [self.rows.taken(row) for row in rows]
        self.reserve(block)
        rho = self.rho[: n + m]
        rho[n:] = self._prior(elapsed) + np.arange(m) / self.c
        for i, x in enumerate(block, n):
            self._variance(x, float(rho[i]))
            self.rows.keep(x, i)
        K = np.empty((n + m, -(-m // LANES) * LANES))
        for first in range(0, m, LANES):
            part = slice(first, first + LANES)
            self.rows.times_each(block[part], n + m, K[:, part])
        K = K[:, :m]
        K[:n] *= rho[:n, None]
        K[n:] *= np.minimum.outer(rho[n:], rho[n:])
        Q = self._solved_all(K[:n], n)
        corner = np.linalg.cholesky(K[n:] + np.eye(m) - Q.T @ Q)
        store(Q, corner, n, self.L)
        means = Q.T @ self.z[:n]
        for i in range(m):
            means[i] += corner[i, :i] @ self.z[n : n + i]
            self.z[n + i] = (y[i] - means[i]) / corner[i, i]
        self._learnt = n + m, self.w
        return means, np.diag(corner) ** 2  # the pivot squared is 1 + χ

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
        alpha = self.z[:n].copy()
        solve_columns(self.L, n, alpha)
        return self.rows.sum(self.rho[:n] * alpha)

    def growth(self) -> float:
        """Return ln det(A/a), for A = aI + SᵀS; it is ln det C."""
        diagonal = self.L[np.cumsum(np.arange(1, self.n + 1)) - 1]
        return 2.0 * float(np.sum(np.log(diagonal)))

    def reserve(self, rows: Sequence[Entries]) -> None:
        """Allocate memory for more rows; arrays grow by a quarter or more.

        The array whose size is checked grows last, so that Ctrl-C in between does no harm.
        """
        n = self.n + len(rows)
        if n > len(self.z):
            room = max(n, len(self.z) * 5 // 4)
            holds(self.owner, room, room * room / 2, LESS)
            self.L = grown(self.L, room * (room + 1) // 2)
            self.rho = grown(self.rho, room)
            self.z = grown(self.z, room)
        self.rows.reserve(self.n, rows)

    # --- state files ----------------------------------------------------------------------------

    def described(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the header and arrays that describe the regression."""
        n = self.n
        self._check()
        arrays = {"L": self.L[: n * (n + 1) // 2].copy(), "z": self.z[:n].copy()}
        if math.isfinite(self.c):
            arrays["rho"] = self.rho[:n].copy()
        return {"form": self.form, "n": n}, arrays | self.rows.arrays(n)

    def restored(self, header: Any, arrays: dict[str, np.ndarray]) -> Self:
        """Take the state that a header and arrays describe, and return the regression.

        Refuse a state that no sequence of labels can produce.
        """
        n = count(header["n"])
        L, z = arrays["L"], arrays["z"]
        rho = arrays["rho"] if math.isfinite(self.c) else np.full(n, 1.0 / self.a)
        check_finite(arrays.values())
        if (L.size, z.size, rho.size) != (n * (n + 1) // 2, n, n):
            raise ValueError(f"its header says {n} rows, but its arrays have other sizes")
        check_range("the first prior variance", rho[:1], 1.0 / self.a, 1.0 / self.a)
        check_range("a change of the prior variance", np.diff(rho), 0.0)
        self.rows.restore(n, arrays)
        self.reserve([self.rows.row(i) for i in range(n)])
        self.L[: L.size], self.z[:n], self.rho[:n] = L, z, rho
        self._learnt = n, self._weights(n)
        self._check()
        return self

    def _check(self) -> None:
        """Refuse a factor L that does not belong to the rows, or labels other than −1 and +1.

        The factor L is tested by the equation LLᵀv = Cv for one random v, up to rounding. A wrong L
        passes this test with probability 0.
        """
        n, L, rho = self.n, self.L, self.rho
        check_factor(L, n, NOISE)
        v = np.random.default_rng(0).standard_normal(n)
        with np.errstate(over="ignore", invalid="ignore"):
            off, labels = times_factors(L, n, v, self.z[:n])
            variances = rho[:n] * [self.rows.size(self.rows.row(i)) for i in range(n)]
            size = 1.0 + np.sum(variances)
            before, after = np.zeros_like(self.w), self.rows.sum(v)
            for i in range(n):  # Cv, row by row
                columns, values = self.rows.row(i)
                before[columns] += rho[i] * v[i] * values
                after[columns] -= v[i] * values
                off[i] -= v[i] + values @ (before[columns] + rho[i] * after[columns])
        check_finite((self.w, self.z[:n]))
        check_range("ρ‖x‖²", variances, 0.0, MOST)
        check_range("a row of LLᵀ − C", off, -NEAR * size, NEAR * size)
        check_range("a label", np.abs(labels), 1 - NEAR, 1 + NEAR)


def times_factors(
    L: np.ndarray, n: int, v: np.ndarray, z: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return LLᵀv and Lz for n rows of L, which are stored end to end."""
    across, both, product = np.zeros(n), np.zeros(n), np.zeros(n)
    for i in range(n):
        row = L[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2]
        across[: i + 1] += v[i] * row
        product[i] = row @ z[: i + 1]
    for i in range(n):
        both[i] = L[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2] @ across[: i + 1]
    return both, product
