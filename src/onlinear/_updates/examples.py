"""The examples that kernel learners keep: their kernel values, and dropping the oldest.

The scratch memory of a kernel learner begins with four rows: K(z_i, x); one row of the learner's
own; K(z_i, z_0) with the oldest example z_0; and K(x, x) of a custom kernel. A custom kernel, which
is a Python function, is evaluated before the compiled round (:func:`evaluate`).
"""

from typing import Any

import numpy as np

from onlinear import kernels
from onlinear._numerics.linalg import kernel
from onlinear.kernels import GIVEN, RowKernel, similarities, similarity

__all__ = ["compare_oldest", "drop_oldest", "evaluate", "kernel_row", "oldest_row", "own_value"]


@kernel
def own_value(form, x, work):
    """Return K(x, x)."""
    return work[3, 0] if form[0] == GIVEN else similarity(form, x, x)


@kernel
def kernel_row(form, Z, n, x, work):
    """Write all K(z_i, x) to ``work[0]``, unless a custom kernel has done so; return K(x, x)."""
    if form[0] != GIVEN:
        similarities(form, Z, n, x, work[0])
    return own_value(form, x, work)


@kernel
def oldest_row(form, Z, n, own, work):
    """Write all K(z_i, z_0) to ``work[2]``, where the last of n examples is the present row x.

    A custom kernel has already done so, except for x. ``own`` is K(x, x).
    """
    if form[0] == GIVEN:
        work[2, n - 1] = work[0, 0] if n > 1 else own
    else:
        similarities(form, Z, n, Z[0], work[2])


@kernel
def drop_oldest(alpha, Z, n):
    """Remove the first of n examples and its coefficient; move the others forward by one place."""
    for i in range(1, n):
        alpha[i - 1] = alpha[i]
        for j in range(Z.shape[1]):
            Z[i - 1, j] = Z[i, j]
    alpha[n - 1] = 0.0
    for j in range(Z.shape[1]):
        Z[n - 1, j] = 0.0


def evaluate(given: RowKernel, n: int, Z: Any, x: np.ndarray, work: np.ndarray) -> None:
    """Write a custom kernel's values K(z_i, x) and K(x, x) to ``work``."""
    values = kernels.evaluated(given, np.vstack([Z[:n], x]), x)
    work[0, :n], work[3, 0] = values[:n], values[n]


def compare_oldest(given: RowKernel, n: int, Z: Any, work: np.ndarray) -> None:
    """Write a custom kernel's values K(z_i, z_0) to ``work``, for a round that may drop z_0."""
    work[2, :n] = kernels.evaluated(given, Z[:n].copy(), Z[0].copy())
