"""Compile the package's functions for the processor that NUMBA_CPU_NAME names.

    python worker.py OBJECTS CLAIMS WORD

Object files are written to the folder OBJECTS, where those of an earlier build are found again:
their names contain a hash of everything they depend on. Several workers share the work: a worker
compiles a group of functions if it is the first to create the group's file in the folder CLAIMS.
``CLAIMS/groups.json`` lists the names of all groups.
"""

import gc
import hashlib
import json
import os
import sys
import warnings
from collections import defaultdict
from pathlib import Path

import llvmlite
import numba
from entry import compile_functions
from numba.core.config import CPU_FEATURES, CPU_NAME  # type: ignore[attr-defined]
from recorder import Job, recording, without_doubles
from workload import workload

__all__: list[str] = []

# parts of the names of functions that take long to compile
SLOW = ("auto", "arcor", "network", "scaling", "aar", "laser", "ridge", "rls")


def record() -> list[list[Job]]:
    """Return what to compile: the functions of one step together, those that take long first."""
    with recording() as jobs, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, call in workload():
            try:
                call()
            except Exception as error:
                error.add_note(f"in the call {name!r} of native/workload.py")
                raise
    groups = defaultdict(list)
    for job in without_doubles(jobs.values()):
        loop, _, step = job.name.rpartition("_")[0].partition("_onlinear_")
        groups[step or loop].append(job)
    return [groups[k] for k in sorted(groups, key=lambda k: not any(word in k for word in SLOW))]


def symbol_of(job: Job, tools: str) -> str:
    """Return a symbol for a function: a hash of everything that its machine code depends on."""
    text = f"{job.name} {job.types} {sorted(job.options.items())} {tools}"
    return f"ol_{hashlib.sha256(text.encode()).hexdigest()[:20]}"


def main(objects: Path, claims: Path, only: str) -> None:
    """Compile the groups of functions whose object files do not exist yet."""
    gc.disable()  # collecting garbage would take a sixth of the time
    own = Path(__file__).with_name("entry.py").read_bytes()
    tools = f"{numba.__version__} {llvmlite.__version__} {CPU_NAME} {CPU_FEATURES}"
    tools += hashlib.sha256(own).hexdigest()
    groups = {}
    for jobs in record():
        if only not in jobs[0].name:
            continue
        symbols = {symbol_of(job, tools): job for job in jobs}
        groups[hashlib.sha256(" ".join(sorted(symbols)).encode()).hexdigest()[:20]] = symbols
    (claims / "groups.json").write_text(json.dumps(list(groups)))
    for done, (key, symbols) in enumerate(groups.items(), start=1):
        if (objects / f"{key}.json").is_file():
            continue
        try:
            (claims / key).touch(exist_ok=False)
        except FileExistsError:
            continue  # another worker has it
        if sys.stderr.isatty():
            print(f"\rcompiling {done} of {len(groups)} ", end="", file=sys.stderr, flush=True)
        entries, machine_code = compile_functions(symbols)
        (objects / f"{key}.o").write_bytes(machine_code)
        about = [
            {**entry._asdict(), "name": job.name, "releases_gil": bool(job.options.get("nogil"))}
            for entry, job in zip(entries, symbols.values(), strict=True)
        ]
        written = objects / f"{key}.{os.getpid()}"
        written.write_text(json.dumps(about))
        written.replace(objects / f"{key}.json")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
