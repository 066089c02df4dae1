"""The base classes of kernel learners, whose state grows with the examples they keep.

The state of a kernel learner is one flat array, as for all learners, with room for some more
examples than it holds. When the array is full, the state is copied to a new array that has room for
a quarter more examples. Most rounds therefore copy nothing, and the size of the array depends only
on the number of examples.
"""

import bisect
import dataclasses
import math
from typing import Any, cast

import numpy as np

from onlinear import kernels
from onlinear._engine.step import Prepared, Step
from onlinear._engine.transaction import atomic
from onlinear._learner.base import Learner
from onlinear._learner.bounds.guarantee import Guarantee, unknown
from onlinear._updates.dual import check_factor, coefficients
from onlinear._validation import checks, states
from onlinear.kernels import RBF, Kernel, RowKernel

__all__ = ["DualLearner", "KernelLearner", "check_fixed"]

FIRST_ROOM = 16  # examples
SMALLEST = 1e-300
NOISE = 0.5  # least valid entry on the diagonal of L; but for rounding, all are at least 1


class KernelLearner(Learner):
    """A learner that predicts from Σ α_i K(z_i, x), with a kernel K and its kept examples z_i."""

    kernel: Kernel | RowKernel = RBF()
    budget: int | None = dataclasses.field(default=None, kw_only=True)

    _begun_with = cast("Any", None)  # not a parameter

    def _budget(self) -> float:
        return math.inf if self.budget is None else float(checks.whole(self, "budget", least=1))

    # --- the state ----------------------------------------------------------------------------

    def _initial(self, d: int, record: np.ndarray | None) -> Any:
        if record is not None:
            size = record.size
            room = bisect.bisect_left(range(size), size, key=lambda room: self._size(d, room))
        else:
            room = FIRST_ROOM if self._state is None else self._room
        checks.holds(type(self).__name__, room, self._size(d, room))
        return self._with_room(d, room, self._form(d))

    def _with_room(self, d: int, room: int, form: tuple[float, ...]) -> Any:
        """Return the initial state with room for ``room`` examples."""
        return self.algorithm.init(self._params(), d, room, form)

    @staticmethod
    def _size(d: int, room: int) -> int:
        """Return how many numbers a state with room for ``room`` examples of d columns has."""
        raise NotImplementedError

    def _form(self, d: int) -> tuple[float, ...]:
        return kernels.numbers(kernels.checked(self), d)

    @property
    def _room(self) -> int:
        return len(self._state.Z)

    def _scratch(self) -> np.ndarray:
        return self._step.work(self._room)

    def _make_room(self) -> None:
        """Enlarge the arrays of the state; each new array begins with the old one's contents."""
        old, room = self._state, self._room
        d, room = self.n_features_in_, max(room + FIRST_ROOM, room * 5 // 4)
        checks.holds(type(self).__name__, room, self._size(d, room))
        arrays = self._with_room(d, room, tuple(old.form))  # zeros: no memory until written to
        ends = np.cumsum([0, *(array.size for array in arrays)])
        record = np.zeros(ends[-1])
        for start, array in zip(ends[:-1], old, strict=True):
            record[start : start + array.size] = array.reshape(-1)
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
        checks.holds(type(self).__name__, most, self._size(self.n_features_in_, most))

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
        n = int(state[1][0])
        Z = state[-1][:n]
        given = kernels.evaluated(self.kernel, np.vstack([Z, x]), x)
        work[0, :n], work[3, 0] = given[:n], given[n]

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
        return unknown(name, f"{name} against linear predictors")

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

    def _check_states(self, stack: Any) -> None:
        super()._check_states(stack)
        for kept, prior, rho, L in zip(stack.n, stack.prior, stack.rho, stack.L, strict=True):
            n = int(kept[0])
            check_factor(L, n, NOISE)
            # ρ_i grows with every round, up to the prior variance of the next round
            growing = np.concatenate([rho[:n], prior])
            states.check_range("a prior variance", growing, SMALLEST)
            states.check_range("a change of the prior", np.diff(growing), -1e-9 * growing[-1])

    @staticmethod
    def _size(d: int, room: int) -> int:
        return 7 + room * (d + 2) + room * (room + 1) // 2

    @property
    @atomic
    def dual_coef_(self) -> np.ndarray:
        """The coefficients α_i of Σ α_i K(z_i, x), one per example; costs O(n²) for n examples."""
        return coefficients(self._learnt())


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
