"""The reference of the API: a page for each group of public names, which mkdocstrings fills in.

``__all__`` of the package and of its public modules lists the public names. The API entry of an
algorithm is on the algorithm's own page.
"""

import inspect
import re
from importlib import import_module
from types import ModuleType

import onlinear as ol
from site_pages.pages import algorithms, entry, summary, table

__all__ = ["MODULES", "files", "navigation", "public_names"]

TOP = "Learners, files, errors"  # the group of all names of the package that are in no other
GROUPS = {
    "Replays, certificates, reports": (
        *("replay", "Replay", "BankReplay", "ClassReplay", "Calibration", "report"),
        *("certificate", "Certificate", "Certified", "regret_plot"),
    ),
    "Filters": ("Filter", "FilterReplay", "filter_replay"),
    "Many models, delayed labels": ("Bank", "Keyed", "KeyStatistics", "Late", "LateCounts"),
}
MODULES = (
    *(
        "bregman",
        "extend",
        "features",
        "filtering",
        "hindsight",
        "kernels",
        "losses",
        "sets",
        "papers",
        "river",
    ),
    *("scaling", "spark", "streams", "text"),
)

NO_DOCSTRING = {  # names of objects that cannot have a docstring in Python
    "onlinear.LEARNERS": "The class of every learner, by its name.",
    "onlinear.extend.COMPARATOR": "Index in a bound's tally: the loss of the comparator.",
    "onlinear.extend.DOMAIN": "Status of a step: ``DOMAIN + k`` if the row breaks rule k.",
    "onlinear.extend.EXTRA": "Index in a bound's tally: the extra term that the bound adds.",
    "onlinear.extend.FACTOR": "Index in a bound's tally: the factor of the comparator's loss.",
    "onlinear.extend.FINE": "Status of a step: the row was learnt.",
    "onlinear.extend.GAUSSIAN": "How ``Standardized`` rescales a state of ``Gaussian``.",
    "onlinear.extend.OVERFLOW": "Status of a step: the arithmetic would overflow.",
    "onlinear.extend.STAYS": "A rule for comparators: the same weights u in all rounds.",
    "onlinear.extend.kernel": "Decorator that compiles a function for use in steps.",
    "onlinear.kernels.RowKernel": "The type of a function K(Z, x) that is used as a kernel.",
    "onlinear.papers.NAMES": "The names of figures and tables, as in ``onlinear paper NAME``.",
    "onlinear.spark.SETTINGS": "Settings for Spark: ``SparkSession.builder.config(map=SETTINGS)``.",
}
HEAD = ["Name", "What it is"]
DEFINITION = re.compile(r"^(\S.*)\n((?: {4}.*\n?)+)", re.M)


def public_names() -> dict[str, list[str]]:
    """Return the public names of the package and of each public module, by module."""
    modules = {"onlinear": ol, **{f"onlinear.{name}": _module(name) for name in MODULES}}
    return {
        path: [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]
        for path, module in modules.items()
    }


def _module(name: str) -> ModuleType:
    return import_module(f"onlinear.{name}")


def _pages() -> dict[str, tuple[str, list[str]]]:
    """Return, by path, the title of each page of the API reference and the full names on it."""
    names = public_names()
    grouped = {name for group in GROUPS.values() for name in group}
    rest = [name for name in names.pop("onlinear") if name not in grouped]
    groups = {TOP: [name for name in rest if name not in algorithms()], **GROUPS}
    pages = {
        f"api/{title.split(',')[0].lower().replace(' ', '-')}.md": (
            title,
            [f"onlinear.{name}" for name in group],
        )
        for title, group in groups.items()
    }
    for module, listed in names.items():
        uri = f"api/{module.removeprefix('onlinear.')}.md"
        pages[uri] = (f"`{module}`", [f"{module}.{name}" for name in sorted(listed, key=str.lower)])
    return pages


def navigation() -> list[dict[str, object]]:
    """Return the entries of the API reference in the site's navigation."""
    entries: list[dict[str, object]] = [{"All public names": "api/index.md"}]
    return entries + [{title.strip("`"): uri} for uri, (title, _) in _pages().items()]


def files() -> dict[str, str]:
    """Return the pages of the API reference in Markdown, by their path in the site."""
    learners = [f"onlinear.{name}" for name in public_names()["onlinear"] if name in algorithms()]
    index = [
        "# API",
        "This page lists every public name.",
        "## [Algorithms](../algorithms/index.md)",
        table(HEAD, [_row(path) for path in learners]),
    ]
    made = {}
    for uri, (title, paths) in _pages().items():
        rows = {path: _row(path) for path in paths}
        index += [f"## [{title}]({uri.removeprefix('api/')})", table(HEAD, list(rows.values()))]
        parts = [f"# {title}"]
        if title.startswith("`"):
            parts.append(_words(title.strip("`")))
        elsewhere = [row for path, row in rows.items() if _home(path) != path]
        if elsewhere:
            parts.append(table(["Also in `onlinear`", HEAD[1]], elsewhere))
        parts += [_entry(path) for path in paths if _home(path) == path]
        made[uri] = "\n\n".join(parts) + "\n"
    return {"api/index.md": "\n\n".join(index) + "\n", **made}


def _name(path: str) -> str:
    return path.rsplit(".", 1)[-1]


def _value(path: str) -> object:
    return getattr(import_module(path.rsplit(".", 1)[0]), _name(path))


def _home(path: str) -> str:
    """Return the shortest path of a public name, under which the API reference has its entry."""
    name = _name(path)
    return f"onlinear.{name}" if getattr(ol, name, None) is _value(path) else path


def _row(path: str) -> list[str]:
    words = NO_DOCSTRING.get(path) or summary(_value(path))
    return [f"[`{_name(path)}`][{_home(path)}]", words]


def _entry(path: str) -> str:
    if path in NO_DOCSTRING:
        return f"### {_name(path)} {{ #{path} }}\n\n{NO_DOCSTRING[path]}"
    return entry(path, _value(path))


def _words(module: str) -> str:
    """Return a module's docstring in Markdown: examples as code, definitions as a list."""
    text = inspect.getdoc(import_module(module)) or ""
    paragraphs = (
        f"```pycon\n{each}\n```"
        if each.startswith(">>>")
        else DEFINITION.sub(lambda of: f"- **{of[1]}:** {' '.join(of[2].split())}\n", each)
        for each in text.split("\n\n")
    )
    return "\n\n".join(paragraphs)
