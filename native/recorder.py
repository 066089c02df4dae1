"""Find out which functions the package compiles, and for which types, without compiling them.

While :func:`recording` is on, functions that would be compiled run as plain Python, and note the
types of their arguments.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numba import typeof
from numba.core.types import Array
from numba.core.typing.typeof import Purpose

from onlinear._numerics import jit
from onlinear._numerics.fingerprint import source_hash

__all__ = ["Job", "recording", "without_doubles"]


class Job(NamedTuple):
    """A function to compile: its name with the hash of its sources, and types of arguments."""

    name: str
    types: tuple[Any, ...]
    function: FunctionType
    options: dict[str, Any]


def without_doubles(jobs: Iterable[Job]) -> list[Job]:
    """Leave out functions of a writable array if there is one of a read-only array: it takes both.

    (An entry for a read-only array accepts any array, see ``call.c``.)
    """
    by_name = defaultdict(list)
    for job in jobs:
        by_name[job.name].append(job)
    return [
        job
        for same in by_name.values()
        for job in same
        if not any(other is not job and _takes(other.types, job.types) for other in same)
    ]


def _takes(general: tuple[Any, ...], given: tuple[Any, ...]) -> bool:
    """Return whether a function of the first types takes arguments of the second."""
    return all(
        a == b or (isinstance(b, Array) and a == b.copy(readonly=True))
        for a, b in zip(general, given, strict=True)
    )


class _Recorded:
    """Stands for a compiled function: runs it as plain Python, and notes what it is called with."""

    running = 0  # calls that have not returned

    def __init__(self, jobs: dict[Any, Job], job: Job) -> None:
        self._jobs, self._job = jobs, job

    def __call__(self, *arguments: Any) -> Any:
        types = tuple(typeof(each, Purpose.argument) for each in arguments)
        self._jobs.setdefault((self._job.name, types), self._job._replace(types=types))
        _Recorded.running += 1
        try:
            with np.errstate(all="ignore"):
                return self._job.function(*arguments)
        finally:
            _Recorded.running -= 1


def _call_kernel(kernel: Any, *arguments: Any) -> Any:
    """Call a kernel: as a part of the function that is running, or as a function of its own."""
    return (kernel.py_func if _Recorded.running else kernel._alone)(*arguments)


def _record(
    jobs: dict[Any, Job],
    template: Any,
    name: str,
    sources: tuple[Any, ...],
    module: str,
    options: dict[str, Any],
    **names: Any,
) -> Any:
    """Do what :func:`onlinear._numerics.jit.compiled` does, but record instead of compiling."""
    scope = {**template.__globals__, **names}
    own = template.__defaults__, template.__closure__
    function = FunctionType(template.__code__, scope, name, *own)
    function.__module__ = module
    mark = source_hash(*sources)
    if mark is None:
        raise ValueError(f"{name} is not part of the package, or its sources cannot be found")
    return _Recorded(jobs, Job(f"{name}_{mark}", (), function, {**jit.OPTIONS, **options}))


@contextmanager
def recording() -> Iterator[dict[Any, Job]]:
    """Record the functions to compile; yield the jobs, a dict to which the ``with`` block adds."""
    jobs: dict[Any, Job] = {}
    before = jit.compiled, jit.Kernel.__call__
    jit.compiled = partial(_record, jobs)
    jit.Kernel.__call__ = _call_kernel  # type: ignore[assignment, method-assign]
    try:
        yield jobs
    finally:
        jit.compiled, jit.Kernel.__call__ = before  # type: ignore[method-assign]
