"""RIDGE-FIL: forward rows that ridge regression calls relevant, or knows too little about.

    Δ̂ = xᵀ(aI + SSᵀ + xxᵀ)⁻¹SY        eq. (3); S has the forwarded rows, Y their labels
    τ_t = −√(c ln t / N)               N is the number of labels known
    forward iff Δ̂ ≥ τ_t; also if N = 0

Δ̂ is the prediction of :class:`onlinear.AAR` with b = a, which computes it in primal form. With a
kernel, :class:`onlinear.KernelAAR` computes it; for sparse rows, the dual form of
:mod:`onlinear.filtering._sparse_ridge`. With every label seen and c = 0, the filter is the paper's
baseline RIDGE-FULL.

Cesa-Bianchi, Conconi & Gentile, NIPS 2003, section 4; the paper uses a = 1 and c = 5.
"""

from typing import Any, Literal

import numpy as np

from onlinear import kernels
from onlinear._learner.base import Learner
from onlinear._validation.checks import asked, choice, fits, number
from onlinear.algorithms import AAR, KernelAAR
from onlinear.filtering._filter import TIE, Feedback, Filter, Task
from onlinear.filtering._items import Row, entries
from onlinear.filtering._regression import Regression
from onlinear.filtering._sparse_ridge import SparseRidge
from onlinear.filtering.simple import confidence
from onlinear.kernels import Kernel, RowKernel

__all__ = ["RidgeFilter"]

WIDEST_PRIMAL = 2000  # columns; with more, a d × d matrix takes longer than the dual form
BLOCK = 512  # rows learnt at once if every label is seen


class RidgeFilter(Filter):
    """Forward rows that ridge regression calls relevant, or knows too little about.

    Costs O(d²) per round in primal form. In dual form, after n labels, learning a label costs
    O(n²), deciding not to forward a row usually costs O(number of entries of x), and the memory is
    n²/2 numbers. A row of zeros has the margin 0 and is forwarded: leave such rows out.

    Parameters
    ----------
    c : float, default 5.0
        How much to explore, c ≥ 0: a smaller c forwards fewer rows; Cesa-Bianchi, Conconi & Gentile
        use 5. With c = 0 only rows that seem relevant are forwarded, and the filter may stop
        forwarding for good.
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
    ) -> None:
        super().__init__(c=c, a=a, kernel=kernel, form=form, feedback=feedback)
        given = asked("RidgeFilter", **self._params)
        self._c, self._a = number(given, "c", least=0), number(given, "a", above=0)
        self._kernel = None if kernel is None else kernels.checked(given)
        self._sees = choice(given, "feedback", ("forwarded", "full"))
        self._form = choice(given, "form", ("auto", "primal", "dual"))
        if kernel is not None and form == "primal":
            raise ValueError(
                "RidgeFilter needs form='auto' or 'dual' with a kernel, got form='primal'"
            )
        self._model: SparseRidge | Regression | None = None

    def _begin(self, d: int) -> None:
        self._d = d
        if self._form == "primal" and self._kernel is None:
            fits("RidgeFilter in primal form", d, 1, 'form="dual"')

    def _regression(self, x: Row, topics: tuple[int, ...] = ()) -> SparseRidge | Regression:
        """Return the ridge regression; before the first label, make one of the form that fits x."""
        if self._model is not None:
            return self._model
        if self._kernel is None and (
            self._form == "dual"
            or (self._form == "auto" and (isinstance(x, tuple) or self._d > WIDEST_PRIMAL))
        ):
            return SparseRidge(self._d, self._a, topics)
        return Regression(self._learner(), self._d)

    def _learner(self) -> Learner:
        return AAR(b=self._a) if self._kernel is None else KernelAAR(self._kernel, b=self._a)

    def _margin(self, x: Row) -> float:
        return self._regression(x).margin(x)

    def _threshold(self) -> float:
        return confidence(self._c, self.seen_, self.labels_)

    def _relevant(self, x: Row) -> bool:
        return self._regression(x).reaches(x, self._threshold() - TIE)

    def _learn(self, x: Row, y: float, trial: bool) -> None:
        self._model = self._regression(x)
        self._model.learn(x, y)

    def _run(self, task: Task) -> None:
        rows, labels, decisions, advance = task
        model = self._regression(rows[0], labels.shape[1:])
        if self._sees == "forwarded" or not isinstance(model, SparseRidge):
            super()._run(task)
            return
        model.reserve(len(rows), sum(len(entries(row)[0]) for row in rows))
        for first in range(0, len(rows), BLOCK):  # every label is seen: learn in blocks
            block = slice(first, min(first + BLOCK, len(rows)))
            margins = model.learn_all(rows[block], labels[block])
            for i, margin in enumerate(margins, first):
                self.seen_ += 1
                decisions[i] = margin >= self._threshold() - TIE
                self.labels_ += 1
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

    def _known(self) -> Any:
        return 0 if self._model is None else self._model.known

    def _plain_params(self) -> dict[str, Any]:
        kernel = None if self._kernel is None else kernels.plain(self._kernel)
        return {**self._params, "kernel": kernel}

    @classmethod
    def _from_plain(cls, params: dict[str, Any]) -> dict[str, Any]:
        kernel = params["kernel"]
        return {**params, "kernel": None if kernel is None else kernels.rebuilt(kernel)}

    def _inner_described(self) -> tuple[Any, dict[str, np.ndarray]]:
        return (None, {}) if self._model is None else self._model.described()

    def _restore(self, inner: Any, arrays: dict[str, np.ndarray]) -> None:
        self._begin(self.n_features_in_)
        if inner is not None:
            if inner["form"] == "sparse":
                self._model = SparseRidge.restored(inner, arrays, self._d, self._a)
            else:
                self._model = Regression(self._learner(), self._d)
                self._model.restore(inner, arrays)
