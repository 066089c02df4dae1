"""The activation of LogisticLASER, which solves an equation, and what follows from it."""

import math

from onlinear._numerics.linalg import kernel
from onlinear.losses._formulas import excess

__all__ = ["FAINT", "activation", "answer"]

FAINT = 1e-18  # if κsχ is below this, the row changes Σ by less than its rounding
SETTLED = 5e-6  # after a step of Halley's method of this size, the error is far below rounding
SMALL = 0.01  # for a smaller a, 1 − e^−a loses digits
ROUNDING = 1e-15  # relative error of a + χ·tanh(a/2)
MOST_STEPS = 28
FLAT = 0.01  # below this, 1/(1 − h) is 1 + h + h² but for 1e-6: Halley's step needs no division


@kernel
def activation(m, chi):
    """Return the root a ≥ 0 of a + χ·tanh(a/2) = m, and e^−a, for m ≥ 0 and χ ≥ 0.

    The left side is concave. So m/(1 + χ/2), by tanh(a/2) ≤ a/2, and m − χ are below the root, from
    where Halley's method rises towards it, by at most about 2 in each step where tanh is flat. (For
    a small χ, m − mχ/2, which is lower still, saves a division.) The last step changes e^−a by so
    little that its series is exact in double precision.
    """
    half = 0.5 * chi
    a = max(m - m * half if half < 0.1 else m / (1.0 + half), m - chi)
    z = math.exp(-a)
    for _ in range(MOST_STEPS):
        q = 1.0 / (1.0 + z)
        t = (1.0 - z) * q  # tanh(a/2), for small a by its series
        if a < SMALL:
            t = 0.5 * a * (1.0 - a * a / 12.0 * (1.0 - a * a / 10.0))
        bend = 2.0 * chi * z * q * q  # of χ·tanh(a/2): its derivative
        off = (m - a) - chi * t
        share = 1.0 / (1.0 + bend)
        d = off * share
        more = d * (0.5 * t * (bend * share))
        d = d * (1.0 + more * (1.0 + more)) if more < FLAT else d / (1.0 - more)
        a = max(a + d, 0.0)
        if abs(d) <= SETTLED:
            z *= (1.0 - d) + 0.5 * d * d
            break
        z = math.exp(-a)
        if abs(off) <= ROUNDING * m:
            break
    return a, z


@kernel
def answer(kappa, m, chi, y):
    """Return the activation a, σ(−|a|), κs and p − y + κs(m − a), where s = p(1 − p).

    For a NaN label, which stands for no label, the last number means nothing.
    """
    size, z = activation(abs(m), chi)
    a = size if m >= 0.0 else -size
    q = 1.0 / (1.0 + z)
    rest = z * q
    weight = kappa * rest * q
    return a, rest, weight, excess(a, rest, y) + weight * (m - a)
