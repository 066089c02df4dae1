"""The activation of LogisticLASER, which solves an equation, and what follows from it."""

import math

from onlinear._numerics.linalg import kernel
from onlinear.losses._formulas import excess

__all__ = ["FAINT", "activation", "answer"]

FAINT = 1e-18  # if κsχ/(1 + κsχ) is below this, the row changes Σ by less than its rounding
SETTLED = 1e-5  # after a step of Halley's method of this size, the error is far below rounding
SMALL = 0.01  # for a smaller a, 1 − e^−a loses digits
ROUNDING = 1e-15  # relative error of a + χ·tanh(a/2)
MOST_STEPS = 28


@kernel
def activation(m, chi):
    """Return the root a ≥ 0 of a + χ·tanh(a/2) = m, and e^−a, for m ≥ 0 and χ ≥ 0.

    The left side is concave. So m/(1 + χ/2), by tanh(a/2) ≤ a/2, and m − χ are below the root, from
    where Halley's method rises towards it, by at most about 2 in each step where tanh is flat. The
    last step changes e^−a by so little that its series is exact in double precision.
    """
    a = max(m / (1.0 + 0.5 * chi), m - chi)
    z = math.exp(-a)
    for _ in range(MOST_STEPS):
        q = 1.0 / (1.0 + z)
        t = (1.0 - z) * q  # tanh(a/2), for small a by its series
        if a < SMALL:
            t = 0.5 * a * (1.0 - a * a / 12.0 * (1.0 - a * a / 10.0))
        bend = 2.0 * chi * z * q * q  # of χ·tanh(a/2): its derivative
        off = (m - a) - chi * t
        d = off / (1.0 + bend)
        d = d / (1.0 - 0.5 * d * t * bend / (1.0 + bend))
        a = max(a + d, 0.0)
        if abs(d) <= SETTLED or abs(off) <= ROUNDING * m:
            z *= 1.0 - d * (1.0 - 0.5 * d * (1.0 - d / 3.0)) if abs(d) <= SETTLED else math.exp(-d)
            break
        z = math.exp(-a)
    return a, z


@kernel
def answer(kappa, m, chi, y):
    """Return a, σ(−|a|), and the factors h and k of the updates Σ − h·vvᵀ and w + k·v, v = Σx.

    For a NaN label, which stands for no label, k means nothing.
    """
    chi = max(chi, 0.0)  # negative only by rounding
    size, z = activation(abs(m), chi)
    a = size if m >= 0.0 else -size
    rest = z / (1.0 + z)
    weight = kappa * rest / (1.0 + z)  # κ·p(1 − p)
    h = weight / (1.0 + weight * chi)
    k = -(excess(a, rest, y) + weight * (m - a)) / (1.0 + weight * chi)
    return a, rest, h, k
