"""The outcome of reproducing a figure or table: claims, numbers, pictures and a verdict."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from onlinear._evaluation.html.page import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Claim", "Outcome", "Picture", "Verdict"]

Verdict = Literal["reproduced", "in part", "not reproduced"]


class Claim(NamedTuple):
    """One claim: a short name, its wording, whether it holds, and what was found.

    A claim is the paper's, or ours (a correction, or a follow-up question). The verdict depends on
    the paper's claims only.
    """

    name: str
    words: str
    holds: bool
    found: str
    ours: bool = False


class Picture(NamedTuple):
    """A figure and its caption."""

    figure: "Figure"
    caption: str


@dataclass(frozen=True)
class Outcome:
    """The results of a figure or table: claims, pictures, tables, numbers and remarks."""

    claims: Sequence[Claim]
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()
    numbers: dict[str, float] = field(default_factory=dict)  # by name, for tests and the JSON file
    remarks: Sequence[str] = ()  # further text for the page: skipped parts, findings

    @property
    def verdict(self) -> Verdict:
        """Whether all, some or none of the paper's claims hold."""
        held, of = self.count
        if held == of:
            return "reproduced"
        return "in part" if held else "not reproduced"

    @property
    def count(self) -> tuple[int, int]:
        """How many of the paper's claims hold, and how many there are."""
        said = [claim.holds for claim in self.claims if not claim.ours]
        return sum(said), len(said)

    def claim(self, name: str) -> Claim:
        """Return the claim with the given name."""
        return next(claim for claim in self.claims if claim.name == name)
