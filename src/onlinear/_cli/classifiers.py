"""Classifiers in the command: which learner is one, and which classes it knows."""

from typing import Any

from onlinear._cli.errors import DataError
from onlinear._cli.target_classes import Classes
from onlinear._learner.base import Learner
from onlinear._learner.classifier import Classifier
from onlinear.scaling import Standardized

__all__ = ["classes_known", "classifier_in", "take_classes"]


def classifier_in(model: Learner) -> Classifier | None:
    """Return the classifier that a model is, or contains."""
    inner = model.learner if isinstance(model, Standardized) else model
    return inner if isinstance(inner, Classifier) else None


def classes_known(model: Learner) -> list[Any]:
    """Return the classes of a trained classifier; none for another model."""
    inner = classifier_in(model)
    if inner is None or model._state is None:
        return []
    return list(inner._listed() or (0, 1))


def take_classes(model: Learner, classes: Classes) -> None:
    """Give a classifier its classes; refuse one that has learnt other classes."""
    inner = classifier_in(model)
    if inner is None or not classes.names:
        return
    known = classes_known(model)
    if not known:
        inner.classes = classes.labels
    elif known != list(classes.labels):
        raise DataError(
            f"the model has learnt the classes {', '.join(map(str, known))}, not "
            f"{', '.join(classes.names)}"
        )
