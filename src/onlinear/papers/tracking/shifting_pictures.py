"""Pictures for Herbster & Warmuth (2001): losses, upper bounds, and the cost of a shift."""

from collections.abc import Sequence

import matplotlib
import numpy as np

from onlinear.papers._harness.outcome import Picture
from onlinear.papers._harness.pictures import LOOKS, STYLE, band, new, plain
from onlinear.papers.tracking.shifting_runs import (
    BLOCK,
    LEARNERS,
    PASTS,
    SETTINGS,
    SHIFTS,
    Bounded,
    Priced,
)

__all__ = ["ceilings", "prices", "tunings"]

FREE, KEPT, TARGET, CEILING = LOOKS[1], LOOKS[0], LOOKS[6], LOOKS[2]
CURVES = (("projected", KEPT), ("free", FREE), ("true weights", TARGET), ("ceiling", CEILING))


def ceilings(runs: Sequence[Sequence[Bounded]]) -> Picture:
    """Draw the losses and the upper bound in each setting.

    ``runs[i][j]`` has the results of repeat i in setting j.
    """
    with matplotlib.rc_context(STYLE):
        figure, axes = new(2, 2, height=2.2, sharex=True)
        for i, (ax, setting) in enumerate(zip(axes.flat, SETTINGS, strict=True)):
            rounds = runs[0][i].rounds
            for shift in range(1, SHIFTS + 1):
                ax.axvline(rounds[-1] * shift / (SHIFTS + 1), color="0.8", lw=0.8, zorder=0)
            curves = np.array([run[i].curves for run in runs])
            for j, (name, look) in enumerate(CURVES):
                band(ax, rounds, curves[:, j], name, look)
            ax.grid(visible=False, axis="x")
            plain(ax, setting.theorem, "", "")
        for ax in axes[1]:
            ax.set_xlabel("round")
        for ax in axes[:, 0]:
            ax.set_ylabel("squared loss so far")
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    words = (
        f"The true weights shift {SHIFTS} times (vertical lines). Curves: the squared loss so far "
        "of the projected learner, of the free learner (without projection) and of the true "
        "weights, and the upper bound (ceiling) of the corrected theorem for the projected "
        "learner. Means with 95 % bands."
    )
    return Picture(figure, words)


def prices(lengths: Sequence[int], runs: Sequence[Priced]) -> Picture:
    """Draw the cost of a shift against the number of rounds before it (``lengths``)."""
    mean = np.mean([run.prices for run in runs], axis=0)
    with matplotlib.rc_context(STYLE):
        figure, axes = new(1, 3, height=2.5, sharey=True)
        for i, (ax, learner) in enumerate(zip(axes[0], LEARNERS, strict=True)):
            for j, past in enumerate(PASTS):
                for k, (name, look) in enumerate((("free", FREE), ("projected", KEPT))):
                    style = {
                        "color": look.color,
                        "marker": look.marker,
                        "linestyle": ("--", "-")[j],
                        "markerfacecolor": ("white", look.color)[j],
                    }
                    ax.plot(lengths, mean[i, j, :, k], label=f"{name}, {past}", **style)
            ax.set_xscale("log")
            ax.set_yscale("symlog", linthresh=1.0)
            plain(ax, learner, "rounds before the shift", "")
        axes[0, 0].set_ylabel("price of the shift")
        axes[0, 0].set_ylim(bottom=-0.5)
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    words = (
        "The price of a shift: the loss after the shift minus that of a new learner that starts "
        "there (means; the axis is linear below 1). If the true weights before the shift are in "
        "the set, the projection hardly matters. If they are outside, the free EG and EGU go on "
        "lowering a weight that they need later, and the longer they do so, the higher the price; "
        "the price for the free GD depends on how long its vector of weights is. For the projected "
        "learners the price is a few units whatever came before."
    )
    return Picture(figure, words)


def tunings(
    runs: Sequence[Priced],
    widths: Sequence[int],
    by_width: np.ndarray,
    by_share: np.ndarray,
) -> Picture:
    """Draw how EG recovers from a shift; draw losses against the number of inputs and against α.

    α is the parameter of the set on which C-EGU projects.
    """
    with matplotlib.rc_context(STYLE):
        figure, axes = new(1, 3, height=2.6)
        recovery = np.array([run.recovery for run in runs])
        rounds = BLOCK * (0.5 + np.arange(recovery.shape[2]))
        for j, (name, look) in enumerate((("free", FREE), ("projected", KEPT), ("new", TARGET))):
            band(axes[0, 0], rounds, recovery[:, j], name, look)
        plain(axes[0, 0], "EG after a shift,\ntrue weights outside", "rounds after it", "")
        axes[0, 0].set_ylabel("squared error")
        axes[0, 0].legend()
        mean = by_width.mean(axis=0)
        for j, (name, look) in enumerate((("C-GD", LOOKS[1]), ("C-EG", LOOKS[0]))):
            axes[0, 1].plot(widths, mean[:, j, 0], label=name, **look._asdict())
            axes[0, 1].plot(
                widths, mean[:, j, 1], color=look.color, ls=":", lw=1, label=f"{name}, ceiling"
            )
        axes[0, 1].set_xscale("log", base=2)
        axes[0, 1].set_yscale("log")
        axes[0, 1].set_ylim(top=10 * mean.max())  # room for the legend
        plain(axes[0, 1], "one of n inputs matters,\n3 shifts", "n", "squared loss")
        axes[0, 1].legend()
        alphas, losses, tops = by_share.mean(axis=0).T
        axes[0, 2].plot(alphas[:-1], losses[:-1], label="loss", **KEPT._asdict())
        axes[0, 2].plot(alphas[:-1], tops[:-1], label="ceiling", **CEILING._asdict())
        axes[0, 2].axvline(alphas[-1], color="0.5", lw=1, label="Corollary 19")
        axes[0, 2].set_xscale("log")
        axes[0, 2].set_yscale("log")
        plain(axes[0, 2], "C-EGU by α,\nTheorem 18", "α", "squared loss")
        axes[0, 2].legend(frameon=True, framealpha=1, edgecolor="none")
    words = (
        "Left: how EG, and a new EG, recover from a shift after the largest number of rounds "
        "above, with 95 % bands. Middle: with one input that matters among n, inputs ±1 and no "
        "noise, the loss of C-GD grows as n, that of C-EG as ln n. Right: the ceiling is least at "
        "Corollary 19's α; the loss depends little on α, and is least elsewhere."
    )
    return Picture(figure, words)
