"""Charts as Plotly data, safe to show: names are escaped, numbers are finite or null.

Plotly interprets some HTML in any text, and ``%{…}`` in templates. So every text for Plotly goes
through :func:`literal`, and no Plotly templates are used.
"""

import math
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = [
    "DARK",
    "DASHES",
    "GREY",
    "LIGHT",
    "band",
    "clean",
    "colour",
    "line",
    "literal",
    "numbers",
    "scaled",
]

# These colours were found by a search: each has a contrast with the page of at least 3 : 1, and any
# two differ by 0.1 in OKLab, for colour-blind readers too. The last, grey, is for secondary lines.
PALETTE = (  # on a light and on a dark page
    ("#CF2C13", "#F87C0B"),
    ("#0067EA", "#5890FF"),
    ("#025764", "#07D4A1"),
    ("#9E38A7", "#FFB5FC"),
    ("#D08201", "#B8F028"),
    ("#53058C", "#723AF2"),
    ("#722C05", "#CB1928"),
    ("#20242A", "#FFFFFF"),
    ("#767676", "#8A8A8A"),
)
LIGHT = tuple(light for light, _ in PALETTE)
DARK = tuple(dark for _, dark in PALETTE)
GREY = len(PALETTE) - 1
DASHES = {"loss": "solid", "comparator": "dot", "ceiling": "dash", "other": "dashdot"}
TURNS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # change the writing direction
LONGEST = 40  # characters of a name in a chart
FEW = 12  # lines of at most this many points get markers
DIGITS = 7  # significant digits of a number in a chart


def clean(text: str) -> str:
    """Replace ``TURNS``, lone surrogates and control characters except newline by U+FFFD."""
    return "".join(
        "\ufffd" if c in TURNS or (c != "\n" and unicodedata.category(c) in ("Cc", "Cs")) else c
        for c in text
    )


def literal(text: str) -> str:
    """Return ``text`` in a form that Plotly shows literally, shortened if it is very long.

    >>> literal("<b>temperature</b>")
    '&lt;b&gt;temperature&lt;/b&gt;'
    """
    text = clean(text).replace("\n", " ")
    if len(text) > LONGEST:
        text = text[: LONGEST - 1] + "…"
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def numbers(values: Any) -> list[float | int | None]:
    """Return numbers for JSON: integers exactly, others rounded, and None for NaN and infinity.

    >>> numbers([1.0, 2.0 / 3.0, float("nan")])
    [1, 0.6666667, None]
    """
    return [_number(value) for value in np.asarray(values, dtype=float).tolist()]


def _number(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    if value == int(value) and abs(value) < 2**53:
        return int(value)
    return float(f"{value:.{DIGITS}g}")


def colour(k: int) -> str:
    """Return the colour of the k-th line; colours repeat, and none of them is grey."""
    return LIGHT[k % GREY]


def line(
    name: str,
    rows: Any,
    values: Any,
    k: int = 0,
    kind: str = "loss",
    *,
    grey: bool = False,
    **more: Any,
) -> dict[str, Any]:
    """Return a curve as a Plotly trace; ``kind``, a key of ``DASHES``, decides how it is dashed."""
    return {
        "type": "scatter",
        "mode": "lines" if len(values) > FEW else "lines+markers",
        "name": literal(name),
        "x": numbers(rows),
        "y": numbers(values),
        "line": {
            "color": LIGHT[GREY] if grey else colour(k),
            "dash": DASHES[kind],
            "width": 2 if kind == "loss" else 1.75,
        },
        **more,
    }


def band(name: str, rows: Any, low: Any, high: Any, k: int = 0, *, grey: bool = False) -> Any:
    """Return the area between two curves as a Plotly trace."""
    colour_ = LIGHT[GREY] if grey else colour(k)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": literal(name),
        "x": numbers(np.concatenate([rows, rows[::-1]])),
        "y": numbers(np.concatenate([high, low[::-1]])),
        "fill": "toself",
        "fillcolor": colour_,
        "hoverinfo": "skip",
        "line": {"color": colour_, "width": 0},
        "opacity": 0.3,
    }


def scaled(
    traces: Sequence[dict[str, Any]],
    x: str,
    y: str,
    *,
    log: Sequence[str] = (),
    height: int = 380,
    whole: bool = True,
) -> dict[str, Any]:
    """Return the Plotly layout of a chart: its height, and the title and scale of each axis.

    ``whole`` says whether the numbers on the x axis are whole, such as numbers of rows.
    An axis in ``log`` is logarithmic if most values of the first trace are positive. A logarithmic
    axis shows values from 1e-5 times the largest value of the first trace (smaller ones are mostly
    rounding errors) up to a thousand times this largest value.
    """
    axes: dict[str, Any] = {"height": height}
    for axis, title in (("x", x), ("y", y)):
        given: dict[str, Any] = {"title": {"text": literal(title)}}
        if axis == "x" and whole:
            given["tickformat"] = ",d"
        if axis in log:
            given |= _logarithmic([trace[axis] for trace in traces])
        axes[f"{axis}axis"] = given
    return axes


def _logarithmic(lines: list[list[float | None]]) -> dict[str, Any]:
    known = [value for value in lines[0] if value is not None]
    if sum(value > 0 for value in known) <= len(known) / 2:
        return {}
    most = max(known)
    shown = [v for line in lines for v in line if v is not None and 1e-5 * most <= v <= 1e3 * most]
    low, high = math.log10(min(shown)), math.log10(max(shown))
    room = 0.04 * max(high - low, 0.5)
    return {"type": "log", "range": [round(low - room, 4), round(high + room, 4)]}


def figure(value: float) -> str:
    """Return a number as text with four significant digits, for people to read.

    >>> figure(12345.678), figure(0.00123456), figure(1.5e-9), figure(float("nan"))
    ('12,346', '0.001235', '1.500e-09', '–')
    """
    if not math.isfinite(value):
        return "–"
    if value == 0 or 1e-4 <= abs(value) < 1e9:
        digits = max(0, 3 - math.floor(math.log10(abs(value)))) if value else 0
        return f"{value:,.{digits}f}".replace("-", "−")
    return f"{value:.3e}".replace("-", "−", 1) if value < 0 else f"{value:.3e}"


def share(part: float, whole: float) -> float:
    """Return part/whole, or NaN if ``whole`` is not positive."""
    return part / whole if whole > 0 else math.nan
