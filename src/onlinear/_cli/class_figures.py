"""The figures of a run that predicts classes: how many rows were right, and how many of each class.

Like those of :mod:`onlinear._cli.run_figures`, the numbers are bit for bit the same however the
rows are split into blocks.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from onlinear._cli.run_figures import BEGINNING, RunFigures
from onlinear._learner.base import Learner
from onlinear._learner.class_measures import classes_of, has_probabilities
from onlinear._learner.replay_result import Replay
from onlinear._state_files.model_codec import count
from onlinear.losses import SQUARED

__all__ = ["ClassFigures", "figures_for", "restored"]


@dataclass
class ClassFigures(RunFigures):
    """The figures of a run that predicts classes.

    ``probable`` says whether the learner predicts probabilities; only then is its loss the log
    loss. ``counts`` has the number of learnt rows of each class, ``right`` the number of them whose
    class was predicted, and ``right_in_beginning`` this number in the warm-up.
    """

    classes: tuple[str, ...] = ()
    probable: bool = True
    counts: tuple[int, ...] = ()
    right: int = 0
    right_in_beginning: int = 0

    def _share(self, right: int, rows: int) -> float:
        return right / rows if rows else float("nan")

    @property
    def accuracy(self) -> float:
        """The share of right predictions; NaN before a row is learnt."""
        return self._share(self.right, self.learnt)

    @property
    def usual(self) -> tuple[str, float]:
        """The most frequent class so far, and its share of the rows."""
        most = max(self.counts)
        return self.classes[self.counts.index(most)], self._share(most, self.learnt)

    @property
    def progress(self) -> str:
        """What the progress bar shows of the predictions so far."""
        return f"accuracy {self.accuracy:.4g}"

    def learn(self, run: Replay) -> None:
        """Count a replay's learnt rows and add their losses; :meth:`skip` counts skipped rows."""
        before, learnt = self.learnt, np.ones(run.labels.size, dtype=bool)
        learnt[run.bad_rows] = False
        two = classes_of(run.loss)
        assert two is not None
        labels, chosen = (each > two.boundary for each in (run.labels, run.predictions))
        right = np.cumsum(learnt & (labels == chosen))
        positive, rows = int(np.sum(learnt & labels)), int(learnt.sum())
        new = (rows - positive, positive)
        self.counts = tuple(a + b for a, b in zip(self.counts, new, strict=True))
        if before < BEGINNING and right.size:
            last = int(np.searchsorted(np.cumsum(learnt), BEGINNING - before))
            self.right_in_beginning = self.right + int(right[min(last, right.size - 1)])
        self.right += int(right[-1]) if right.size else 0
        super().learn(run)

    def words(self, target: str) -> list[str]:
        """Return lines of text on how good the predictions were."""
        usual, share = self.usual
        first = f"accuracy {self.accuracy:.4g}"
        if self.probable:
            first += (
                f", log loss {self.error:.4g}, {self.relative:.4g} times that of predicting the "
                "shares so far"
            )
        lines = [first, f"the most frequent class, {usual}, has a share of {share:.4g}"]
        if self.learnt >= 2 * BEGINNING:
            late = self._share(self.right - self.right_in_beginning, self.learnt - BEGINNING)
            line = f"after the first {BEGINNING} rows: accuracy {late:.4g}"
            lines.append(line + f", log loss {self.after_beginning[0]:.4g}" * self.probable)
        if self.accuracy < share:
            lines.append(f"always predicting {usual} would have been right more often")
        return lines

    def shown(self) -> dict[str, Any]:
        """Return the measures that ``onlinear inspect`` shows, by name."""
        if not self.learnt:
            return {"classes": list(self.classes)}
        loss = {"log loss": self.error} if self.probable else {}
        rows = dict(zip(self.classes, self.counts, strict=True))
        return {"classes": rows, "accuracy": self.accuracy, **loss}

    def described(self) -> dict[str, Any]:
        """Return all figures as plain JSON values."""
        kept = {
            "names": list(self.classes),
            "probable": self.probable,
            "counts": list(self.counts),
            "right": [self.right, self.right_in_beginning],
        }
        return {**super().described(), "classes": kept}

    def take(self, kept: dict[str, Any]) -> Self:
        """Take over the figures that JSON values describe; refuse invalid values."""
        super().take(kept)
        about = kept["classes"]
        self.classes, self.probable = tuple(map(str, about["names"])), bool(about["probable"])
        self.counts = tuple(map(count, about["counts"]))
        self.right, self.right_in_beginning = map(count, about["right"])
        if len(self.counts) != len(self.classes) or sum(self.counts) != self.learnt:
            raise ValueError(f"it has {self.counts} rows of the classes {self.classes}")
        if not self.right_in_beginning <= self.right <= self.learnt:
            raise ValueError(f"it says {self.right} of {self.learnt} predictions were right")
        return self


def figures_for(model: Learner, classes: tuple[str, ...]) -> RunFigures:
    """Return the figures that a run begins with; ``classes`` is empty if it predicts numbers."""
    loss = model._loss
    if not classes:
        return RunFigures(loss_name="" if loss == SQUARED else f"mean loss by {loss!r}")
    counts = (0,) * len(classes)
    return ClassFigures(classes=classes, probable=has_probabilities(loss), counts=counts)


def restored(kept: dict[str, Any]) -> RunFigures:
    """Return the figures that JSON values describe; refuse invalid values."""
    return (ClassFigures if "classes" in kept else RunFigures)().take(kept)
