"""The figures and tables that can be reproduced, and the module that reproduces each."""

import importlib
import inspect
import re
from collections.abc import Callable
from typing import NamedTuple

from onlinear.papers._harness.outcome import Outcome
from onlinear.papers._harness.pictures import styled
from onlinear.papers._harness.study import Study

__all__ = ["NAMES", "SECTIONS", "Script", "ScriptText", "known", "script", "words"]

# in the order of the index
MODULES = {
    "laser-fig-3-1": "thesis.fig_3_1",
    "laser-table-4-1": "thesis.table_4_1",
    "laser-sec-6-1": "thesis.sec_6_1",
    "laser-lower-bound": "thesis.lower_drift",
    "aar-lower-bound": "thesis.lower_log",
    "laser-fig-7-1": "thesis.fig_7_1",
    "arcor-fig-2": "arcor.fig_2",
    "cirr-table-2": "cirr.table_2",
    "cirr-table-3": "cirr.table_3",
    "filtering-fig-1": "filtering.fig_1",
    "filtering-drift": "filtering.drift",
    "filtering-lower-bound": "filtering.lower_bound",
    "tracking-fig-2-4": "tracking.fig_2_4",
    "tracking-theorems": "tracking.theorems",
    "tracking-lower-bound": "tracking.lower_sparse",
}
NAMES = tuple(MODULES)

SECTIONS = ("The claim", "What is run", "The reading")


class Script(NamedTuple):
    """A figure or table: its name, the text of its page, and the function that reproduces it."""

    name: str
    text: str
    run: Callable[[Study], Outcome]


class ScriptText(NamedTuple):
    """The parts of a script's docstring: its title, and the text of each of ``SECTIONS``."""

    title: str
    sections: dict[str, str]


def known(name: str) -> str:
    """Return a name as spelled in ``NAMES``; dots, underscores and spaces in it become dashes."""
    plain = re.sub(r"[._ ]", "-", name.lower())
    if plain not in NAMES:
        raise ValueError(f"there is no figure or table {name!r}; there are {', '.join(NAMES)}")
    return plain


def script(name: str) -> Script:
    """Return the :class:`Script` of a figure or table, given its name.

    >>> script("laser-fig-7.1").name
    'laser-fig-7-1'
    """
    name = known(name)
    module = importlib.import_module(f"onlinear.papers.{MODULES[name]}")
    return Script(name, inspect.cleandoc(module.__doc__ or ""), styled(module.run))


def words(of: Script) -> ScriptText:
    """Split the docstring of a script into its parts; each paragraph becomes one line."""
    title, *parts = re.split(r"\n\n(.+)\n-{3,}\n", of.text)
    texts = ["\n\n".join(" ".join(each.split()) for each in re.split("\n\n", p)) for p in parts]
    return ScriptText(title.rstrip("."), dict(zip(texts[::2], texts[1::2], strict=True)))
