"""Pictures of the last round as a game: a learner predicts, then an adversary picks the label."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onlinear.papers._harness.pictures import LOOKS, new, plain
from onlinear.papers.thesis.last_step import Game, Y

__all__ = ["Panel", "sections", "surfaces"]

Panel = tuple[str, Game, float]  # a title, a game, and its optimal prediction
LEVEL = 1e-5  # values of G that differ by less count as equal


def surfaces(panels: list[Panel]) -> Figure:
    """Draw the regret G(y, ŷ) of the last round over labels y and predictions ŷ, for each game."""
    figure, axes = new(1, 3, 2.5, subplot_kw={"projection": "3d"})
    side = np.linspace(-Y, Y, 21)
    y, predicted = np.meshgrid(side, side)
    for ax, (title, this, best) in zip(axes[0], panels, strict=True):
        G = this.value(y, predicted)
        ax.plot_surface(
            y, predicted, G, cmap="cividis", alpha=0.7, lw=0.25, edgecolor="white", shade=False
        )
        along = np.full_like(side, best)
        ax.plot(side, along, this.value(side, along), "k", lw=2.2, zorder=10)
        for end in (-Y, Y) if this.bound == Y else ():
            label = np.full_like(side, end)
            line = this.value(label, side)
            ax.plot(label, side, line, color=LOOKS[1].color, ls=(0, (3, 1)), zorder=9)
        ax.set(xticks=(-10, 0, 10), yticks=(-10, 0, 10), zticks=(-200, 0, 200, 400), title=title)
        ax.set_xlabel("y", labelpad=-7)
        ax.set_ylabel("ŷ", labelpad=-7)
        ax.tick_params(pad=-2)
        ax.set_proj_type("ortho")
        ax.set_box_aspect((1.2, 1.2, 1.0), zoom=1.12)
        ax.view_init(elev=22, azim=-66)
    return figure


def sections(panels: list[Panel]) -> Figure:
    """Draw the regret G(y, ŷ) over the labels y for several predictions ŷ, for each game."""
    figure, axes = new(1, 3, 2.6)
    for ax, (title, this, best) in zip(axes[0], panels, strict=True):
        far = min(this.bound, 2.2 * Y)
        side = np.linspace(-far, far, 101)
        shifts = (-5, -2, 2, 5)
        names = ("ŷ 5 less", "ŷ 2 less", "ŷ 2 more", "ŷ 5 more")
        for shift, name, style in zip(shifts, names, LOOKS, strict=False):
            curve = this.value(side, np.full_like(side, best + shift))
            ax.plot(side, curve, color=style.color, ls=style.linestyle, label=name)
            _dot(ax, this, best + shift, far, style.color)
        ax.plot(side, this.value(side, np.full_like(side, best)), "k", lw=2.2, label="ŷ optimal")
        _dot(ax, this, best, far, "k")
        plain(ax, title, "label y", "G(y, ŷ)")
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=5)
    return figure


def _dot(ax: Axes, this: Game, prediction: float, far: float, colour: str) -> None:
    """Mark the maximum of G(y, ŷ) over the adversary's labels y, if it is inside the picture."""
    best, most = this.worst(prediction)
    for label in {best, -this.bound, this.bound}:
        if abs(label) <= far and most - this.value(label, prediction) < LEVEL:
            ax.plot(label, most, "o", color=colour, clip_on=False, zorder=5)
