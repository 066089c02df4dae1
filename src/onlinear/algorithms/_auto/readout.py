"""Auto's coefficients and regret, and the weights of its experts (the models it combines)."""

import math
from typing import Any, NamedTuple

import numpy as np

from onlinear.algorithms._auto.experts import STANDARD
from onlinear.algorithms._auto.explain import Beliefs
from onlinear.algorithms._auto.labels import (
    CUT,
    CUT_ENTRIES,
    FIRST,
    LEADER,
    LEFT_OUT,
    LOSS,
    MEAN,
    NOISE,
    SINCE,
)

__all__ = ["Regret", "beliefs_of", "line_of", "names_of_experts", "regret_of", "weights_of_experts"]


class Regret(NamedTuple):
    """The losses of Auto and of its experts on the clipped labels, from the second label on.

    ``left_out``
        How many labels were not learnt because they are outliers; the losses leave out these
        labels.
    ``loss``, ``experts``
        The sum of Auto's squared errors, and that of each expert's squared errors. With
        ``guaranteed=True``, the correction is left out of ``loss`` and ``weighted``.
    ``weighted``, ``combination``, ``ceiling``
        Auto's weighted loss, in which the squared error of row t is divided by 2σ_t², with σ_t² a
        running mean of squared errors; the minimum, over fixed combinations v of all features, of
        this loss plus ‖v‖²/0.2; and the upper bound on ``weighted``: ``combination`` plus the costs
        of learning v and of mixing two ridge regressions.
    """

    left_out: int
    loss: float
    experts: dict[str, float]
    weighted: float
    combination: float
    ceiling: float


def names_of_experts(c: np.ndarray) -> list[str]:
    """Return the names of the experts: LASERs with parameters c, and last the mean of y."""
    names = [f"LASER, c = {c_k:g}" for c_k in c[: len(STANDARD)]]
    names += [f"LASER, c = {c_k:g}, given units" for c_k in c[len(STANDARD) :]]
    return [*names, "the mean of y"]


def _weights_of_features(state: Any) -> np.ndarray:
    """Return the weights of the features in the prediction, before the correction is shrunk.

    With v, the weights of the correction, the prediction is g + Σ v_k(p_k − g), where p_k are the
    experts' predictions and g is the prediction without the correction.
    """
    weights, v = state.trust @ state.V, state.correction
    if v.size:
        weights = (1.0 - v.sum()) * weights
        weights[: v.size] += v
    return np.asarray(weights)


def line_of(state: Any) -> np.ndarray:
    """Return Auto's intercept and weights for the columns and labels in their original units."""
    experts = state.rounds.size
    weights = _weights_of_features(state)
    lines = np.zeros((experts + 1, state.W.shape[1]))
    lines[:experts] = state.W
    inverse = np.divide(1.0, state.scale, out=np.zeros_like(state.scale), where=state.scale > 0)
    slopes = lines[: len(STANDARD), 1:] * inverse
    lines[: len(STANDARD), 1:] = slopes
    lines[: len(STANDARD), 0] -= slopes @ state.centre
    lines[experts, 0] = state.labels[MEAN]
    middle = lines.mean(axis=0)
    levels = weights[experts + 1 :: 2]
    line = middle + weights[: experts + 1] @ (lines - middle) - levels.sum() * middle
    line[0] += state.labels[FIRST] + weights[experts + 1 :] @ state.past
    return np.asarray(line)


def weights_of_experts(state: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of the experts in the prediction, and of the past labels and errors."""
    return _shares(_weights_of_features(state), state.rounds.size)


def _shares(weights: np.ndarray, experts: int) -> tuple[np.ndarray, np.ndarray]:
    """Convert weights of Auto's features to weights of the experts' predictions p_k.

    The features are the p_k and the past labels, all minus the mean of the p_k, and the past
    errors. The weights of the past labels and errors are returned unchanged, as a second array.
    """
    share, past = weights[: experts + 1], weights[experts + 1 :]
    return share + (1.0 - share.sum() - past[::2].sum()) / (experts + 1), past


def regret_of(state: Any, c: np.ndarray) -> Regret:
    """Return the losses of Auto and its experts, and the bound, from Auto's state."""
    own, least, learning, mixing = (float(value) for value in state.sums)
    losses = dict(zip(names_of_experts(c), state.losses.tolist(), strict=True))
    ceiling = least + learning + mixing + math.log(state.trust.size)
    loss, left_out = float(state.labels[LOSS]), int(state.labels[LEFT_OUT])
    return Regret(left_out, loss, losses, own, least, ceiling)


def beliefs_of(state: Any, c: np.ndarray, rows: int, columns: int) -> Beliefs:
    """Return the numbers that ``explain`` puts into words."""
    labels, given = state.labels, c.size - len(STANDARD)
    weights, past = weights_of_experts(state)
    memories = [math.sqrt(c_k) for c_k in c[: len(STANDARD)]] + [math.nan] * given
    return Beliefs(
        rows=rows,
        columns=columns,
        names=names_of_experts(c),
        memories=[*memories, 0.0],
        errors=np.sqrt(state.recent),
        losses=state.losses,
        weights=weights,
        overall=_shares(state.V[0], state.rounds.size)[0],
        past=past,
        leader=int(labels[LEADER]),
        since=int(labels[SINCE]),
        error=math.sqrt(labels[NOISE]),
        cut_labels=int(labels[CUT]),
        cut_entries=int(labels[CUT_ENTRIES]),
        inert=int(np.sum(state.scale == 0.0)),
    )
