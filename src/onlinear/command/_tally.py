"""The figures of a run so far; the same to the bit however the rows come in parts."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

__all__ = ["Tally"]

SHOWN = 5  # rows named of each kind of problem


@dataclass
class Tally:
    """Rows by what became of them, the loss, and that of the running mean of the labels."""

    learnt: int = 0
    unlabelled: int = 0
    skipped: int = 0
    loss: float = 0.0
    total: float = 0.0  # the sum of the labels
    plain: float = 0.0  # the loss of the running mean
    problems: dict[str, list[int]] = field(default_factory=dict)  # count, then the first rows

    @property
    def rows(self) -> int:
        """How many rows were read."""
        return self.learnt + self.unlabelled + self.skipped

    @property
    def error(self) -> float:
        """The mean squared error; NaN before there is one."""
        return self.loss / self.learnt if self.learnt else float("nan")

    @property
    def relative(self) -> float:
        """The loss over that of the running mean of the labels."""
        return self.loss / self.plain if self.plain else float("nan")

    def learn(self, predictions: np.ndarray, labels: np.ndarray) -> None:
        """Count rows that were learnt."""
        if not labels.size:
            return
        sums = np.cumsum(np.concatenate([[self.total], labels]))
        counts = np.arange(self.learnt, self.learnt + labels.size)
        means = sums[:-1] / np.maximum(counts, 1)
        self.total = float(sums[-1])
        self.loss = _added(self.loss, (labels - predictions) ** 2)
        self.plain = _added(self.plain, (labels - means) ** 2)
        self.learnt += labels.size

    def skip(self, row: int, words: str) -> None:
        """Count a row that was left out."""
        self.skipped += 1
        problem = self.problems.setdefault(words, [0])
        problem[0] += 1
        if len(problem) <= SHOWN:
            problem.append(row)

    def described(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return asdict(self)


def _added(start: float, values: np.ndarray) -> float:
    return float(np.cumsum(np.concatenate([[start], values]))[-1])
