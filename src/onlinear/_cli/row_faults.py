"""What is wrong with rows that cannot be used."""

from typing import NamedTuple

__all__ = ["Fault", "Faults"]


class Fault(NamedTuple):
    """What is wrong with a row: the rule, the column if it is one column's fault, the value."""

    rule: str
    column: str | None = None
    value: str | None = None

    @property
    def kind(self) -> str:
        """Words for all rows like it."""
        return self.rule if self.column is None else f"{self.rule} in column {self.column!r}"

    def __str__(self) -> str:
        """Return words for the row."""
        value = "" if self.value is None else f": {self.value:.60}"
        return f"has {self.kind}{value}"


Faults = dict[int, Fault]  # by the row of a block
