"""Certificates: the loss, the best in hindsight and the theorem's ceiling, at every round."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from onlinear._bounds import AT, BROKEN, COMPARATOR, EXTRA, FACTOR, VALUE, Guarantee, Path
from onlinear._replay import Replay

__all__ = ["TOLERANCE", "Certificate", "given", "issued", "reason", "within"]

TOLERANCE = 1e-9  # a loss above the ceiling by less than this share of it is rounding


@dataclass(frozen=True, eq=False)
class Certificate:
    """What a learner lost, what hindsight would have lost, and the most the theorem allows.

    All arrays have one entry per round, for the stream up to and with that round.

    Attributes
    ----------
    loss : array
        Cumulative squared loss of the learner.
    comparator : array
        Loss (with the theorem's penalty) of the best predictor in hindsight, or of the given one.
    ceiling : array
        What the loss can be at most; NaN where no bound applies.
    learner, theorem, against : str
        The learner with its parameters, the bound and the comparator, in words.
    failed : str or None
        Why no bound applies: which hypothesis fails, from which row and by what value; or that no
        bound is known. None if the bound applies throughout.
    failed_from : int or None
        The first row for which no bound applies.
    run : Replay
        The predictions and losses of the learner.
    """

    loss: np.ndarray
    comparator: np.ndarray
    ceiling: np.ndarray
    learner: str
    theorem: str
    against: str
    failed: str | None
    failed_from: int | None
    run: Replay

    @cached_property
    def bound(self) -> np.ndarray:
        """How far the loss can exceed the comparator: ceiling − comparator."""
        return np.asarray(self.ceiling - self.comparator)

    @cached_property
    def regret(self) -> np.ndarray:
        """How far the loss does exceed the comparator: loss − comparator."""
        return np.asarray(self.loss - self.comparator)

    @cached_property
    def slack(self) -> np.ndarray:
        """How far the loss is below the ceiling."""
        return np.asarray(self.ceiling - self.loss)

    @cached_property
    def holds(self) -> np.ndarray:
        """Whether the loss is at most the ceiling, but for rounding; False where no bound applies.

        Where a bound applies and this is False, the learner is not the theorem's: it is broken.
        """
        return np.asarray(within(self.loss, self.ceiling))

    def __repr__(self) -> str:
        """Show the figures of the last round, and why there is no bound if there is none."""
        end = f"loss {self.loss[-1]:.6g}, comparator {self.comparator[-1]:.6g}"
        if self.failed is None:
            verdict = "holds" if self.holds.all() else f"BROKEN at row {np.argmin(self.holds)}"
            end += f", ceiling {self.ceiling[-1]:.6g}: {verdict}"
        else:
            end += f"; {self.failed}"
        return f"<Certificate of {self.learner}, {self.loss.size} rounds: {end}>"


def within(loss: Any, ceiling: Any) -> Any:
    """Whether a loss is at most its ceiling, but for rounding; False if the ceiling is NaN."""
    with np.errstate(invalid="ignore"):
        return loss <= ceiling + TOLERANCE * np.abs(ceiling)


def reason(guarantee: Guarantee, notes: np.ndarray) -> tuple[str | None, int | None]:
    """Return why no bound applies and from which row, given the notes; None if one does."""
    if not guarantee.known:
        return guarantee.statement, 0
    if not notes[BROKEN]:
        return None, None
    rule, row = guarantee.hypotheses[int(notes[BROKEN]) - 1], int(notes[AT])
    return f"the bound needs {rule}: row {row} has {notes[VALUE]:g}, which ends it there", row


def issued(
    guarantee: Guarantee, tallies: np.ndarray, path: Path | None
) -> tuple[np.ndarray, np.ndarray, str, int | None]:
    """Return comparator, ceiling, the comparator in words, and the row where a path goes astray."""
    if path is None:
        comparator = tallies[COMPARATOR]
        ceiling = tallies[FACTOR] * comparator + tallies[EXTRA]
        return comparator, ceiling, guarantee.comparator, None
    assert guarantee.price is not None
    value, most, outside = guarantee.price(path, tallies)
    if not outside.any():
        return value, most, "the given u", None
    value = np.where(np.isfinite(value), value, path.loss)
    return value, np.where(outside, np.nan, most), "the given u", int(np.argmax(outside))


def given(comparator: Any, X: np.ndarray, y: np.ndarray) -> Path:
    """Return a user's predictors as a path: one u for all rounds, or one a round."""
    u = np.atleast_2d(np.asarray(comparator, dtype=float))
    if u.shape not in (X.shape, (1, X.shape[1])):
        raise ValueError(
            f"a comparator needs one weight for each of {X.shape[1]} inputs, or a row of them for "
            f"each of {X.shape[0]} rounds, got shape {np.shape(comparator)}"
        )
    if not np.isfinite(u).all():
        raise ValueError("a comparator needs finite weights")
    return Path(X, y, u)
