"""Compile functions with Numba; importing this module imports Numba."""

import gc
import itertools
import os
import re
import secrets
import sys
from collections.abc import Callable
from multiprocessing import parent_process
from typing import Any

import llvmlite.binding
from numba import njit
from numba.core import event
from numba.core.bytecode import FunctionIdentity
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from onlinear._numerics import link_only

__all__ = ["announcement", "entry", "intrinsic", "know", "part", "type_of"]

_njit: Any = njit  # takes options that its type annotations leave out


def number_functions_anew() -> None:
    """Make Numba's numbers of compiled functions begin with a random number instead of 1.

    Numba numbers the functions that it compiles. Compiled code finds the functions that it calls by
    their names, which contain these numbers. If the numbers began with 1 in every process, a
    function from Numba's cache and a new one could have the same name, and one learner could run
    the step of another.
    """
    FunctionIdentity._unique_ids = itertools.count(secrets.randbits(48))


number_functions_anew()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=number_functions_anew)


class _Announcement(event.Listener):
    """Says on a terminal, or in a notebook, that something is being compiled."""

    def __init__(self) -> None:
        self._depth = 0  # functions being compiled now, each needed by the one before
        self.count = 0  # compiled functions that Python calls

    def on_start(self, event: Any) -> None:
        """Announce the compilation of a function of this package, if Python calls it directly."""
        self._depth += 1
        name = event.data["dispatcher"].py_func.__name__
        loop, _, step = re.sub(r"_[0-9a-f]{16}$|_None$", "", name).partition("_onlinear_")
        if self._depth == 1 and (step or loop != name):
            self.count += 1
            what = step.removeprefix("algorithms_").removesuffix("_step") or loop
            self._say(f"onlinear: compiling {what.replace('_', ' ').strip()} (kept for later)")

    def on_end(self, event: Any) -> None:
        """Clear the announcement."""
        self._depth -= 1
        if self._depth == 0:
            self._say("")

    def _say(self, text: str) -> None:
        if sys.stderr is None or type(sys.stderr).__name__ == "FileProxy":
            return  # there is no terminal, or a progress bar of rich has it
        if sys.stderr.isatty() and parent_process() is None:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
        elif text and "ipykernel" in sys.modules:
            print(text, file=sys.stderr, flush=True)


class _PausedCollector(event.Listener):
    """Pauses Python's garbage collector during a compilation, which saves a sixth of the time.

    Compiling creates many objects that live long, and the garbage collector would look at them
    again and again.
    """

    def __init__(self) -> None:
        self._outermost: Any = None  # the function for which the garbage collector was paused

    def on_start(self, event: Any) -> None:
        """Pause the garbage collector, unless this compilation is part of another."""
        if self._outermost is None and gc.isenabled():
            self._outermost = event.data["dispatcher"]
            gc.disable()

    def on_end(self, event: Any) -> None:
        """Turn the garbage collector on again at the end of the compilation that paused it."""
        if self._outermost is event.data["dispatcher"]:
            self._outermost = None
            gc.enable()


announcement = _Announcement()
for listener in (_PausedCollector(), announcement):  # an announcement may fail: it comes last
    event.register("numba:compile", listener)


def know(addresses: dict[str, int]) -> None:
    """Tell LLVM the addresses of functions that compiled code calls by name."""
    for name, address in addresses.items():
        llvmlite.binding.add_symbol(name, address)


def entry(function: Callable[..., Any], options: dict[str, Any], *, cache: bool) -> Any:
    """Return a function for Python to call, which Numba compiles for the types of its arguments."""
    return _njit(function, cache=cache, **options)


def part(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Compile a function that only other compiled code calls."""
    compiler = link_only.Compiler if link_only.KNOWN else None
    return _njit(function, no_cpython_wrapper=True, pipeline_class=compiler, **options)


def type_of(made: Any) -> Any:
    """Return Numba's type of ``made``, a result of :func:`part` or of Numba's ``intrinsic``.

    The result does not keep ``made`` alive.
    """
    context = cpu_target.typing_context
    context.refresh()
    return context.resolve_value_type(made)
