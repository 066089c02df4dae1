"""Create learners from their names on the command line, such as ``--model laser:c=10``.

Features are standardized for every learner that supports it, unless the user says ``--raw``. The
predictions of LASER are not shrunk towards 0 unless the user says ``shrink=true``: shrinking gives
the worst-case bound of LASER's theorem, but costs accuracy on most data. LogisticLASER follows
drift.
"""

import difflib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from onlinear._cli.errors import UsageError
from onlinear._learner.base import Learner
from onlinear._learner.class_measures import classes_of
from onlinear._learner.loading import load
from onlinear._validation.words import with_article
from onlinear.algorithms import LEARNERS
from onlinear.losses import BUILT_IN, Loss
from onlinear.scaling import Standardized

__all__ = [
    "check_data",
    "is_state_file",
    "learner",
    "model",
    "named",
    "readings",
    "specs",
    "words_of",
]

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
WORDS = {"true": True, "false": False, "none": None, "inf": float("inf")}
KINDS = {name.lower(): kind for name, kind in LEARNERS.items()}
LOSSES = {name.lower(): kind for name, kind in BUILT_IN.items()}
HINTS = {
    "on_bad": "use --on-bad",
    "lags": "only onlinear compare gives past labels to learners other than auto",
    "classes": "list the classes with the option --classes, as in --classes ham,spam",
}
OPTIONS = ("on_bad", "classes")  # parameters that are options of the command
# parameters that the command, unlike the library, sets by default
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "laser": {"shrink": False},
    "logisticlaser": {"c": 1000.0},
}


def learner(
    name: str,
    params: Iterable[str] = (),
    standardize: bool | None = None,
    *,
    defaults: Mapping[str, Mapping[str, Any]] = DEFAULTS,
) -> Learner:
    """Return a new learner, after checking its parameters.

    With ``standardize=None``, the learner's features are standardized if the learner supports that.
    """
    kind = KINDS.get(name.lower())
    if kind is None:
        hint = _near(name.lower(), KINDS) or f"there are {', '.join(sorted(KINDS))}"
        raise UsageError(f"--model {name}: no such learner; {hint}")
    given = dict(_param(param) for param in params)
    names = [param for param in kind().get_params(deep=False) if param not in OPTIONS]
    for param in given:
        if param not in names:
            hint = HINTS.get(param) or _near(param, names) or f"it takes {', '.join(names)}"
            raise UsageError(f"{kind.__name__} has no parameter {param!r}; {hint}")
    if isinstance(given.get("loss"), str):
        given["loss"] = _loss(given["loss"])
    try:
        made: Learner = kind(**{**defaults.get(name.lower(), {}), **given})
        made._numbers()
        if standardize or (standardize is None and made.algorithm.follows is not None):
            made = Standardized(made)
            made._numbers()
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from None
    return made


def _loss(text: str) -> Loss:
    """Return the loss that a text such as ``logistic`` or ``quantile(0.9)`` names."""
    name, _, parameter = text.removesuffix(")").partition("(")
    kind = LOSSES.get(name.lower())
    if kind is None:
        hint = _near(name.lower(), LOSSES) or f"there are {', '.join(LOSSES)}"
        raise UsageError(f"loss={text}: no such loss; {hint}")
    given = [_value(parameter.rpartition("=")[2])] if parameter else []
    try:
        made = kind(*given)
        made.numbers()
    except (TypeError, ValueError) as error:
        raise UsageError(f"loss={text}: {error}") from None
    return made


def _near(name: str, names: Collection[str]) -> str:
    near = difflib.get_close_matches(name, names, 1)
    return f"did you mean {near[0]}?" if near else ""


def named(model: Learner) -> str:
    """Return the class name of a learner, or of the inner learner if it is standardized."""
    return type(model.learner if isinstance(model, Standardized) else model).__name__


def words_of(error: ValueError, model: Learner, *, classify: bool) -> str:
    """Return why a learner refuses a row, by the name of the learner that the user chose.

    ``classify`` says whether the labels are classes; if not, the message may have a hint.
    """
    words = str(error).removesuffix("; the model is unchanged")
    if isinstance(model, Standardized):
        words = words.replace(f"{type(model).__name__} needs", f"{named(model)} needs", 1)
    if "needs labels" in words and not classify and classes_of(model._loss) is not None:
        words += " (if the target holds classes, use --task classify)"
    return words


def is_state_file(name: str) -> bool:
    """Whether ``name`` is the name of a state file rather than of a learner."""
    return name.endswith(".onl") or Path(name).is_file()


def model(name: str, params: Iterable[str] = (), standardize: bool | None = None) -> Learner:
    """Return a new learner by its name, or the trained learner in a state file."""
    if not is_state_file(name):
        if "," in name:
            raise UsageError(
                f"--model {name}: run takes one learner, with its parameters after colons, as in "
                "laser:b=1:c=30; onlinear compare takes several"
            )
        name, *more = name.split(":")
        return learner(name, [*more, *params], standardize)
    if list(params) or standardize is not None:
        raise UsageError(f"--model {name}: a model from a state file keeps its parameters")
    loaded = load(name)
    if not isinstance(loaded, Learner):
        held = with_article(type(loaded).__name__)
        raise UsageError(f"--model {name}: it holds {held}, not a learner")
    return loaded


def readings(name: str, params: Iterable[str], standardize: bool | None) -> list[Learner]:
    """Return the learner that a name stands for now, and the one it stood for before release 0.11.

    A run that is resumed may have begun with an earlier release, in which ``--model laser`` created
    a learner that shrank its predictions, and features were standardized only if the user asked for
    it. A state file holds one learner, which is the same in every release.
    """
    params = list(params)
    now = model(name, params, standardize)
    if is_state_file(name):
        return [now]
    name, *more = name.split(":")
    return [now, learner(name, [*more, *params], standardize is True, defaults={})]


def specs(texts: Iterable[str]) -> list[str]:
    """Split lists such as ``auto,laser:c=10`` into one text per learner."""
    return [spec.strip() for text in texts for spec in text.split(",") if spec.strip()]


def check_data(data: Iterable[str], models: Iterable[str], *, several: bool) -> None:
    """Raise an error if a learner's name is given as a data file, as in ``--models auto laser``.

    ``several`` says whether the command takes several learners.
    """
    found = [path for path in data if path.split(":")[0].lower() in KINDS]
    found = [path for path in found if not Path(path).exists()]
    if found:
        listed = ",".join(specs([*models, *found]))
        rule = "separate learners by commas" if several else "onlinear compare takes several"
        raise UsageError(f"{found[0]} is a learner, not a file; {rule}: --models {listed}")


def _param(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--param {text}: write name=value, such as c=100")
    return name, _value(value)


def _value(text: str) -> Any:
    """Return the value of a parameter: a word such as true, a number, other JSON, or text.

    Numbers may be written as JSON does not allow: .5, 5. and +5.
    """
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    try:
        if NUMBER.fullmatch(text):
            return int(text) if text.lstrip("+-").isdecimal() else float(text)
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
