"""Linear algebra for learners' steps: re-exports compiled functions of several modules.

:mod:`~onlinear._numerics.vectors`, :mod:`~onlinear._numerics.matrices`,
:mod:`~onlinear._numerics.covariance` and :mod:`~onlinear._numerics.cholesky` hold the functions;
:mod:`~onlinear._numerics.jit` compiles them.
"""

from onlinear._numerics.cholesky import cholesky, solve_lower, solve_upper
from onlinear._numerics.covariance import (
    ROUNDING,
    clear,
    clearly_left,
    observe,
    observe_given,
    observe_later,
    rounding_of,
    shift_and_round,
)
from onlinear._numerics.jit import kernel, short, within
from onlinear._numerics.matrices import (
    add_square,
    reset,
    shift,
    subtract_square,
    subtract_square_and_multiply,
    symv,
    symv_both,
    trace,
)
from onlinear._numerics.vectors import axpy, clipped, dot, extremes, finite, norm, scale

__all__ = [
    "ROUNDING",
    "add_square",
    "axpy",
    "cholesky",
    "clear",
    "clearly_left",
    "clipped",
    "dot",
    "extremes",
    "finite",
    "kernel",
    "norm",
    "observe",
    "observe_given",
    "observe_later",
    "reset",
    "rounding_of",
    "scale",
    "shift",
    "shift_and_round",
    "short",
    "solve_lower",
    "solve_upper",
    "subtract_square",
    "subtract_square_and_multiply",
    "symv",
    "symv_both",
    "trace",
    "within",
]
