"""What KernelCRRLS's comparators cost: by how much F_t(u_t) is above its minimum in each round.

    F_t(u) = rˢ‖u − f_0‖² + Σ_{i≤s} r^(s−i) (y_i − u(x_i))²      s the round, f_0 the first f there

The sum runs over the s rounds of a segment so far, and f_0 is the learner's f at its beginning. The
bound and its proof are those of :mod:`onlinear.algorithms._forgetting_bound`, since they use only
that the learner's f_t minimises F_t.
"""

import numpy as np

from onlinear import kernels
from onlinear._learner.bounds.guarantee import COMPARATOR
from onlinear._learner.bounds.kernel_space import FunctionPath
from onlinear._learner.bounds.ledger import Account, Ledger
from onlinear.algorithms._forgetting_bound import BoundParams
from onlinear.kernels import Kernel, RowKernel

__all__ = ["excesses"]

ALPHA = 8  # the index of α in the state of the bound


def excesses(
    account: Account, kernel: Kernel | RowKernel, params: BoundParams, path: FunctionPath
) -> np.ndarray:
    """Return F_t(u_t) − F_t(f_t) in each round, for the user's u_t and the learner's f_t."""
    r, every = params.forgetting, int(params.reset_every)
    X, y, ledger = path.X, path.y, Ledger(account)
    found = np.empty(y.size)
    alpha, square = np.zeros(0), 0.0  # of f_0, and ‖f_0‖²
    for first in range(0, y.size, every):
        rows = np.arange(first, min(first + every, y.size))
        own = path if len(path.u) == 1 else path.of(rows)
        age = rows - rows[:, None]  # [i, t] is t − i
        errors = y[rows, None] - path.at_rows[rows] @ own.beta.T
        kept = np.where(age >= 0, r ** np.maximum(age, 0) * errors**2, 0.0).sum(axis=0)
        product = alpha @ (path.at_rows[:first] @ own.beta.T)  # <f_0, u_t>
        away = np.maximum(own.squares - 2 * product + square, 0.0)
        costs = kept + r ** (1.0 + np.arange(kept.size)) * away
        least = 0.0
        for i, (x, label) in enumerate(zip(X[rows], y[rows].tolist(), strict=True)):
            before = 0.0 if ledger.tally is None else ledger.tally[COMPARATOR]
            ledger.add_one(x, label)
            assert ledger.tally is not None
            least = r * least + ledger.tally[COMPARATOR] - before
            found[first + i] = max(0.0, costs[i] - least)
        seen = X[: first + rows.size]
        assert ledger.state is not None
        learnt = ledger.state[ALPHA][: len(seen)].copy()
        values = np.array([kernels.evaluated(kernel, seen.copy(), x) for x in X[rows]])
        added = learnt[first:]
        square += float(added @ (2 * values[:, :first] @ alpha + values[:, first:] @ added))
        alpha = learnt
    return found
