"""P-RIDGE-FIL: forward rows that ridge regression calls relevant, and others at random.

    Δ̂ = wᵀx,  w₁ = 0,  A₁ = aI
    forward if Δ̂ ≥ 0, else with probability p; if the row is forwarded
    A ← A + xxᵀ
    w ← w + (y − Δ̂) A⁻¹x, then projected on ‖w‖ ≤ 1 in the metric of A

The weights are those of :class:`onlinear.ARCOR` without resets, with r = a and a ball of radius 1,
learnt from the forwarded rows; in dual form, :mod:`onlinear.filtering._dual_ball` computes them.
Figure 2 of Cesa-Bianchi, Conconi & Gentile differs in two ways: it leaves out aI in A, and in A⁻¹x
it uses A without xxᵀ. Each of the two makes their Lemma 2 false.

With ``margin="forward"``, the margin is their (3), that of RIDGE-FIL, and w is not projected:

    Δ̂ = m/(1 + χ),  m = xᵀw,  χ = xᵀA⁻¹x

Its bound on the regret, :func:`.laser.forward_regret`, is smaller than their Theorem 3, and needs
no bound on ‖w‖. It is :class:`.LaserFilter` without drift.

Cesa-Bianchi, Conconi & Gentile, NIPS 2003, section 4.2, Theorem 3.
"""

import math
from typing import Literal

from onlinear._validation.checks import asked, choice, number
from onlinear.algorithms import ARCOR
from onlinear.filtering._dual_ball import DualBall
from onlinear.filtering._examples import KernelRows, SparseRows
from onlinear.filtering._exploring import Exploring, Seed
from onlinear.filtering._items import Row
from onlinear.filtering._regression import Regression
from onlinear.filtering._ridge_forms import WIDEST_PRIMAL, Model, RidgeForms
from onlinear.kernels import Kernel, RowKernel

__all__ = ["PRidgeFilter", "theorem_3", "theorem_probability"]

RADIUS = 1.0  # of the ball that the weights stay in


class PRidgeFilter(RidgeForms, Exploring):
    """Forward rows that ridge regression calls relevant, and a random sample of the rest.

    Costs O(d²) per round in primal form for d features, and more when w has to be projected. In
    dual form and with a kernel, after n labels, learning a label costs O(n²), some ten times that
    when the weights have to be projected, and the memory is n²/2 numbers; a decision then costs
    O(number of entries of x), or O(nd) with a kernel. The regret bounds need rows with ‖x‖ = 1.

    Parameters
    ----------
    a : float, default 1.0
        Precision of the prior, a > 0.
    p : float or None, default None
        Probability of forwarding a row that seems irrelevant, 0 ≤ p ≤ 1. None uses the
        probability of Theorem 3, ½n^{−½}(1 + n^{−½}), for n = ``horizon`` rounds.
    kernel : onlinear.kernels.Kernel, callable or None, default None
        A kernel, if relevance is not a linear function of x.
    margin : {"projected", "forward"}, default "projected"
        "projected" keeps the weights in the ball ‖w‖ ≤ 1 and compares wᵀx with 0, as in the paper.
        "forward" uses the margin of RIDGE-FIL, wᵀx/(1 + χ), and does not project: its regret has a
        smaller bound, and learning a label takes less time.
    form : {"auto", "primal", "dual"}, default "auto"
        How to compute the margins without a kernel; the decisions are the same in both forms up to
        rounding. "auto" uses the dual form if there are more than 2000 columns.
    horizon : int or None, default None
        The number of rounds, if it is known in advance; otherwise round t uses n = t.
    seed : int or callable, default 0
        Seed of the random numbers: a whole number, or a function of t = 1, 2, … that returns a
        number in [0, 1). A row that seems irrelevant is forwarded if its random number is below p.

    Examples
    --------
    >>> import onlinear as ol
    >>> f = ol.PRidgeFilter(p=0.0)
    >>> f.decide([0.6, 0.8])
    True
    >>> f.feedback([0.6, 0.8], -1)
    >>> f.decide([0.6, 0.8]), f.margin([0.6, 0.8])
    (False, -0.5)
    """

    def __init__(
        self,
        a: float = 1.0,
        p: float | None = None,
        kernel: Kernel | RowKernel | None = None,
        *,
        margin: Literal["projected", "forward"] = "projected",
        form: Literal["auto", "primal", "dual"] = "auto",
        horizon: int | None = None,
        seed: Seed = 0,
    ) -> None:
        super().__init__(
            a=a, p=p, kernel=kernel, margin=margin, form=form, horizon=horizon, seed=seed
        )
        given = asked("PRidgeFilter", a=a, margin=margin)
        self._a = number(given, "a", above=0)
        self._projected = choice(given, "margin", ("projected", "forward")) == "projected"
        self._matrices = 3 if self._projected else 1

    def _in_dual_form(self, x: Row) -> bool:
        return self._form == "dual" or (self._form == "auto" and self._d > WIDEST_PRIMAL)

    def _primal(self) -> Model:
        if not self._projected:
            return super()._primal()
        if self._kernel is not None:
            return self._ball(KernelRows(self._d, self._kernel))
        return Regression(ARCOR(r=self._a, radius=RADIUS, q=math.inf), self._d, "PRidgeFilter")

    def _dual(self, topics: tuple[int, ...] = ()) -> Model:
        return self._ball(SparseRows(self._d)) if self._projected else super()._dual(topics)

    def _ball(self, rows: SparseRows | KernelRows) -> DualBall:
        return DualBall(rows, self._a, RADIUS, "PRidgeFilter")

    def probability(self) -> float:
        """Return the probability p of forwarding a row that seems irrelevant."""
        return theorem_probability(self._rounds) if self._p is None else self._p


def theorem_probability(n: int) -> float:
    """Return the probability of Theorem 3, ½n^{−½}(1 + n^{−½}), for n rounds."""
    root = 1 / math.sqrt(n)
    return root * (1 + root) / 2


def theorem_3(gamma: float, n: int, d: int, a: float = 1.0) -> float:
    """Return Theorem 3's bound on the expected regret of P-RIDGE-FIL in n rounds of d features.

    The bound is 2a√n/γ + 8√n/γ·d ln(1 + n/(ad)) + √n/2 + ½, where γ is the least |uᵀx| of a row x
    and the comparator u. It holds for the default p, if x and u have length 1.
    """
    root = math.sqrt(n)
    return 2 * a * root / gamma + 8 * root / gamma * d * math.log1p(n / (a * d)) + root / 2 + 0.5
