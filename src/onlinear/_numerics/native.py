"""Functions that were compiled when the package was built: the library ``onlinear._native``.

Wheels for common machines contain ``onlinear._native``; the scripts in ``native/`` of the source
repository build it. A function is found in the library by its name, which contains a hash of its
source code, so an edited function never runs old code. If the library lacks a function, or lacks it
for the types of the arguments, Numba compiles the function; both forms give the same results to the
bit.

The environment variable ``ONLINEAR_NATIVE`` may be the path of another library, or 0 to use no
library. ``ONLINEAR_NATIVE_LEVEL=2`` selects the code for processors without AVX2.
"""

import contextlib
import ctypes
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["function", "tell_blas", "there"]


@cache
def _library() -> Any:
    """Return the library of compiled functions (a module), or None if there is none to use."""
    path = os.environ.get("ONLINEAR_NATIVE", "")
    if path == "0":
        return None
    if not path:
        spec = importlib.util.find_spec("onlinear._native")
    elif Path(path).is_file():
        loader = importlib.machinery.ExtensionFileLoader("onlinear._native", path)
        spec = importlib.util.spec_from_loader("onlinear._native", loader)
    else:
        raise FileNotFoundError(f"ONLINEAR_NATIVE names no file: {path!r}")
    if spec is None or spec.loader is None:
        return None
    if sys.platform == "linux":  # the library calls exp, log, … of the C library's mathematics
        with contextlib.suppress(OSError):
            ctypes.CDLL("libm.so.6", mode=ctypes.RTLD_GLOBAL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def there() -> bool:
    """Whether this installation has a library of compiled functions that runs on this machine."""
    return _library() is not None and _level() > 0


@cache
def _level() -> int:
    """Return the processor level (2 for x86-64-v2) whose code to use; 0 if there is no code."""
    highest: int = _library().level()
    return min(highest, int(os.environ.get("ONLINEAR_NATIVE_LEVEL", highest)))


def function(name: str, make: Callable[[], Any]) -> Any:
    """Return the library's function called ``name``, or None if it has no such function.

    If the function is called with arguments of types that it was not compiled for, it calls the
    function that ``make`` returns.
    """
    library = _library()
    entries = library.find(name, _level())
    if not entries:
        return None
    made = cache(make)

    def otherwise(*arguments: Any) -> Any:
        return made()(*arguments)

    result: Any = otherwise
    for entry in reversed(entries):
        result = library.make(entry, result)
    return result


def tell_blas(dgemm: int, dsymm: int, dsyrk: int) -> None:
    """Tell the library the addresses, in this process, of the BLAS functions that it calls."""
    if there():
        _library().set_blas(dgemm, dsymm, dsyrk)
