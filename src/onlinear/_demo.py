"""The demonstration: a turning truth, several learners, and the best predictors in hindsight."""

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from onlinear import hindsight
from onlinear._model import Learner
from onlinear._replay import replay
from onlinear.algorithms import ARCOR, CRRLS, LASER, NLMS, RLS, Ridge
from onlinear.streams import rotating

__all__ = ["run"]

B, C = 1.0, 30.0
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
        caption="squared loss, and its excess over the best predictors in hindsight (the regret)",
    )
    table.add_column("learner")
    for heading in ("loss", "a round", "− best fixed", "− best drifting"):
        table.add_column(heading, justify="right")
    for name, curve in sorted(curves.items(), key=lambda item: float(item[1][-1])):
        loss = float(curve[-1])
        table.add_row(
            name,
            f"{loss:,.1f}",
            f"{loss / rows:.4f}",
            f"{loss - fixed[-1]:+,.1f}",
            f"{loss - drifting[-1]:+,.1f}",
        )
    table.add_section()
    table.add_row(
        f"best fixed + {B:g}·‖u‖²", f"{fixed[-1]:,.1f}", f"{fixed[-1] / rows:.4f}", "", ""
    )
    table.add_row(
        f"best drifting + {C:g}·‖Δu‖²",
        f"{drifting[-1]:,.1f}",
        f"{drifting[-1] / rows:.4f}",
        "",
        "",
    )
    console.print(table)
    draw(curves, {"best fixed": fixed, "best drifting": drifting}, picture)


def draw(curves: dict[str, np.ndarray], best: dict[str, np.ndarray], picture: Path) -> None:
    """Draw cumulative loss over the rounds."""
    import matplotlib.style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.style.context("tableau-colorblind10"):
        figure = Figure(figsize=(8, 5), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        for name, curve in sorted(curves.items(), key=lambda item: -float(item[1][-1])):
            axes.plot(np.arange(1, curve.size + 1), curve, label=name)
        for (name, curve), style in zip(best.items(), ("--", ":"), strict=True):
            label = f"{name} in hindsight"
            axes.plot(np.arange(1, curve.size + 1), curve, "k" + style, label=label)
        axes.set(xlabel="round", ylabel="cumulative squared loss", xscale="log", yscale="log")
        axes.set_title("A truth that turns: who keeps up?")
        axes.legend(fontsize="small")
        axes.grid(alpha=0.3)
        figure.savefig(picture, dpi=150)
