"""The experts of Auto: LASER learners of several adaptation speeds, on scaled and on raw columns.

The last expert on raw columns is for relationships that change abruptly. This expert assumes hardly
any drift, but resets its covariance Σ when its squared error, divided by 1 + χ (χ = xᵀΣx), is more
than nine times the running mean of this quotient.
"""

import math

from onlinear._numerics.linalg import dot, kernel, reset, symv
from onlinear._updates.rescaling import awaken_gaussian, rescale_gaussian
from onlinear._updates.units import move
from onlinear.algorithms import laser

__all__ = ["ALERT", "GIVEN", "ROWS", "STANDARD", "change_units", "follow", "foresee"]

STANDARD = (1.0, 1e3, 1e6, 1e9)  # c of the experts on standardized columns
GIVEN = (0.1, 1e3, 1e6)  # c of the experts on raw columns
ALERT = len(STANDARD) + len(GIVEN) - 1  # the expert that resets its Σ
FIRST_GIVEN = len(STANDARD)
SURPRISE = 9.0  # the expert ALERT resets Σ if its squared error is this many times the usual one
USED_TO = 0.02  # rate of the running mean of the squared errors of the expert ALERT
PATIENCE = 10.0  # least number of rows between two resets of the expert ALERT
ROWS = 3  # rows of scratch memory that the experts need

_learn, _settle = kernel(laser.step.function), kernel(laser.step.settle)


@kernel
def _rescale(state, i, g, h):
    t, W, S = state
    for k in range(FIRST_GIVEN):
        rescale_gaussian((t, W[k], S[k]), i, g, h)


@kernel
def _awaken(state, i, fresh):
    t, W, S = state
    for k in range(FIRST_GIVEN):
        awaken_gaussian((t, W[k], S[k]), i, fresh)


@kernel
def _reweigh(state, params, i, fresh, share, scratch):
    t, W, S = state
    for k in range(FIRST_GIVEN):
        laser.reweigh((t, W[k], S[k]), (1.0, params[1][k]), i, fresh, share, scratch)


change_units = move(laser.FOLLOWS._replace(rescale=_rescale, awaken=_awaken, reweigh=_reweigh))


@kernel
def foresee(W, u, given, p):
    """Write the experts' predictions to p; u is the standardized row, ``given`` the raw row."""
    for k in range(W.shape[0]):
        p[k] = dot(W[k], u if k < FIRST_GIVEN else given)


@kernel
def follow(rounds, W, S, calm, c, u, given, y, work):
    """Update all experts with the label y; u is the standardized row, ``given`` the raw row."""
    for k in range(W.shape[0]):
        own, x = (rounds[k : k + 1], W[k], S[k]), u if k < FIRST_GIVEN else given
        if k == ALERT:
            _start_afresh_if_surprised(W[k], S[k], x, y, calm, work[0])
        _learn(own, (1.0, c[k], 0.0, math.inf), x, y, work)
        _settle(own, work)


@kernel
def _start_afresh_if_surprised(w, S, x, y, calm, v):
    """Reset Σ to I if the error is large; ``calm`` is (usual squared error, rows since a reset)."""
    symv(S, x, v)
    e = y - dot(w, x)
    miss = e * e / (1.0 + dot(x, v))
    if calm[1] > PATIENCE and miss > SURPRISE * calm[0]:
        reset(1.0, S)
        calm[1] = 0.0
    calm[1] += 1.0
    calm[0] += max(1.0 / calm[1], USED_TO) * (miss - calm[0])
