"""Pictures of filters on news stories: F-measure by topic and over time, precision, recall."""

from collections.abc import Mapping

import numpy as np

from onlinear.papers._harness.outcome import Picture
from onlinear.papers._harness.pictures import LOOKS, new, plain, styled
from onlinear.papers.filtering.newswire import PARTS, Scores, Tasks

__all__ = ["balance", "by_topic"]

UPRIGHT = 12  # the names of up to this many topics fit side by side


@styled
def by_topic(tasks: Tasks, found: Mapping[str, Scores]) -> Picture:
    """Draw each filter's F-measure on each topic, over the whole stream and in its second half."""
    figure, axes = new(2, 1, height=2.3, sharex=True, sharey=True)
    place = np.arange(len(tasks.topics))
    halves = (("whole stream", "f"), ("second half", "late"))
    for panel, (title, part) in zip(axes[:, 0], halves, strict=True):
        for (name, scores), look in zip(found.items(), LOOKS, strict=False):
            f = getattr(scores, part)
            label = f"{name}: mean {np.nanmean(f):.2f}"
            panel.plot(place, f, label=label, **{**look._asdict(), "linewidth": 0.6})
        panel.set_ylim(0, 1)
        panel.legend(loc="upper left", bbox_to_anchor=(1, 1))
        plain(panel, title, "", "F-measure")
    upright = len(place) <= UPRIGHT
    shares = tasks.Y.mean(axis=0)
    names = [
        f"{topic}\n{share:.1%}" if upright else topic
        for topic, share in zip(tasks.topics, shares, strict=True)
    ]
    axes[1, 0].set_xticks(place, names, rotation=0 if upright else 90)
    axes[1, 0].set_xlabel("topic, the most frequent first")
    return Picture(
        figure,
        "Figure 1: the F-measure of each filtering task. RIDGE-FULL and the Perceptron see every "
        "label, RIDGE-FIL those of the stories it forwards. Lines only guide the eye.",
    )


@styled
def balance(tasks: Tasks, found: Mapping[str, Scores]) -> Picture:
    """Draw each filter's recall and precision on each topic, and its mean F-measure over time."""
    figure, ((left, right),) = new(1, 2, height=3.0)
    left.plot([0, 1], [0, 1], color="0.6", linewidth=0.8)
    for f in (0.2, 0.4, 0.6, 0.8):
        least = f / (2 - f)  # F = 2PR/(P + R), so that P = FR/(2R − F)
        recall = np.linspace(least, 1, 100)
        left.plot(recall, f * recall / (2 * recall - f), color="0.8", linewidth=0.7, zorder=0)
        left.annotate(f"F = {f}", (1, least), (3, 0), textcoords="offset points", va="center")
    ends = np.arange(1, PARTS + 1) * len(tasks.Y) / PARTS
    for (name, scores), look in zip(found.items(), LOOKS, strict=False):
        left.plot(scores.recall, scores.precision, look.marker, color=look.color, clip_on=False)
        right.plot(ends, scores.growing, label=name, **look._asdict())
    left.set(xlim=(0, 1), ylim=(0, 1))
    right.set_ylim(0, 1)
    right.legend()
    plain(left, "a mark for each topic", "recall", "precision")
    plain(right, "all stories so far", "stories", "mean F-measure")
    return Picture(
        figure,
        "Left: recall and precision over the whole stream; they are equal on the diagonal, and F "
        "is the same along a grey curve. Right: the mean over topics of the F-measure of the "
        "stream so far.",
    )
