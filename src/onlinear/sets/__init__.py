"""Constraint sets for the weights of first-order learners: what is known of them in advance.

    Ball(radius)                     ‖w‖₂ ≤ radius (‖w‖_q ≤ radius in PNorm)
    L1Ball(radius)                   ‖w‖₁ ≤ radius
    Box(low, high)                   low ≤ w_i ≤ high, with limits for all weights or for each
    Simplex(total)                   w_i ≥ 0, Σ w_i = total
    Capped(cap)                      w_i ≤ cap
    HalfSpace(a, c)                  aᵀw ≤ c
    HyperPlane(a, c)                 aᵀw = c
    Intersection(A, B, …)            the weights that are in every one of these sets
    Custom(project)                  your own projection

``GD``, ``PNorm``, ``EG``, ``EGPM`` and ``EGU`` take a set as ``within=``, and project their weights
on it after every round, in the geometry of the learner. Not every learner takes every set:

=========== ==== ======= ======== =====
set         GD   PNorm   EG, EGPM EGU
=========== ==== ======= ======== =====
Ball        yes  yes
L1Ball      yes
Box         yes                   yes
Simplex     yes                   yes
Capped                   yes
HalfSpace   yes  yes     yes      yes
HyperPlane  yes  yes     yes      yes
Custom      yes  yes     yes      yes
=========== ==== ======= ======== =====

The bounds of the learners hold for weights u in the set, because a projection on a set moves the
weights nearer to every u of the set, in the learner's divergence. This is also true of one
projection on each of several sets in turn, so that ``Intersection`` makes one such pass per round.
With ``exact=True``, it projects on the intersection itself, by Dykstra's algorithm.

Herbster & Warmuth, JMLR 2001, sections 3 and 6; Boyle & Dykstra 1986; Censor & Reich 1998
(Dykstra's algorithm for Bregman projections); Michelot 1986 (the projection on the simplex).
"""

from onlinear.sets._combined import Custom, Intersection, register
from onlinear.sets._values import (
    Ball,
    Box,
    Capped,
    HalfSpace,
    HyperPlane,
    L1Ball,
    Set,
    Simplex,
)

__all__ = [
    "Ball",
    "Box",
    "Capped",
    "Custom",
    "HalfSpace",
    "HyperPlane",
    "Intersection",
    "L1Ball",
    "Set",
    "Simplex",
    "register",
]
