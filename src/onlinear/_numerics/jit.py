"""How functions are compiled, and how compiled code is kept between processes.

With ``NUMBA_DISABLE_JIT=1`` nothing is compiled: kernels are plain Python, and what only a compiler
can do, an :func:`intrinsic`, has a plain function beside it.
"""

import hashlib
import inspect
import warnings
from collections.abc import Callable
from functools import cache, cached_property, partial, wraps
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numba.extending
import numpy as np
from numba import njit
from numba.core import config

__all__ = [
    "PLAIN",
    "CompiledFunction",
    "compiled",
    "fingerprint",
    "inner",
    "intrinsic",
    "kernel",
    "short",
    "within",
]

PLAIN = bool(config.DISABLE_JIT)  # type: ignore[attr-defined]  # nothing is compiled
VERSIONED = {"builtins", "functools", "llvmlite", "math", "numba", "numpy"}  # by Numba's cache


def _interpreted(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Stand for ``kernel`` where nothing is compiled."""
    if function is None:
        return _interpreted
    function.py_func = function  # type: ignore[attr-defined]
    return function


# Kernels keep no reference counts: a round is too short to pay for them. So nothing inside a step
# or a kernel may allocate; np.max, np.abs and array expressions do, and do not compile.
# Entry points that nobody uses are not compiled: C's, and for what only compiled code calls
# Python's too (calling an inner kernel from Python crashes the process).
# Every option is given: what is left out, Numba takes from the caller in which it first meets the
# kernel, and what other callers get then depends on what ran before.
kernel: Any = _interpreted
if not PLAIN:
    kernel = partial(
        njit,
        error_model="numpy",
        fastmath=False,
        forceinline=False,
        no_cfunc_wrapper=True,
        _nrt=False,
    )
inner: Any = partial(kernel, no_cpython_wrapper=True)
short: Any = partial(kernel, forceinline=True)  # a call would take as long as the work


def within(function: Any) -> Any:
    """Return a kernel that is inlined into its caller: for what every round of few columns does.

    Elsewhere a call is enough, and machine code takes time to make.
    """
    return short(getattr(function, "py_func", function))


def intrinsic(*, without_jit: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function that writes LLVM code; ``without_jit`` does the same in plain Python."""

    def decorate(typed: Callable[..., Any]) -> Any:
        return without_jit if PLAIN else numba.extending.intrinsic(typed)

    return decorate


def compiled(
    template: Callable[..., Any],
    name: str,
    mark: str | None,
    module: str,
    options: dict[str, Any],
    **names: Any,
) -> Any:
    """Compile a template with some of its global names bound anew.

    Numba keeps the result on disk under the template's file and the name given here, so the name
    carries a mark of the sources (see :func:`fingerprint`). Without a mark it is compiled anew in
    each process, as everything is where no folder for the cache is writable.
    """
    name = f"{name}_{mark}"
    function = FunctionType(template.__code__, {**template.__globals__, **names}, name)
    function.__qualname__ = name
    function.__module__ = module
    if PLAIN:
        return _silent(function)
    try:
        return kernel(function, cache=mark is not None, **options)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        _warn_once()
        return kernel(function, **options)


def _silent(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that warns of no overflow, as compiled code does not."""

    @wraps(function)
    def call(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return call


class CompiledFunction:
    """A function of this package called from Python, compiled on first use; it frees the lock."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    @cached_property
    def _compiled(self) -> Any:
        own = self.function
        return compiled(own, own.__name__, fingerprint(own), own.__module__, {"nogil": True})

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function."""
        return self._compiled(*arguments)


Kept = CompiledFunction  # until Keyed uses the new name


@cache
def _foundation() -> bytes:
    """Return a hash of the sources that all compiled code is made of: arithmetic and loops."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]
    for package in ("_numerics", "_engine"):
        for file in sorted((root / package).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.digest()


def fingerprint(function: Callable[..., Any], *others: Callable[..., Any]) -> str | None:
    """Hash the sources a compiled function depends on; None if they cannot be found.

    Those are the files of all it reaches, itself or through what it calls, and of ``others`` that
    are compiled with it; and this package's arithmetic and loops. A function typed at a prompt has
    no file. Numba's disk cache looks only at the file of the compiled function; with the hash in
    the name, an edit of a kernel or of a file a step imports from can never be answered with the
    code from before it, and an edit elsewhere compiles nothing anew.
    """
    code = function.__code__
    if not Path(code.co_filename).is_file():
        return None
    digest = hashlib.sha256(_foundation())
    digest.update(f"{function.__qualname__} {code.co_firstlineno}".encode() + code.co_code)
    seen: set[int] = set()
    try:
        for item in sorted(set().union(*(_reached(each, seen) for each in (function, *others)))):
            digest.update(item)
    except ValueError:
        return None
    return digest.hexdigest()[:16]


def _reached(value: Any, seen: set[int]) -> set[bytes]:
    """Return the files and constants a step depends on, itself or through what it calls."""
    value = getattr(value, "py_func", value)  # of a compiled function
    value = getattr(value, "_defn", value)  # of one of Numba's intrinsics
    if id(value) in seen or _foreign(value):
        return set()
    seen.add(id(value))
    if isinstance(value, FunctionType):
        inner = inspect.getclosurevars(value)
        used = [*inner.globals.values(), *inner.nonlocals.values()]
        for module in used.copy():
            if isinstance(module, ModuleType) and not _foreign(module):
                used += [vars(module).get(name) for name in value.__code__.co_names]
        reached = {Path(value.__code__.co_filename).read_bytes()}
        return reached.union(*(_reached(each, seen) for each in used))
    if isinstance(value, np.ndarray):
        return {value.tobytes()}
    if value is None or isinstance(value, (bool, int, float, str, tuple)):
        return {repr(value).encode()}
    if isinstance(value, ModuleType):
        return set()
    raise ValueError(f"cannot tell whether {value!r} has changed")


def _foreign(value: Any) -> bool:
    """Whether a value belongs to Python, NumPy or Numba, whose versions Numba's cache knows."""
    name = getattr(value, "__module__", None) or getattr(value, "__name__", None) or ""
    return isinstance(value, (type, BuiltinFunctionType, np.ufunc)) or (
        isinstance(value, (FunctionType, ModuleType)) and str(name).split(".")[0] in VERSIONED
    )


@cache
def _warn_once() -> None:
    warnings.warn(
        "onlinear finds no writable folder for its compiled code, and compiles in every process: "
        "set NUMBA_CACHE_DIR to a writable folder",
        RuntimeWarning,
        stacklevel=2,
    )
