"""Hash the source code a compiled function depends on; the hash is part of the function's name."""

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from onlinear._numerics.late_module import LateModule

__all__ = ["fingerprint", "source_hash"]

VERSIONED = {"builtins", "functools", "llvmlite", "math", "numba", "numpy"}  # in Numba's cache key


@cache
def _foundation() -> bytes:
    """Return a hash of the source files of ``_numerics`` and ``_engine``, which all steps need."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]
    for package in ("_numerics", "_engine"):
        for file in sorted((root / package).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.digest()


def fingerprint(function: Callable[..., Any], *others: Callable[..., Any]) -> str | None:
    """Return a hash of the sources a compiled function depends on; None if they cannot be found.

    The sources are the files of the function, of the ``others`` that are compiled with it, of
    everything that these functions call, directly or indirectly, and all files of this package's
    ``_numerics`` and ``_engine``. A function typed at a prompt has no file, so its sources cannot
    be found. Numba's disk cache checks only the file of the compiled function. Because the hash is
    part of the function's name, the function is compiled again if any of its sources is edited, but
    not if an unrelated file is edited.
    """
    code = function.__code__
    if not Path(code.co_filename).is_file():
        return None
    return _hashed(function.__code__.co_code, (function, *others), bytecode=True)


def source_hash(function: Callable[..., Any], *others: Callable[..., Any]) -> str | None:
    """Hash like :func:`fingerprint`, but leave out the bytecode, which depends on Python's version.

    A function that was compiled when this package was built has its ``source_hash`` in its name.
    Return None if the function is not part of this package.
    """
    if not all(each.__module__.startswith("onlinear.") for each in (function, *others)):
        return None
    return _hashed(b"", (function, *others), bytecode=False)


def _hashed(start: bytes, functions: tuple[Any, ...], *, bytecode: bool) -> str | None:
    function = functions[0]
    digest = hashlib.sha256(_foundation())
    digest.update(f"{function.__qualname__} {function.__code__.co_firstlineno}".encode() + start)
    walk = _Dependencies(bytecode)
    try:
        for each in functions:
            walk.visit(each)
    except (ValueError, OSError):
        return None
    for item in sorted(walk.found):
        digest.update(item)
    return digest.hexdigest()[:16]


class _Dependencies:
    """Collects in ``found`` the files and constants that functions use, directly or indirectly."""

    def __init__(self, bytecode: bool) -> None:
        self.found: set[bytes] = set()
        self._bytecode = bytecode
        self._seen: set[int] = set()
        self._read: set[str] = set()

    def visit(self, value: Any) -> None:
        """Add to ``found`` the files and constants that a function, class or tuple depends on."""
        value = _source(value)
        if id(value) in self._seen or _foreign(value):
            return
        self._seen.add(id(value))
        if isinstance(value, FunctionType):
            used = _used(value)
            own = f"{value.__module__}.{value.__qualname__}"
            said = [f"{own} {name} is {_described(each)}" for name, each in used.items()]
            said.append(f"{own} has defaults {_described(value.__defaults__)}")
            if self._bytecode:
                said.append(f"{own} does {_instructions(value.__code__)}")  # its file may be newer
            self.found.update(map(str.encode, said))
            self._read_file(value.__code__.co_filename)
            for each in used.values():
                self.visit(each)
        elif isinstance(value, tuple):
            for each in value:
                self.visit(each)
        elif isinstance(value, type):  # an Enum's values are in its file
            file = getattr(sys.modules.get(value.__module__), "__file__", None)
            if file and file.endswith(".py"):
                self._read_file(file)
        elif not (
            value is None or isinstance(value, (bool, int, float, str, np.ndarray, ModuleType))
        ):  # those are described where they are used
            raise ValueError(f"cannot tell whether {value!r} has changed")

    def _read_file(self, file: str) -> None:
        if file not in self._read:
            self._read.add(file)
            self.found.add(hashlib.sha256(Path(file).read_bytes()).digest())


def _source(value: Any) -> Any:
    """Return the Python function behind a kernel or intrinsic; return any other value as it is."""
    if isinstance(value, (FunctionType, LateModule)):  # asking a LateModule would import it
        return value
    for attribute in ("typed", "py_func", "_defn"):  # of intrinsics, kernels, Numba's intrinsics
        value = getattr(value, attribute, value)
    return value


def _instructions(code: CodeType) -> str:
    """Return a hash of the bytecode of a function and of the functions defined in it."""
    digest = hashlib.sha256(code.co_code)
    for part in code.co_consts:
        text = _instructions(part) if isinstance(part, CodeType) else repr(part)
        digest.update(text.encode())
    return digest.hexdigest()


def _names(code: CodeType) -> set[str]:
    """Return the names of globals and attributes that a function and its inner functions use."""
    parts = (part for part in code.co_consts if isinstance(part, CodeType))
    return set(code.co_names).union(*map(_names, parts))


def _used(function: FunctionType) -> dict[str, Any]:
    """Return the values that a function uses, by name; values from modules have dotted names."""
    names, space = sorted(_names(function.__code__)), function.__globals__
    used: dict[str, Any] = {name: space[name] for name in names if name in space}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        used[name] = cell.cell_contents
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
    """Describe a value in words that are the same in every process."""
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
