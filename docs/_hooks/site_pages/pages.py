"""One page for each algorithm, from its docstrings, and a page that lists all algorithms.

The registry of learners and filters says which algorithms there are, ``docs/learners.md`` what each
is for, and ``docs/guarantees.md`` what is guaranteed. So a new algorithm needs no change in this
module.
"""

import inspect
import re
import sys
from pathlib import Path
from typing import NamedTuple

import onlinear as ol
from onlinear.kernels import Kernel
from site_pages.links import ROOT, Pages, slug

__all__ = [
    "Bound",
    "algorithms",
    "bounds",
    "entry",
    "files",
    "groups",
    "index_page",
    "navigation",
    "page",
    "summary",
    "table",
]

LINE = re.compile(r"^\| (?P<names>`\w+`(?:, `\w+`)*) \| (?P<what>[^|]*)", re.M)
GUIDE = re.compile(r" \(\[[^\]]*\]\([^)]*\)\)")  # a link to the guide, which works only from docs/


class Bound(NamedTuple):
    """A section of the page on guarantees that mentions an algorithm, and its rows in the table."""

    section: str
    head: list[str]
    rows: list[list[str]]


def algorithms() -> dict[str, type]:
    """Return every public learner and filter, by name."""
    filters = {name: getattr(ol, name) for name in ol.Filter._classes if hasattr(ol, name)}
    return {**ol.LEARNERS, "Standardized": ol.Standardized, **filters}


def _uri(name: str) -> str:
    return f"{name.lower()}.md"


def files() -> Pages:
    """Return, for each file of the repository that has a generated page, this page."""
    package = Path(ol.__file__).parents[1]
    pages: Pages = {
        "src/onlinear/__init__.py": "api/index.md",
        "src/onlinear/algorithms": "algorithms/index.md",
    }
    for name, cls in algorithms().items():
        file = Path(inspect.getfile(cls)).relative_to(package)
        pages[f"src/{file.as_posix()}"] = f"algorithms/{_uri(name)}"
    return pages


def _kind(cls: type) -> str:
    if issubclass(cls, ol.Filter):
        return "Filters"
    if cls.__name__ not in ol.LEARNERS:
        return "Around a learner"
    kernel = inspect.signature(cls).parameters.get("kernel")
    return "With a kernel" if kernel and isinstance(kernel.default, Kernel) else "Learners"


def groups() -> dict[str, list[tuple[str, list[str]]]]:
    """Return, by kind, pairs of a purpose and the algorithms for it, as in ``docs/learners.md``."""
    known = algorithms()
    grouped: dict[str, list[tuple[str, list[str]]]] = {}
    seen: set[str] = set()
    for line in LINE.finditer((ROOT / "docs" / "learners.md").read_text()):
        names = [name for name in re.findall(r"\w+", line["names"]) if name in known]
        if names and seen.isdisjoint(names):
            what = GUIDE.sub("", line["what"]).strip()
            grouped.setdefault(_kind(known[names[0]]), []).append((what, names))
            seen |= set(names)
    for name in known.keys() - seen:
        grouped.setdefault(_kind(known[name]), []).append(("", [name]))
    return grouped


def navigation() -> list[dict[str, object]]:
    """Return the entries of the navigation: the list of all algorithms, then kind by kind."""
    entries: list[dict[str, object]] = [{"All algorithms": "algorithms/index.md"}]
    for kind, lines in groups().items():
        names = [name for _, group in lines for name in group]
        entries.append({kind: [{name: f"algorithms/{_uri(name)}"} for name in names]})
    return entries


def bounds(name: str) -> list[Bound]:
    """Return what ``docs/guarantees.md`` says about an algorithm, section by section."""
    text = (ROOT / "docs" / "guarantees.md").read_text()
    named = re.compile(rf"`{name}[(`]")
    found = []
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        if named.search(section):
            cells = [
                [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
                for line in section.splitlines()
                if line.startswith("|")
            ]
            rows, ours = [], False
            for row in cells[2:]:
                ours = bool(named.search(row[0])) or (ours and not row[0])
                rows += [row] if ours else []
            found.append(Bound(section.splitlines()[0], cells[0] if rows else [], rows))
    return found


def page(name: str, caption: str) -> str:
    """Return the page of an algorithm."""
    cls = algorithms()[name]
    parts = [
        f"# {name}",
        f"**{summary(cls)}**",
        _picture(name, caption),
        _equations(cls),
        f"## Use\n\n{entry(f'onlinear.{name}', cls)}",
        _guarantee(name),
        _source(cls),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def entry(path: str, value: object) -> str:
    """Return the directive that mkdocstrings replaces by the entry of a public name.

    Methods that every learner or filter has are described once, with their base class.
    """
    for base in (ol.Learner, ol.Filter):
        if inspect.isclass(value) and issubclass(value, base) and value is not base:
            common = (
                f"The other methods are those of [`{base.__name__}`][onlinear.{base.__name__}]."
            )
            return f"::: {path}\n    options:\n      inherited_members: false\n\n{common}"
    return f"::: {path}"


def summary(value: object) -> str:
    """Return the first paragraph of a docstring."""
    return " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


def _picture(name: str, caption: str) -> str:
    stem = f"figures/{name.lower()}"
    return (
        f"![{name} on a stream]({stem}-light.svg#only-light)"
        f"![{name} on a stream]({stem}-dark.svg#only-dark)\n\n"
        f"*In the figure:* {caption}"
    )


def _equations(cls: type) -> str:
    """Return the module's docstring: a headline, equations and words, and the citation."""
    headline, *middle = re.split(r"\n\n+", inspect.getdoc(sys.modules[cls.__module__]) or "")
    if not middle:
        return ""
    *middle, citation = middle
    return "\n\n".join(["## Equations", headline, *middle, f"*Source:* {citation}"])


def _guarantee(name: str) -> str:
    parts, also = ["## Guarantee"], []
    for bound in bounds(name):
        link = f"[{bound.section}](../guarantees.md#{slug(bound.section)})"
        if bound.rows:
            parts += [f"From *{link}*, where the letters are explained:"]
            parts += [table(bound.head, bound.rows)]
        else:
            also.append(f"*{link}*")
    if also:
        parts.append(f"See {'also ' if len(parts) > 1 else ''}{', '.join(also)}.")
    return "\n\n".join(parts if len(parts) > 1 else [*parts, "No bound is known."])


def _source(cls: type) -> str:
    file = f"src/{Path(inspect.getfile(cls)).relative_to(Path(ol.__file__).parents[1]).as_posix()}"
    return f"## Source\n\n[`{file}`](../source/{file}.md)"


def _link(name: str) -> str:
    return f"[`{name}`]({_uri(name)})"


def index_page() -> str:
    """Return the page that lists all algorithms, by what they are for."""
    known = algorithms()
    parts = [
        "# Algorithms",
        "Each page has the equations, the parameters, an example, a figure drawn when this site "
        "was built, and what is guaranteed. [Which learner?](../learners.md) helps to choose. If "
        "in doubt, use [`Auto`](auto.md).",
    ]
    for kind, lines in groups().items():
        rows = [
            ["" if number else what, _link(name), summary(known[name])]
            for what, names in lines
            for number, name in enumerate(names)
        ]
        head = ["Forwards" if kind == "Filters" else "For", "", "What it is"]
        parts += [f"## {kind}", table(head, rows)]
    return "\n\n".join(parts) + "\n"
