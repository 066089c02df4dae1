"""The weights of P-RIDGE-FIL in dual form: ridge regression that keeps its weights in a ball.

The weights are f = Σ β_i K(z_i, ·), with the labelled rows z_i. With the values p_i = f(z_i), the
matrix K of all K(z_i, z_j), the prior's precision a and C = I + K/a = LLᵀ, the label y of a row x
is learnt as follows:

    k = (K(z_i, x))_i,   q = L⁻¹k/a,   c = L⁻ᵀq,   χ = K(x, x)/a − qᵀq,   g = (y − f(x))/(a(1 + χ))
    β ← (β − gc, g),   p ← (p + agc, f(x) + agχ),   L gets the row (q, √(1 + χ))
    f ← its projection on ‖f‖ ≤ R, if ‖f‖² = βᵀp exceeds R² (:mod:`._updates.dual_projection`)

These are the weights of :class:`onlinear.ARCOR` without resets, with r = a. Sparse rows need no
kernel: then w = Σ β_i z_i is stored. Learning a label costs O(n²) after n labels, and some ten
times as much if f has to be projected.
"""

import math
from typing import Any, NamedTuple, Self

import numpy as np

from onlinear._numerics.linalg import ROUNDING, dot
from onlinear._state_files.model_codec import count
from onlinear._updates.dual import MOST, check_factor, solve_columns, solve_rows
from onlinear._updates.dual_projection import project_dual
from onlinear._validation.checks import holds
from onlinear._validation.states import check_finite, check_range
from onlinear.filtering._examples import FIRST_ROOM, KernelRows, SparseRows, grown
from onlinear.filtering._items import Row
from onlinear.filtering._sparse_ridge import LESS, NEAR, NOISE, times_factors

__all__ = ["DualBall"]


class Learnt(NamedTuple):
    """What was learnt, in one tuple so that it changes together: n, β, p, and Σ β_i z_i."""

    n: int
    beta: np.ndarray
    p: np.ndarray
    sum: np.ndarray


class DualBall:
    """Ridge regression in dual form, whose weights stay in the ball ‖f‖ ≤ R."""

    form = "ball"  # in state files

    def __init__(self, rows: SparseRows | KernelRows, a: float, radius: float, owner: str) -> None:
        self.rows: Any = rows  # a row that one of the two has taken is of its own type
        self.a, self.radius, self.owner = a, radius, owner
        nothing = np.zeros(0)
        self._learnt = Learnt(0, nothing, nothing, rows.sum(nothing))
        self.L = np.zeros(FIRST_ROOM * (FIRST_ROOM + 1) // 2)

    @property
    def known(self) -> int:
        """How many labels were learnt."""
        return self._learnt.n

    def margin(self, row: Row, elapsed: int = 0) -> float:
        """Return f(x)."""
        margin = self.rows.at(self._learnt.sum, self.rows.taken(row))
        if not math.isfinite(margin):
            raise ValueError(f"{self.owner} needs rows whose margin is finite, got {margin}")
        return float(margin)

    def reaches(self, row: Row, threshold: float, elapsed: int = 0) -> bool:
        """Return whether f(x) is at least a threshold."""
        return self.margin(row) >= threshold

    def learn(self, row: Row, y: float, elapsed: int = 0) -> None:
        """Learn the label of a row, then project f."""
        n, beta, p, total = self._learnt
        x, a = self.rows.taken(row), self.a
        variance = self.rows.size(x) / a
        if not variance <= MOST:
            raise ValueError(
                f"{self.owner} needs K(x, x)/a ≤ {MOST:g}, where K(x, x) is ‖x‖² without a kernel, "
                "or rounding errors are too large (rescale the rows, or use a larger a), got "
                f"{variance:g}"
            )
        q = self.rows.times(x, n) / a
        solve_rows(self.L, n, q)
        c = q.copy()
        solve_columns(self.L, n, c)
        chi = variance - dot(q, q)
        if chi < -10.0 * ROUNDING * (3 + n) * abs(variance) or variance < 0.0:
            raise ValueError(
                f"{self.owner} needs a kernel that is an inner product (positive semi-definite), "
                f"got a variance of {chi:g}"
            )
        chi = max(chi, 0.0)
        m = self.rows.at(total, x)
        g = (y - m) / (a * (1.0 + chi))
        self._reserve(x)
        start = n * (n + 1) // 2
        self.L[start : start + n] = q
        self.L[start + n] = math.sqrt(1.0 + chi)
        self.rows.keep(x, n)
        beta, p = np.append(beta - g * c, g), np.append(p + a * g * c, m + a * g * chi)
        beta, p = project_dual(self.L, beta, p, self.radius)
        self._learnt = Learnt(n + 1, beta, p, self.rows.sum(beta))

    def _reserve(self, x: Any) -> None:
        """Allocate memory for one more row; L grows last (see :meth:`.SparseRidge.reserve`)."""
        n = self.known
        self.rows.reserve(n, [x])
        if (n + 1) * (n + 2) // 2 > self.L.size:
            room = (n + 1) * 5 // 4
            holds(self.owner, room, room * room / 2, LESS)
            self.L = grown(self.L, room * (room + 1) // 2)

    # --- state files ----------------------------------------------------------------------------

    def described(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the header and arrays that describe the regression."""
        n, beta, p, _ = self._learnt
        self._check()
        arrays = {"L": self.L[: n * (n + 1) // 2].copy(), "beta": beta, "p": p}
        return {"form": self.form, "n": n}, arrays | self.rows.arrays(n)

    def restored(self, header: Any, arrays: dict[str, np.ndarray]) -> Self:
        """Take the state that a header and arrays describe, and return the regression.

        Refuse a state that no sequence of labels can produce.
        """
        n = count(header["n"])
        L, beta, p = arrays["L"], arrays["beta"], arrays["p"]
        check_finite(arrays.values())
        if (L.size, beta.shape, p.shape) != (n * (n + 1) // 2, (n,), (n,)):
            raise ValueError(f"its header says {n} rows, but its arrays have other sizes")
        holds(self.owner, n, n * n / 2, LESS)
        self.rows.restore(n, arrays)
        self.L = grown(L, max(L.size, self.L.size))
        self._learnt = Learnt(n, beta.copy(), p.copy(), self.rows.sum(beta))
        self._check()
        return self

    def _check(self) -> None:
        """Refuse a factor L or values p that do not belong to the rows, and f outside the ball.

        L is tested by the equation LLᵀv = v + Kv/a for one random v, up to rounding. A wrong L
        passes this test with probability 0.
        """
        n, beta, p, _ = self._learnt
        check_factor(self.L, n, NOISE)
        v = np.random.default_rng(0).standard_normal(n)
        with np.errstate(over="ignore", invalid="ignore"):
            off, _ = times_factors(self.L, n, v, v)
            off -= v
            values, own = -p, np.zeros(n)
            for i in range(n):
                x = self.rows.row(i)
                k = self.rows.times(x, n)
                off[i] -= k @ v / self.a
                values[i] += k @ beta
                own[i] = k[i]
            size = 1.0 + np.sum(own) / self.a
            far = NEAR * (1.0 + np.sum(own))
            norm = beta @ p
        check_finite((beta, p))
        check_range("a row of LLᵀ − I − K/a", off, -NEAR * size, NEAR * size)
        check_range("a value of f", values, -far, far)
        check_range("‖f‖²", np.array([norm]), -NEAR, self.radius**2 * (1.0 + NEAR))
