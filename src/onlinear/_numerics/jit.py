"""Compile steps (a learner's rounds) and kernels (functions that steps call) to machine code.

Wheels contain the machine code of this package's own functions (:mod:`onlinear._numerics.native`).
All other functions are compiled by Numba when they are first called: the steps of your own
learners, functions called with arguments of unusual types, and all functions if the package was
installed without machine code. Numba is imported only when it has to compile; until then, a
:class:`Kernel` or an :class:`Intrinsic` stands for the compiled function. With
``NUMBA_DISABLE_JIT=1`` nothing is compiled: kernels are plain Python functions, and each
:func:`intrinsic`, which generates LLVM code, is replaced by an equivalent plain Python function.
"""

import os
import sys
import warnings
from collections.abc import Callable
from functools import cache, cached_property, partial, update_wrapper, wraps
from types import FunctionType
from typing import Any

import numpy as np

from onlinear._numerics import native
from onlinear._numerics.fingerprint import fingerprint, source_hash
from onlinear._numerics.late_module import LateModule

__all__ = [
    "PLAIN",
    "CompiledFunction",
    "Intrinsic",
    "Kernel",
    "arrayobj",
    "cgutils",
    "compiled",
    "compiled_now",
    "intrinsic",
    "ir",
    "kernel",
    "short",
    "tell_address",
    "types",
    "within",
]

PLAIN = os.environ.get("NUMBA_DISABLE_JIT", "") not in ("", "0")  # nothing is compiled


_numba: Any = LateModule("onlinear._numerics.numba_compiler")
ir: Any = LateModule("llvmlite.ir")  # for intrinsics: LLVM code, Numba's types, and tools for both
types: Any = LateModule("numba.core.types")
cgutils: Any = LateModule("numba.core.cgutils")
arrayobj: Any = LateModule("numba.np.arrayobj")

# Kernels do not count references: a round is too short to pay for that. So nothing inside a step or
# kernel may allocate memory; np.max, np.abs and array expressions do, and fail to compile.
# Every option is given explicitly: Numba takes a missing one from the caller that compiles the
# kernel first, so that the result would depend on what ran before.
OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "fastmath": False,
    "forceinline": False,
    "no_cfunc_wrapper": True,
    "_nrt": False,
}


_addresses: dict[str, int] = {}  # of functions that compiled code calls by name


def tell_address(name: str, address: int) -> None:
    """Register the address, in this process, of a function that compiled code calls by name."""
    _addresses[name] = address


class Kernel:
    """A function that compiled code calls.

    Numba reads ``_numba_type_`` to call a kernel, and ``targetoptions`` and ``py_func`` to inline
    it.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.py_func, self.targetoptions = function, options
        update_wrapper(self, function)

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's own object for this function, which compiled code calls."""
        return _numba.part(self.py_func, self.targetoptions)

    @property
    def _numba_type_(self) -> Any:
        return _numba.type_of(self.dispatcher)

    @cached_property
    def _alone(self) -> Any:
        own = self.py_func
        return compiled(own, own.__name__, (own,), own.__module__, {})

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the kernel from Python; it is then compiled as a function of its own."""
        return self._alone(*arguments, **named)

    def __reduce__(self) -> str:
        """Let pickle find the kernel by its name, like a function."""
        return self.py_func.__qualname__


class Intrinsic:
    """A function whose LLVM code is generated for the types that it is called with.

    ``typed`` generates the code, as Numba's ``intrinsic`` requires; ``plain`` is a function that
    computes the same in plain Python.
    """

    def __init__(self, typed: Callable[..., Any], plain: Callable[..., Any]) -> None:
        update_wrapper(self, typed)
        self.typed, self.py_func = typed, plain

    @cached_property
    def _made(self) -> Any:
        return _numba.intrinsic(self.typed)

    @property
    def _numba_type_(self) -> Any:
        return _numba.type_of(self._made)

    def __call__(self, *arguments: Any) -> Any:
        """Call the plain Python equivalent."""
        return self.py_func(*arguments)


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a function callable from compiled code; ``options`` are options of Numba."""
    if function is None:
        return partial(kernel, **options)
    if PLAIN:
        function.py_func = function  # type: ignore[attr-defined]
        return function
    return Kernel(function, {**OPTIONS, **options})


short: Any = partial(kernel, forceinline=True)  # inlined: a call would take longer than the work


def within(function: Any) -> Any:
    """Return an inlined version of a kernel, for rounds so short that a call would slow them down.

    Elsewhere a kernel is called rather than inlined, since inlining makes compilation slower.
    """
    return short(getattr(function, "py_func", function))


def intrinsic(*, without_jit: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function that generates LLVM code for Numba.

    ``without_jit`` is a plain Python function that computes what the generated code computes.
    """

    def decorate(typed: Callable[..., Any]) -> Any:
        return without_jit if PLAIN else Intrinsic(typed, without_jit)

    return decorate


def compiled(
    template: Callable[..., Any],
    name: str,
    sources: tuple[Callable[..., Any], ...],
    module: str,
    options: dict[str, Any],
    **names: Any,
) -> Any:
    """Compile the function ``template``, with its globals in ``names`` bound to the values given.

    ``sources`` are the functions that the compiled function depends on. A hash of their source
    files, and of the files of all functions that they call, becomes part of the compiled function's
    name. By this name, the compiled function is found in the library of machine code that comes
    with the package, or in Numba's cache on disk.
    """
    scope = {**template.__globals__, **names}
    own = template.__defaults__, template.__closure__
    function = FunctionType(template.__code__, scope, name, *own)
    function.__module__ = module
    if PLAIN:
        return _silent(function)
    make = partial(_just_in_time, function, sources, {**OPTIONS, **options})
    if not native.there():
        return make()
    there = native.function(f"{name}_{source_hash(*sources)}", make)
    return make() if there is None else there


def _just_in_time(
    function: FunctionType, sources: tuple[Callable[..., Any], ...], options: dict[str, Any]
) -> Any:
    """Return a function that Numba compiles when it is first called, and caches on disk.

    Numba's cache finds a function by its file and its name, to which a hash of the sources is added
    (see :func:`fingerprint`). A function whose sources cannot be hashed is compiled again in each
    process, as all functions are if no cache folder is writable.
    """
    name = function.__name__
    try:
        _numba.know(_addresses)
    except ImportError as error:
        raise ImportError(
            f"onlinear has to compile {name}, which needs Numba: pip install numba"
        ) from error
    mark = fingerprint(*sources)
    function.__name__ = function.__qualname__ = f"{name}_{mark}"
    try:
        return _numba.entry(function, options, cache=mark is not None)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        _warn_once()
        return _numba.entry(function, options, cache=False)


def compiled_now() -> int:
    """Return how many functions Numba has compiled, rather than loaded, in this process."""
    return 0 if "numba" not in sys.modules else _numba.announcement.count


def _silent(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a plain Python function that, like compiled code, gives no overflow warnings."""

    @wraps(function)
    def call(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return call


class CompiledFunction:
    """A function called from Python, compiled on first use; it releases the GIL."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    @cached_property
    def _compiled(self) -> Any:
        own = self.function
        return compiled(own, own.__name__, (own,), own.__module__, {"nogil": True})

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function."""
        return self._compiled(*arguments)


@cache
def _warn_once() -> None:
    warnings.warn(
        "onlinear finds no writable folder for its compiled code, and compiles in every process: "
        "set NUMBA_CACHE_DIR to a writable folder",
        RuntimeWarning,
        stacklevel=2,
    )
