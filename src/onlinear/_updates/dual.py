"""Second-order kernel learners in dual form: a growing Cholesky factor instead of Σ.

With stored examples z_i and K(z, x) instead of zᵀx, the mean m and variance χ of the next
prediction are

    C_ij = ρ_i K(z_i, z_j) for i < j,   C_ii = ρ_i K(z_i, z_i) + r_i       C = LLᵀ
    q = L⁻¹(ρ_i K(z_i, x))_i,   m = qᵀz,   χ = ρ K(x, x) − qᵀq            z = L⁻¹y

In these formulas, y is the vector of the examples' labels, z without an index is a vector and not
an example, and r is the noise variance that the learner assumes. ρ is the prior's variance in the
present round, and ρ_i in the round of example i: 1/b, plus 1/c per round for a drifting target (b
and c are the learner's parameters). With K(z, x) = zᵀx, m and χ are the xᵀw and xᵀΣx of the linear
learner. A round adds one row to L and one entry to z:

    L ← [L 0; qᵀ √(χ + r)],   z ← [z; (y − m)/√(χ + r)]

A round therefore costs n²/2 multiplications for n examples, and nothing is ever subtracted from a
matrix. The rows of L are stored end to end, with spare memory after the last row; a step that finds
no spare memory returns the status FULL before it writes anything.

With a budget (a largest number of examples), the oldest example is dropped whenever there would be
more. The prior's variance ρ grows by 1/c per round, and if it grew without limit, the prior would
become uninformative. So whenever the ρ_i of the oldest example exceeds 1/b by more than about
n/(2c), all ρ_i are reduced, as if the stream had begun near this example. Reducing the ρ_i needs a
new factorisation, which costs n³/3 operations every n/2 rounds.

Moroshko, thesis section 3.3 (Figure 3.3 computes the same predictions by other formulas); Rasmussen
& Williams, Gaussian Processes for Machine Learning, 2006, Algorithm 2.1.
"""

import math
from typing import NamedTuple

import numpy as np

from onlinear._engine.step import DOMAIN, FINE, FULL, OVERFLOW
from onlinear._numerics.linalg import ROUNDING, dot, kernel
from onlinear._updates.examples import kernel_row

__all__ = [
    "MOST",
    "RULES",
    "SCRATCH",
    "Dual",
    "add_row",
    "believe",
    "check_factor",
    "coefficients",
    "dual",
    "dual_size",
    "remember",
    "solve_columns",
    "solve_rows",
    "uncertainty",
    "vital",
]

SCRATCH = 4  # rows: K(z_i, x), q, K(z_i, z_0), and K(x, x) of a custom kernel
MOST = 1e10  # the largest ρ·K(x, x): above, χ has fewer than five correct digits
RULES = (
    "needs ρ·K(x, x) ≤ 1e10, ρ = 1/b (+ t/c) being the prior's variance, or rounding errors are "
    "too large (rescale the rows, or use a larger b or c), got {value:g}",
    "needs a kernel that is an inner product (positive semi-definite), got a variance of {value:g}",
)


class Dual(NamedTuple):
    """The state: numbers of rounds and examples, ρ, kernel parameters, all ρ_i, z, L, all z_i."""

    t: np.ndarray
    n: np.ndarray
    prior: np.ndarray
    form: np.ndarray
    rho: np.ndarray
    z: np.ndarray
    L: np.ndarray
    Z: np.ndarray


def dual(d: int, room: int, form: tuple[float, ...], b: float) -> Dual:
    """Return the initial state: ρ = 1/b, no examples yet, but memory for ``room`` of them."""
    return Dual(
        np.zeros(1),
        np.zeros(1),
        np.full(1, 1.0 / b),
        np.array(form),
        np.zeros(room),
        np.zeros(room),
        np.zeros(room * (room + 1) // 2),
        np.zeros((room, d)),
    )


def dual_size(d: int, room: int) -> int:
    """Return how many numbers the state has with room for ``room`` examples of d columns."""
    return 7 + room * (d + 2) + room * (room + 1) // 2


def vital(state):
    """Return the arrays to check for very large or small numbers: all but L and the examples.

    The size of the numbers in L follows from ρ, and the examples were checked when they arrived as
    rows (see :mod:`onlinear._engine.number_range`).
    """
    return state[:6]


@kernel
def solve_rows(L, n, q):
    """Replace q by L⁻¹q, where the rows of L are stored end to end."""
    start = 0
    for i in range(n):
        q[i] = (q[i] - dot(L[start : start + i], q[:i])) / L[start + i]
        start += i + 1


@kernel
def solve_columns(L, n, q):
    """Replace q by L⁻ᵀq, where the rows of L are stored end to end."""
    start = n * (n + 1) // 2
    for i in range(n - 1, -1, -1):
        start -= i + 1
        a = q[i] / L[start + i]
        q[i] = a
        for j in range(i):
            q[j] -= a * L[start + j]


@kernel
def uncertainty(L, n, variance, q):
    """Replace q, n numbers, by L⁻¹q; return χ = ``variance`` − qᵀq, a status, and its value.

    The status is DOMAIN + 1 if χ is negative by more than rounding: then no covariance matrix has
    these entries, and the kernel is not positive semi-definite.
    """
    solve_rows(L, n, q)
    chi = variance - dot(q, q)
    noise = ROUNDING * (3 + n) * abs(variance)
    if not chi >= -10.0 * noise or variance < 0.0:
        return 0.0, DOMAIN + 1, chi
    return max(chi, 0.0), FINE, 0.0


@kernel
def add_row(L, n, q, root):
    """Write (q, root) to L as row n, counted from 0."""
    start = n * (n + 1) // 2
    for i in range(n):
        L[start + i] = q[i]
    L[start + n] = root


@kernel
def believe(state, drift, x, work):
    """Predict the label of x: return its mean m and variance χ, a status, and a value.

    The status is FINE, or the rule that x breaks; the value is the number that breaks the rule. The
    vector q = L⁻¹(ρ_i K(z_i, x))_i is written to ``work[1]``.
    """
    _, n, prior, form, rho, z, L, Z = state
    size = int(n[0])
    q = work[1][:size]
    variance = (prior[0] + drift) * kernel_row(form, Z, size, x, work)
    if not math.isfinite(variance):
        return 0.0, 0.0, OVERFLOW, variance
    if variance > MOST:
        return 0.0, 0.0, DOMAIN, variance
    for i in range(size):
        q[i] = rho[i] * work[0, i]
    chi, rule, value = uncertainty(L, size, variance, q)
    return dot(q, z[:size]), chi, rule, value


@kernel
def remember(state, drift, b, budget, x, e, pivot, work):
    """Add the example x with the residual e; return FINE, FULL or OVERFLOW.

    On FULL or OVERFLOW, nothing is changed. ``pivot`` is χ + r, the square of the new diagonal
    entry of L. If there are then more examples than the budget allows, the oldest is dropped.
    """
    t, n, prior, _, rho, z, L, Z = state
    size = int(n[0])
    if not math.isfinite(e * e):
        return OVERFLOW
    if size == z.size:
        return FULL
    root = math.sqrt(pivot)
    add_row(L, size, work[1], root)
    z[size] = e / root
    prior[0] += drift
    rho[size] = prior[0]
    for j in range(x.size):
        Z[size, j] = x[j]
    size += 1
    if size > budget:
        forget_oldest(rho, z, L, Z, size, work)
        size -= 1
        aged = rho[0] - 1.0 / b
        if drift > 0.0 and aged > (size // 2 + 0.5) * drift:
            set_back(aged, 1.0 / b, rho, z, L, size)
            prior[0] = lessened(prior[0], aged, 1.0 / b)
    n[0] = size
    t[0] += 1
    return FINE


@kernel
def forget_oldest(rho, z, L, Z, n, work):
    """Remove the first of n examples, as if it had never been there.

    Without its first row and column, C is L₂L₂ᵀ + llᵀ, where L₂ is L without its first row and
    column, and l is the rest of the first column of L. Plane rotations of l into L₂ give the factor
    L₂' of this matrix, and z is rotated like a row of L. Each rotated row is written to the place
    of the row above. Four rows are processed side by side, since within a row every element has to
    wait for the one before it.
    """
    lost = z[0]
    whole = n - (n - 1) % 4
    for i in range(1, whole, 4):
        up = i * (i - 1) // 2 - 1
        first = up + i + 1
        second = first + i + 1
        third = second + i + 2
        fourth = third + i + 3
        l0, l1, l2, l3 = L[first], L[second], L[third], L[fourth]
        for k in range(1, i):
            c, s = work[0, k], work[2, k]
            a0, a1, a2, a3 = L[first + k], L[second + k], L[third + k], L[fourth + k]
            L[up + k] = c * a0 + s * l0
            L[first + k - 1] = c * a1 + s * l1
            L[second + k - 1] = c * a2 + s * l2
            L[third + k - 1] = c * a3 + s * l3
            l0, l1, l2, l3 = c * l0 - s * a0, c * l1 - s * a1, c * l2 - s * a2, c * l3 - s * a3
        lost = turn(L, z, i, i, l0, lost, work)
        lost = turn(L, z, i + 1, i, l1, lost, work)
        lost = turn(L, z, i + 2, i, l2, lost, work)
        lost = turn(L, z, i + 3, i, l3, lost, work)
    for i in range(whole, n):
        lost = turn(L, z, i, 1, L[i * (i + 1) // 2], lost, work)
    for i in range(1, n):
        rho[i - 1] = rho[i]
        for j in range(Z.shape[1]):
            Z[i - 1, j] = Z[i, j]
    blank(rho, z, L, Z, n - 1)


@kernel
def turn(L, z, i, start, l, lost, work):
    """Rotate row i of L from column ``start`` on, and z_i with ``lost``; return the new ``lost``.

    ``l`` is row i's entry in the removed first column of L, and ``lost`` is the removed first entry
    of z, both after the rotations so far. The last rotation of the row makes ``l`` zero; the same
    rotation is applied to z_i and ``lost``. Row i and z_i are written one place further up.
    """
    row, up = i * (i + 1) // 2, i * (i - 1) // 2 - 1
    for k in range(start, i):
        c, s, a = work[0, k], work[2, k], L[row + k]
        L[up + k] = c * a + s * l
        l = c * l - s * a
    root = math.sqrt(L[row + i] * L[row + i] + l * l)
    c, s = L[row + i] / root, l / root
    work[0, i], work[2, i] = c, s
    L[up + i] = root
    kept = z[i]
    z[i - 1] = c * kept + s * lost
    return c * lost - s * kept


@kernel
def blank(rho, z, L, Z, n):
    """Set the memory of example n to zero, so that equal states have equal bits."""
    rho[n] = 0.0
    z[n] = 0.0
    start = n * (n + 1) // 2
    for j in range(n + 1):
        L[start + j] = 0.0
    for j in range(Z.shape[1]):
        Z[n, j] = 0.0


@kernel
def lessened(variance, aged, least):
    """Return ``variance`` − ``aged``, or ``least`` if the difference is not positive."""
    return variance - aged if variance > aged else least


@kernel
def set_back(aged, least, rho, z, L, n):
    """Reduce every ρ_i by ``aged``: compute C = LLᵀ, reduce each ρ_i in C, and factorise it."""
    start = n * (n + 1) // 2
    for i in range(n - 1, -1, -1):  # last row first: no other row needs it
        start -= i + 1
        row = L[start : start + i + 1]
        z[i] = dot(row, z[: i + 1])  # y_i
        for j in range(i, -1, -1):
            other = j * (j + 1) // 2
            row[j] = dot(row[: j + 1], L[other : other + j + 1])  # C_ij
    start = 0
    for i in range(n):
        row = L[start : start + i + 1]
        row[i] -= 1.0  # the noise
        for j in range(i + 1):
            row[j] *= 1.0 - aged / rho[j]
        row[i] += 1.0
        for j in range(i):
            other = j * (j + 1) // 2
            row[j] = (row[j] - dot(row[:j], L[other : other + j])) / L[other + j]
        row[i] = math.sqrt(row[i] - dot(row[:i], row[:i]))
        z[i] = (z[i] - dot(row[:i], z[:i])) / row[i]
        start += i + 1
    for i in range(n):
        rho[i] = lessened(rho[i], aged, least)


def check_factor(L: np.ndarray, n: int, least: float = 0.0, name: str = "L") -> None:
    """Refuse a factor L (n rows, stored end to end) whose diagonal is not above ``least``."""
    if not np.all(L[np.cumsum(np.arange(1, n + 1)) - 1] > least):
        raise ValueError(f"its factor {name} has a diagonal that is not above {least:g}")


def coefficients(state: Dual) -> np.ndarray:
    """Return the coefficients α for which Σ α_i K(z_i, x) is the mean m of the prediction for x."""
    n = int(state.n[0])
    alpha = state.z[:n].copy()
    solve_columns(state.L, n, alpha)
    return np.asarray(state.rho[:n] * alpha)
