"""``merge``: combine learners without drift, trained on different rows, into one.

    Σ⁻¹ = Σ₁⁻¹ + … + Σ_k⁻¹ − (k − 1)·bI        each contains the prior bI, which is counted once
    w = Σ (Σ₁⁻¹w₁ + … + Σ_k⁻¹w_k)

Here, w_i and Σ_i are the weights and the covariance matrix of the i-th of k learners, and b is the
precision of their prior. The merged learner is exact: the sums of xxᵀ and yx over the rows
determine a learner without drift, in whatever order the rows came.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

from onlinear._learner.second_order import SecondOrder
from onlinear._validation.checks import described

__all__ = ["merge"]

Model = TypeVar("Model", bound=SecondOrder)


def merge(models: Iterable[Model]) -> Model:
    """Return one learner that has learnt the rows of several learners of the same kind.

    Up to rounding, the merged learner equals one that learnt all rows itself, so rows of several
    machines or days can be learnt by separate learners. The given learners do not change. (If
    columns are nearly collinear, rounding errors of the weights grow with the number of learners;
    those of the predictions are much smaller.)

    Parameters
    ----------
    models : iterable of Ridge, AAR or AROWR
        Learners of one class, with the same parameters and columns; learners that have learnt
        nothing add nothing. (Learners with forgetting or drift depend on the order of the rows, and
        cannot be merged.) :class:`onlinear.Keyed` objects can be merged, too; if no key is in two
        of them, their learner may be of any class.

    Examples
    --------
    >>> import onlinear as ol
    >>> monday, tuesday = ol.Ridge(), ol.Ridge()
    >>> monday.learn_one([1.0, 0.0], 2.0)
    >>> tuesday.learn_one([0.0, 1.0], 4.0)
    >>> week = ol.merge([monday, tuesday])
    >>> week.rounds_, week.coef_.round(12)
    (2, array([1., 2.]))
    """
    from scipy.linalg import cho_factor, cho_solve

    given = list(models)
    several: Any = getattr(type(given[0]), "_merged", None) if given else None
    if several is not None:
        return several(given)  # type: ignore[no-any-return]
    _check(given)
    first = given[0]
    merged = type(first)(**first.get_params(deep=False))
    begun = [model for model in given if model._state is not None]
    if begun:
        d = begun[0].n_features_in_
        eye = np.eye(d)
        precision = -(len(begun) - 1) * merged._params().b * eye  # type: ignore[attr-defined]
        pull = np.zeros(d)
        for model in begun:
            own = cho_solve(cho_factor(model._state.S), eye)  # Σ_k⁻¹ = bI + Σ xxᵀ
            precision += (own + own.T) / 2
            pull += own @ model._state.w
        factor = cho_factor(precision)
        covariance = cho_solve(factor, eye)
        merged._begin(d)
        merged._name_columns(begun[0]._names)
        merged._state.t[0] = sum(model._state.t[0] for model in begun)
        merged._state.w[:] = cho_solve(factor, pull)
        merged._state.S[:] = (covariance + covariance.T) / 2
    if any(model.n_skipped_ for model in given):
        merged.n_skipped_ = sum(model.n_skipped_ for model in given)
    return merged


def _check(models: list[Model]) -> None:
    """Refuse learners that cannot be merged."""
    if not models:
        raise ValueError("merge needs at least one learner, got none")
    first = models[0]
    for model in models:
        if not getattr(type(model), "_sums_only", False):
            got = described(model) if isinstance(model, type) else repr(model)
            raise TypeError(f"merge needs learners of class Ridge, AAR or AROWR, got {got:.60}")
        if type(model) is not type(first) or model.get_params() != first.get_params():
            raise ValueError(f"merge needs learners with the same parameters, got {first}, {model}")
    begun = [model for model in models if model._state is not None]
    for model in begun[1:]:
        here, there = (_columns(each) for each in (begun[0], model))
        if here != there:
            raise ValueError(f"merge needs learners with the same columns, got {here} and {there}")


def _columns(model: SecondOrder) -> int | list[str]:
    return model.n_features_in_ if model._names is None else model._names
