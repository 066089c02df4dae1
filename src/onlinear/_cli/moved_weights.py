"""Sample the weights during a run, in bounded memory, and report which weights moved most.

The samples depend only on the rows, not on how the rows are split into blocks.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onlinear._evaluation.report.downsampling import Regular
from onlinear._evaluation.report.recorder import MOST_WEIGHED
from onlinear._learner.base import Learner
from onlinear.algorithms import Auto
from onlinear.scaling import Standardized

__all__ = ["WeightSamples", "moved"]

MOST = 100  # samples that are kept
EARLY = 100  # first rows, left out: the learner is still finding its weights
PARTS = 10  # parts of the stream; weights are averaged over each
LISTED = 3


class WeightSamples:
    """The weights of a learner, sampled at regular intervals.

    Only learners that scale their features are sampled: the weights of other learners depend on the
    units of the columns, so they cannot be compared with each other.
    """

    def __init__(self, columns: int, kept: Regular | None = None) -> None:
        self.columns = columns
        self.kept = Regular.none(MOST, columns) if kept is None else kept

    def ahead(self) -> int:
        """Return how many more rows have to be learnt until the next sample is due."""
        seen = self.kept.seen
        stride = self.kept.stride_after(seen + 1)
        return stride - seen % stride

    def pass_rows(self, rows: int, last: int, model: Learner) -> None:
        """Count ``rows`` more rows, at most :meth:`ahead` of them; take a sample if one is due.

        ``last`` is the number that the last of these rows has in the stream.
        """
        seen = self.kept.seen + rows
        places = [seen] if rows == self.ahead() and _has_effects(model, self.columns) else []
        table = model.coef_[None, :] if places else np.zeros((0, self.columns))
        self.kept = self.kept.with_places(seen, places, np.full(len(places), float(last)), table)

    def _snapshot(self) -> Callable[[], None]:
        """Return a function that restores the samples as they are now."""
        kept = self.kept  # never changed in place

        def restore() -> None:
            self.kept = kept

        return restore

    def described(self) -> tuple[int, np.ndarray]:
        """Return the number of rows counted so far, and the samples, for a state file."""
        return self.kept.seen, self.kept.described()

    @classmethod
    def restored(cls, columns: int, seen: Any, samples: np.ndarray) -> "WeightSamples":
        """Return the samples that a state file describes; refuse invalid ones."""
        kept = Regular.restored(samples, 0, 1 << 53, MOST, columns, seen)
        return cls(columns, kept)


def _has_effects(model: Learner, columns: int) -> bool:
    known = isinstance(model, Auto | Standardized) and model._state is not None
    return known and columns <= MOST_WEIGHED and model._outputs() == 1


def moved(kept: Regular, model: Learner, names: Sequence[str], target: str) -> list[str]:
    """Return lines of text on the weights that moved most; none if there are too few samples.

    Each sample in ``kept`` begins with the learner's weights; other figures for a report may
    follow. A run with a report takes more samples than a run without; only the samples that both
    kinds of run would take are used, so both print the same lines.

    Each weight is multiplied by the standard deviation of its column, and its samples are averaged
    over each tenth of the rows. The weights with the largest difference between two tenths are
    listed.
    """
    stride = WeightSamples(0).kept.stride_after(kept.seen)
    late = (kept.places > EARLY) & (kept.places % stride == 0)
    rows, weights = kept.rows[late], kept.table[late, : len(names)]
    if rows.size < 2 * PARTS or not _has_effects(model, len(names)):
        return []
    effects = weights * np.asarray(model._learnt().scale)
    parts = np.array_split(np.arange(rows.size), PARTS)
    means = np.array([effects[part].mean(axis=0) for part in parts])
    change = means.max(axis=0) - means.min(axis=0)
    lines = []
    for j in np.argsort(-change, kind="stable")[:LISTED].tolist():
        ends = sorted((int(means[:, j].argmin()), int(means[:, j].argmax())))
        values = [
            f"{means[k, j]:+.3g} in rows {rows[parts[k][0]]:,.0f} to {rows[parts[k][-1]]:,.0f}"
            for k in ends
        ]
        if change[j] > 0:
            lines.append(f"  {names[j]}: {', '.join(values)}")
    heading = f"weights that moved most (effect on {target} of one standard deviation more):"
    return [heading, *lines] if lines else []
