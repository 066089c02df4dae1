"""Bounds against functions f = Σ β_j K(v_j, ·) of a kernel's space, for kernel learners.

The state of such a bound is its tally, its notes and perhaps some sums, followed by the growing
state of a kernel learner: a bound keeps all examples, and takes about as long as the learner.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from onlinear import kernels
from onlinear._engine.step import Prepared, Tally
from onlinear._learner.bounds.guarantee import Guarantee
from onlinear._learner.bounds.ledger import Account
from onlinear._learner.bounds.path import Path
from onlinear._learner.growing import Growing
from onlinear._updates.examples import evaluate
from onlinear._validation import checks
from onlinear._validation.states import check_counts, check_range
from onlinear.kernels import Kernel, RowKernel

__all__ = ["FunctionPath", "account", "function_path", "in_space"]


class PreparedTally(Prepared, Tally):
    """The step of a bound with a custom kernel, which is evaluated before every row."""


def account(
    owner: str,
    kernel: Kernel | RowKernel,
    begin: Callable[[int, Any, tuple[float, ...]], tuple[np.ndarray, ...]],
    step: Tally,
    params: tuple[Any, ...],
    growing: Growing,
    check: Callable[[tuple[np.ndarray, ...]], None],
) -> Account:
    """Return the account of a bound in a kernel's space.

    ``begin(d, room, form)`` returns the initial state for rows of width d, with the kernel as four
    numbers, ``form``. After the head, the state begins with t and n. ``check`` refuses a state
    after the head that no rows can produce.
    """
    first = len(growing.head)

    def init(d: int, room: Any = growing.first) -> tuple[np.ndarray, ...]:
        return begin(d, room, kernels.numbers(kernel, d))

    def before(state: Any, x: np.ndarray, work: np.ndarray) -> None:
        evaluate(kernel, int(state[first + 1][0]), state[-1], x, work)

    def check_own(state: tuple[np.ndarray, ...]) -> None:
        own, d = state[first:], state[-1].shape[1]
        fresh = init(d)[first:]
        names = [k for k, array in enumerate(fresh) if array.shape == (4,)]
        if not all(np.array_equal(own[k], fresh[k]) for k in names):
            raise ValueError("the bound is about another kernel")
        check_counts("rows are in its bound", own[0][0])
        check_counts("examples are in its bound", own[1][0], 0, min(own[0][0], len(own[-1])))
        check(own)

    if not isinstance(kernel, Kernel):
        step = PreparedTally(step, before)
    return Account(owner, init, step, params, check=check_own, growing=growing)


def in_space(guarantee: Guarantee, kernel: Kernel | RowKernel, account: Account) -> Guarantee:
    """Return a linear learner's guarantee as that of the kernel learner, with its own account."""
    return guarantee._replace(
        comparator=f"{guarantee.comparator}, u any function Σ β_j K(v_j, ·)",
        account=account,
        kernel=kernel,
    )


@dataclass(frozen=True, eq=False)
class FunctionPath(Path):
    """Comparators f_t = Σ_j β_tj K(v_j, ·) given by the user, one per round or one for all.

    ``u`` has their coordinates in an orthonormal basis of the functions K(v_j, ·), so that norms of
    u are norms in the kernel's space. ``at_rows`` has all K(x_t, v_j).
    """

    beta: np.ndarray = field(kw_only=True)
    at_rows: np.ndarray = field(kw_only=True)

    @cached_property
    def values(self) -> np.ndarray:
        """The values f_t(x_t) of the comparators."""
        if len(self.beta) == 1:
            return np.asarray(self.at_rows @ self.beta[0])
        return np.asarray(np.einsum("ij,ij->i", self.at_rows, self.beta))

    @cached_property
    def losses(self) -> np.ndarray:
        """The squared loss of the comparator in each round, (y − f(x))²."""
        return np.asarray((self.y - self.values) ** 2)

    def of(self, rows: np.ndarray) -> "FunctionPath":
        """Return the comparators, rows and labels of some of the rounds only."""
        moving = len(self.u) > 1
        u, beta = (self.u[rows], self.beta[rows]) if moving else (self.u, self.beta)
        at_rows = self.at_rows[rows]
        return FunctionPath(self.X[rows], self.y[rows], u, beta=beta, at_rows=at_rows)

    def described(self, row: int) -> tuple[str, np.ndarray]:
        """Return the name and the numbers of the comparator in a row, for error messages."""
        return "beta", self.beta[min(row, len(self.beta) - 1)]


def function_path(
    comparator: Any, X: np.ndarray, y: np.ndarray, kernel: Kernel | RowKernel, owner: str
) -> FunctionPath:
    """Return the user's comparator (V, beta) as a path; refuse what is none, in words."""
    rows, d = X.shape
    needs = (
        f"{owner}'s comparator needs a pair (V, beta): m rows V of {d} columns, and m coefficients "
        f"beta of the function Σ beta_j K(v_j, ·), or a row of m coefficients for each of {rows} "
        "rounds"
    )
    if not isinstance(comparator, (tuple, list)) or len(comparator) != 2:
        raise ValueError(f"{needs}, got {checks.described(comparator)}")
    try:
        V, beta = (np.array(part, dtype=np.float64, order="C") for part in comparator)
    except (TypeError, ValueError):
        raise ValueError(f"{needs}, got {comparator!r:.60}") from None
    m = len(V) if V.ndim else 0
    if V.shape != (m, d) or m == 0 or beta.shape not in ((m,), (rows, m)):
        raise ValueError(f"{needs}, got shapes {V.shape} and {beta.shape}")
    if not (np.isfinite(V).all() and np.isfinite(beta).all()):
        raise ValueError(f"{needs}, all finite")
    beta = np.atleast_2d(beta)
    at_rows = np.column_stack([kernels.evaluated(kernel, X.copy(), v.copy()) for v in V])
    between = np.column_stack([kernels.evaluated(kernel, V.copy(), v.copy()) for v in V])
    size, turn = np.linalg.eigh((between + between.T) / 2)
    check_range("an eigenvalue of the matrix of K(v_i, v_j)", size, -1e-9 * abs(size[-1]))
    u = beta @ (turn * np.sqrt(np.maximum(size, 0.0)))
    return FunctionPath(X, y, u, beta=beta, at_rows=at_rows)
