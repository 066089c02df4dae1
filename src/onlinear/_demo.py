"""The demonstration: a turning truth, several learners, and the best predictors in hindsight."""

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from onlinear import hindsight
from onlinear._model import Learner
from onlinear._plot import COLOURS
from onlinear._replay import replay
from onlinear.algorithms import ARCOR, CRRLS, LASER, NLMS, RLS, Ridge
from onlinear.streams import rotating

__all__ = ["run"]

B, C = 1, 30
COLUMNS = 10


def learners() -> list[Learner]:
    """Return the learners shown."""
    return [
        LASER(b=B, c=C, shrink=False),
        LASER(b=B, c=C),
        RLS(forgetting=0.9),
        CRRLS(forgetting=0.9),
        ARCOR(q=1.5),
        NLMS(),
        Ridge(b=B),
    ]


def run(rows: int, degrees: float, seed: int, picture: Path) -> None:
    """Replay the stream, print the table, draw the picture."""
    console = Console()
    X, y = rotating(rows, COLUMNS, degrees, seed=seed)
    curves: dict[str, np.ndarray] = {}
    errors = Console(stderr=True)
    with Progress(console=errors, transient=True, disable=not errors.is_terminal) as progress:
        for model in progress.track(learners(), description="replaying"):
            curves[repr(model)] = replay(model, X, y).cumulative_loss
    fixed = hindsight.best_fixed(X, y, B)
    drifting = hindsight.best_drifting(X, y, B, C)

    table = Table(
        title=f"{rows:,} rounds, {COLUMNS} inputs, the truth turns {degrees:g}° a round",
        caption="squared loss, and how much more it is than the best predictor's in hindsight",
    )
    table.add_column("learner", no_wrap=True)
    for heading in ("loss", "over best fixed", "over best drifting"):
        table.add_column(heading, justify="right")
    for name, curve in ranked(curves):
        loss = float(curve[-1])
        table.add_row(name, f"{loss:,.1f}", _signed(loss - fixed[-1]), _signed(loss - drifting[-1]))
    table.add_section()
    table.add_row(f"best fixed + {B}·‖u‖²", f"{fixed[-1]:,.1f}", "", "")
    table.add_row(f"best drifting + {C}·‖Δu‖²", f"{drifting[-1]:,.1f}", "", "")
    console.print(table)
    draw(curves, {"best fixed": fixed, "best drifting": drifting}, picture)


def ranked(curves: dict[str, np.ndarray]) -> list[tuple[str, np.ndarray]]:
    """Return the learners, the least loss first."""
    return sorted(curves.items(), key=lambda item: float(item[1][-1]))


def _signed(value: float) -> str:
    return f"{value:+,.1f}".replace("-", "−")


def draw(curves: dict[str, np.ndarray], best: dict[str, np.ndarray], picture: Path) -> None:
    """Draw cumulative loss over the rounds; the legend is in the order of the table."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for (name, curve), colour in zip(ranked(curves), COLOURS, strict=True):
        axes.plot(np.arange(1, curve.size + 1), curve, color=colour, label=name)
    for (name, curve), style in zip(best.items(), ("--", ":"), strict=True):
        label = f"{name} in hindsight"
        axes.plot(np.arange(1, curve.size + 1), curve, "k" + style, label=label)
    axes.set(xlabel="round", ylabel="cumulative squared loss", xscale="log", yscale="log")
    axes.set_title("A truth that turns: who keeps up?")
    axes.legend(fontsize="small")
    axes.grid(alpha=0.3)
    figure.savefig(picture, dpi=150)
