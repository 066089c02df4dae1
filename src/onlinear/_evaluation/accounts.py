"""The running totals of a certificate: the learner's loss, the comparator's loss, and the bound.

The comparator is the predictor that the learner is compared with, by default the best in
hindsight.
"""

from collections.abc import Callable
from dataclasses import replace
from math import nan

import numpy as np

from onlinear._engine.transaction import put_back
from onlinear._evaluation.certificate import Certificate, reason
from onlinear._learner.bounds.guarantee import (
    AT,
    BROKEN,
    COMPARATOR,
    EXTRA,
    FACTOR,
    LOSSES,
    LOST,
    MOVES,
    ROWS,
    Guarantee,
    Path,
)
from onlinear._learner.bounds.ledger import Ledger
from onlinear._learner.replay_result import Replay
from onlinear._validation import states
from onlinear.losses._formulas import charged

__all__ = ["Accounts", "check_totals", "written_by"]

VERSION = 4  # the place in the totals of the account's version; files before 0.15 lack it


class Accounts:
    """The running totals of a certificate, computed from rows, labels and predictions only."""

    def __init__(self, guarantee: Guarantee) -> None:
        self.guarantee = guarantee
        self._loss = guarantee.loss.numbers()
        self.ledger = Ledger(guarantee.account)
        self.loss = 0.0
        self.power = 0.0  # the sum of the squared labels
        self.seen = 0  # how many rows were learnt or skipped
        self.ended = 0  # the first row for which the bound does not apply, if any

    def _snapshot(self) -> Callable[[], None]:
        """Return a function that restores the totals as they are now."""
        attributes, ledger = self.__dict__.copy(), self.ledger._snapshot()

        def restore() -> None:
            put_back(self, attributes)
            ledger()

        return restore

    # --- the figures --------------------------------------------------------------------------

    @property
    def rounds(self) -> int:
        """How many rows were learnt."""
        return 0 if self.ledger.state is None else int(self.ledger.state[1][ROWS])

    @property
    def intact(self) -> bool:
        """Whether every hypothesis of the theorem has held so far."""
        return self.ledger.state is None or self.ledger.state[1][BROKEN] == 0

    @property
    def comparator(self) -> float:
        """The loss of the best predictor in hindsight, including the theorem's penalty."""
        tally = self.ledger.tally
        return 0.0 if tally is None else float(tally[COMPARATOR])

    @property
    def ceiling(self) -> float:
        """The upper bound on the loss; NaN if no bound applies."""
        tally = self.ledger.tally
        if tally is None:
            return 0.0 if self.guarantee.known else nan
        if self.failed is not None:
            return nan
        return float(tally[FACTOR] * tally[COMPARATOR] + tally[EXTRA])

    @property
    def failed(self) -> str | None:
        """Why no bound applies, or None if a bound applies."""
        if self.ledger.state is None:
            return None if self.guarantee.known else self.guarantee.statement
        return reason(self.guarantee, self.ledger.state[1], self.ended)

    # --- rows ---------------------------------------------------------------------------------

    def add_one(self, x: np.ndarray, y: float, prediction: float) -> None:
        """Add a learnt row to the totals; the caller updates ``seen``, also for skipped rows."""
        intact = self.intact
        self.ledger.add_one(x, y)
        if intact and not self.intact:
            self.ended = self.seen
        self.loss += charged(*self._loss, prediction, y)
        self.power += y * y

    def certificate(
        self,
        learner: str,
        run: Replay,
        tallies: np.ndarray,
        path: Path | None,
        learnt: np.ndarray,
        before: tuple[float, float],
        first: int | None,
    ) -> Certificate:
        """Add the rows of a replay to the totals, and return their certificate.

        ``tallies`` has a column for each learnt row: the comparator, factor and extra of the bound
        loss ≤ factor · comparator + extra after this row. ``path`` has the comparators given by the
        user, if any, and ``learnt`` says which rows were learnt. ``before`` has the comparator's
        loss and the ceiling before the first row. ``first`` is the number of rows learnt before the
        replay, or None if the bound no longer applied when the replay began.
        """
        guarantee, ended = self.guarantee, self._end(learnt, first)
        run = replace(run, loss=guarantee.loss)
        failed = self.failed
        if path is None:
            words = guarantee.statement, guarantee.comparator
            comparator = tallies[COMPARATOR]
            ceiling = tallies[FACTOR] * comparator + tallies[EXTRA]
        else:
            words = guarantee.given, "loss of the given u"
            comparator = path.loss
            ceiling, outside = guarantee.price(path, tallies)
            fault = int(np.argmax(outside != 0))  # the first
            astray = int(np.flatnonzero(learnt)[fault]) if outside.any() else None
            if astray is not None and (ended is None or astray < ended):
                ended = astray
                name, u = path.described(fault)
                allowed, offends = guarantee.paths, f"{name} = {_short(u)}"
                if outside.flat[fault] == MOVES:
                    allowed, offends = guarantee.still, f"another u, {_short(u)}"
                failed = f"the bound holds against {allowed}; row {ended} has {offends}"
        if not learnt.all():  # a skipped row does not change the figures
            since = np.cumsum(learnt)
            comparator = np.concatenate([before[:1], comparator])[since]
            ceiling = np.concatenate([before[1:], ceiling])[since]
        if ended is not None:
            ceiling = np.array(ceiling)
            ceiling[ended:] = np.nan
        start, power = self.seen, self.power
        loss = self._count(run, learnt)
        return Certificate(
            loss, comparator, ceiling, learner, *words, failed, ended, start, power, run
        )

    def _count(self, run: Replay, learnt: np.ndarray) -> np.ndarray:
        """Add the rows of a replay to the totals; return the cumulative loss after each row."""
        loss = run.losses if learnt.all() else np.nan_to_num(run.losses, nan=0.0)
        if self.loss > 0:
            loss = np.array(loss)
            loss[0] += self.loss
        loss = np.cumsum(loss)
        squares = run.labels**2 if learnt.all() else run.labels[learnt] ** 2
        if squares.size:
            squares[0] += self.power
            self.power = float(np.cumsum(squares)[-1])
        self.loss, self.seen = float(loss[-1]), self.seen + loss.size
        return loss

    def _end(self, learnt: np.ndarray, first: int | None) -> int | None:
        """Return the first row of a replay for which no bound applies, or None if there is none."""
        row: int | None = None if self.intact else 0
        if row is not None and first is not None:
            assert self.ledger.state is not None
            row = int(np.flatnonzero(learnt)[int(self.ledger.state[1][AT]) - first])
            self.ended = self.seen + row
        return row if self.guarantee.known else 0

    # --- files --------------------------------------------------------------------------------

    def described(self) -> dict[str, np.ndarray]:
        """Return the running totals as arrays for a state file."""
        return {"accounts": self.ledger.record, "totals": self._totals()}

    def _totals(self) -> np.ndarray:
        version = self.guarantee.account.version
        return np.array([self.loss, self.power, self.seen, self.ended, version])

    def restore(self, arrays: dict[str, np.ndarray], d: int) -> None:
        """Restore the totals from the arrays of :meth:`described`, for rows of width d."""
        if arrays["accounts"].size:
            self.ledger.begin(d)
            self.ledger.record = arrays["accounts"]
        loss, power, seen, ended = arrays["totals"][:VERSION]
        self.loss, self.power = float(loss), float(power)
        self.seen, self.ended = int(seen), int(ended)
        if self.guarantee.account.growing is not None:
            self.check()  # its size alone does not tell it from the state of an earlier release

    def check(self) -> None:
        """Refuse running totals that no sequence of rows can lead to."""
        check_totals(self._totals())
        if self.ledger.state is None:
            return
        tally, notes = self.ledger.state[:2]
        states.check_counts("rows are in its accounts", notes[ROWS], 0, self.seen)
        states.check_counts("is the row at which the bound ended", notes[AT], 0, notes[ROWS])
        states.check_counts(
            "is the rule that was broken",
            notes[BROKEN] + len(LOSSES),
            0,
            len(LOSSES) + len(self.guarantee.hypotheses),
        )
        states.check_counts(
            "is how figures were lost", notes[LOST], 0, 0 if self.intact else len(LOSSES)
        )
        if self.intact and self.guarantee.known:
            states.check_finite((tally,), "its accounts")
        self.ledger.check(intact=self.intact)


def written_by(guarantee: Guarantee, arrays: dict[str, np.ndarray], d: int) -> Guarantee:
    """Return the guarantee, or that of an earlier version, whose account wrote the arrays.

    In files that do not tell the version of the account, it is the account of their size.
    """
    totals, size = arrays["totals"], arrays["accounts"].size
    if not size:
        return guarantee
    known = totals.size > VERSION
    for each in (guarantee, *guarantee.earlier):
        account = each.account
        if account.version == totals[VERSION] if known else account.size(d) == size:
            return each
    found = f"version {totals[VERSION]:g} of it" if known else f"{size} numbers"
    raise ValueError(
        f"the bound of {guarantee.account.owner} cannot be continued from {found}: the file was "
        "written by a later version of the library, or is damaged"
    )


def check_totals(totals: np.ndarray) -> None:
    """Refuse totals from a file that no sequence of rows can lead to."""
    loss, power, seen, ended = totals[:VERSION]
    whole = seen % 1 == 0 == ended % 1
    squares = 0 <= power < np.inf or loss == np.inf  # an overflow makes both infinite
    if not (loss >= 0 and squares and 0 <= ended <= seen < 2**53 and whole):
        raise ValueError(
            f"it says that {seen:g} rows have a loss of {loss:g} and squared labels of {power:g}, "
            f"and that the bound ended at row {ended:g}"
        )


def _short(u: np.ndarray) -> str:
    """Return weights as a short text."""
    return np.array2string(u, precision=4, threshold=6, edgeitems=2)
