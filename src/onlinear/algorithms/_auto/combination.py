"""Combine the experts of Auto by online ridge regressions, mixed by exponential weights.

The features f = (p_k − p̄, …) are the experts' predictions p_k minus their mean p̄, and past labels
and errors. Each ridge predicts y − p̄ by vᵀf, and updates its weights v by

    T ← T + ρI,   v ← v + Tf (y − p̄ − vᵀf)/(σ² + fᵀTf),   T ← T − Tf fᵀT/(σ² + fᵀTf)

T is the covariance of the weights v, with T₀ = τI, and ρ is the variance that drift adds to them
per round (0 for the first ridge). σ² is a running mean of Auto's squared errors, so the weights do
not depend on the units of y. The ridges' predictions, clipped to the range of the labels, are
averaged with exponential weights, for which the loss of a ridge is ℓ = error²/2σ². In each round, a
fixed share α of the exponential weights is spread evenly, so that the mixture can switch between
the ridges at any time.

The regret against the best fixed combination v of the features is known exactly. For the ridge
without drift, if nothing is clipped,

    Σ ℓ = ½ min over v of (Σ (y − p̄ − vᵀf)²/σ² + ‖v‖²/τ) + Σ ℓ·χ/(σ² + χ),    χ = fᵀTf

For a mixture of M ridges over T rounds (T is a number here), Σ ℓ is at most the Σ ℓ of any single
ridge, plus ln M, plus T ln 1/(1 − α + α/M), plus Σ (ℓ of the mixture + ln Σ ω_i e^{−ℓ_i}), where
ω_i is the exponential weight of ridge i, and ℓ_i its loss. A single expert is also a fixed
combination: its v is a unit vector.
"""

import math

from onlinear._numerics.linalg import axpy, dot, kernel, observe, symv

__all__ = ["LEARNING", "LEAST", "MIXING", "OWN", "SUMS", "combine", "learn_to_combine"]

# indices in ``sums``: Σℓ of the mixture; for the ridge without drift, half the minimum above, and
# the cost of learning and clipping; the cost of mixing, without ln M
OWN, LEAST, LEARNING, MIXING, SUMS = range(5)


@kernel
def combine(V, trust, f, middle, low, high):
    """Return the mean, weighted by ``trust``, of the ridges' predictions clipped to [low, high]."""
    total = 0.0
    for i in range(trust.size):
        total += trust[i] * min(max(middle + dot(V[i], f), low), high)
    return total


@kernel
def learn_to_combine(V, T, trust, drifts, share, f, middle, low, high, y, noise, sums, scratch):
    """Learn the label y: update the ridges, their mixture weights, and the sums for the regret."""
    h, u, loss = scratch
    own = y - combine(V, trust, f, middle, low, high)
    least = math.inf
    for i in range(trust.size):
        e = y - min(max(middle + dot(V[i], f), low), high)
        loss[i] = e * e / (2.0 * noise)
        least = min(least, loss[i])
    sums[OWN] += own * own / (2.0 * noise)
    cut, total = loss[0], 0.0
    for i in range(trust.size):
        trust[i] *= math.exp(least - loss[i])
        total += trust[i]
    sums[MIXING] += own * own / (2.0 * noise) - least + math.log(total)
    sums[MIXING] -= math.log(1.0 - share + share / trust.size)
    for i in range(trust.size):
        trust[i] = (1.0 - share) * trust[i] / total + share / trust.size
        for j in range(f.size):
            T[i, j, j] += drifts[i]
        symv(T[i], f, h)
        chi, e = dot(f, h), y - middle - dot(V[i], f)
        if i == 0:
            least = 0.5 * e * e / (noise + chi)
            sums[LEAST] += least
            sums[LEARNING] += cut - least
        observe(T[i], f, h, chi, noise, u)  # h ← Tf/(σ² + χ)
        axpy(e, h, V[i])
