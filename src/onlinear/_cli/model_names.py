"""Look up learners by their names on the command line (``--model laser:c=10``)."""

import difflib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from onlinear._cli.errors import UsageError
from onlinear._learner.base import Learner, load
from onlinear.algorithms import LEARNERS
from onlinear.scaling import Standardized

__all__ = ["is_state_file", "learner", "model"]

WORDS = {"true": True, "false": False, "none": None, "inf": float("inf")}


def learner(name: str, params: Iterable[str] = (), *, standardized: bool = False) -> Learner:
    """Return a new learner, its parameters checked."""
    kinds = {known.lower(): kind for known, kind in LEARNERS.items()}
    kind = kinds.get(name.lower())
    if kind is None:
        near = difflib.get_close_matches(name.lower(), kinds, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(kinds))}"
        raise UsageError(f"--model {name}: no such learner; {hint}")
    given = dict(_param(param) for param in params)
    names = list(kind().get_params(deep=False))
    for param in given:
        if param not in names:
            raise UsageError(f"--param {param}: {kind.__name__} takes {', '.join(names)}")
    try:
        made: Learner = kind(**given)
        made._numbers()
        if standardized:
            made = Standardized(made)
            made._numbers()
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from None
    return made


def is_state_file(name: str) -> bool:
    """Whether a model's name is that of a state file, not of a learner."""
    return name.endswith(".onl") or Path(name).is_file()


def model(name: str, params: Iterable[str] = (), *, standardized: bool = False) -> Learner:
    """Return a learner by its name, or the one in a state file."""
    if not is_state_file(name):
        name, *more = name.split(":")
        return learner(name, [*more, *params], standardized=standardized)
    if list(params) or standardized:
        raise UsageError(f"--model {name}: a model from a state file keeps its parameters")
    loaded = load(name)
    if not isinstance(loaded, Learner):
        raise UsageError(f"--model {name}: it holds a {type(loaded).__name__}, not a learner")
    return loaded


def _param(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--param {text}: write name=value, such as c=100")
    if value.lower() in WORDS:
        return name, WORDS[value.lower()]
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value
