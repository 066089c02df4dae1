"""Pictures of the bounds of LASER and ARCOR under drift."""

import math

import numpy as np
from matplotlib.axes import Axes

from onlinear.papers._harness.outcome import Picture
from onlinear.papers._harness.pictures import LOOKS, band, new, plain
from onlinear.papers.thesis.drift_bounds import crossover, only_laser

__all__ = ["Curves", "bounds_picture", "crossover_picture"]

Curves = dict[str, np.ndarray]  # repeats × drifts
DECAY = r"decay $\kappa$ of the drift, steps of $t^{-\kappa}$"
NAMES = {
    "laser": "LASER, bound",
    "arcor": "ARCOR, bound",
    "laser_regret": "LASER, regret",
    "arcor_regret": "ARCOR, regret",
}


def crossover_picture() -> Picture:
    """Plot the largest κ at which LASER's bound is of smaller order than ARCOR's, against T.

    T is the length of the stream. The step of the drift in round t has length t^−κ.
    """
    figure, axes = new(1, 1, 2.8)
    ax = axes[0, 0]
    first = only_laser()
    powers = np.concatenate([first + np.geomspace(1e-3, 1, 40), np.geomspace(first + 1, 1e4, 120)])
    kappa = np.array([crossover(power * math.log(10)) for power in powers])
    top = 1.6
    ax.fill_between(powers, kappa, top, where=kappa < top, color=LOOKS[1].color, alpha=0.18, lw=0)
    ax.plot(powers, kappa, color="k", lw=2)
    ax.axhline(0.7, color=LOOKS[1].color, ls="--", lw=1.2)
    ax.axhline(2 / 3, color=LOOKS[0].color, lw=1.2)
    ax.set(xscale="log", xlim=(2, 0.9e4), ylim=(0.4, top))
    ax.xaxis.set_major_formatter(lambda power, _: f"$10^{{{power:g}}}$")
    ax.text(2.2, 0.72, "the thesis: .7", va="bottom", color=LOOKS[1].color)
    ax.text(2.2, 0.645, "limit: 2/3", va="top", color=LOOKS[0].color)
    ax.text(2.2, 1.15, "LASER's is\nthe smaller", va="center")
    ax.text(200, 1.2, "ARCOR's is the smaller", ha="center", va="center")
    plain(
        ax,
        "Which order is the smaller",
        "rounds T",
        r"decay $\kappa$ of the drift, steps of $t^{-\kappa}$",
    )
    return Picture(
        figure,
        "Below the black line LASER's order T^{2/3}V^{1/3} is smaller than ARCOR's √(TV′)·ln T, "
        f"above the line it is larger, for steps of t^−κ. Up to T = 10^{first:.1f} LASER's order "
        "is smaller for every κ. The line tends to 2/3, and is at .7 for a T of about 160 digits.",
    )


def bounds_picture(steps: np.ndarray, decays: np.ndarray, of: Curves, rows: int) -> Picture:
    """Plot bounds and regrets of LASER and ARCOR in T = ``rows`` rounds, against the drift.

    In the left panel, all steps of a drift have the same length, one of ``steps``; in the right
    panel, the step in round t has length t^−κ, where κ is one of ``decays``.
    """
    figure, axes = new(1, 2, 2.8, sharey=True)
    places = (slice(0, len(steps)), slice(len(steps), None))
    words = (
        ("Constant drift", r"step $\nu$"),
        ("Decaying drift", DECAY),
    )
    for ax, x, place, (title, across) in zip(axes[0], (steps, decays), places, words, strict=True):
        for (key, name), look in zip(NAMES.items(), LOOKS, strict=False):
            band(ax, x, of[key][:, place], name, look)
        ax.set(yscale="log")
        plain(ax, title, across, f"bound, regret at T = {rows:,}")
    axes[0, 0].set(xscale="log")
    axes[0, 1].set_ylabel("")
    axes[0, 1].axvline(2 / 3, color="0.5", lw=0.8)
    _outside(axes[0, 0])
    return Picture(
        figure,
        "The bounds with all their constants (certificates), and the regrets they bound; means "
        "over the repeats. The vertical line is κ = 2/3, where the orders cross as T → ∞.",
    )


def _outside(ax: Axes) -> None:
    """Put the names of the curves below the panels."""
    ax.figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=4)
