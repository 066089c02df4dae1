"""What a run says of a paper's claims: numbers, pictures, and a verdict."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from onlinear._evaluation.html.page import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Claim", "Outcome", "Picture", "Verdict"]

Verdict = Literal["reproduced", "in part", "not reproduced"]


class Claim(NamedTuple):
    """One statement: a short name, its words, whether it holds, and what was found.

    It is a paper's, or ours: a correction, or what one would ask next. The verdict is on the
    paper's alone.
    """

    name: str
    words: str
    holds: bool
    found: str
    ours: bool = False


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
        """Return the claim of that name."""
        return next(claim for claim in self.claims if claim.name == name)
