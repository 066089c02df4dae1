"""Which task the options ask for: to predict a number, or a class."""

from onlinear._cli.errors import UsageError
from onlinear._cli.model_names import KINDS, is_state_file
from onlinear._cli.options import CompareOptions, RunOptions, Task
from onlinear._learner.classifier import Classifier

__all__ = ["classifies", "named_model"]


def classifies(options: RunOptions | CompareOptions, models: list[str]) -> bool:
    """Whether the task is to predict classes: if the user says so, or all models are classifiers.

    ``models`` has the names of the models, such as ``auto`` or ``logisticlaser:c=100``.
    """
    if options.classes is not None and options.task is Task.regress:
        raise UsageError("--classes needs --task classify")
    if options.task is not None or options.classes is not None:
        return options.task is not Task.regress
    return bool(models) and all(map(_is_classifier, models))


def _is_classifier(name: str) -> bool:
    kind = None if is_state_file(name) else KINDS.get(name.split(":")[0].lower())
    return kind is not None and issubclass(kind, Classifier)


def named_model(options: RunOptions) -> str:
    """Return the name of the model to run: the user's, or the default for the task."""
    if options.model is not None:
        return options.model
    return "logisticlaser" if classifies(options, []) else "auto"
