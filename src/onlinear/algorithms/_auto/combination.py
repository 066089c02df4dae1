"""Several predictions combined by small ridges, whose weights stay or drift, mixed by their losses.

Given experts' predictions p_k with mean p̄ and other features, f = (p_k − p̄, …), each ridge
predicts y − p̄ by a weight vector of its own,

    T ← T + ρI,   v ← v + Tf (y − p̄ − vᵀf)/(σ² + fᵀTf),   T ← T − Tf fᵀT/(σ² + fᵀTf)

with T₀ = τI and drift ρ: weights are pure numbers, whatever the units of y, σ² being a running mean
of squared errors. What they predict, cut to the range of labels, is mixed by exponential weights on
ℓ = error²/2σ² with a fixed share α, so that another may lead at any time.

What the mixture loses more than the best fixed combination v of all, is known to the last term. For
the ridge that stays, without cuts,

    Σ ℓ = ½ min over v of (Σ (y − p̄ − vᵀf)²/σ² + ‖v‖²/τ) + Σ ℓ·χ/(σ² + χ),    χ = fᵀTf

and of mixing M ridges, the mixture's Σ ℓ is at most that of any of them plus ln M, plus
T ln 1/(1 − α + α/M), plus Σ (ℓ of the mixture + ln Σ ω_i e^{−ℓ_i}). Experts are combinations, too:
their v is a unit vector.
"""

import math

from onlinear._numerics.linalg import axpy, dot, inner, observe, symv

__all__ = ["LEARNING", "LEAST", "MIXING", "OWN", "SUMS", "combine", "learn_to_combine"]

# sums: Σℓ of the mixture; of the ridge that stays, half the minimum, and what learning and cuts
# cost; what mixing costs but for ln M
OWN, LEAST, LEARNING, MIXING, SUMS = range(5)


@inner
def combine(V, trust, f, middle, low, high):
    """Return the mixture of what the ridges predict, each cut to the range."""
    total = 0.0
    for i in range(trust.size):
        total += trust[i] * min(max(middle + dot(V[i], f), low), high)
    return total


@inner
def learn_to_combine(V, T, trust, drifts, share, f, middle, low, high, y, noise, sums, scratch):
    """Let the ridges learn y, weigh them by what they lost, and keep the sums."""
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
