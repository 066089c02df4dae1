"""``CompiledStep``: a step compiled into each loop that runs it, when the loop is first used.

A step is a function that predicts one row and learns its label (:mod:`onlinear._engine.step`). The
loops are templates in :mod:`onlinear._engine.loops` and :mod:`onlinear._engine.bulk`: they call the
step by a global name. A learner's step is bound to this name, and loop and step are compiled as one
function.
"""

from collections.abc import Callable
from functools import cached_property
from types import FunctionType
from typing import Any, Self, TypeVar

import numpy as np

from onlinear._engine import bulk, bulk_block, loops
from onlinear._engine.bulk import Bulk
from onlinear._numerics import aligned, blas, jit
from onlinear._numerics.jit import kernel

__all__ = ["CompiledStep"]

AnyStep = TypeVar("AnyStep", bound="CompiledStep")


def always(params):
    """Return True: whatever the parameters, the state may be checked once per block."""
    return True


def inlined(function: Callable[..., Any]) -> Any:
    """Return a function as a kernel that is inlined into the compiled code that calls it."""
    return kernel(function, inline="always")


def bound(template: Callable[..., Any], **names: Any) -> Callable[..., Any]:
    """Return a template with some of its global names bound to other functions, or to flags."""
    names = {name: inlined(value) if callable(value) else value for name, value in names.items()}
    return FunctionType(template.__code__, {**template.__globals__, **names}, template.__name__)


class CompiledStep:
    """A learner's step and its compiled forms: ``one`` round, a ``chunk`` of rows, and others.

    ``scratch`` is how many rows of scratch memory, each as wide as x, the step needs, or a function
    that returns this number, given the width of x.
    """

    _keep: Callable[..., Any] = staticmethod(loops.keep)
    _guarded = True  # whether a round that leaves a number that is not finite is undone
    _predicts = True  # whether a round without a label changes nothing
    steady: Callable[..., bool] = staticmethod(loops.steady)

    def __init__(
        self,
        function: Callable[..., Any],
        scratch: int | Callable[[int], int] = 2,
        bulk: Bulk | None = None,
        settle: Callable[..., None] = loops.settle,
        keep: Callable[..., None] | None = None,
        vital: Callable[..., Any] = loops.vital,
    ) -> None:
        self.function = function
        self.scratch = scratch
        self.in_bulk = bulk
        self.settle = settle
        self.vital = vital
        if keep is not None:
            self._keep = keep
        self._around: dict[Callable[..., Any], Any] = {}
        self.__doc__ = function.__doc__

    @classmethod
    def with_scratch(
        cls,
        scratch: int | Callable[[int], int],
        bulk: Bulk | None = None,
        vital: Callable[..., Any] = loops.vital,
    ) -> Callable[[Callable[..., Any]], Self]:
        """Decorate a step that needs ``scratch`` rows of scratch memory instead of two.

        ``vital`` is given the arrays of the state, and returns those that decide whether the state
        is of usual size (:mod:`onlinear._engine.number_range`); by default, all of them do.
        """
        return lambda function: cls(function, scratch, bulk, vital=vital)

    @classmethod
    def with_bulk(
        cls, bulk: Bulk, settle: Callable[..., None] = loops.settle
    ) -> Callable[[Callable[..., Any]], Self]:
        """Decorate a step that can also run in blocks of rows, as ``bulk`` describes.

        ``settle`` does the part of a round's update that the step has deferred to the next
        round.
        """
        return lambda function: cls(function, 3, bulk, settle)

    @staticmethod
    def checked_per_block(
        steady: Callable[..., bool] = always,
    ) -> Callable[[AnyStep], AnyStep]:
        """Decorate a step so that tables may check the size of its state once per block of rows.

        ``steady(params)`` returns whether this gives the same results as a check after every round.
        It does if no overflow can be hidden when the block ends: in a block of usual rows that
        begins with a usual state, no number of the state may exceed 1e300 and then become smaller
        again, unless a prediction exceeds 1e50 in between. So a step must neither shrink nor reset
        parts of the state that may have overflowed. A step without this decorator, such as one that
        a user writes, is checked after every round.
        """

        def decorate(step: AnyStep) -> AnyStep:
            step.steady = steady
            return step

        return decorate

    def work(self, d: int) -> np.ndarray:
        """Return scratch memory for rounds with rows of width d."""
        rows = self.scratch(d) if callable(self.scratch) else self.scratch
        return aligned.zeros(rows * d).reshape(rows, d)

    def _compiled(self, template: Callable[..., Any], options: dict[str, Any], **names: Any) -> Any:
        """Compile a loop with some of its global names bound to other functions."""
        module = str(self.function.__module__).replace(".", "_")
        name = f"{template.__name__}_{module}_{self.function.__name__}"
        if not self._guarded:
            name += "_unguarded"
        with_it = [template, self.settle, self._keep, self.vital, self.steady]
        with_it += filter(callable, self.in_bulk or ())
        sources = (self.function, *with_it)
        return jit.compiled(template, name, sources, template.__module__, options, **names)

    @property
    def _round(self) -> Callable[..., Any]:
        """The template of one round.

        If a user wrote the step, the round also checks that a prediction leaves the state as it is.
        """
        return bound(loops.one, step=self.function, settle=self.settle, **self._checks)

    @property
    def _checks(self) -> dict[str, Any]:
        """Which checks of the state to run: values for global names of the templates."""
        ours = self.function.__module__.startswith("onlinear.")
        watched = self._guarded and self._predicts and not ours
        return {"vital": self.vital, "GUARDED": self._guarded, "WATCHED": watched}

    @cached_property
    def _called_round(self) -> Any:
        """One round for loops that call it as a function: compiled once for all these loops."""
        return kernel(self._round)

    @cached_property
    def _looped_round(self) -> Any:
        """One round, to be inlined into loops over many rows.

        To call a short step as a function, once per row, would take a tenth of the step's own time.
        """
        return inlined(self._round)

    @cached_property
    def one(self) -> Any:
        """The compiled round: ``one(state, params, x, y, work, labelled, busy) -> (value, rule)``.

        It holds the GIL while it runs, so threads may share the scratch memory ``work``.
        """
        settle = inlined(self.settle)
        return self._compiled(loops.single, {}, one=self._called_round, settle=settle)

    def _rounds(self, template: Callable[..., Any], **names: Any) -> Any:
        return self._compiled(
            template,
            {"nogil": True},
            one=self._looped_round,
            keep=inlined(self._keep),
            settle=inlined(self.settle),
            **names,
        )

    @cached_property
    def bulk(self) -> Any:
        """The compiled loop over blocks of rows; see :mod:`onlinear._engine.bulk`."""
        assert self.in_bulk is not None
        blas.load()
        names = self.in_bulk._asdict()
        names["drift_of"] = names.pop("drift")
        del names["longest"], names["crossover"]
        if self.in_bulk.others is bulk.none_beside:
            names["others"] = bound(bulk.none_beside, belief=self.in_bulk.belief)
        names["keep"] = self._keep
        names["decide"] = bound(bulk_block.decide_leaf, **names)
        names["learn"] = bound(bulk_block.learn_leaf, **names)
        names["block"] = bound(bulk_block.block, **names)
        del names["keep"]
        return self._rounds(bulk.bulk, **{name: inlined(each) for name, each in names.items()})

    @cached_property
    def chunk(self) -> Any:
        """The compiled loop over the rows of an array; see :func:`loops.chunk`."""
        checks = {**self._checks, "vital": inlined(self.vital), "steady": inlined(self.steady)}
        return self._rounds(loops.chunk, **checks)

    @cached_property
    def gathered(self) -> Any:
        """The compiled loop over the nonzero entries of sparse rows; see :func:`loops.gathered`."""
        return self._rounds(loops.gathered)

    @cached_property
    def each(self) -> Any:
        """The compiled loop that runs one round of each of many models; see :func:`loops.each`.

        All models have this step, and their states are stored in one block of memory. The loop
        holds the GIL, like ``one``.
        """
        names = {"one": self._called_round, "settle": inlined(self.settle)}
        single = FunctionType(loops.single.__code__, {**loops.single.__globals__, **names})
        return self._compiled(loops.each, {}, single=kernel(single))

    @cached_property
    def banked(self) -> Any:
        """The loop that runs each of many models over a table of rows; see :func:`loops.banked`."""
        banked = loops.banked
        return FunctionType(banked.__code__, {**banked.__globals__, "chunk": self.chunk})

    def around(self, loop: Callable[..., Any]) -> Any:
        """Compile a loop of another module, which calls ``one`` and ``settle``, with this step."""
        if loop not in self._around:
            self._around[loop] = self._compiled(
                loop, {"nogil": True}, one=self._looped_round, settle=inlined(self.settle)
            )
        return self._around[loop]
