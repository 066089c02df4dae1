"""Bad rows: the reason why a row cannot be used."""

from typing import Any, NamedTuple

__all__ = ["Fault", "Faults", "quoted"]


def quoted(value: Any, most: int) -> str:
    """Return a value as messages show it, in ``most`` characters; … marks where it is cut.

    >>> quoted("ham and eggs", 20), quoted("ham and eggs", 10)
    ("'ham and eggs'", "'ham and…'")
    """
    text = repr(value)
    if len(text) <= most:
        return text
    if not isinstance(value, str):
        return text[: most - 1] + "…"
    end = most - 3
    while len(repr(value[:end] + "…")) > most:
        end -= 1
    return repr(value[:end] + "…")


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
