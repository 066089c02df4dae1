"""Whether sets have a point in common, as far as Dykstra's algorithm can tell.

Dykstra's algorithm, from weights with θ_0, makes a correction p_i for each set i, and Σ p_i is
θ_0 − θ for the θ at its end. With h_i(v) = sup vᵀw over the weights w of set i, a common point u
satisfies p_iᵀu ≤ h_i(p_i), and thus

    (Σ p_i)ᵀu ≤ Σ h_i(p_i)

If there is no common point, each p_i grows in every cycle while Σ p_i does not, and the right side
tends to −∞: sooner or later, no u of a possible size satisfies the inequality. So sets that have a
common point of possible size are never refused, however slowly Dykstra's algorithm approaches it.
Which sizes are possible is what the bounded sets say; without such sets, every size up to FAR. The
algorithm starts anew from where it has ended, so that Σ p_i tends to 0.

Whether there is a common point does not depend on the geometry. So positive weights and shares are
projected as other weights are, on a box and on the simplex.

Boyle & Dykstra 1986; Bauschke & Borwein 1994 (sets without a common point).
"""

import math

import numpy as np

from onlinear._learner.bounds.best_in_set import IN_SET, nearest
from onlinear._updates.constrained_step import form_of
from onlinear._updates.p_norms import exponent
from onlinear._updates.projections import EUCLIDEAN, P_NORM, POSITIVE, SHARES
from onlinear.sets import Box, Simplex
from onlinear.sets._values import (
    BALL,
    CAPPED,
    FLOOR,
    HALF_SPACE,
    HYPER_PLANE,
    KIND,
    NUMBER,
    VECTOR,
    heights,
)

__all__ = ["have_no_common_point"]

RUNS = 10  # of Dykstra's algorithm, each from where the one before has ended
FAR = 1e8  # a common point that is this many times as far away as the nearest weights is none
ROUNDING = 1e-9  # relative, of Σ h_i(p_i)
ROUNDED = 1e-15  # relative, of a weight of Σ p_i

Record = list[float]


def have_no_common_point(records: list[Record], geometry: int, p: float, n: int) -> bool:
    """Return whether the sets with these records are known to have no common point of n weights.

    A custom set must not be among them.
    """
    if geometry in (SHARES, POSITIVE):
        own = Simplex(1.0) if geometry == SHARES else Box(0.0)
        records = [own.record(), *(_in_plain_space(each, geometry, n) for each in records)]
        geometry = EUCLIDEAN
    if len(records) < 2:
        return False
    form = form_of(records, len(records), p, geometry)
    theta, w = np.zeros(n), np.empty(n)
    for _ in range(RUNS):
        room = np.empty((len(records) + 4, n))
        missed = nearest(form, theta, w, room)
        corrections = room[: len(records)]
        if missed <= IN_SET or not np.isfinite(corrections).all():
            return False
        q = exponent(p, n) if geometry == P_NORM else 2.0  # of h of a ball
        if _exclude(records, corrections, w, q):
            return True
    return False


def _in_plain_space(record: Record, geometry: int, n: int) -> Record:
    """Return the record of a cap or a floor as that of a box; return others as they are."""
    kind, number = record[KIND], record[NUMBER]
    if kind == CAPPED:
        return Box(high=number).record()
    if kind == FLOOR:
        return Box(number / n, n / number if geometry == POSITIVE else math.inf).record()
    return record


def _exclude(records: list[Record], corrections: np.ndarray, w: np.ndarray, q: float) -> bool:
    """Return whether no u of a possible size satisfies the inequality for the corrections."""
    total, size, v, rough = 0.0, 0.0, np.zeros(w.size), np.zeros(w.size)
    for record, p in zip(records, corrections, strict=True):
        h, exactly = _highest(record, p, q)
        total += h
        size += abs(h)
        v += exactly
        rough += ROUNDED * np.abs(exactly)
    edge = math.inf
    for record in records:  # −vᵀu ≤ h(−v) of every set
        if record[KIND] not in (HALF_SPACE, HYPER_PLANE):
            noise = sum(abs(_highest(record, sign * rough, q)[0]) for sign in (1.0, -1.0))
            edge = min(edge, _highest(record, -v, q)[0] + noise)
    if edge == math.inf:  # no set is bounded
        edge = FAR * float(np.linalg.norm(v)) * (1.0 + float(np.linalg.norm(w)))
    return -total > ROUNDING * size + edge


def _highest(record: Record, p: np.ndarray, q: float) -> tuple[float, np.ndarray]:
    """Return h(v) of a set, and v, which is p but for rounding errors.

    For linear constraints, h is finite only for multiples of a.
    """
    kind, number = record[KIND], record[NUMBER]
    if kind in (HALF_SPACE, HYPER_PLANE):
        a = np.array(record[VECTOR:])
        multiple = float(a @ p) / float(a @ a)
        multiple = max(multiple, 0.0) if kind == HALF_SPACE else multiple
        return multiple * number, multiple * a
    if kind == BALL:
        return number * float(np.linalg.norm(p, ord=q)), p
    height = np.empty(1)
    heights(np.array(record), 0, p[None, :], height)
    return float(height[0]), p
