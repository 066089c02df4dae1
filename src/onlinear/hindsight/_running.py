"""Base class of the best predictors in hindsight to which rows are added, singly or as tables."""

from typing import Any, Self

import numpy as np

from onlinear._learner.bounds.ledger import Account, Ledger
from onlinear._validation import checks

__all__ = ["Running"]


class Running:
    """The least penalised loss in hindsight so far; base of ``BestFixed`` and ``BestDrifting``.

    This loss is bit for bit the same whether rows are added one by one or as tables. A bad row
    raises an error and leaves the object unchanged.
    """

    def __init__(self, account: Account) -> None:
        self._ledger = Ledger(account)
        self._names: list[str] | None = None
        self._rounds = 0

    def _prices(self) -> tuple[Any, ...]:
        """Return the penalties given to the constructor."""
        raise NotImplementedError

    def _columns(self, X: np.ndarray) -> np.ndarray:
        """Return the columns that are fitted, for a row or a table."""
        return X

    def __repr__(self) -> str:
        """Show the penalties and the least penalised loss so far."""
        prices = ", ".join(f"{price:g}" for price in self._prices())
        return f"<{type(self).__name__}({prices}) after {self._rounds} rounds: {self.loss:.6g}>"

    def __getstate__(self) -> dict[str, Any]:
        """Return penalties and state, for pickle and deepcopy."""
        width = None if self._ledger.state is None else self._ledger.width
        kept = self._prices(), width, self._ledger.record, self._names, self._rounds
        return {"kept": kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore penalties and state."""
        prices, width, record, names, rounds = state["kept"]
        type(self).__init__(self, *prices)
        if width is not None:
            self._ledger.begin(width)
            self._ledger.record = record
        self._names, self._rounds = names, rounds

    def _state(self) -> tuple[np.ndarray, ...]:
        if self._ledger.state is None:
            raise ValueError(f"{type(self).__name__} has not seen a row yet")
        return self._ledger.state

    def learn_one(self, x: Any, y: Any) -> Self:
        """Add one row; return the object itself."""
        row = checks.row(x, None, self._names)
        self._ledger.add_one(self._columns(row), checks.label(y))
        self._names = self._names or checks.row_names(x)
        self._rounds += 1
        return self

    def learn_many(self, X: Any, y: Any) -> np.ndarray:
        """Add the rows of a table; return the least penalised loss after each row."""
        checks.same_index(X, y=y)
        X, names = checks.table(X)
        if self._names is not None and names is not None:
            checks.same_names(self._names, names)
        labels = checks.labels(y, X.shape[0])
        optimum: np.ndarray = self._ledger.add(self._columns(X), labels, names)[0]
        self._names = self._names or names
        self._rounds += X.shape[0]
        return optimum

    @property
    def account(self) -> Account:
        """How to compute the least penalised loss: initial state, step (one row) and parameters."""
        return self._ledger.account

    @property
    def loss(self) -> float:
        """The least penalised loss over the rows so far; 0 before the first row."""
        tally = self._ledger.tally
        return 0.0 if tally is None else float(tally[0])

    @property
    def rounds_(self) -> int:
        """How many rows were added."""
        return self._rounds
