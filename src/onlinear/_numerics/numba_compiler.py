"""What Numba makes of kernels, intrinsics and functions that Python calls; imports Numba."""

from collections.abc import Callable
from typing import Any

import llvmlite.binding
from numba import njit
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from onlinear._numerics import link_only

__all__ = ["entry", "intrinsic", "know", "part", "type_of"]

_njit: Any = njit  # with options that its types leave out


def know(addresses: dict[str, int]) -> None:
    """Tell LLVM the addresses of functions that compiled code calls by name."""
    for name, address in addresses.items():
        llvmlite.binding.add_symbol(name, address)


def entry(function: Callable[..., Any], options: dict[str, Any], *, cache: bool) -> Any:
    """Return a function that Python calls, compiled for the types of its arguments."""
    return _njit(function, cache=cache, **options)


def part(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Compile a function that only other compiled code calls."""
    compiler = link_only.Compiler if link_only.KNOWN else None
    return _njit(function, no_cpython_wrapper=True, pipeline_class=compiler, **options)


def type_of(made: Any) -> Any:
    """Return Numba's type of a part or an intrinsic; it does not keep the thing itself."""
    context = cpu_target.typing_context
    context.refresh()
    return context.resolve_value_type(made)
