"""Status codes of a step: FINE, or why it did not process a row; and the outcome of a run."""

from typing import NamedTuple

__all__ = [
    "BAD_INPUT",
    "BAD_LABEL",
    "BUSY",
    "DOMAIN",
    "FINE",
    "FULL",
    "NOT_ONLY_PREDICTED",
    "OVERFLOW",
    "UNUSUAL",
    "Outcome",
]

FINE = 0
BAD_INPUT = 1  # x has a value that is not finite; the value returned is its column
BAD_LABEL = 2  # y is not finite
OVERFLOW = 3  # finite numbers so large that the arithmetic would overflow; the value is y
FULL = 4  # the state has no room for what must be kept: give it more, then run the row again
NOT_ONLY_PREDICTED = 5  # with y = NaN, the step predicted NaN or changed the state
BUSY = 6  # another call uses the model: run the row again when it has ended
UNUSUAL = 7  # numbers of unusual size: the loop over a chunk runs the row again with more checks
DOMAIN = 8  # DOMAIN + k: the k-th rule of the learner


class Outcome(NamedTuple):
    """Where a run over rows stopped: after the last row, or at a row that broke ``rule``."""

    row: int
    rule: int
    value: float
