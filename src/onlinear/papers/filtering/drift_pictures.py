"""Pictures of filters when the truth drifts: regret over time, and F around changes of topic."""

from collections.abc import Mapping

import numpy as np

from onlinear.papers._harness.outcome import Picture
from onlinear.papers._harness.pictures import LOOKS, new, plain, styled
from onlinear.papers.filtering import moving_truth
from onlinear.papers.filtering.moving_truth import FILTERS, TRUTHS, Result
from onlinear.papers.filtering.newswire import PARTS, Scores, Tasks

__all__ = ["after_switches", "regrets"]


@styled
def regrets(found: Mapping[tuple[str, str], list[Result]]) -> Picture:
    """Draw the mean regret of each filter over time, a panel for each truth."""
    figure, axes = new(2, 3, height=2.3, sharex=True)
    for panel, truth in zip(axes.flat, TRUTHS, strict=True):
        for name, look in zip(FILTERS, LOOKS, strict=True):
            curves = np.array([each.regret for each in found[truth, name]])
            ends = moving_truth.ROWS * np.arange(1, curves.shape[1] + 1) / curves.shape[1]
            panel.plot(ends, curves.mean(axis=0), label=name, **{**look._asdict(), "marker": ""})
        panel.set_yscale("symlog", linthresh=10.0)
        panel.set_ylim(bottom=0.0)
        plain(panel, truth, "rows" if panel in axes[1] else "", "")
    for panel in axes[:, 0]:
        panel.set_ylabel("regret")
    axes[0, 2].legend(loc="upper left", bbox_to_anchor=(1, 1))
    return Picture(
        figure,
        "The regret of filters on simulated streams whose true weights stay, turn or jump; the "
        "axis is linear up to 10 and logarithmic above.",
    )


@styled
def after_switches(tasks: Tasks, found: Mapping[str, Scores], pieces: int) -> Picture:
    """Draw the F-measure of each filter in each twentieth of the stream of stories."""
    figure, ((panel,),) = new(1, 1, height=3.0)
    ends = (np.arange(PARTS) + 0.5) * len(tasks.Y) / PARTS
    for (name, scores), look in zip(found.items(), LOOKS, strict=False):
        panel.plot(ends, scores.local, label=name, **look._asdict())
    for piece in range(1, pieces):
        panel.axvline(piece * len(tasks.Y) / pieces, color="0.6", linewidth=0.8)
    panel.set_ylim(0, 1)
    panel.legend(loc="upper left", bbox_to_anchor=(1, 1))
    plain(panel, "stories whose wanted topic changes", "stories", "F-measure of a twentieth")
    return Picture(
        figure,
        "The F-measure in each twentieth of the stream, of the counts of all tasks together. At "
        "each grey line, every task gets another topic.",
    )
