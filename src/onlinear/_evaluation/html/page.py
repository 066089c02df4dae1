"""HTML pages of text, tables and charts: one self-contained file that needs no network.

Everything that comes from data is escaped. As a second line of defence, the page's content security
policy allows only the page's own two scripts, by their hashes, and no connections.
"""

import base64
import hashlib
import html
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any, Protocol
from urllib.parse import quote

from onlinear._evaluation.html import charts as _charts
from onlinear._state_files import file_format

__all__ = [
    "Chart",
    "Drawing",
    "Figures",
    "Links",
    "Page",
    "Panels",
    "Part",
    "Table",
    "Text",
    "Words",
    "escaped",
]


def escaped(text: str) -> str:
    """Return a text escaped for HTML."""
    return html.escape(_charts.clean(text))


def _json(value: Any) -> str:
    """Return JSON that is safe inside a script element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


class Part(Protocol):
    """A part of a page."""

    def html(self) -> str:
        """Return the part as HTML."""
        ...


@dataclass(frozen=True)
class Words:
    """A heading and paragraphs; blank lines in ``text`` separate the paragraphs."""

    heading: str
    text: str

    def html(self) -> str:
        """Return the part as HTML."""
        paragraphs = "".join(f"<p>{escaped(each)}</p>" for each in self.text.split("\n\n"))
        return _section(self.heading, paragraphs)


@dataclass(frozen=True)
class Text:
    """A heading and preformatted text."""

    heading: str
    text: str

    def html(self) -> str:
        """Return the part as HTML."""
        box = f'<pre tabindex="0">{escaped(self.text)}</pre>'
        return _section(self.heading, box)


@dataclass(frozen=True)
class Figures:
    """Key figures at the top of a page, each with a name, a value and a note."""

    figures: Sequence[tuple[str, str, str]]

    def html(self) -> str:
        """Return the part as HTML."""
        items = "".join(
            f"<div><dt>{escaped(what)}</dt><dd>{escaped(value)}</dd>"
            f'<dd class="note">{escaped(note)}</dd></div>'
            for what, value, note in self.figures
        )
        return f'<dl class="figures">{items}</dl>'


NUMBER = ' class="number"'


@dataclass(frozen=True)
class Table:
    """A table of text cells; the caller formats the numbers."""

    heading: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    words: int = 1  # how many columns are text, aligned left; the others are numbers, aligned right

    def html(self) -> str:
        """Return the part as HTML."""
        head = "".join(
            f'<th scope="col"{"" if k < self.words else NUMBER}>{escaped(column)}</th>'
            for k, column in enumerate(self.columns)
        )
        body = "".join(f"<tr>{self._row(row)}</tr>" for row in self.rows)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        name = escaped(self.heading or "table")
        box = f'<div class="scroll" tabindex="0" role="region" aria-label="{name}">{table}</div>'
        note = f'<p class="caption">{escaped(self.caption)}</p>' if self.caption else ""
        return _section(self.heading, box + note)

    def _row(self, row: Sequence[str]) -> str:
        first, *others = (f"<bdi>{escaped(cell)}</bdi>" for cell in row)
        cells = [f'<th scope="row">{first}</th>']
        for k, cell in enumerate(others, 1):
            cells.append(f"<td>{cell}</td>" if k < self.words else f"<td{NUMBER}>{cell}</td>")
        return "".join(cells)


@dataclass(frozen=True)
class Chart:
    """A chart: traces and layout in Plotly's form, and a caption.

    With ``scales``, a button switches between logarithmic and linear axes.
    """

    heading: str
    caption: str
    traces: Sequence[dict[str, Any]]
    layout: dict[str, Any] = field(default_factory=dict)
    scales: bool = False

    def figure(self) -> dict[str, Any]:
        """Return traces and layout for Plotly."""
        return {"data": list(self.traces), "layout": self.layout}

    def html(self) -> str:
        """Return the part as HTML."""
        return _section(self.heading, self.drawing())

    def drawing(self) -> str:
        """Return the chart as HTML, without its heading."""
        button = '<button type="button" class="scales">linear axes</button>' if self.scales else ""
        keys = "".join(self._key(k, trace) for k, trace in enumerate(self.traces))
        above = f'<div class="keys">{keys}{button}</div>' if keys or button else ""
        label = escaped(f"{self.heading}: {self.caption}" if self.caption else self.heading)
        height = int(self.layout.get("height", 380))
        return (
            f'<figure>{above}<div class="chart" role="img" aria-label="{label}" '
            f'style="height:{height}px"></div>'
            f'<script type="application/json">{_json(self.figure())}</script>'
            f"<figcaption>{escaped(self.caption)}</figcaption></figure>"
        )

    @staticmethod
    def _key(k: int, trace: dict[str, Any]) -> str:
        """Return the legend entry of a trace: a button that shows or hides it."""
        if trace.get("showlegend") is False:
            return ""
        look = trace.get("line", {})
        dash = {"dot": "2 3", "dash": "7 4", "dashdot": "7 3 2 3"}.get(look.get("dash", ""), "")
        place = _charts.LIGHT.index(look["color"])
        name = escaped(html.unescape(trace["name"]))
        return (
            f'<button type="button" class="key" aria-pressed="true" data-trace="{k}">'
            f'<svg width="28" height="8" aria-hidden="true"><line x1="0" y1="4" x2="28" y2="4" '
            f'class="c{place}{" band" * ("fill" in trace)}" stroke-dasharray="{dash}"/></svg>'
            f"<bdi>{name}</bdi></button>"
        )


@dataclass(frozen=True)
class Panels:
    """Small charts side by side, as many per line as fit."""

    heading: str
    caption: str
    charts: Sequence[Chart]

    def html(self) -> str:
        """Return the part as HTML."""
        panels = "".join(
            f"<div><h3><bdi>{escaped(chart.heading)}</bdi></h3>{chart.drawing()}</div>"
            for chart in self.charts
        )
        note = f'<p class="caption">{escaped(self.caption)}</p>'
        return _section(self.heading, f'{note}<div class="panels">{panels}</div>')


@dataclass(frozen=True)
class Drawing:
    """An SVG drawing on a white background, and a caption."""

    heading: str
    caption: str
    svg: bytes

    def html(self) -> str:
        """Return the part as HTML."""
        source = f"data:image/svg+xml;base64,{base64.b64encode(self.svg).decode()}"
        note = escaped(self.caption)
        image = f'<img class="drawing" alt="{note}" src="{source}">'
        return _section(self.heading, f"<figure>{image}<figcaption>{note}</figcaption></figure>")


@dataclass(frozen=True)
class Links:
    """A heading, and links to files in the same folder as the page."""

    heading: str
    links: Sequence[tuple[str, str]]

    def html(self) -> str:
        """Return the part as HTML."""
        shown = (
            f'<a href="{escaped(quote(name))}">{escaped(words)}</a>' for words, name in self.links
        )
        return _section(self.heading, f'<p class="links">{" · ".join(shown)}</p>')


def _section(heading: str, content: str) -> str:
    title = f"<h2><bdi>{escaped(heading)}</bdi></h2>" if heading else ""
    return f"<section>{title}{content}</section>\n"


@cache
def _asset(name: str) -> str:
    return resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _plotly() -> str:
    """Return Plotly's script from the installed package."""
    script = resources.files("plotly").joinpath("package_data", "plotly.min.js")
    return script.read_text(encoding="utf-8")


def _hash(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"'sha256-{digest}'"


@cache
def _policy() -> str:
    scripts = " ".join(_hash(script) for script in (_plotly(), _asset("page.js")))
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


@dataclass(frozen=True)
class Page:
    """A page: its title, an introduction of a sentence or two, and its parts in order."""

    title: str
    lead: str
    parts: Sequence[Part]

    def html(self) -> str:
        """Return the whole page as HTML."""
        colours = "".join(
            f".c{k}{{stroke:light-dark({light},{dark})}}"
            for k, (light, dark) in enumerate(zip(_charts.LIGHT, _charts.DARK, strict=True))
        )
        charts = any(isinstance(part, (Chart, Panels)) for part in self.parts)
        return Template(_asset("page.html")).substitute(
            policy=_policy(),
            title=escaped(self.title),
            lead="".join(
                f'<p class="lead">{escaped(each)}</p>' for each in self.lead.split("\n\n")
            ),
            css=_asset("page.css") + colours,
            parts="".join(part.html() for part in self.parts),
            palette=_json({"light": _charts.LIGHT, "dark": _charts.DARK}),
            plotly=_plotly() if charts else "",
            script=_asset("page.js"),
        )

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, atomically."""
        file_format.replace(Path(os.path.realpath(path)), self.html().encode("utf-8"))
