"""RIDGE-FIL: forward rows that ridge regression calls relevant, or knows too little about.

    m = xᵀw,  χ = xᵀA⁻¹x,  Δ̂ = m/(1 + χ) = xᵀ(aI + SSᵀ + xxᵀ)⁻¹SY        eq. (3)

S has the forwarded rows, Y their labels, N is the number of labels known, and A = aI + SSᵀ. A row
is forwarded if N = 0, or by one of three rules:

    "count"      Δ̂ ≥ −√(c ln t / N)                                    the paper's
    "variance"   m ≥ −√(c ln t · χ)                                    N of the rows like this one
    "ellipsoid"  m ≥ −β√χ,  β = √a + √(ln det(A/a) + 2 ln(1/δ))        has a bound on the regret

If the truth drifts, m and χ are those of LASER (:mod:`onlinear.filtering._ridge_forms`). With every
label seen and c = 0, the filter is the paper's baseline RIDGE-FULL.

Theorem for "ellipsoid". Let ‖u‖ ≤ 1, and let Δ_t = uᵀx_t be the mean of the label of row t, given
everything before the label; the rows may depend on the past. With probability 1 − δ, no row with
Δ_t ≥ 0 is held back, and regret ≤ Σ_forwarded min(1, 2β_t√χ_t), or (4/γ)Σ_forwarded β_t²χ_t if
|Δ_t| ≥ γ. Proof: Y_t − Δ_t lies in an interval of length 2, so it is sub-Gaussian with variance 1,
and |m_t − Δ_t| ≤ β_t√χ_t in all rounds with probability 1 − δ (Abbasi-Yadkori, Pál & Szepesvári,
NIPS 2011, Theorem 2). Then a row with Δ_t ≥ 0 is forwarded, and one with Δ_t < 0 only if
−Δ_t ≤ 2β_t√χ_t, which is what forwarding it costs. :func:`ellipsoid_regret` bounds the sums.

Cesa-Bianchi, Conconi & Gentile, NIPS 2003, section 4; the paper uses a = 1 and c = 5. It says that
a bound for the deviation of the margin was not found; the ellipsoid is one.
"""

import math
from typing import Any, Literal

import numpy as np

from onlinear._validation.checks import asked, choice, number
from onlinear._validation.states import check_range
from onlinear.filtering._filter import TIE, Feedback, Task
from onlinear.filtering._items import Row
from onlinear.filtering._regression import Regression
from onlinear.filtering._ridge_forms import RidgeForms
from onlinear.filtering._sparse_ridge import SparseRidge
from onlinear.filtering.simple import confidence
from onlinear.kernels import Kernel, RowKernel

__all__ = ["RidgeFilter", "ellipsoid_regret"]

BLOCK = 512  # rows learnt at once if every label is seen
NEAR = 1e-6  # tolerance for ln det(A/a) of a state that is read from a file
LARGEST_LOG = 710.0  # the logarithm of the largest float, rounded up


class RidgeFilter(RidgeForms):
    """Forward rows that ridge regression calls relevant, or knows too little about.

    Costs O(d²) per round in primal form. In dual form, after n labels, learning a label costs
    O(n²), deciding not to forward a row usually costs O(number of entries of x), and the memory is
    n²/2 numbers. A row of zeros has the margin 0 and is forwarded: leave such rows out.

    Parameters
    ----------
    c : float, default 5.0
        How much to explore, c ≥ 0: a smaller c forwards fewer rows; Cesa-Bianchi, Conconi & Gentile
        use 5, with the rule "count". With c = 0 only rows that seem relevant are forwarded, and the
        filter may stop forwarding for good. The rule "ellipsoid" does not use c.
    a : float, default 1.0
        Precision of the prior, a > 0.
    kernel : onlinear.kernels.Kernel, callable or None, default None
        A kernel, if relevance is not a linear function of x.
    form : {"auto", "primal", "dual"}, default "auto"
        How to compute the margins without a kernel; the decisions are the same in both forms.
        "auto" uses the dual form if the first row is sparse or has more than 2000 columns.
    feedback : {"forwarded", "full"}, default "forwarded"
        With "full" the labels of all rows are learnt, forwarded or not; with c = 0 and "full", the
        filter is RIDGE-FULL, the baseline classifier of Cesa-Bianchi, Conconi & Gentile.
    rule : {"count", "variance", "ellipsoid"}, default "count"
        Which rows with a negative margin to forward, to see their labels. "count", the paper's
        rule, explores less the more labels are known. "variance" explores where few labels of
        similar rows are known; c has to be smaller, .05 to .2. "ellipsoid" has a bound on the
        regret, forwards more, and needs drift = infinity.
    delta : float, default 0.05
        With the rule "ellipsoid", the probability that the bound fails, 0 < delta < 1.
    drift : float, default inf
        Penalty on drift, drift > 0, as c of :class:`onlinear.LASER`: with a smaller number, the
        filter adapts faster if the relevance of rows drifts. Infinity means no drift; 1e4 costs
        hardly anything if there is none.

    Examples
    --------
    >>> import onlinear as ol
    >>> f = ol.RidgeFilter()
    >>> f.decide([0.6, 0.8])  # nothing is known yet
    True
    >>> f.feedback([0.6, 0.8], -1)
    >>> f.margin([0.8, 0.6])
    -0.3118503118503118
    """

    def __init__(
        self,
        c: float = 5.0,
        a: float = 1.0,
        kernel: Kernel | RowKernel | None = None,
        *,
        form: Literal["auto", "primal", "dual"] = "auto",
        feedback: Feedback = "forwarded",
        rule: Literal["count", "variance", "ellipsoid"] = "count",
        delta: float = 0.05,
        drift: float = math.inf,
    ) -> None:
        super().__init__(
            c=c,
            a=a,
            kernel=kernel,
            form=form,
            feedback=feedback,
            rule=rule,
            delta=delta,
            drift=drift,
        )
        given = asked("RidgeFilter", **self._params)
        self._c, self._a = number(given, "c", least=0), number(given, "a", above=0)
        self._sees = choice(given, "feedback", ("forwarded", "full"))
        self._rule = choice(given, "rule", ("count", "variance", "ellipsoid"))
        self._delta = number(given, "delta", above=0, below=1)
        self._drift = number(given, "drift", above=0, most=math.inf)
        if self._rule == "ellipsoid" and math.isfinite(self._drift):
            raise ValueError(
                "RidgeFilter needs drift=inf with rule='ellipsoid', whose theorem is about a truth "
                f"that stays, got drift={drift!r}: use rule='variance', or LaserFilter, which has "
                "a bound under drift"
            )
        self._growth = 0.0  # ln det(A/a), kept up to date for the rule "ellipsoid" only

    # --- the rules ------------------------------------------------------------------------------

    def _threshold(self) -> float:
        return confidence(self._c, self.seen_, self.labels_)

    def _width(self) -> float:
        """Return how many √χ below zero m of a forwarded row may be."""
        if self._rule == "variance":
            return math.sqrt(self._c * math.log(self.seen_))
        return beta(self._a, self._growth, self._delta)

    def _relevant(self, x: Row) -> bool:
        if self._rule == "count":
            return super()._relevant(x)
        model = self._regression(x)
        assert isinstance(model, SparseRidge | Regression)
        return not self.labels_ or model.near(x, self._width(), TIE, self._elapsed(self.seen_))

    def _passes(self, m: Any, pivot: float) -> Any:
        """Return whether a row with this m and 1 + χ is forwarded."""
        if not self.labels_:
            return True
        if self._rule == "count":
            return m / pivot >= self._threshold() - TIE
        return m + TIE >= -self._width() * math.sqrt(max(pivot - 1.0, 0.0))

    # --- labels ---------------------------------------------------------------------------------

    def _learn(self, x: Row, y: float, trial: bool) -> None:
        if self._rule == "ellipsoid":
            model = self._regression(x)
            assert isinstance(model, SparseRidge | Regression)
            self._growth += math.log1p(model.look(x)[1])
        super()._learn(x, y, trial)

    def _run(self, task: Task) -> None:
        rows, labels, decisions, advance = task
        model = self._regression(rows[0], labels.shape[1:])
        if self._sees == "forwarded" or not isinstance(model, SparseRidge):
            super()._run(task)
            return
        model.reserve([model.rows.taken(row) for row in rows])
        for first in range(0, len(rows), BLOCK):  # every label is seen: learn in blocks
            block = slice(first, min(first + BLOCK, len(rows)))
            elapsed = self.seen_ + 1 - self._last
            means, pivots = model.learn_all(rows[block], labels[block], elapsed)
            for i, (m, pivot) in enumerate(zip(means, pivots, strict=True), first):
                self.seen_ += 1
                decisions[i] = self._passes(m, pivot)
                self.labels_ += 1
                self._growth += math.log(pivot) if self._rule == "ellipsoid" else 0.0
            self._last = self.seen_
            advance(block.stop, len(rows))
        if labels.ndim == 1:
            model.reweigh()
            self._model = model
        self.forwarded_ += int(decisions.sum())

    def _run_topics(self, task: Task) -> None:
        """Run all topics; if every label is seen, the dual form has one factor L for all of them.

        L (see :mod:`onlinear.filtering._sparse_ridge`) depends on the rows and not on the labels.
        """
        if self._sees == "full" and isinstance(self._regression(task.rows[0]), SparseRidge):
            self._run(task)
        else:
            super()._run_topics(task)

    # --- state files ----------------------------------------------------------------------------

    def _inner_described(self) -> tuple[Any, dict[str, np.ndarray]]:
        header, arrays = super()._inner_described()
        if header is not None and self._rule == "ellipsoid":
            header["growth"] = self._growth
        return header, arrays

    def _restore(self, inner: Any, arrays: dict[str, np.ndarray]) -> None:
        super()._restore(inner, arrays)
        if inner is not None and self._rule == "ellipsoid":
            self._growth = float(inner["growth"])
            assert isinstance(self._model, SparseRidge | Regression)
            # the sum may be larger than what Σ says, whose entries do not become arbitrarily small
            known = self._model.growth()
            least = known - NEAR * (1.0 + abs(known))
            check_range("ln det(A/a)", [self._growth], least, LARGEST_LOG * self.labels_)


def beta(a: float, growth: float, delta: float) -> float:
    """Return β of the confidence ellipsoid for ‖u‖ ≤ 1, given ln det(A/a)."""
    return math.sqrt(a) + math.sqrt(growth + 2.0 * math.log(1.0 / delta))


def ellipsoid_regret(
    n: int, d: int, a: float = 1.0, delta: float = 0.05, gamma: float | None = None
) -> float:
    """Return a bound on the regret of ``RidgeFilter(rule="ellipsoid")`` with probability 1 − δ.

    For ‖x‖ ≤ 1 and ‖u‖ ≤ 1, ln det(A/a) and Σ χ/(1 + χ) are at most G = d ln(1 + n/(ad)), and
    χ ≤ (1 + 1/a)·χ/(1 + χ). With β for ln det(A/a) = G, the bound is 2β√(n(1 + 1/a)G), or
    (4/γ)β²(1 + 1/a)G if γ = ``gamma``, the least |uᵀx|, is given.

    >>> from onlinear.filtering.ridge import ellipsoid_regret
    >>> round(ellipsoid_regret(n=10**6, d=1, gamma=0.2)), round(ellipsoid_regret(n=10**6, d=1))
    (16417, 57301)
    """
    growth = d * math.log1p(n / (a * d))
    width, total = beta(a, growth, delta), (1.0 + 1.0 / a) * growth
    if gamma is None:
        return 2.0 * width * math.sqrt(n * total)
    return 4.0 / gamma * width**2 * total
