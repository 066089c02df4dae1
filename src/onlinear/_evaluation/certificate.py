"""``Certificate``: loss, best loss in hindsight and the theorem's upper bound at every round."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from onlinear._learner import notebook
from onlinear._learner.bounds.guarantee import BROKEN, LOSSES, VALUE, Guarantee, Path
from onlinear._learner.bounds.kernel_space import function_path
from onlinear._learner.replay_result import Replay
from onlinear._validation import checks

__all__ = ["TOLERANCE", "Certificate", "given", "reason", "within"]

TOLERANCE = 1e-9  # relative excess over the ceiling that counts as rounding
PREDICTIONS = 1e-28  # also allowed, times Σy²: predictions are accurate to 1e-14


@dataclass(frozen=True, eq=False)
class Certificate:
    """The loss of a learner, the best loss in hindsight, and the upper bound of a theorem.

    All arrays have one entry per round: totals up to and including that round.

    Attributes
    ----------
    loss : array
        Cumulative loss of the learner: the squared error, unless the learner has another loss.
    comparator : array
        Cumulative loss of the comparator, which ``against`` describes. By default the comparator is
        the best predictor in hindsight, and the theorem's penalty is included in its loss. For a
        comparator given by the user, the penalty is part of the bound instead.
    ceiling : array
        The upper bound on the loss; NaN where no bound applies.
    learner, theorem, against : str
        The learner with its parameters, the bound and the comparator, in words.
    failed : str or None
        Why no bound applies: the hypothesis of the theorem that fails, with the row and the value
        that break it, or that no bound is known. None if the bound applies throughout.
    failed_from : int or None
        The index of the first entry of the arrays for which no bound applies, or None.
    start, power : int, float
        How many rows had been seen before the first row of this certificate, and the sum of their
        squared labels.
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
    start: int
    power: float
    run: Replay

    @cached_property
    def bound(self) -> np.ndarray:
        """The bound on the regret: ceiling − comparator."""
        return np.asarray(self.ceiling - self.comparator)

    @cached_property
    def regret(self) -> np.ndarray:
        """The regret: loss − comparator."""
        return np.asarray(self.loss - self.comparator)

    @cached_property
    def slack(self) -> np.ndarray:
        """How far the loss is below the ceiling: ceiling − loss."""
        return np.asarray(self.ceiling - self.loss)

    @cached_property
    def holds(self) -> np.ndarray:
        """Whether the loss is at most the ceiling, up to rounding; False where no bound applies.

        If ``holds`` is False where a bound applies, the implementation has a bug.
        """
        squares = self.run.labels**2
        squares[self.run.bad_rows] = 0.0
        return np.asarray(within(self.loss, self.ceiling, self.power + np.cumsum(squares)))

    def __repr__(self) -> str:
        """Show the figures of the last round and, if no bound applies, the reason."""
        skipped = self.run.bad_rows.size
        rounds = f"{self.loss.size} rounds" + (f", {skipped} skipped" if skipped else "")
        end = f"loss {self.loss[-1]:.6g}, comparator {self.comparator[-1]:.6g}"
        if self.failed is None:
            verdict = "holds" if self.holds.all() else f"BROKEN at row {np.argmin(self.holds)}"
            end += f", ceiling {self.ceiling[-1]:.6g}: {verdict}"
        else:
            end += f"; {self.failed}"
        return f"<Certificate of {self.learner}, {rounds}: {end}>"

    def _repr_html_(self) -> str:
        """Show the figures of the last round and a chart, in a notebook."""
        curves = {"loss": self.loss, "comparator": self.comparator, "ceiling": self.ceiling}
        held = "yes" if self.holds.all() else f"BROKEN at row {np.argmin(self.holds)}"
        facts = {
            **{name: float(curve[-1]) for name, curve in curves.items()},
            "holds": held if self.failed is None else self.failed,
            "bound": None if self.theorem == self.failed else self.theorem,
            "comparator is": self.against,
            "skipped": int(self.run.bad_rows.size) or None,
        }
        title = f"Certificate of {self.learner}, {self.loss.size:,} rounds"
        return notebook.certificate_page(title, facts, curves, self.start + 1)


def within(loss: Any, ceiling: Any, power: Any) -> Any:
    """Whether a loss is at most its ceiling, up to rounding; False if the ceiling is NaN.

    ``power`` is the sum of the squared labels, which sets the scale of the rounding.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        return loss <= ceiling + TOLERANCE * np.abs(ceiling) + PREDICTIONS * power


def reason(guarantee: Guarantee, notes: np.ndarray, row: int) -> str | None:
    """Return why no bound applies from ``row`` on, or None if the bound applies."""
    broken = notes[BROKEN]
    if not guarantee.known:
        lost = ""
        if broken and not guarantee.hypotheses:  # else nothing is known of the comparator, either
            lost = f"; the regret needs {LOSSES[-broken]}, and ends at row {row}"
        return guarantee.statement + lost
    if not broken:
        return None
    rule = guarantee.hypotheses[int(broken) - 1] if broken > 0 else LOSSES[-broken]
    return f"the bound needs {rule}: row {row} has {notes[VALUE]:g}, so it ends there"


def given(
    comparator: Any,
    X: np.ndarray,
    y: np.ndarray,
    names: list[str] | None,
    guarantee: Guarantee,
) -> Path:
    """Return the user's comparator as a ``Path``: one weight vector, or one for each round.

    For a kernel learner, the comparator is a function of the kernel's space, or one for each round.
    """
    owner = guarantee.account.owner
    if guarantee.kernel is not None:
        return function_path(comparator, X, y, guarantee.kernel, owner)
    pair = isinstance(comparator, (tuple, list)) and len(comparator) == 2
    if pair and np.ndim(comparator[0]) > 1:
        raise ValueError(
            f"{owner} needs weights as comparator, one for each input: a pair (V, beta) is a "
            "function of a kernel's space, for kernel learners whose bound is known; "
            f"{guarantee.statement}"
        )
    shape = np.shape(comparator)
    if len(shape) == 1:
        u = checks.row(comparator, None, names, what="comparator")[None]
    else:
        u, given_names = checks.table(comparator, what="comparator")
        if names is not None and given_names is not None:
            checks.same_names(names, given_names)
    if u.shape not in (X.shape, (1, X.shape[1])):
        raise ValueError(
            f"{owner}'s comparator needs one weight for each of {X.shape[1]} inputs, or a row of "
            f"them for each of {X.shape[0]} rounds, got shape {shape}"
        )
    bad = np.argwhere(~np.isfinite(u))
    if bad.size:
        row, column = bad[0]
        raise ValueError(
            f"{owner}'s comparator needs finite weights, got {u[row, column]} in row {row}, "
            f"column {column}"
        )
    return Path(X, y, u, guarantee.measure)
