"""The figure of an algorithm: drawn from a run, in a light and a dark form, with its caption."""

import hashlib
import io
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
import platformdirs
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

import onlinear as ol
from onlinear._evaluation.regret_plot import COLOURS
from site_pages import scenes

__all__ = ["FORMS", "Drawing", "drawing"]

INK, GRID = "#123456", "#234567"  # placeholders for the colours of each form
FORMS = {
    "light": {INK: "#3a3d44", GRID: "#b9bcc4"},
    "dark": {INK: "#d5d7de", GRID: "#565a66"},
}
KEPT = 4  # figures of so many versions of the sources are kept
UNUSED = {"_cli", "papers", "spark"}  # packages that no figure depends on
BEYOND = 12  # a curve so many times above or below the loss needs a logarithmic axis


class Drawing(NamedTuple):
    """A figure in each of ``FORMS`` (light and dark), and its caption."""

    svg: dict[str, str]
    caption: str


@cache
def drawing(cls: type) -> Drawing:
    """Return the figure of a learner or filter, from the user's cache if no source has changed."""
    if not cls.__module__.startswith("onlinear."):
        return _drawn(cls)
    file = _folder() / f"{cls.__name__}.json"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        made = file.with_suffix(f".{os.getpid()}")
        made.write_text(json.dumps(_drawn(cls)), encoding="utf-8")
        made.replace(file)
    return Drawing(*json.loads(file.read_text(encoding="utf-8")))


@cache
def _folder() -> Path:
    """Return the folder for figures drawn by the current sources; remove old folders."""
    everything = platformdirs.user_cache_path("onlinear-site")
    package = Path(ol.__file__).parent
    digest = hashlib.sha256(f"{np.__version__} {matplotlib.__version__}".encode())
    for file in [Path(__file__), Path(scenes.__file__), *sorted(package.rglob("*.py"))]:
        if not (file.is_relative_to(package) and file.relative_to(package).parts[0] in UNUSED):
            digest.update(file.read_bytes())
    for old in sorted(everything.glob("*"), key=lambda folder: folder.stat().st_mtime)[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return everything / digest.hexdigest()[:32]


def _drawn(cls: type) -> Drawing:
    with _style():
        figure = Figure(figsize=(7.6, 4.2), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots()
        draw = _filter if issubclass(cls, ol.Filter) else _learner
        caption = draw(axes, cls)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        file = io.StringIO()
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return Drawing({form: _coloured(file.getvalue(), form) for form in FORMS}, caption)


def _coloured(svg: str, form: str) -> str:
    for stands_for, colour in FORMS[form].items():
        svg = svg.replace(stands_for, colour)
    return svg


@contextmanager
def _style() -> Iterator[None]:
    """Draw in colours to be replaced, with no background; the same run gives the same file."""
    settings: dict[Any, Any] = {
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "axes.labelsize": 10,
        "figure.facecolor": "none",
        "grid.color": GRID,
        "legend.edgecolor": "none",
        "legend.facecolor": "none",
        "legend.labelcolor": INK,
        "svg.hashsalt": "onlinear",
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
    }
    with matplotlib.rc_context(settings):
        yield


def _learner(axes: Axes, cls: type[ol.Learner]) -> str:
    """Draw the learner's loss, the best losses in hindsight and the ceiling; return a caption."""
    model, X, y, words, also = scenes.scene(cls)
    proof = ol.certificate(model, X, y)
    ol.regret_plot(proof, X, y, also=also, ax=axes)
    for line in axes.lines:
        if line.get_color() == "black":
            line.set_color(INK)
    loss = float(proof.loss[-1])
    square = proof.run.loss == ol.losses.Square()
    ends = {"best fixed": float(ol.hindsight.best_fixed(X, y)[-1])} if square else {}
    ends |= {name: float(curve[-1]) for name, curve in also.items()}
    ceiling = float(proof.ceiling[-1])
    highest = max([*ends.values(), ceiling if np.isfinite(ceiling) else 0.0])
    if highest > BEYOND * loss or min(ends.values(), default=loss) * BEYOND < loss:
        axes.set_yscale("log")
        axes.set_ylim(bottom=min([loss, *ends.values()]) / 100)
    shown = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    if not np.isfinite(proof.ceiling).any():
        del shown["ceiling"]
    axes.legend(
        list(shown.values()),
        list(shown),
        loc="upper left" if axes.get_yscale() == "linear" else "best",
        fontsize="small",
    )
    axes.grid(alpha=0.5)
    others = "; ".join(f"{name} {_number(end)}" for name, end in ends.items())
    others = others.replace("best fixed", "best fixed, in hindsight,", 1)
    what = "squared loss" if square else f"loss by `{proof.run.loss!r}`"
    said = f"{words}. Total {what}: **{proof.learner} {_number(loss)}**"
    said += f"; {others}." if others else "."
    if proof.failed is None:
        return (
            f"{said} The theorem's ceiling is {_number(ceiling)}, {ceiling / loss:.1f} times the "
            f"loss; its comparator, {proof.against}, is {_number(float(proof.comparator[-1]))}."
        )
    return f"{said} There is no ceiling: {proof.failed}."


def _filter(axes: Axes, cls: type[ol.Filter]) -> str:
    """Draw a filter's mistakes, and those of forwarding all or nothing; return a caption."""
    X, relevant, words = scenes.items()
    f = cls()
    run = ol.filter_replay(f, X, relevant)
    half = run[len(run) // 2 :]
    rounds = np.arange(1, len(run) + 1)
    mistakes = np.cumsum(run.decisions != (run.labels > 0))
    axes.plot(rounds, mistakes, color=COLOURS[0], label=repr(f))
    axes.plot(rounds, np.cumsum(run.decisions), "--", color=COLOURS[1], label="rows forwarded")
    axes.plot(rounds, np.cumsum(~relevant), "-.", color=INK, label="mistakes of forwarding all")
    axes.plot(rounds, np.cumsum(relevant), ":", color=INK, label="mistakes of forwarding none")
    highest = max(mistakes[-1], int(run.decisions.sum()), int(relevant.sum()))
    axes.set(xlabel="round", ylabel="mistakes so far", ylim=(0, 1.6 * highest))
    axes.legend(loc="upper right", fontsize="small")
    axes.grid(alpha=0.5)
    return (
        f"{words}. **{f!r}** forwards {run.decisions.sum():,} and makes {run.mistakes:,} mistakes; "
        f"precision {run.precision:.2f}, recall {run.recall:.2f}, and in the second half "
        f"{half.precision:.2f} and {half.recall:.2f}. Forwarding all makes "
        f"{(~relevant).sum():,} mistakes (its line soon leaves the figure), forwarding none "
        f"{relevant.sum():,}."
    )


def _number(value: float) -> str:
    """Return a number in few digits."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.4g}"
