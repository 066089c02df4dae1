"""The figures of a run that predicts classes: how many rows were right, and how many of each class.

Like those of :mod:`onlinear._cli.run_figures`, the numbers are bit for bit the same however the
rows are split into blocks.
"""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from onlinear._cli.answers import Answers, ClassAnswers
from onlinear._cli.run_figures import BEGINNING, RunFigures
from onlinear._evaluation.report.running_sums import Sums, running
from onlinear._learner.base import Learner
from onlinear._learner.class_replay import ClassReplay
from onlinear._learner.replay_result import Replay
from onlinear._state_files.model_codec import count
from onlinear.losses import SQUARED

__all__ = ["ClassFigures", "class_figures", "figures_for", "restored"]

NONE = ClassAnswers((), False)


@dataclass
class ClassFigures(RunFigures):
    """The figures of a run that predicts classes.

    The losses are log losses, or 0 if the learner predicts no probabilities.
    ``counts`` has the number of learnt rows of each class, ``right`` the number of learnt rows
    whose class was predicted, and ``right_in_beginning`` this number in the warm-up.
    """

    answers: ClassAnswers = NONE
    counts: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
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
        most = int(self.counts.argmax())
        return self.answers.names[most], self._share(int(self.counts[most]), self.learnt)

    @property
    def progress(self) -> str:
        """What the progress bar shows of the predictions so far."""
        return f"accuracy {self.accuracy:.4g}"

    def learn(self, run: Replay | ClassReplay) -> None:
        """Count a replay's learnt rows and add their losses; :meth:`skip` counts skipped rows."""
        learnt = np.ones(run.labels.size, dtype=bool)
        learnt[run.bad_rows] = False
        places = self.answers.places(run.labels[learnt])
        if not places.size:
            return
        predictions, before = run.predictions[learnt], self.learnt
        right = np.cumsum(self.answers.chosen(predictions) == places)
        losses = self.answers.log_losses(predictions, places)
        lost = running(self.sums.lost, losses if self.answers.probable else 0.0 * places)
        plain = running(self.sums.mean_lost, self._losses_of_shares(places))
        if before < BEGINNING:
            last = min(BEGINNING - before, places.size) - 1
            self.right_in_beginning = self.right + int(right[last])
            self.begun = float(lost[last]), float(plain[last])
        self.sums = Sums(float(before + places.size), float(lost[-1]), float(plain[-1]))
        self.right += int(right[-1])
        self.counts = self.counts + np.bincount(places.astype(np.intp), None, self.counts.size)

    def _losses_of_shares(self, places: np.ndarray) -> np.ndarray:
        """Return the log loss of predicting the shares of the classes so far.

        To the rows so far, one more row is added, a part 1/K of which is of each of the K classes.
        """
        earlier, K = np.empty(places.size), self.counts.size
        for k in range(K):
            own = places == k
            earlier[own] = self.counts[k] + np.arange(np.count_nonzero(own))
        return np.asarray(-np.log((earlier + 1.0 / K) / (self.learnt + np.arange(places.size) + 1)))

    def words(self, target: str) -> list[str]:
        """Return lines of text on how good the predictions were."""
        (usual, share), probable = self.usual, self.answers.probable
        first = f"accuracy {self.accuracy:.4g}"
        if probable:
            first += (
                f", log loss {self.error:.4g}, {self.relative:.4g} times that of predicting the "
                "shares so far"
            )
        lines = [first, f"the most frequent class, {usual}, has a share of {share:.4g}"]
        if self.learnt >= 2 * BEGINNING:
            late = self._share(self.right - self.right_in_beginning, self.learnt - BEGINNING)
            line = f"after the first {BEGINNING} rows: accuracy {late:.4g}"
            lines.append(line + f", log loss {self.after_beginning[0]:.4g}" * probable)
        if self.accuracy < share:
            lines.append(f"always predicting {usual} would have been right more often")
        return lines

    def shown(self) -> dict[str, Any]:
        """Return the measures that ``onlinear inspect`` shows, by name."""
        rows = dict(zip(self.answers.names, self.counts.tolist(), strict=True))
        if not self.learnt:
            return {"classes": rows}
        loss = {"log loss": self.error} if self.answers.probable else {}
        return {"classes": rows, "accuracy": self.accuracy, **loss}

    def described(self) -> dict[str, Any]:
        """Return all figures as plain JSON values."""
        kept = {
            "names": list(self.answers.names),
            "probable": self.answers.probable,
            "counts": self.counts.tolist(),
            "right": [self.right, self.right_in_beginning],
        }
        return {**super().described(), "classes": kept}

    def take(self, kept: dict[str, Any]) -> Self:
        """Take over the figures that JSON values describe; refuse invalid values."""
        super().take(kept)
        about = kept["classes"]
        self.answers = ClassAnswers(tuple(map(str, about["names"])), bool(about["probable"]))
        self.counts = np.array(list(map(count, about["counts"])), dtype=np.int64)
        self.right, self.right_in_beginning = map(count, about["right"])
        if self.counts.size != len(self.answers.names) or self.counts.sum() != self.learnt:
            raise ValueError(f"it has {self.counts} rows of the classes {self.answers.names}")
        if not self.right_in_beginning <= self.right <= self.learnt:
            raise ValueError(f"it says {self.right} of {self.learnt} predictions were right")
        return self


def class_figures(answers: ClassAnswers) -> ClassFigures:
    """Return the figures that a run of a learner of classes begins with."""
    return ClassFigures(answers=answers, counts=np.zeros(len(answers.names), dtype=np.int64))


def figures_for(model: Learner, answers: Answers) -> RunFigures:
    """Return the figures that a run begins with."""
    if isinstance(answers, ClassAnswers):
        return class_figures(answers)
    loss = model._loss
    return RunFigures(loss_name="" if loss == SQUARED else f"mean loss by {loss!r}")


def restored(kept: dict[str, Any]) -> RunFigures:
    """Return the figures that JSON values describe; refuse invalid values."""
    if "classes" in kept:
        return ClassFigures().take(kept)
    return RunFigures().take(kept)
