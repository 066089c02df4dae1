"""The base classes of kernel learners, whose state grows with the examples they keep.

The state of a kernel learner is one flat array, as for all learners, with room for some more
examples than it holds; :mod:`onlinear._learner.growing` says how this room grows.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, ClassVar, cast

import numpy as np

from onlinear import kernels
from onlinear._engine.record import views
from onlinear._engine.step import Prepared, Step, Tally
from onlinear._engine.transaction import atomic
from onlinear._learner.base import Learner
from onlinear._learner.bounds.guarantee import Guarantee, unknown
from onlinear._learner.bounds.kernel_space import account, in_space
from onlinear._learner.growing import Growing
from onlinear._updates.dual import Dual, check_factor, coefficients, dual_size
from onlinear._updates.examples import compare_oldest, evaluate
from onlinear._validation import checks, states
from onlinear.kernels import RBF, Kernel, RowKernel

__all__ = ["DualLearner", "KernelLearner", "SegmentLearner", "check_dual", "check_fixed"]

SMALLEST = 1e-300
NOISE = 0.5  # least valid entry on the diagonal of L; but for rounding, all are at least 1


class KernelLearner(Learner):
    """A learner that predicts from Σ α_i K(z_i, x), with a kernel K and its kept examples z_i."""

    _growing: ClassVar[Growing]
    _subtracts: ClassVar[bool] = False  # whether it drops an example by subtracting its term

    kernel: Kernel | RowKernel = RBF()
    budget: int | None = dataclasses.field(default=None, kw_only=True)

    _begun_with = cast("Any", None)  # not a parameter

    def _budget(self) -> float:
        return math.inf if self.budget is None else float(checks.whole(self, "budget", least=1))

    # --- the state ----------------------------------------------------------------------------

    def _initial(self, d: int, record: np.ndarray | None) -> Any:
        growing = self._growing
        if record is not None:
            room = growing.stored(d, record)
        else:
            room = growing.first if self._state is None else growing.room(self._state)
        self._check_room(d, room)
        return self._with_room(d, room, self._form(d))

    def _with_room(self, d: int, room: Any, form: tuple[float, ...]) -> Any:
        """Return the initial state with room for ``room`` examples."""
        return self.algorithm.init(self._params(), d, room, form)

    def _check_room(self, d: int, room: Any) -> None:
        """Refuse a state that takes over half of the machine's memory."""
        growing = self._growing
        checks.holds(type(self).__name__, growing.examples(room), growing.size(d, room))

    def _form(self, d: int) -> tuple[float, ...]:
        return kernels.numbers(kernels.checked(self), d)

    @property
    def _room(self) -> int:
        return len(self._state.Z)

    def _scratch(self) -> np.ndarray:
        return self._step.work(self._room)

    def _make_room(self) -> None:
        """Enlarge the arrays of the state; each new array begins with the old one's contents."""
        old, growing, d = self._state, self._growing, self.n_features_in_
        room = growing.more(old)
        self._check_room(d, room)
        arrays = self._with_room(d, room, tuple(old.form))
        record = np.zeros(growing.size(d, room))  # no memory until it is written to
        growing.move(old, views(record, arrays), room)
        self._begin(d, record, own=True)

    def _check_states(self, stack: Any) -> None:
        super()._check_states(stack)
        most = np.minimum(stack.t, stack.Z.shape[1])
        states.check_counts("examples are kept", stack.n, 0, most)
        states.check_range("gamma of its kernel", stack.form[:, 1], SMALLEST)
        states.check_range("a kernel", stack.form[:, 0], *2 * (self._form(1)[0],))

    def _begin(self, d: int, record: np.ndarray | None = None, *, own: bool = False) -> None:
        super()._begin(d, record, own=own)
        if record is None or self._begun_with is None:
            self._begun_with = self.kernel

    def _changed(self) -> bool:
        kept, form = tuple(self._state.form), self._form(self.n_features_in_)
        free = isinstance(self.kernel, RBF) and self.kernel.gamma is None  # fixed at the first row
        other = kept[0] != form[0] or (not free and kept != form)
        return other or self.kernel != self._begun_with

    def _expect(self, rows: int) -> None:
        most = int(min(self._state.n[0] + rows, self._budget()))
        self._check_room(self.n_features_in_, self._growing.expected(self._state, most))

    # --- the round ----------------------------------------------------------------------------

    def _numbers(self) -> tuple[Any, ...]:
        numbers = super()._numbers()
        if self._state is not None and self._changed():
            raise ValueError(
                f"{type(self).__name__} needs the kernel it began with, {self._begun_with!r}, got "
                f"kernel={self.kernel!r} (fit starts over)"
            )
        kept = 0 if self._state is None else int(self._state.n[0])
        if self._budget() < kept:
            raise ValueError(
                f"{type(self).__name__} needs budget ≥ {kept}, the number of examples it "
                f"keeps, got budget={self.budget!r}"
            )
        return numbers

    @property
    def _step(self) -> Step:
        if isinstance(self.kernel, Kernel):
            return self.algorithm.step
        return Prepared(self.algorithm.step, self._before)

    def _before(self, state: Any, x: np.ndarray, work: np.ndarray) -> None:
        """Evaluate a custom kernel and write its values to ``work``, where the step reads them."""
        n, Z = int(state[1][0]), state[-1]
        evaluate(self.kernel, n, Z, x, work)
        if self._subtracts and 0 < self._budget() <= n:  # the oldest example may be dropped
            compare_oldest(self.kernel, n, Z, work)

    def _prepare(self) -> tuple[Any, ...]:
        if isinstance(self.kernel, Kernel):
            self.__dict__.pop("_one", None)
            return super()._prepare()
        call = (tuple(self._state), self._numbers(), self._work)
        self.__dict__["_one"] = self._step.one  # differs between instances of the class
        self._call = call
        return call

    def _to_plain(self) -> dict[str, Any]:
        return {**self.get_params(), "kernel": kernels.plain(self.kernel)}

    @classmethod
    def _from_plain(cls, params: dict[str, Any]) -> dict[str, Any]:
        return {**params, "kernel": kernels.rebuilt(params["kernel"])}

    def _guarantee(self, search: bool = True) -> Guarantee:
        name = type(self).__name__
        if self.budget is not None:
            return unknown(name, f"{name} with a budget, which drops examples that a bound needs")
        present = self._theorem(search)
        earlier = unknown(name, f"a {name} whose certificate was begun before version 0.15")
        return present._replace(account=present.account._replace(version=2), earlier=(earlier,))

    def _theorem(self, search: bool) -> Guarantee:
        """Return the regret bound of the learner without a budget."""
        raise NotImplementedError

    def _in_space(
        self,
        guarantee: Guarantee,
        begin: Callable[[int, Any, tuple[float, ...]], tuple[np.ndarray, ...]],
        step: Tally,
        params: tuple[Any, ...],
        growing: Growing,
    ) -> Guarantee:
        """Return a linear learner's guarantee as this learner's; see :mod:`.kernel_space`."""
        name, check = type(self).__name__, self._check_bound
        space = account(name, self.kernel, begin, step, params, growing, check)
        return in_space(guarantee, self.kernel, space)

    def _check_bound(self, state: tuple[np.ndarray, ...]) -> None:
        """Refuse a state of the bound, after its head, that no rows can produce."""

    # --- what was learnt ----------------------------------------------------------------------

    @property
    def coef_(self) -> np.ndarray:
        """Not available: the weights are in the kernel's feature space; see ``dual_coef_``."""
        raise AttributeError(
            f"{type(self).__name__} has no weights per column: see dual_coef_ and examples_"
        )

    @property
    @atomic
    def examples_(self) -> np.ndarray:
        """A copy of the examples z_i that are kept, oldest first."""
        state = self._learnt()
        return state.Z[: int(state.n[0])].copy()  # type: ignore[no-any-return]


class DualLearner(KernelLearner):
    """A second-order kernel learner, with a Cholesky factor in place of a covariance matrix."""

    _growing = Growing(dual_size)

    def _check_states(self, stack: Any) -> None:
        super()._check_states(stack)
        for state in zip(*stack, strict=True):
            check_dual(Dual(*state))

    @property
    @atomic
    def dual_coef_(self) -> np.ndarray:
        """The coefficients α_i of Σ α_i K(z_i, x), one per example; costs O(n²) for n examples."""
        return coefficients(self._learnt())

    def _check_bound(self, state: tuple[np.ndarray, ...]) -> None:
        check_dual(Dual(*state))


class SegmentLearner(KernelLearner):
    """A kernel learner whose covariance is reset, with a factor for the examples since the reset.

    The module :mod:`onlinear._updates.segments` has the equations.
    """

    def _check_states(self, stack: Any) -> None:
        super()._check_states(stack)
        most = np.minimum(stack.n, stack.depth)
        states.check_counts("examples are in its segment", stack.kept, 0, most)
        for kept, L in zip(stack.kept, stack.L, strict=True):
            check_factor(L, int(kept[0]))

    @property
    @atomic
    def dual_coef_(self) -> np.ndarray:
        """The coefficients α of a prediction Σ α_i K(z_i, x), one for each of ``examples_``."""
        state = self._learnt()
        return state.alpha[: int(state.n[0])].copy()  # type: ignore[no-any-return]


def check_dual(state: Dual) -> None:
    """Refuse a factor L and prior variances ρ_i that no sequence of rounds can produce."""
    n = int(state.n[0])
    check_factor(state.L, n, NOISE)
    # ρ_i grows with every round, up to the prior variance of the next round
    growing = np.concatenate([state.rho[:n], state.prior])
    states.check_range("a prior variance", growing, SMALLEST)
    states.check_range("a change of the prior", np.diff(growing), -1e-9 * growing[-1])


def check_fixed(needs: str, model: Any) -> None:
    """Refuse a model that is no learner or whose state grows; the message begins with ``needs``."""
    if not isinstance(model, Learner):
        raise TypeError(f"{needs}, got {checks.described(model)}")
    if isinstance(model, KernelLearner):
        raise ValueError(
            f"{needs} whose state does not grow, got {type(model).__name__}: use a linear learner "
            "on features from onlinear.features instead"
        )
    model._check_one(needs.partition(" ")[0])
    model._numbers()
