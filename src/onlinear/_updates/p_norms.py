"""The p-norm ‖x‖_p = (Σ|x_i|^p)^(1/p), and the weights that belong to a dual vector θ.

    w = ∇(½‖θ‖_p²),   w_i = sign(θ_i)·|θ_i|^(p−1)·‖θ‖_p^(2−p),   ‖w‖_q = ‖θ‖_p,   1/p + 1/q = 1

Grove, Littlestone & Schuurmans, Machine Learning 2001; Gentile, Machine Learning 2003.
"""

import math

from onlinear._numerics.linalg import extremes, kernel, norm

__all__ = ["exponent", "p_norm", "weights_of"]


@kernel
def exponent(p, n):
    """Return p, or max(2, 2 ln n) if p is 0."""
    return p if p > 0.0 else max(2.0, 2.0 * math.log(n))


@kernel
def p_norm(x, p):
    """Return ‖x‖_p."""
    if p == 2.0:
        return norm(x)
    low, high = extremes(x)
    top = max(high, -low)
    if top == 0.0:
        return 0.0
    total = 0.0
    for i in range(x.size):
        total += (abs(x[i]) / top) ** p
    return top * total ** (1.0 / p)


@kernel
def weights_of(theta, p, w):
    """Write the weights that belong to θ to w."""
    length = p_norm(theta, p)
    for i in range(theta.size):
        share = abs(theta[i]) / length if length > 0.0 else 0.0
        w[i] = math.copysign(length * share ** (p - 1.0), theta[i]) if share > 0.0 else 0.0
