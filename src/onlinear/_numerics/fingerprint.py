"""A hash of all that a compiled function depends on; it is part of the function's name."""

import hashlib
import inspect
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from onlinear._numerics.late_module import LateModule

__all__ = ["fingerprint"]

VERSIONED = {"builtins", "functools", "llvmlite", "math", "numba", "numpy"}  # in Numba's cache key


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


def _source(value: Any) -> Any:
    """Return the function that something compiled is made of."""
    if isinstance(value, FunctionType):
        return value
    for attribute in ("typed", "py_func", "_defn"):  # of intrinsics, kernels, Numba's intrinsics
        value = getattr(value, attribute, value)
    return value


def _reached(value: Any, seen: set[int]) -> set[bytes]:
    """Return the files and constants that a step depends on, directly or indirectly."""
    value = _source(value)
    if id(value) in seen or _foreign(value):
        return set()
    seen.add(id(value))
    if isinstance(value, FunctionType):
        used = _used(value)
        own = f"{value.__module__}.{value.__qualname__}"
        said = [f"{own} {name} is {_described(each)}" for name, each in used.items()]
        said.append(f"{own} has defaults {_described(value.__defaults__)}")
        said.append(f"{own} does {_instructions(value.__code__)}")  # its file may be newer
        reached = {Path(value.__code__.co_filename).read_bytes(), *map(str.encode, said)}
        return reached.union(*(_reached(each, seen) for each in used.values()))
    if isinstance(value, tuple):
        return set().union(*(_reached(each, seen) for each in value))
    if isinstance(value, type):
        return _file_of(value)
    if value is None or isinstance(value, (bool, int, float, str, np.ndarray, ModuleType)):
        return set()  # described where it is used
    raise ValueError(f"cannot tell whether {value!r} has changed")


def _file_of(kind: type) -> set[bytes]:
    """Return the file that a class is in, if it has one: an Enum's values are there."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return {Path(file).read_bytes()} if file and file.endswith(".py") else set()


def _instructions(code: CodeType) -> str:
    """Return a hash of what a function and the functions in it do."""
    digest = hashlib.sha256(code.co_code)
    for part in code.co_consts:
        text = _instructions(part) if isinstance(part, CodeType) else repr(part)
        digest.update(text.encode())
    return digest.hexdigest()


def _names(code: CodeType) -> set[str]:
    """Return the global names and attributes in a function and the functions in it."""
    parts = (part for part in code.co_consts if isinstance(part, CodeType))
    return set(code.co_names).union(*map(_names, parts))


def _used(function: FunctionType) -> dict[str, Any]:
    """Return the values a function uses, by name; values in modules have dotted names."""
    names, space = sorted(_names(function.__code__)), function.__globals__
    used: dict[str, Any] = {name: space[name] for name in names if name in space}
    used |= inspect.getclosurevars(function).nonlocals
    modules = [value for value in used.values() if isinstance(value, ModuleType)]
    while modules:
        module = modules.pop()
        if _foreign(module):
            continue
        for name in names:
            full = f"{module.__name__}.{name}"
            if name in vars(module) and full not in used:
                used[full] = vars(module)[name]
                if isinstance(used[full], ModuleType):
                    modules.append(used[full])
    return used


def _described(value: Any) -> str:
    """Return what a value is, in words that are the same in every process."""
    value = _source(value)
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
    return isinstance(value, (BuiltinFunctionType, np.ufunc, LateModule)) or (
        isinstance(value, (FunctionType, ModuleType, type)) and str(name).split(".")[0] in VERSIONED
    )
