"""Bad rows: the reason why a row cannot be used."""

from typing import NamedTuple

__all__ = ["Fault", "Faults"]


class Fault(NamedTuple):
    """Why a row is bad: the reason, and the column and value if one column is at fault."""

    rule: str
    column: str | None = None
    value: str | None = None

    @property
    def kind(self) -> str:
        """The kind of fault, by which bad rows are counted: the reason and the column."""
        return self.rule if self.column is None else f"{self.rule} in column {self.column!r}"

    def __str__(self) -> str:
        """Return the reason in words, for an error message."""
        value = "" if self.value is None else f": {self.value:.60}"
        return f"has {self.kind}{value}"


Faults = dict[int, Fault]  # by the number of the row in its block
