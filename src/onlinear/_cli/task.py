"""Which task the options ask for: to predict a number, or a class."""

from collections.abc import Sequence

from onlinear._cli.classifiers import classifier_in
from onlinear._cli.errors import UsageError
from onlinear._cli.options import CompareOptions, RunOptions, Task
from onlinear._learner.base import Learner

__all__ = ["classifies", "named_model"]


def classifies(options: RunOptions | CompareOptions, models: Sequence[Learner]) -> bool:
    """Whether to predict classes: if the user says so, or if all models are classifiers."""
    if options.classes is not None and not options.classes.strip():
        raise UsageError("--classes is empty: list the classes, as in --classes ham,spam")
    if options.classes is not None and options.task is Task.regress:
        raise UsageError("--classes needs --task classify")
    if options.task is not None or options.classes is not None:
        return options.task is not Task.regress
    return bool(models) and all(classifier_in(model) is not None for model in models)


def named_model(options: RunOptions) -> str:
    """Return the name of the model to run: the user's, or the default for the task."""
    if options.model is not None:
        return options.model
    return "logisticlaser" if classifies(options, []) else "auto"
