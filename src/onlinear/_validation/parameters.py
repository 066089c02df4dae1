"""Validate parameters and arguments: numbers within a range, one of several choices."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["LARGEST", "asked", "choice", "limit", "number", "whole"]

SMALLEST = 1e-150  # a parameter closer to a limit than this counts as equal to it
MOST_SHOWN = 80  # characters of a value in a message
LARGEST = 2**53  # integers up to here are exact as floats


def asked(what: str, **values: Any) -> Any:
    """Return an object with the given values as attributes, to pass to the checks of this module.

    Error messages call the object ``what``, which is usually the name of a function.
    """
    made = type(what, (), {})()
    made.__dict__.update(values)  # attributes of the class that are functions would become methods
    return made


def shown(name: str, value: Any) -> str:
    """Return a parameter and its value for a message: for a table, its shape."""
    text = repr(value)
    if len(text) <= MOST_SHOWN and "\n" not in text:
        return f"{name}={text}"
    try:
        shape = np.shape(value)
    except ValueError:  # lists of different lengths
        shape = ()
    return f"{name} of shape {shape}" if shape else f"{name}={text[: MOST_SHOWN - 1]}…"


def number(
    owner: Any,
    name: str,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
) -> float:
    """Return parameter ``name`` of ``owner`` as a float; raise an error if it is out of range.

    The parameter must be > ``above``, ≥ ``least``, < ``below`` and ≤ ``most``, if these are given.
    It must be finite, unless ``most`` is infinity.
    """
    value = getattr(owner, name)
    left = f"{above:g} < " if above is not None else f"{least:g} ≤ " if least is not None else ""
    right = f" < {below:g}" if below is not None else f" ≤ {most:g}" if most is not None else ""
    try:
        if isinstance(value, (bool, str, bytes)):
            raise TypeError
        number = float(value)
        if (
            (above is None or number > above + SMALLEST)
            and (least is None or number >= least)
            and (below is None or number < below)
            and (most is None or number <= most)
            and (math.isfinite(number) or number == most)
        ):
            return number
        if above == 0 and 0 < number <= SMALLEST:  # such a number counts as 0
            left = f"{SMALLEST:g} < "
    except (TypeError, ValueError, OverflowError):
        pass
    kind = "number" if most == math.inf else "finite number"
    owner = type(owner).__name__
    raise ValueError(f"{owner} needs a {kind} {left}{name}{right}, got {shown(name, value)}")


def whole(owner: Any, name: str, *, least: int, most: int = LARGEST, else_: str = "") -> int:
    """Return a parameter that is a whole number from ``least`` to ``most``; else raise an error.

    ``else_`` is added to the error message, and says what else the parameter may be.
    """
    value = getattr(owner, name)
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if is_whole and least <= value <= most:
        return int(value)
    kind = type(owner).__name__
    top = "2⁵³" if most == LARGEST else most
    raise ValueError(
        f"{kind} needs a whole number {least} ≤ {name} ≤ {top}{else_}, got {shown(name, value)}"
    )


def limit(owner: Any, name: str) -> float:
    """Return a parameter that is a positive number, or infinity if it is None (no limit)."""
    return math.inf if getattr(owner, name) is None else number(owner, name, above=0)


def choice(owner: Any, name: str, allowed: Sequence[Any]) -> Any:
    """Return parameter ``name`` of ``owner``; raise an error unless it is one of ``allowed``."""
    value = getattr(owner, name)
    if isinstance(value, np.generic):
        value = value.item()  # np.True_ counts as True
    for option in allowed:
        if type(value) is type(option) and value == option:
            return value
    options = " or ".join(repr(option) for option in allowed)
    raise ValueError(
        f"{type(owner).__name__} needs {name} to be {options}, got {shown(name, value)}"
    )
