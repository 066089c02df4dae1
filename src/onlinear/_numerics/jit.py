"""Just-in-time compilation with Numba, and the cache of compiled code on disk.

With ``NUMBA_DISABLE_JIT=1`` nothing is compiled: kernels are plain Python functions, and each
:func:`intrinsic`, which generates LLVM code, has a plain Python equivalent.
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
VERSIONED = {"builtins", "functools", "llvmlite", "math", "numba", "numpy"}  # in Numba's cache key


def _interpreted(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Replace ``kernel`` if nothing is compiled."""
    if function is None:
        return _interpreted
    function.py_func = function  # type: ignore[attr-defined]
    return function


# Kernels do not count references: a round is too short to pay for that. So nothing inside a step or
# kernel may allocate memory; np.max, np.abs and array expressions do, and fail to compile.
# Unused entry points are not compiled: those for C, and for inner kernels also those for Python
# (calling an inner kernel from Python crashes the process).
# Every option is given explicitly: Numba takes a missing one from the caller that compiles the
# kernel first, so that the result would depend on what ran before.
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
short: Any = partial(kernel, forceinline=True)  # a call would take longer than the work


def within(function: Any) -> Any:
    """Return a kernel that is inlined into its caller: for work that every short round does.

    Other kernels are called, since inlining makes compilation slower.
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
    """Compile a template with some of its global names bound to other functions.

    Numba caches the result on disk under the template's file and the name given here, so the name
    contains a hash of the sources (see :func:`fingerprint`). Without a hash it is compiled again in
    each process, as everything is if no cache folder is writable.
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
    """Return a function without overflow warnings, like compiled code."""

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
        return compiled(own, own.__name__, fingerprint(own), own.__module__, {"nogil": True})

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function."""
        return self._compiled(*arguments)


@cache
def _foundation() -> bytes:
    """Return a hash of the sources that all compiled code depends on: numerics and loops."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]
    for package in ("_numerics", "_engine"):
        for file in sorted((root / package).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.digest()


def fingerprint(function: Callable[..., Any], *others: Callable[..., Any]) -> str | None:
    """Hash the sources a compiled function depends on; None if they cannot be found.

    These are the files of everything it calls, directly or indirectly, and of the ``others`` that
    are compiled with it, and this package's numerics and loops. A function typed at a prompt has no
    file. Numba's disk cache checks only the file of the compiled function; with the hash in the
    name, editing a kernel or a file that a step imports always recompiles it, and editing any other
    file recompiles nothing.
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
    """Return the files and constants that a step depends on, directly or indirectly."""
    value = getattr(value, "py_func", value)  # of a compiled function
    value = getattr(value, "_defn", value)  # of one of Numba's intrinsics
    if id(value) in seen or _foreign(value):
        return set()
    seen.add(id(value))
    if isinstance(value, FunctionType):
        used = _used(value)
        own = f"{value.__module__}.{value.__qualname__}"
        said = [f"{own} {name} is {_described(each)}" for name, each in used.items()]
        said.append(f"{own} has defaults {_described(value.__defaults__)}")
        reached = {Path(value.__code__.co_filename).read_bytes(), *map(str.encode, said)}
        return reached.union(*(_reached(each, seen) for each in used.values()))
    if isinstance(value, tuple):
        return set().union(*(_reached(each, seen) for each in value))
    if value is None or isinstance(value, (bool, int, float, str, np.ndarray, ModuleType)):
        return set()  # described where it is used
    raise ValueError(f"cannot tell whether {value!r} has changed")


def _used(function: FunctionType) -> dict[str, Any]:
    """Return the values a function uses by their names, those of modules by dotted ones."""
    inner = inspect.getclosurevars(function)
    used: dict[str, Any] = {**inner.globals, **inner.nonlocals}
    modules = [value for value in used.values() if isinstance(value, ModuleType)]
    while modules:
        module = modules.pop()
        if _foreign(module):
            continue
        for name in function.__code__.co_names:
            full = f"{module.__name__}.{name}"
            if name in vars(module) and full not in used:
                used[full] = vars(module)[name]
                if isinstance(used[full], ModuleType):
                    modules.append(used[full])
    return used


def _described(value: Any) -> str:
    """Return what a value is, in words that are the same in every process."""
    value = getattr(value, "py_func", value)
    value = getattr(value, "_defn", value)
    if isinstance(value, np.ndarray):
        content = hashlib.sha256(value.tobytes()).hexdigest()
        return f"{value.dtype} {value.shape} {value.strides} {content}"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(_described, value))})"
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", type(value).__name__)
    fields = getattr(value, "_fields", "") if isinstance(value, type) else ""
    return f"{getattr(value, '__module__', '')}.{name} {fields}"


def _foreign(value: Any) -> bool:
    """Whether a value belongs to Python, NumPy or Numba, whose versions Numba's cache checks."""
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
