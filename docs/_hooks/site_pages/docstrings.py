"""What the docstrings of an algorithm say, as Markdown.

The module's docstring has a headline, the equations in indented blocks, and the citation at its
end; the class' docstring is in numpy style.
"""

import inspect
import re
import sys
from textwrap import dedent
from typing import NamedTuple

import docstring_parser

__all__ = ["Described", "Parameter", "described", "table"]

ROLE = re.compile(r":(?:mod|class|func|meth):`~?([\w.]+)`")
COST = re.compile(r"\bCosts?\s.*?\.(?=\s|$)", re.S)
WIDE = 84  # characters of code that fit the page


class Parameter(NamedTuple):
    """A parameter of a class."""

    name: str
    kind: str
    default: str
    meaning: str


class Described(NamedTuple):
    """An algorithm in words; texts are Markdown."""

    name: str
    summary: str
    words: str
    cost: str
    signature: str
    parameters: list[Parameter]
    attributes: dict[str, str]
    methods: dict[str, str]
    example: str
    headline: str
    equations: str
    citation: str


def described(cls: type, pages: dict[str, str]) -> Described:
    """Return what is said of a class; ``pages`` has the pages that names link to."""
    parsed = docstring_parser.parse(
        inspect.getdoc(cls) or "", docstring_parser.DocstringStyle.NUMPYDOC
    )
    words = _markdown(parsed.long_description or "", pages)
    headline, equations, citation = _of_module(cls)
    cost = COST.search(words)
    return Described(
        name=cls.__name__,
        summary=_markdown(parsed.short_description or "", pages),
        words=words,
        cost=" ".join(cost[0].split()[1:]) if cost else "",
        signature=_signature(cls),
        parameters=[
            Parameter(
                each.arg_name,
                each.type_name or "",
                each.default or "",
                _markdown(" ".join((each.description or "").split()), pages),
            )
            for each in parsed.params
        ],
        attributes=_attributes(cls, pages),
        methods=_methods(cls, pages),
        example=_example(cls),
        headline=headline,
        equations=_markdown(equations, pages),
        citation=_markdown(citation, pages),
    )


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


def _of_module(cls: type) -> tuple[str, str, str]:
    """Return the headline, the middle and the last paragraph of the module's docstring."""
    text = inspect.getdoc(sys.modules[cls.__module__]) or ""
    headline, *paragraphs = re.split(r"\n\n+", text)
    if not paragraphs:
        return headline, "", ""
    return headline, "\n\n".join(paragraphs[:-1]), paragraphs[-1]


def _markdown(text: str, pages: dict[str, str]) -> str:
    """Return a docstring's text with equations as blocks of code, and with links."""
    blocks: list[str] = []
    for paragraph in re.split(r"\n\n+", text):
        if paragraph.startswith("    "):
            blocks.append(f"```text\n{dedent(paragraph)}\n```")
        else:
            blocks.append(ROLE.sub(lambda role: _linked(role[1], pages), paragraph))
    return "\n\n".join(blocks)


def _linked(path: str, pages: dict[str, str]) -> str:
    name = path.rsplit(".", 1)[-1]
    return f"[`{name}`]({pages[name]})" if name in pages else f"`{path}`"


def _signature(cls: type) -> str:
    """Return how the class is called, without types."""
    signature = inspect.signature(cls)
    bare = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
    line = f"onlinear.{cls.__name__}{inspect.Signature(bare)}".replace("'", '"')
    if len(line) <= WIDE:
        return line
    name, given = line[:-1].split("(", 1)
    starts = re.split(r", (?=\*|\w+=|\w+,|\w+$)", given)
    return "\n".join([f"{name}(", *(f"    {each}," for each in starts), ")"])


def _first(thing: object, pages: dict[str, str]) -> str:
    """Return the first paragraph of a docstring."""
    return _markdown((inspect.getdoc(thing) or "").split("\n\n")[0], pages)


def _attributes(cls: type, pages: dict[str, str]) -> dict[str, str]:
    return {
        name: _first(value, pages)
        for name, value in inspect.getmembers(cls, lambda value: isinstance(value, property))
        if not name.startswith("_") and name.endswith("_")
    }


def _methods(cls: type, pages: dict[str, str]) -> dict[str, str]:
    """Return the methods that the class has beyond those of its kind."""
    methods = {}
    for name, value in vars(cls).items():
        method = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if not name.startswith("_") and inspect.isfunction(method):
            common = any(hasattr(base, name) for base in cls.__bases__)
            if not common:
                given = list(inspect.signature(getattr(cls, name)).parameters.values())
                bare = [each.replace(annotation=each.empty) for each in given]
                own = [each for each in bare if each.name != "self"]
                methods[f"{name}{inspect.Signature(own)}"] = _first(method, pages)
    return methods


def _example(cls: type) -> str:
    return (inspect.getdoc(cls) or "").partition("Examples\n--------\n")[2]
