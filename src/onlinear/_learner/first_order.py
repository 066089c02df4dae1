"""The base class of learners that follow the gradient of a loss, and their learning rates."""

import copy
import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from onlinear import losses
from onlinear._engine.transaction import atomic
from onlinear._learner.base import Learner
from onlinear._learner.bounds.any_loss import bend, limits
from onlinear._learner.class_measures import classes_of
from onlinear._validation.checks import asked, number, whole
from onlinear.losses import SQUARED, Loss
from onlinear.losses._formulas import POISSON, SQUARE

__all__ = ["FirstOrder", "rate_for_horizon", "rate_for_loss", "rate_for_range"]


class FirstOrder(Learner):
    """A learner that follows the gradient of a loss; its prediction is the loss's link of xᵀw."""

    loss: Loss = dataclasses.field(default=SQUARED, kw_only=True)

    @property
    def _loss(self) -> Loss:
        return losses.checked(self)

    def _labels(self, y: Any, rows: int) -> np.ndarray:
        try:
            return super()._labels(y, rows)
        except ValueError as error:
            if classes_of(self._loss) is None:
                raise
            values = np.asarray(y, dtype=object).ravel().tolist()
            if not any(isinstance(value, (str, bytes)) for value in values):
                raise
            raise ValueError(
                f"{error} (LogisticLASER and AROW take classes of any type as labels)"
            ) from None

    def _to_plain(self) -> dict[str, Any]:
        params = super()._to_plain()
        return {**params, "loss": losses.plain(losses.checked(self))}

    @classmethod
    def _from_plain(cls, params: dict[str, Any]) -> dict[str, Any]:
        params = super()._from_plain(params)
        if "loss" not in params:  # in files of versions before 0.15
            return params
        return {**params, "loss": losses.rebuilt(params["loss"])}

    @property
    def decision_function(self) -> Callable[[Any], np.ndarray]:
        """``decision_function(X)`` returns the activation xᵀw of each row of X.

        It is there for losses of classes, probabilities and counts; for the other losses, the
        activation is what :meth:`predict` returns.

        >>> import onlinear as ol
        >>> model = ol.GD(eta=0.5, loss=ol.losses.Logistic())
        >>> model.learn_one([1.0, 2.0], 1.0)
        >>> model.decision_function([[1.0, 2.0]]), model.predict([[0.0, 0.0]])
        (array([1.25]), array([0.5]))
        """
        if self.loss.labels == Loss.labels:
            raise AttributeError(
                f"{type(self).__name__} has no decision_function with loss={self.loss!r}: use "
                "predict, which returns the activation"
            )
        return self._activations

    @atomic
    def _activations(self, X: Any) -> np.ndarray:
        model = copy.copy(self._fitted())
        model.loss = SQUARED  # whose link is the identity
        return np.asarray(model._run(X, None, learn=False)[0])


def rate_for_range(owner: str, loss: Loss, R2: float, top: float = 0.0, Y: float = 0.0) -> float:
    """Return the rate 1/(κR²), with which the factor of the comparator's loss is 2.

    ``R2`` is the largest R² of a row, ``top`` the largest activation and ``Y`` the largest label
    (of these two, only the Poisson loss makes use).
    """
    losses.usable(owner, loss)
    kappa = bend.py_func(loss.numbers()[0], top, Y if loss.kind == POISSON else 0.5)
    if math.isinf(kappa):
        raise ValueError(
            f"{owner} needs a loss with a bound of the form loss ≤ 2·(loss of u) + …, "
            f"got {loss!r}: use from_horizon, or give an eta"
        )
    return _usable(owner, 1 / (kappa * R2) if kappa * R2 > 0 else math.inf)


def rate_for_loss(owner: str, loss: Loss, R2: float, P: float, K: float) -> float:
    """Return the best rate for a comparator of loss at most K whose price is at most P/η.

    The bound is then L ≤ L(u) + 2√(αK) + α with α = 2R²P for the square loss, and
    L ≤ L(u) + 2β + 2√(β² + Kβ) with β = ½κR²P for the other losses.
    """
    K = number(asked(owner, K=K), "K", least=0)
    kind, _ = losses.usable(owner, loss).numbers()
    if kind == SQUARE:
        alpha = 2 * R2 * P
        return _usable(owner, 0.5 * math.sqrt(alpha) / (math.sqrt(K) + math.sqrt(alpha)) / R2)
    kappa = bend.py_func(kind, math.inf, 0.5)
    if math.isinf(kappa):
        raise ValueError(
            f"{owner} needs a loss whose slope g satisfies g² ≤ κ·loss for some κ, got "
            f"{loss!r}: use from_horizon, or give an eta"
        )
    beta = 0.5 * kappa * R2 * P
    share = beta / (math.sqrt(beta * beta + K * beta) + beta)  # (√(β² + Kβ) − β)/K
    return _usable(owner, 2 * share / (kappa * R2))


def rate_for_horizon(owner: str, loss: Loss, R2: float, P: float, T: int) -> float:
    """Return the rate √(2P/T)/(GR), with which L ≤ L(u) + GR√(2PT) after T rounds."""
    rounds = whole(asked(owner, T=T), "T", least=1)
    G = limits.py_func(*losses.usable(owner, loss).numbers())
    if math.isinf(G):
        raise ValueError(
            f"{owner} needs a loss with a bounded slope, got {loss!r}: use from_range or from_loss"
        )
    return _usable(owner, math.sqrt(2 * P / rounds) / (G * math.sqrt(R2)))


def _usable(owner: str, eta: float) -> float:
    """Return a learning rate; refuse 0 and infinity."""
    if not 0 < eta < math.inf:
        raise ValueError(
            f"{owner} needs ranges for which eta fits in floating point, got eta={eta:g}: rescale "
            "the data, or give an eta"
        )
    return eta
