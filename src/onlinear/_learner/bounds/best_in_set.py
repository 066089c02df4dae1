"""A good fixed comparator u in a constraint set, improved at every row.

The comparator is improved in the geometry of the learner (:mod:`onlinear._updates.projections`): a
mirror step on its penalised loss, L(u) + λ·D(u, w_1) with the learner's first weights w_1, and the
exact projection on the set give a point v of the set, and u moves toward v as far as the penalised
loss falls. Both are in the set, and so is every point between them. A bound holds for every u of
the set, so u need not be the best.
"""

import math
from collections.abc import Callable

import numpy as np

from onlinear._learner.bounds.best_in_class import add_row, sum_of_atoms
from onlinear._learner.bounds.guarantee import spread_out
from onlinear._numerics.linalg import axpy, dot, kernel, scale, symv
from onlinear._updates.constrained_step import CYCLE, GEOMETRY, POWER, excess, into
from onlinear._updates.p_norms import exponent, p_norm
from onlinear._updates.projections import (
    EUCLIDEAN,
    P_NORM,
    duals_of,
    weights_from,
)

__all__ = [
    "IN_SET",
    "add_and_improve",
    "at_start",
    "divergence",
    "divergences",
    "improve",
    "misses",
    "nearest",
    "rows_of_work",
]

MOVES = 2  # per row
ROUNDING = 4e-16  # relative, of a difference of two numbers
HALVINGS = 5  # of a move that does not lower the penalised loss
IN_SET = 1e-12  # relative: by how much the projection on a set may move a point that is in it


def rows_of_work(copies: int, cycle: int) -> int:
    """Return how many rows of scratch memory :func:`improve` needs, the first three included."""
    return 3 + copies * (cycle + 7)


@kernel
def divergence(geometry, p, u, first, w1):
    """Return D(u, w_1), given w_1 and its θ, which is ln w_1 for shares."""
    total = 0.0
    if geometry == EUCLIDEAN:
        for i in range(u.size):
            total += 0.5 * (u[i] - w1[i]) ** 2
        return total
    if geometry == P_NORM:
        p = exponent(p, u.size)
        own, other = p_norm(u, p / (p - 1.0)), p_norm(first, p)
        if other == 0.0:
            return 0.5 * own * own
        size = 0.5 * own * own + 0.5 * other * other
        return max(0.0, size - dot(first, u)) + ROUNDING * u.size * size
    for i in range(u.size):
        if w1[i] > 0.0:
            total += w1[i] * spread_out((u[i] - w1[i]) / w1[i])
        elif u[i] > 0.0:
            total += u[i] * (math.log(u[i]) - first[i] - 1.0)
    return total


@kernel
def divergences(form, path, first, w1, out):
    """Write D(u, w_1) of each row u of ``path`` to ``out``."""
    for i in range(out.size):
        out[i] = divergence(int(form[GEOMETRY]), form[POWER], path[i], first, w1)


@kernel
def misses(form, path, room, out):
    """Write by how much each row of ``path`` misses the sets to ``out``."""
    geometry, p = int(form[GEOMETRY]), form[POWER]
    for i in range(out.size):
        duals_of(geometry, p, path[i], room[0])
        out[i] = excess(form, room[0], room[1], room[2], room[3])


@kernel
def nearest(form, theta, w, room):
    """Project θ on the sets; write its weights to w; return by how much it misses the sets.

    ``room`` has three rows more than a cycle of the sets.
    """
    cycle = int(form[CYCLE])
    into(form, theta, w, room[: cycle + 1])
    missed = excess(form, theta, w, room[cycle + 1], room[cycle + 2])
    weights_from(int(form[GEOMETRY]), form[POWER], theta, w)
    return missed


@kernel
def penalised(A, b, v, g, price):
    """Return uᵀAu − 2bᵀu + ``price`` for the weights v of the inputs; g is set to Av."""
    symv(A, v, g)
    return dot(v, g) - 2.0 * dot(b, v) + price


@kernel
def improve(form, U, penalty, A, b, u, theta, first, w1, work):
    """Improve the weights u, whose duals are θ, for rows whose A and b are those of ``add_row``.

    ``penalty`` is λ. If u has two weights per input, the weights of the inputs are U(u⁺ − u⁻).
    """
    geometry, p, n, m = int(form[GEOMETRY]), form[POWER], b.size, u.size
    k = m // n
    g, v = work[0], work[1]
    G, trial = work[3 : 3 + k].reshape(-1), work[3 + k : 3 + 2 * k].reshape(-1)
    w, best = work[3 + 2 * k : 3 + 3 * k].reshape(-1), work[3 + 3 * k : 3 + 4 * k].reshape(-1)
    room = work[3 + 4 * k :].reshape((-1, m))
    steepest = 0.0
    for i in range(n):
        steepest = max(steepest, A[i, i])
    size = 1.0
    if geometry not in (EUCLIDEAN, P_NORM):
        size = 0.0
        for i in range(m):
            size += u[i]
    for _ in range(MOVES):
        sum_of_atoms(u, U, v)
        price = penalty * divergence(geometry, p, u, first, w1)
        before = penalised(A, b, v, g, price)
        axpy(-1.0, b, g)
        scale(2.0, g, g)
        for i in range(m):
            slope = U * g[i] if i < n else -U * g[i - n]
            G[i] = slope + penalty * (theta[i] - first[i])
        curvature = 2.0 * U * U * steepest * size
        if geometry in (EUCLIDEAN, P_NORM):
            squares = dot(g, g)
            if squares > 0.0:
                symv(A, g, v)
                curvature = 2.0 * dot(g, v) / squares
        pace = 1.0 / (penalty + curvature) if penalty + curvature > 0.0 else 0.0
        scale(1.0, theta, trial)
        axpy(-pace, G, trial)
        missed = nearest(form, trial, w, room)
        if not missed <= IN_SET:
            break
        scale(1.0, u, best)
        share, lowered = 1.0, False
        for _ in range(HALVINGS + 1):
            for i in range(m):
                u[i] = best[i] + share * (w[i] - best[i]) if share < 1.0 else w[i]
            if share < 1.0:
                duals_of(geometry, p, u, trial)
            sum_of_atoms(u, U, v)
            price = penalty * divergence(geometry, p, u, first, w1)
            after = penalised(A, b, v, g, price)
            if after < before:
                lowered = True
                break
            share *= 0.5
        if not lowered:
            scale(1.0, best, u)
            break
        scale(1.0, trial, theta)


@kernel
def add_and_improve(form, U, penalty, row, z, A, b, u, theta, first, w1, work):
    """Add a row with the label z, and improve u; ``row`` may be the third row of ``work``."""
    add_row(row, z, A, b)
    improve(form, U, penalty, A, b, u, theta, first, w1, work)


def at_start(
    form: np.ndarray, theta: np.ndarray, near: Callable[..., float] = nearest
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the point of the sets nearest to that with θ: its θ, its weights, how far it misses.

    ``near`` is :func:`nearest`, bound to the projection of a custom set if there is one.
    """
    theta, w = theta.reshape(-1).copy(), np.empty(theta.size)
    missed = near(form, theta, w, np.empty((int(form[CYCLE]) + 4, theta.size)))
    return theta, w, missed
