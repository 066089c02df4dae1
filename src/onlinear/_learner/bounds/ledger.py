"""``Ledger``: computes a regret bound over the rows of a stream."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.progress import bar
from onlinear._engine.record import joined, views
from onlinear._engine.status import FINE, FULL, Outcome
from onlinear._engine.step import Tally
from onlinear._engine.transaction import all_or_nothing
from onlinear._learner.growing import Growing
from onlinear._validation import checks
from onlinear._validation.states import check_finite, check_sums

__all__ = ["Account", "Ledger", "check_matrices"]


class Account(NamedTuple):
    """How to compute a learner's regret bound: the initial state, the step and its parameters.

    With each row, the step updates the tally, the array of numbers that make up the bound. The
    state of a bound in a kernel's space grows with the examples; ``growing`` says how.
    """

    owner: str
    init: Any  # a function of d, and of the room if any; returns arrays, the tally first
    step: Tally
    params: tuple[Any, ...]
    rules: tuple[str, ...] = ()
    check: Any = None  # a function of a state from a file; None is check_matrices
    growing: Growing | None = None

    def begin(self, d: int, room: Any = None) -> tuple[np.ndarray, ...]:
        """Return the initial state for rows of d columns, with the given room if it grows."""
        if self.growing is None:
            return tuple(self.init(d))
        room = self.growing.first if room is None else room
        instead = "give the learner a budget, and do without a certificate, or use fewer rows"
        checks.holds(
            f"the certificate of {self.owner}",
            self.growing.examples(room),
            self.growing.size(d, room),
            instead,
        )
        return tuple(self.init(d, room))

    def work(self, state: Sequence[np.ndarray], d: int) -> np.ndarray:
        """Return scratch memory for the step, as large as it needs for this state."""
        return self.step.work(d if self.growing is None else len(state[-1]))


def check_matrices(state: tuple[np.ndarray, ...]) -> None:
    """Refuse a state of a bound with a matrix that is not symmetric positive semi-definite.

    All square matrices of a bound, such as Σ and Σxxᵀ, must be so.
    """
    for array in state:
        if array.size and array.ndim > 1 and array.shape[-1] == array.shape[-2]:
            check_sums("a matrix of the bound", array)


def _own(array: np.ndarray) -> np.ndarray:
    """Return a copy of an array, aligned to a cache line."""
    return joined([array]).reshape(array.shape)


class Ledger:
    """A regret bound to which rows are added, one by one or as tables; a refused row adds nothing.

    With the engine "rank-one", rows added one by one and rows added as a table give the same bound
    to the bit.
    """

    def __init__(self, account: Account) -> None:
        self.account = account
        self.state: tuple[np.ndarray, ...] | None = None

    def begin(self, d: int, room: Any = None) -> None:
        """Set the state of the bound to the initial state for d columns, with the given room."""
        self.state = tuple(_own(array) for array in self.account.begin(d, room))
        self.width = d
        self._work = _own(self.account.work(self.state, d))

    def _make_room(self) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
        """Enlarge the state of a bound that grows; return it, and scratch memory for it."""
        old, growing = self.state, self.account.growing
        assert old is not None
        assert growing is not None
        room = growing.more(old)
        self.begin(self.width, room)
        new: Any = self.state
        growing.move(old, new, room)
        return new, self._work

    def twin(self) -> "Ledger":
        """Return an independent copy of the ledger."""
        twin = Ledger(self.account)
        if self.state is not None:
            twin.begin(self.width)
            twin.record = self.record
        return twin

    @property
    def tally(self) -> np.ndarray | None:
        """The array of numbers that make up the bound, or None before the first row."""
        return None if self.state is None else self.state[0]

    @property
    def record(self) -> np.ndarray:
        """The state of the bound as one vector."""
        if self.state is None:
            return np.zeros(0)
        return joined(self.state)

    @record.setter
    def record(self, record: np.ndarray) -> None:
        if self.state is None:
            return
        growing = self.account.growing
        if growing is not None and growing.room(self.state) != growing.stored(self.width, record):
            self.begin(self.width, growing.stored(self.width, record))
        size = sum(array.size for array in self.state)
        if record.shape != (size,):
            raise ValueError(f"the state of the bound needs {size} numbers, got {record.size}")
        for array, part in zip(self.state, views(record, self.state), strict=True):
            array[...] = part

    def check(self, *, intact: bool) -> None:
        """Refuse a state that no rows can produce; if ``intact``, its numbers must be finite."""
        if self.state is None:
            return
        if intact:
            check_finite(self.state[2:], "the state of the bound")
        if self.account.check is not None:
            self.account.check(self.state)
        elif intact:
            check_matrices(self.state)

    def _snapshot(self) -> Callable[[], None]:
        """Return a function that restores the present state of the bound."""
        fresh, record = self.state is None, self.record

        def restore() -> None:
            if fresh:
                self.state = None
            else:
                self.record = record

        return restore

    def add_one(self, x: np.ndarray, y: float) -> None:
        """Add one row and its label to the bound."""
        fresh = self.state is None
        if fresh:
            self.begin(x.size)
        elif x.size != self.width:
            raise ValueError(f"x needs {self.width} features, as the first row had, got {x.size}")
        # a step with rules may change the state before it refuses a row
        before = self.record if self.account.rules else None
        step, params = self.account.step, self.account.params
        x = np.ascontiguousarray(x)
        value, rule = step.one(self.state, params, x, y, self._work, True, 0)
        if rule == FULL:
            self._make_room()
            value, rule = step.one(self.state, params, x, y, self._work, True, 0)
        if rule != FINE:
            if before is not None:
                self.record = before
            if fresh:
                self.state = None
            raise self._refusal(Outcome(0, rule, value), x, None, in_table=False)

    def add(
        self,
        X: np.ndarray,
        y: np.ndarray,
        names: list[str] | None = None,
        engine: str = "rank-one",
        progress: Callable[[int, int], None] | None = None,
    ) -> np.ndarray:
        """Add the rows of a table; return the tally after each row, one column per row.

        If ``progress`` is given, it is called with the row reached and the number of rows;
        otherwise a progress bar is shown.
        """
        if self.state is not None and X.shape[1] != self.width:
            raise ValueError(f"X needs {self.width} features, as before, got {X.shape[1]}")

        def refused(outcome: Outcome) -> None:
            raise self._refusal(outcome, X[outcome.row], names, in_table=True)

        with all_or_nothing(self):
            if self.state is None:
                self.begin(X.shape[1])
            assert self.state is not None
            with bar(self.account.owner) if progress is None else nullcontext(progress) as advance:
                step = self.account.step
                return step.run(
                    self.state,
                    self.account.params,
                    X,
                    y,
                    self._work,
                    labelled=True,
                    refused=refused,
                    progress=advance,
                    room=self._make_room,
                    in_bulk=step.takes_bulk(X, engine, self.account.owner),
                )

    def compile(self, X: np.ndarray, y: np.ndarray, *, in_bulk: bool) -> None:
        """Compile the loop in which :meth:`add` adds the rows of a table like X; add no row."""
        ledger = self.twin()
        if ledger.state is None:
            ledger.begin(X.shape[1])
        assert ledger.state is not None
        step, params = self.account.step, self.account.params
        step.compile(ledger.state, params, X, y, ledger._work, in_bulk=in_bulk)

    def _refusal(
        self, outcome: Outcome, x: np.ndarray, names: list[str] | None, *, in_table: bool
    ) -> ValueError:
        account = self.account
        return checks.refusal(
            account.owner, account.rules, outcome, x, in_table=in_table, names=names, params={}
        )
