"""Build the library ``_native``: the package's functions, compiled for common processors.

    python native/build.py OUT [--levels 2,3] [--only WORD] [--processes N] [--objects FOLDER]

The build needs Numba 0.64 to 0.68, NumPy, SciPy, setuptools and a C compiler. OUT is the file to
write. A level is a generation of processors, such as 2 for x86-64-v2 and 3 for x86-64-v3 (AVX2).
Object files are kept in FOLDER, so that after an edit only the functions that depend on the edited
file are compiled again.
"""

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
from link import link

__all__ = ["PROCESSORS", "build", "kept_library", "objects_folder"]

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parent / "src" / "onlinear"
# LLVM's name for the oldest processor of each level; processors other than x86-64 have level 1
PROCESSORS = {1: "apple-m1" if sys.platform == "darwin" else "generic"}
if platform.machine().lower() in ("x86_64", "amd64"):
    PROCESSORS = {2: "x86-64-v2", 3: "x86-64-v3"}
    if sys.platform == "win32":
        del PROCESSORS[3]  # call.c asks the processor for its level by a function of GCC and Clang


def objects_folder() -> Path:
    """Return the folder in which object files are kept between builds."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "onlinear-native"


def compile_all(level: int, processes: int, objects: Path, only: str = "") -> list[dict[str, Any]]:
    """Compile for a processor level, in several processes; return the compiled functions.

    If ``only`` is given, functions whose names do not contain this word are left out.
    """
    objects.mkdir(parents=True, exist_ok=True)
    source = os.pathsep.join(map(str, (SOURCES.parent, HERE)))
    environment = {
        **os.environ,
        "NUMBA_CPU_NAME": PROCESSORS[level],
        "NUMBA_CPU_FEATURES": "",
        "ONLINEAR_NATIVE": "0",
        "PYTHONPATH": source,
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    }
    environment.pop("NUMBA_DISABLE_JIT", None)
    with tempfile.TemporaryDirectory() as claims:
        command = [sys.executable, str(HERE / "worker.py"), str(objects), claims, only]
        workers = [subprocess.Popen(command, env=environment) for _ in range(processes)]
        try:
            failed = [worker for worker in workers if worker.wait()]
        finally:
            for worker in workers:
                worker.kill()
        if failed:
            raise SystemExit("native/build.py: a function could not be compiled: see above")
        groups = json.loads((Path(claims) / "groups.json").read_text())
    functions = []
    for group in groups:
        for each in json.loads((objects / f"{group}.json").read_text()):
            functions.append({**each, "object": objects / f"{group}.o"})
    return functions


def build(out: Path, levels: list[int], processes: int, objects: Path, only: str = "") -> None:
    """Compile for all given processor levels, and write the library."""
    link(out, {level: compile_all(level, processes, objects, only) for level in sorted(levels)})


def kept_library() -> Path | None:
    """Return the library for this machine and the present sources; build it if necessary.

    Libraries are kept beside the object files. Return None if the build does not support the
    installed version of Numba.
    """
    if not (0, 64) <= numba.version_info.short <= (0, 68):
        return None
    level = max(PROCESSORS)
    if level == 3 and not llvm.get_host_cpu_features().get("avx2"):
        level = 2
    digest = hashlib.sha256(f"{numba.__version__} {level} {platform.platform()}".encode())
    for file in sorted([*HERE.glob("*.[ch]*"), *HERE.glob("*.py"), *SOURCES.rglob("*.py")]):
        digest.update(str(file.relative_to(HERE.parent)).encode() + file.read_bytes())
    folder = objects_folder()
    library = folder / f"library-{digest.hexdigest()[:20]}.so"
    if not library.is_file():
        build(library, [level], os.cpu_count() or 1, folder)
    return library


def main() -> None:
    """Read the command line, and build the library."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("out", type=Path)
    known = ",".join(map(str, PROCESSORS))
    parser.add_argument("--levels", default=known, help=f"some of {known}")
    parser.add_argument("--only", default="", help="functions with this word in their names")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--objects", type=Path, default=objects_folder())
    given = parser.parse_args()
    levels = [int(level) for level in given.levels.split(",")]
    build(given.out, levels, given.processes, given.objects, given.only)


if __name__ == "__main__":
    main()
