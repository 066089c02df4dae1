"""What a report calls a loss, its average, the running mean beside it, and the classes."""

from typing import NamedTuple

import numpy as np

from onlinear._evaluation.report.recorder import Recorder
from onlinear._learner.base import Learner
from onlinear._learner.class_measures import classes_of, has_probabilities
from onlinear.losses import SQUARED

__all__ = ["LossWords", "averaged", "class_names", "words_for"]


class LossWords(NamedTuple):
    """The words for a loss: the loss itself, its average, and the running mean."""

    loss: str
    average: str
    plain: str


def class_names(model: Learner) -> dict[float, str]:
    """Return what to call the numbers that stand for two classes: 1, or a name such as "spam".

    Without classes, the dict is empty.
    """
    two = classes_of(model._loss)
    if two is None:
        return {}
    listed, _, numbers, _ = model._coding() or (None, None, (), False)
    if listed is None:
        return {two.negative: f"{two.negative:g}", two.positive: f"{two.positive:g}"}
    shown = [f'"{each}"' if isinstance(each, str) else str(each) for each in listed]
    return dict(zip(map(float, numbers), shown, strict=True))


def words_for(model: Learner) -> LossWords:
    """Return the words for a learner's loss."""
    loss = model._loss
    if loss == SQUARED:
        return LossWords("squared loss", "root mean squared error", "mean of y so far")
    if has_probabilities(loss):
        return LossWords("log loss", "log loss", f"share of {class_names(model)[1.0]} so far")
    usual = "mean of y so far" if classes_of(loss) is None else "most frequent label so far"
    return LossWords(f"loss by {loss!r}", f"mean loss by {loss!r}", usual)


def averaged(story: Recorder, lost: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the average loss, given total losses and numbers of rows: the root for squares."""
    means = lost / counts
    return np.asarray(np.sqrt(means) if story.model._loss == SQUARED else means)
