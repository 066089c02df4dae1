"""Which figures and tables there are, and where each is run."""

import importlib
import inspect
import re
from typing import NamedTuple, Protocol, cast

from onlinear.papers._outcome import Outcome
from onlinear.papers._study import Study

__all__ = ["NAMES", "SECTIONS", "Script", "Words", "known", "script", "words"]

# in the order of the index: thesis (Moroshko 2013), Vaits & Crammer, Jamil & Bouchachia,
# Cesa-Bianchi et al., Herbster & Warmuth
NAMES = (
    "laser-fig-3-1",
    "laser-table-4-1",
    "laser-sec-6-1",
    "laser-fig-7-1",
    "arcor-fig-2",
    "cirr-table-2",
    "cirr-table-3",
    "filtering-fig-1",
    "tracking-fig-2-4",
    "tracking-theorems",
)

SECTIONS = ("The claim", "What is run", "The reading")


class Script(Protocol):
    """A module that runs a figure or table."""

    __doc__: str | None

    def run(self, study: Study) -> Outcome:
        """Return the numbers, the pictures and what holds of the paper's claims."""
        ...


class Words(NamedTuple):
    """What the docstring of a script says: its title, and the text of each of ``SECTIONS``."""

    title: str
    sections: dict[str, str]


def known(name: str) -> str:
    """Return a name as it is in ``NAMES``: dots and underscores are as good as dashes."""
    plain = re.sub(r"[._ ]", "-", name.lower())
    if plain not in NAMES:
        raise ValueError(f"there is no figure or table {name!r}; there are {', '.join(NAMES)}")
    return plain


def script(name: str) -> Script:
    """Return the module that runs a figure or table.

    >>> script("laser-fig-7.1").__name__
    'onlinear.papers.laser_fig_7_1'
    """
    module = known(name).replace("-", "_")
    return cast(Script, importlib.import_module(f"onlinear.papers.{module}"))


def words(of: Script) -> Words:
    """Return the docstring of a script, taken apart."""
    title, *parts = re.split(r"\n\n(.+)\n-{3,}\n", inspect.cleandoc(of.__doc__ or ""))
    return Words(title.rstrip("."), dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True)))
