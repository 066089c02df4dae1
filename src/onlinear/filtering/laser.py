"""The randomised filter for a truth that drifts: LASER's margin, and rows forwarded at random.

    Σ ← Σ + I/c at every row seen after the first label            w₁ = 0,  Σ₁ = I/b
    m = xᵀw,  χ = xᵀΣx,  Δ̂ = m/(1 + χ)
    forward if Δ̂ ≥ 0, else with probability p; if the row is forwarded
    w ← w + Σx (y − m)/(1 + χ),  Σ ← Σ − ΣxxᵀΣ/(1 + χ)

Σ grows with every row seen, not only with those whose label is known, since the truth drifts at
every row. For c = ∞ it is :class:`.PRidgeFilter` with ``margin="forward"``.

Theorem. Let E[Y_t] = Δ_t = u_tᵀx_t be the mean of the label of row t, given everything before the
label. The rows may depend on the past, the u_t may be anything, and w is not projected. Then

    E Σ q_t(Δ̂_t − Δ_t)² ≤ B = b‖u_1‖² + cΣ‖u_{t+1} − u_t‖² + E Σ_forwarded χ_t/(1 + χ_t)

where q_t = 1 if Δ̂_t ≥ 0, else p. Therefore regret ≤ B/(pγ) + pn in n rounds with |Δ_t| ≥ γ, and
regret ≤ √(nB/p) + pn without γ.

Proof. Between two forwarded rows that are k rows apart, Σ grows by kI/c, so the margins are LASER's
predictions on the forwarded rows, with the penalty c/k on this step; and (c/k)‖u_{t+k} − u_t‖² ≤
cΣ‖u_{s+1} − u_s‖². By LASER's bound, on every sequence of labels ±1, Σ (Δ̂ − Y)² − Σ (Δ − Y)² over
the forwarded rows is at most b‖u_1‖² + cΣ‖u_{t+1} − u_t‖² + Σ χ/(1 + χ). Whether row t is forwarded
does not depend on its label, and given the past, E[(Δ̂ − Y)² − (Δ − Y)²] = (Δ̂ − Δ)². A decision by
Δ̂_t that is wrong costs |Δ_t| ≤ |Δ̂_t − Δ_t|, hence at most (Δ̂_t − Δ_t)²/γ; a random one costs at
most 1, with probability p. Without γ, Cauchy and Schwarz: Σ |Δ̂_t − Δ_t| ≤ √(n Σ (Δ̂_t − Δ_t)²).

The margin is that of Moroshko & Crammer, AISTATS 2013; the filter is that of Cesa-Bianchi, Conconi
& Gentile, NIPS 2003, section 4.2, which says that it can be adapted to drift.
"""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from onlinear._validation.checks import asked, number
from onlinear.filtering._exploring import Exploring, Seed
from onlinear.filtering._ridge_forms import RidgeForms
from onlinear.filtering.pridge import theorem_probability
from onlinear.kernels import Kernel, RowKernel

__all__ = ["LaserFilter", "forward_regret", "static_cost"]


class LaserFilter(RidgeForms, Exploring):
    """Forward rows that LASER calls relevant, and a random sample of the rest.

    For rows whose relevance drifts. There is a bound on the regret, for any drift
    (:func:`onlinear.filtering.laser.forward_regret`). Costs O(d²) per round in primal form. In dual
    form, after n labels, learning a label costs O(n²), deciding not to forward a row usually costs
    O(number of entries of x), and the memory is n²/2 numbers.

    Parameters
    ----------
    b : float, default 1.0
        Precision of the prior, b > 0.
    c : float, default 1e4
        Penalty on drift, c > 0, as that of :class:`onlinear.LASER`: with a smaller c, the filter
        adapts faster. Infinity means no drift.
    p : float or None, default 0.05
        Probability of forwarding a row that seems irrelevant, 0 ≤ p ≤ 1. None uses the probability
        ½n^{−½}(1 + n^{−½}) for n = ``horizon`` rounds, which suits a truth that does not drift.
    horizon : int or None, default None
        The number of rounds, if it is known in advance; otherwise round t uses n = t. It matters
        only for p = None.
    seed : int or callable, default 0
        Seed of the random numbers: a whole number, or a function of t = 1, 2, … that returns a
        number in [0, 1). A row that seems irrelevant is forwarded if its random number is below p.
    kernel : onlinear.kernels.Kernel, callable or None, default None
        A kernel, if relevance is not a linear function of x.
    form : {"auto", "primal", "dual"}, default "auto"
        How to compute the margins without a kernel; the decisions are the same in both forms up to
        rounding. "auto" uses the dual form if the first row is sparse or has more than 2000
        columns.

    Examples
    --------
    >>> import numpy as np
    >>> import onlinear as ol
    >>> angle = np.random.default_rng(0).uniform(0, 2 * np.pi, size=4000)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> y = np.where(np.cos(angle - np.arange(4000) / 500) > 0, 1, -1)  # the truth turns
    >>> moving = ol.filter_replay(ol.LaserFilter(c=100.0), X, y)
    >>> fixed = ol.filter_replay(ol.PRidgeFilter(p=0.05, margin="forward"), X, y)
    >>> moving.f_measure > 0.9 > 0.7 > fixed.f_measure
    True
    """

    def __init__(
        self,
        b: float = 1.0,
        c: float = 1e4,
        p: float | None = 0.05,
        horizon: int | None = None,
        seed: Seed = 0,
        *,
        kernel: Kernel | RowKernel | None = None,
        form: Literal["auto", "primal", "dual"] = "auto",
    ) -> None:
        super().__init__(b=b, c=c, p=p, horizon=horizon, seed=seed, kernel=kernel, form=form)
        given = asked("LaserFilter", b=b, c=c)
        self._a = number(given, "b", above=0)
        self._drift = number(given, "c", above=0, most=math.inf)

    def probability(self) -> float:
        """Return the probability p of forwarding a row that seems irrelevant."""
        return theorem_probability(self._rounds) if self._p is None else self._p


def forward_regret(
    B: float, n: int, p: float | Sequence[float] | np.ndarray, gamma: float | None = None
) -> float:
    """Return the bound on the expected regret in n rounds, for the forward margin.

    The bound is B/(pγ) + pn, or √(nB/p) + pn if γ = ``gamma``, the least |uᵀx|, is not given. ``p``
    may be the probabilities of all rounds, if they do not rise: the first p in the bound is then
    the last of them, and pn is their sum. For B, see :func:`static_cost`.

    >>> from onlinear.filtering.laser import forward_regret, static_cost
    >>> B = static_cost(n=10_000, d=2)
    >>> round(forward_regret(B, 10_000, p=0.05, gamma=0.2))
    2303
    >>> round(forward_regret(B, 10_000, p=0.05))
    2399
    """
    each = np.broadcast_to(np.asarray(p, dtype=float), (n,))
    if np.any(np.diff(each) > 0) or not 0 < each[-1] <= each[0] <= 1:
        raise ValueError(f"forward_regret needs 1 ≥ p_1 ≥ … ≥ p_n > 0, got p={p}")
    least = float(each[-1])
    first = math.sqrt(n * B / least) if gamma is None else B / (least * gamma)
    return first + float(np.sum(each))


def static_cost(n: int, d: int, b: float = 1.0) -> float:
    """Return an upper bound on B in n rounds without drift: b + d ln(1 + n/(bd)).

    It holds for ‖x‖ ≤ 1 and ‖u‖ ≤ 1. With drift, B has cΣ‖u_{t+1} − u_t‖² in addition, and the sum
    of χ/(1 + χ) grows in proportion to the number of rounds.
    """
    return b + d * math.log1p(n / (b * d))
