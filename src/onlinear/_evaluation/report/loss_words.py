"""What a report calls a loss, its average, and the running mean that it is compared with."""

from typing import NamedTuple

import numpy as np

from onlinear._evaluation.report.recorder import Recorder
from onlinear._learner.class_measures import classes_of, has_probabilities
from onlinear.losses import SQUARED, Loss

__all__ = ["LossWords", "averaged", "words_for"]


class LossWords(NamedTuple):
    """The words for a loss: the loss itself, its average, and the running mean."""

    loss: str
    average: str
    plain: str


def words_for(loss: Loss) -> LossWords:
    """Return the words for a loss."""
    if loss == SQUARED:
        return LossWords("squared loss", "root mean squared error", "mean of y so far")
    if has_probabilities(loss):
        return LossWords("log loss", "log loss", "share of 1 so far")
    usual = "mean of y so far" if classes_of(loss) is None else "most frequent label so far"
    return LossWords(f"loss by {loss!r}", f"mean loss by {loss!r}", usual)


def averaged(story: Recorder, lost: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the average loss, given total losses and numbers of rows: the root for squares."""
    means = lost / counts
    return np.asarray(np.sqrt(means) if story.model._loss == SQUARED else means)
