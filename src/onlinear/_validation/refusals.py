"""Errors: for a learner that has seen no data, and for a row that cannot be learnt."""

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from onlinear._engine.status import (
    BAD_INPUT,
    BAD_LABEL,
    DOMAIN,
    NOT_ONLY_PREDICTED,
    OVERFLOW,
    Outcome,
)

__all__ = ["NotFittedError", "from_sklearn", "not_fitted", "refusal"]


class NotFittedError(ValueError, AttributeError):
    """Raised by ``predict`` and ``score`` before ``fit``, if scikit-learn is not imported.

    If scikit-learn is imported, its class of this name is raised instead.
    """


def from_sklearn(name: str, otherwise: type) -> Any:
    """Return scikit-learn's exception ``name``, or ``otherwise`` if it has not been imported."""
    return getattr(sys.modules.get("sklearn.exceptions"), name, otherwise)


def not_fitted(owner: str) -> Exception:
    """Return the error for calling a method that needs data on a learner that has seen none."""
    error: Exception = from_sklearn("NotFittedError", NotFittedError)(
        f"This {owner} instance is not fitted yet: call fit, partial_fit, learn_one or "
        "onlinear.replay first. (predict_one needs none of them.)"
    )
    return error


def _shown(value: float) -> str:
    return "NaN" if math.isnan(value) else f"{value:g}".replace("inf", "infinity")


def refusal(
    owner: str,
    rules: Sequence[str],
    outcome: Outcome,
    x: np.ndarray,
    *,
    in_table: bool,
    names: list[str] | None,
    params: dict[str, Any],
) -> ValueError:
    """Return the error for a row that is refused; it says why, where, and for what value."""
    place = f"row {outcome.row}" if in_table else "this row"

    def at(j: int) -> str:
        return f"{place}, column {j}" + (f" ({names[j]!r})" if names else "")

    if outcome.rule == BAD_INPUT:
        j = int(outcome.value)
        text = f"needs finite input: X contains {_shown(x[j])} in {at(j)}"
    elif outcome.rule == BAD_LABEL:
        text = f"needs finite labels: y contains {_shown(outcome.value)} in {place}"
    elif outcome.rule == OVERFLOW:
        label = "" if math.isnan(outcome.value) else f", y = {outcome.value:g}"
        text = (
            f"needs numbers whose squares fit in floating point, but {place} would overflow "
            f"(largest |x_i| = {np.max(np.abs(x)):g}{label}): rescale the data"
        )
    elif outcome.rule == NOT_ONLY_PREDICTED:
        text = (
            "needs a step that only predicts if y is NaN, but with y = NaN its step predicted NaN "
            f"or changed the state in {place}: let the step first compute the prediction, and "
            "return it with FINE if math.isnan(y)"
        )
    else:
        rule = rules[outcome.rule - DOMAIN]
        text = rule.format(value=outcome.value, **params)
        (where,) = np.nonzero(np.abs(x) == abs(outcome.value))  # the value is x_i in rules on x_i
        text += f" in {at(int(where[0]))}" if "got x_i" in rule and where.size else f" in {place}"
    return ValueError(f"{owner} {text}")
