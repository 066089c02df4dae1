"""The counts, losses and bad rows of a run of the command so far.

These numbers are bit for bit the same however the rows are split into blocks.
"""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from onlinear._evaluation.report.data_problems import FIRST, MOST_KINDS
from onlinear._evaluation.report.resumable_recorder import Found
from onlinear._evaluation.report.running_sums import Sums
from onlinear._learner.class_replay import ClassReplay
from onlinear._learner.replay_result import Replay
from onlinear._state_files.model_codec import count

__all__ = ["BEGINNING", "RunFigures"]

OTHERS = "something else"
BEGINNING = 100  # rows of the warm-up; the summary also gives the error without them


@dataclass
class RunFigures:
    """The losses of a run so far, the numbers of its rows, and which rows were skipped and why."""

    unlabelled: int = 0
    skipped: int = 0
    sums: Sums = field(default_factory=Sums)
    begun: tuple[float, float] = (0.0, 0.0)  # losses of learner and running mean in the warm-up
    problems: dict[str, list[int]] = field(default_factory=dict)  # reason → [count, first rows]
    loss_name: str = ""  # what the mean of another loss than the square is called

    @property
    def learnt(self) -> int:
        """How many rows were learnt."""
        return int(self.sums.learnt)

    @property
    def rows(self) -> int:
        """How many rows were read."""
        return self.learnt + self.unlabelled + self.skipped

    @property
    def error(self) -> float:
        """The mean of the losses, by default squared errors; NaN before a row is learnt."""
        return self.sums.lost / self.learnt if self.learnt else float("nan")

    @property
    def progress(self) -> str:
        """What the progress bar shows of the predictions so far."""
        return f"{self._mean} {self.error:.4g}"

    @property
    def _mean(self) -> str:
        """What the mean of the losses is called."""
        return self.loss_name or "mean squared error"

    @property
    def relative(self) -> float:
        """The learner's loss divided by the loss of predicting the running mean of the labels."""
        return self.sums.lost / self.sums.mean_lost if self.sums.mean_lost else float("nan")

    @property
    def after_beginning(self) -> tuple[float, float]:
        """The mean loss after the warm-up, and its ratio to that of the running mean.

        The warm-up is the first ``BEGINNING`` rows that were learnt. The running mean predicts each
        label by the mean of the labels before it.
        """
        lost, plain = self.sums.lost - self.begun[0], self.sums.mean_lost - self.begun[1]
        rows = self.learnt - BEGINNING
        return lost / rows if rows > 0 else float("nan"), lost / plain if plain else float("nan")

    def learn(self, run: Replay | ClassReplay) -> None:
        """Count a replay's learnt rows and add their losses; :meth:`skip` counts skipped rows."""
        learnt = np.ones(run.labels.size, dtype=bool)
        learnt[run.bad_rows] = False
        before = self.learnt
        assert isinstance(run, Replay)  # ClassFigures takes the other
        self.sums, lost, plain = self.sums.with_rows(run, learnt)
        if before < BEGINNING:
            last = int(np.searchsorted(np.cumsum(learnt), BEGINNING - before))
            last = min(last, learnt.size - 1)
            self.begun = float(lost[last]), float(plain[last])

    def skip(self, row: int, kind: str) -> None:
        """Count a skipped row; ``kind`` is the reason why it was skipped."""
        self.skipped += 1
        if kind not in self.problems and len(self.problems) >= MOST_KINDS:
            kind = OTHERS
        problem = self.problems.setdefault(kind, [0])
        problem[0] += 1
        if len(problem) <= FIRST:
            problem.append(row)

    def found(self) -> list[Found]:
        """Return the problems found in rows, with their counts and first rows, for a report."""
        kinds = sorted(self.problems.items(), key=lambda item: -item[1][0])
        found: list[Found] = [(f"skipped: {kind}", rows[0], rows[1:]) for kind, rows in kinds]
        if self.unlabelled:
            found.append(("no label: predicted only", self.unlabelled, ()))
        return found

    def words(self, target: str) -> list[str]:
        """Return lines of text on how good the predictions were."""
        lines = [
            f"{self._mean} {self.error:.6g}, "
            f"{self.relative:.4g} times that of the running mean of {target}"
        ]
        if self.learnt >= 2 * BEGINNING:
            error, relative = self.after_beginning
            lines.append(
                f"after the first {BEGINNING} rows: {self._mean} {error:.6g}, {relative:.4g} "
                "times that of the running mean"
            )
        return lines

    def shown(self) -> dict[str, Any]:
        """Return the measures that ``onlinear inspect`` shows, by name."""
        return {self._mean: self.error if self.learnt else None}

    def described(self) -> dict[str, Any]:
        """Return all figures as plain JSON values."""
        return {
            "unlabelled": self.unlabelled,
            "skipped": self.skipped,
            "sums": list(self.sums),
            "begun": list(self.begun),
            "problems": self.problems,
            **({"loss": self.loss_name} if self.loss_name else {}),
        }

    def take(self, kept: dict[str, Any]) -> Self:
        """Take over the figures that JSON values describe; refuse invalid values."""
        self.unlabelled, self.skipped = count(kept["unlabelled"]), count(kept["skipped"])
        self.sums = Sums(*map(float, kept["sums"]))
        lost, plain = map(float, kept["begun"])
        self.begun, self.loss_name = (lost, plain), str(kept.get("loss", ""))
        self.sums.check(self.rows)
        for kind, numbers in kept["problems"].items():
            self.problems[str(kind)] = [count(numbers[0]), *map(count, numbers[1:])]
        return self
