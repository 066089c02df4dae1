"""What a run says of a paper's claims: numbers, pictures, and a verdict."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from onlinear._page import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Claim", "Outcome", "Picture", "Verdict"]

Verdict = Literal["reproduced", "in part", "not reproduced"]


class Claim(NamedTuple):
    """One statement of a paper: a short name, its words, whether it holds, and what was found."""

    name: str
    words: str
    holds: bool
    found: str


class Picture(NamedTuple):
    """A figure, and a caption that says what is to be seen."""

    figure: "Figure"
    caption: str


@dataclass(frozen=True)
class Outcome:
    """What came out of a run."""

    claims: Sequence[Claim]
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()
    numbers: dict[str, float] = field(default_factory=dict)  # by name, for tests and for others
    remarks: Sequence[str] = ()  # what the numbers add to the docstring: skipped parts, findings

    @property
    def verdict(self) -> Verdict:
        """Whether all, some or none of the claims hold."""
        held = sum(claim.holds for claim in self.claims)
        if held == len(self.claims):
            return "reproduced"
        return "in part" if held else "not reproduced"

    def claim(self, name: str) -> Claim:
        """Return the claim of that name."""
        return next(claim for claim in self.claims if claim.name == name)
