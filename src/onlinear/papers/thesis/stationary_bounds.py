"""The bounds of the thesis' Table 4.1, evaluated on a stream.

The bounds are on the regret against u, the learner's loss minus that of u, for rows with ‖x‖ ≤ 1. L
is the sum of the losses of u, S the largest of them, A the learner's largest loss, Y the largest
absolute label, and U a bound on ‖u‖ that the learner must know. b is the learner's penalty on ‖u‖²,
and r the noise variance that AROWR assumes.

Moroshko, thesis Table 4.1.
"""

import math
from typing import NamedTuple

import numpy as np

from onlinear.algorithms.wemm import theorem_5, theorem_6

__all__ = ["Seen", "bounds", "printed"]


class Seen(NamedTuple):
    """The quantities in the bounds of Table 4.1, after some rounds."""

    losses: np.ndarray  # the losses of u, round by round
    norm: float  # ‖u‖, which is also taken for U
    d: int
    Y: float
    A: float

    @property
    def rounds(self) -> int:
        """The number of rounds, T."""
        return self.losses.size


def printed(seen: Seen, b: float, one: float = 0.0) -> float:
    """Return the bound of Table 4.1's last row or, with ``one`` = 1, of Theorem 6 in the text."""
    S, L = seen.losses.max(), seen.losses.sum()
    if S == 0:
        return b * seen.norm**2
    log = one + math.log1p(L / (S * seen.d))
    return float(b * seen.norm**2 + S * seen.d * b / (b - 1) * log)


def bounds(seen: Seen, b: float, r: float = 1.0) -> dict[str, float]:
    """Return the bound of each row of Table 4.1, and two other forms of the last row's bound."""
    d, T, L, square = seen.d, seen.rounds, seen.losses.sum(), seen.norm**2
    reach = (seen.norm + seen.Y) ** 2
    log_det = d * math.log1p(T / (d * (b - 1)))  # at least ln|A_T/b|; A_T: WEMM's Σ⁻¹
    return {
        "Vovk, Forster": b * square + d * seen.Y**2 * math.log1p(T / (d * b)),
        "Crammer et al.": r * b * square + d * seen.A * math.log1p(T / (d * r * b)),
        "Orabona et al.": 2 * square + d * reach * math.log1p((2 * square + L) / (d * reach)),
        "Theorem 5": b * square + theorem_5(seen.losses, log_det, b, 1.0) - L,
        "Theorem 6, as in the table": printed(seen, b),
        "Theorem 6, as in the text": printed(seen, b, one=1.0),
        "Theorem 6, proved": b * square + theorem_6(seen.losses, d, b, 1.0) - L,
    }
