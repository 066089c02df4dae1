"""The style of figures: vector graphics for print, legible without colours."""

import functools
import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, ParamSpec, TypeVar

import matplotlib
import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from onlinear._evaluation.regret_plot import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["LOOKS", "NORMAL_95", "Stroke", "band", "drawn", "new", "plain", "styled"]

Given = ParamSpec("Given")
Result = TypeVar("Result")

WIDTH = 7.0  # inches, the text width of a page
NORMAL_95 = 1.959964  # standard errors on either side of the mean
TRUE_TYPE = 42  # embeds fonts that PDF editors can read


class Stroke(NamedTuple):
    """The colour, the dashes and the marker of a curve."""

    color: str
    linestyle: Any
    marker: str


# colour, dash and marker change together, so that a print in grey is legible too
LOOKS = tuple(
    Stroke(colour, dashes, marker)
    for colour, dashes, marker in zip(
        (COLOURS[1], COLOURS[0], COLOURS[2], COLOURS[3], COLOURS[5], COLOURS[4], "#333333"),
        ("-", (0, (6, 1.5)), (0, (4, 1.5, 1, 1.5)), (0, (1.2, 1.2)), (0, (8, 2, 2, 2)), "--", "-"),
        "os^DvPX",
        strict=True,
    )
)

STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelsize": 8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9,
    "figure.facecolor": "white",
    "font.family": "sans-serif",
    "font.size": 8,
    "grid.alpha": 0.35,
    "grid.linewidth": 0.5,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "pdf.fonttype": TRUE_TYPE,
    "savefig.facecolor": "white",
    "svg.hashsalt": "onlinear",  # the same run gives the same file
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
}


def styled(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Decorate a function so that everything it draws has the style of this module."""

    @functools.wraps(function)
    def inside(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        with matplotlib.rc_context(STYLE):
            return function(*args, **kwargs)

    return inside


@styled
def new(rows: int = 1, columns: int = 1, height: float = 2.6, **options: Any) -> tuple[Figure, Any]:
    """Return a new figure, as wide as a page's text, and its axes; rows are ``height`` inches high.

    The options are those of ``Figure.subplots``; the axes are always returned as an array.
    """
    figure = Figure(figsize=(WIDTH, height * rows), layout="constrained")
    FigureCanvasSVG(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


@styled
def drawn(figure: Figure, form: Literal["svg", "pdf"]) -> bytes:
    """Return the figure as the bytes of an SVG or PDF file."""
    file = io.BytesIO()
    date = {"svg": "Date", "pdf": "CreationDate"}[form]
    figure.savefig(file, format=form, metadata={date: None})
    return file.getvalue()


def plain(axes: "Axes", title: str, across: str, up: str) -> None:
    """Set the title of a panel and the labels of its axes."""
    axes.set_title(title)
    axes.set_xlabel(across)
    axes.set_ylabel(up)


def band(axes: "Axes", rounds: np.ndarray, curves: np.ndarray, name: str, look: Stroke) -> None:
    """Draw the mean of curves (repeats × rounds) with its 95 % confidence band."""
    mean = curves.mean(axis=0)
    half = NORMAL_95 * curves.std(axis=0, ddof=1) / np.sqrt(len(curves))
    axes.plot(rounds, mean, markevery=max(1, len(rounds) // 8), label=name, **look._asdict())
    axes.fill_between(rounds, mean - half, mean + half, color=look.color, alpha=0.2, lw=0)
