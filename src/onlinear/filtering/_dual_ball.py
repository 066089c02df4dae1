"""The weights of P-RIDGE-FIL in dual form: ridge regression that keeps its weights in a ball.

The weights are f = Σ β_i K(z_i, ·), with the labelled rows z_i. With the matrix K of all
K(z_i, z_j), the prior's precision a and C = I + K/a = LLᵀ, the label y of a row x is learnt so:

    k = (K(z_i, x))_i,   q = L⁻¹k/a,   χ = K(x, x)/a − qᵀq,   g = (y − f(x))/(a(1 + χ))
    β ← (β − gL⁻ᵀq, g),   L gets the row (q, √(1 + χ))
    f ← its projection on ‖f‖ ≤ R (:mod:`onlinear._updates.dual_projection`)

These are the weights of :class:`onlinear.ARCOR` without resets, with r = a. Sparse rows need no
kernel: then w = Σ β_i z_i is stored. Learning a label costs O(n²) after n labels, and some ten
times as much if f has to be projected.
"""

import math
from typing import Any, NamedTuple, Self

import numpy as np

from onlinear._numerics.linalg import ROUNDING, dot
from onlinear._state_files.model_codec import count
from onlinear._updates.dual import check_factor, solve_columns, solve_rows
from onlinear._updates.dual_projection import PROJECTING, multiply, project
from onlinear._validation.checks import holds
from onlinear._validation.states import check_finite, check_range
from onlinear.filtering._examples import FIRST_ROOM, KernelRows, SparseRows, grown
from onlinear.filtering._items import Row
from onlinear.filtering._sparse_ridge import LESS, NEAR, NOISE, times_factors

__all__ = ["DualBall"]

# The error of a projected f is at most about 1e-16·T², T being the trace of K/a. It was measured
# against exact arithmetic on rows in 2 to 8 dimensions, of one or of very different sizes, as a
# share of ‖f‖: up to 7e-7 for K(x, x)/a = 1e4 and up to 1300 rows, 5e-6 in the worst of all streams
# with T ≤ 9e6. From T = 1.2e7 on, some streams (those with K(x, x)/a ≥ 3e4) had errors of 5e-3 and
# more.
MOST = 1e4  # the largest K(x, x)/a
MOST_IN_ALL = 5e6  # the largest trace of K/a


class Learnt(NamedTuple):
    """What was learnt, in one tuple so that it changes together: β, and Σ β_i z_i."""

    beta: np.ndarray
    sum: np.ndarray


class DualBall:
    """Ridge regression in dual form, whose weights stay in the ball ‖f‖ ≤ R."""

    form = "ball"  # in state files

    def __init__(self, rows: SparseRows | KernelRows, a: float, radius: float, owner: str) -> None:
        self.rows: Any = rows  # a row that one of the two has taken is of its own type
        self.a, self.radius, self.owner = a, radius, owner
        nothing = np.zeros(0)
        self._learnt = Learnt(nothing, rows.sum(nothing))
        self.L = np.zeros(FIRST_ROOM * (FIRST_ROOM + 1) // 2)

    @property
    def known(self) -> int:
        """How many labels were learnt."""
        return self._learnt.beta.size

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
        beta, total = self._learnt
        n, x, a = beta.size, self.rows.taken(row), self.a
        variance = self.rows.size(x) / a
        if not variance <= MOST:
            raise ValueError(
                f"{self.owner} needs K(x, x)/a ≤ {MOST:g} in dual form, where K(x, x) is ‖x‖² "
                "without a kernel, or rounding errors are too large (rescale the rows, or use a "
                f"larger a), got {variance:g}"
            )
        inside = self.L[: n * (n + 1) // 2]
        total_variance = variance + dot(inside, inside) - n
        if not total_variance <= MOST_IN_ALL:
            raise ValueError(
                f"{self.owner} needs the sum of K(x, x)/a over the labelled rows to be at most "
                f"{MOST_IN_ALL:g} in dual form, where K(x, x) is ‖x‖² without a kernel, or "
                f"rounding errors are too large (use a larger a), got {total_variance:g}"
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
        g = (y - self.rows.at(total, x)) / (a * (1.0 + chi))
        self._reserve(x)
        start = n * (n + 1) // 2
        self.L[start : start + n] = q
        self.L[start + n] = math.sqrt(1.0 + chi)
        self.rows.keep(x, n)
        beta = self._projected(np.append(beta - g * c, g))
        self._learnt = Learnt(beta, self.rows.sum(beta))

    def _projected(self, beta: np.ndarray) -> np.ndarray:
        """Return the coefficients of the projection of f on the ball.

        For the kernel K/a, the noise has the variance 1, the coefficients of f are aβ, and norms
        are √a times those for K.
        """
        n, root = beta.size, math.sqrt(self.a)
        alpha = self.a * beta
        work = np.empty((PROJECTING, n))
        values = np.empty(n)
        multiply(self.L, n, 1.0, alpha, work[0], values)
        values -= alpha  # f at the labelled rows
        length = math.sqrt(max(float(alpha @ values), 0.0))
        if length > root * self.radius:
            project(self.L, n, 1.0, alpha, values, length, root * self.radius, work)
        return alpha / self.a

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
        beta, n = self._learnt.beta, self.known
        self._check()
        arrays = {"L": self.L[: n * (n + 1) // 2].copy(), "beta": beta}
        return {"form": self.form, "n": n}, arrays | self.rows.arrays(n)

    def restored(self, header: Any, arrays: dict[str, np.ndarray]) -> Self:
        """Take the state that a header and arrays describe, and return the regression.

        Refuse a state that no sequence of labels can produce.
        """
        n = count(header["n"])
        L, beta = arrays["L"], arrays["beta"]
        check_finite(arrays.values())
        if (L.size, beta.shape) != (n * (n + 1) // 2, (n,)):
            raise ValueError(f"its header says {n} rows, but its arrays have other sizes")
        holds(self.owner, n, n * n / 2, LESS)
        self.rows.restore(n, arrays)
        self.L = grown(L, max(L.size, self.L.size))
        self._learnt = Learnt(beta.copy(), self.rows.sum(beta))
        self._check()
        return self

    def _check(self) -> None:
        """Refuse a factor L that does not belong to the rows, and f outside the ball.

        L is tested by the equation LLᵀv = v + Kv/a for one random v, up to rounding. A wrong L
        passes this test with probability 0.
        """
        n, beta = self.known, self._learnt.beta
        check_factor(self.L, n, NOISE)
        v = np.random.default_rng(0).standard_normal(n)
        variances, norm = np.zeros(n), 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            off, _ = times_factors(self.L, n, v, v)
            for i in range(n):
                k = self.rows.times(self.rows.row(i), n)
                off[i] -= v[i] + k @ v / self.a
                norm += beta[i] * (k @ beta)
                variances[i] = k[i] / self.a
            size = 1.0 + np.sum(variances)
        check_finite((beta,))
        check_range("K(x, x)/a", variances, -NEAR, MOST * (1.0 + NEAR))
        check_range("the trace of K/a", [variances.sum()], most=MOST_IN_ALL * (1.0 + NEAR))
        check_range("a row of LLᵀ − I − K/a", off, -NEAR * size, NEAR * size)
        check_range("‖f‖²", norm, -NEAR, self.radius**2 + NEAR)
