"""Base class of filters whose margin is a ridge regression's: primal, dual or with a kernel.

    Δ̂ = m/(1 + χ),  m = xᵀw,  χ = xᵀΣx           w and Σ learnt from the labels of forwarded rows
    Σ ← Σ + I/c at every row seen after the first label, if the truth drifts

Without drift, Δ̂ is the prediction of AAR; with drift, it is LASER's, had LASER had rows without
labels. In primal form a learner of the library computes it, and :mod:`._sparse_ridge` in dual form.
"""

import math
from typing import Any

import numpy as np

from onlinear import kernels
from onlinear._learner.base import Learner
from onlinear._state_files.model_codec import count
from onlinear._validation.checks import asked, choice, fits
from onlinear.algorithms import AAR, LASER, KernelAAR, KernelLASER
from onlinear.filtering._dual_ball import DualBall
from onlinear.filtering._filter import TIE, Filter
from onlinear.filtering._items import Row
from onlinear.filtering._regression import Regression
from onlinear.filtering._sparse_ridge import SparseRidge

__all__ = ["Model", "RidgeForms"]

WIDEST_PRIMAL = 2000  # columns; with more, a d × d matrix takes longer than the dual form

Model = Regression | SparseRidge | DualBall


class RidgeForms(Filter, base=True):
    """A filter whose margin is that of a ridge regression, in one of several forms."""

    _a: float  # precision of the prior
    _drift = math.inf  # LASER's penalty c on drift
    _matrices = 1  # d × d matrices of the primal form

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        name = type(self).__name__
        given = asked(name, **params)
        self._kernel = None if given.kernel is None else kernels.checked(given)
        self._form = choice(given, "form", ("auto", "primal", "dual"))
        if given.kernel is not None and given.form == "primal":
            raise ValueError(f"{name} needs form='auto' or 'dual' with a kernel, got form='primal'")
        self._model: Model | None = None
        self._last = 0  # the number of rows seen when the last label was learnt

    def _begin(self, d: int) -> None:
        self._d = d
        if not self._in_dual_form(np.empty(0)) and self._kernel is None:
            fits(f"{type(self).__name__} in primal form", d, self._matrices, 'form="dual"')

    # --- the regression -------------------------------------------------------------------------

    def _in_dual_form(self, x: Row) -> bool:
        """Return whether to use the dual form without a kernel, given the first row."""
        if self._form != "auto":
            return bool(self._form == "dual")
        return isinstance(x, tuple) or self._d > WIDEST_PRIMAL

    def _regression(self, x: Row, topics: tuple[int, ...] = ()) -> Model:
        """Return the ridge regression; before the first label, make one of the form that fits x."""
        if self._model is not None:
            return self._model
        if self._kernel is None and self._in_dual_form(x):
            return self._dual(topics)
        return self._primal()

    def _primal(self) -> Model:
        """Return a ridge regression in primal form, or with the kernel."""
        return Regression(self._learner(), self._d, type(self).__name__, self._drift)

    def _dual(self, topics: tuple[int, ...] = ()) -> Model:
        """Return a ridge regression in dual form, without a kernel."""
        owner = type(self).__name__
        return SparseRidge(self._d, self._a, topics, c=self._drift, owner=owner)

    def _learner(self) -> Learner:
        a, c, kernel = self._a, self._drift, self._kernel
        if math.isinf(c):
            return AAR(b=a) if kernel is None else KernelAAR(kernel, b=a)
        return LASER(b=a, c=c) if kernel is None else KernelLASER(kernel, b=a, c=c)

    # --- the round ------------------------------------------------------------------------------

    def _elapsed(self, t: int) -> int:
        """Return how many rows were seen since the last label, if the next row is number t."""
        return t - self._last if self._model is not None else 0

    def _margin(self, x: Row, t: int) -> float:
        return self._regression(x).margin(x, self._elapsed(t))

    def _relevant(self, x: Row) -> bool:
        threshold, elapsed = self._threshold() - TIE, self._elapsed(self.seen_)
        return self._regression(x).reaches(x, threshold, elapsed)

    def _learn(self, x: Row, y: float, trial: bool) -> None:
        elapsed = self._elapsed(self.seen_)
        self._model = self._regression(x)
        self._last = self.seen_
        self._model.learn(x, y, elapsed)

    def _known(self) -> Any:
        return 0 if self._model is None else self._model.known

    # --- state files ----------------------------------------------------------------------------

    def _plain_params(self) -> dict[str, Any]:
        kernel = None if self._kernel is None else kernels.plain(self._kernel)
        return {**super()._plain_params(), "kernel": kernel}

    @classmethod
    def _from_plain(cls, params: dict[str, Any]) -> dict[str, Any]:
        kernel = params.get("kernel")  # PRidgeFilter had none before
        return {**params, "kernel": None if kernel is None else kernels.rebuilt(kernel)}

    def _inner_described(self) -> tuple[Any, dict[str, np.ndarray]]:
        if self._model is None:
            return None, {}
        header, arrays = self._model.described()
        return {**header, "last": self._last}, arrays

    def _restore(self, inner: Any, arrays: dict[str, np.ndarray]) -> None:
        self._begin(self.n_features_in_)
        if inner is None:
            return
        self._last = count(inner.get("last", self.seen_))  # absent before there was drift
        if not self.labels_ <= self._last <= self.seen_:
            raise ValueError(f"it learnt a label at row {self._last} of {self.seen_}")
        dual = inner["form"] != Regression.form and self._kernel is None
        model = self._dual() if dual else self._primal()
        if inner["form"] != model.form:
            raise ValueError(f"it holds the form {inner['form']!r} of {self}")
        self._model = model.restored(inner, arrays)
