"""Link object files and ``call.c`` into the library, and check its machine code."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy
from setuptools import Distribution, Extension
from setuptools.command.build_ext import build_ext

__all__ = ["link"]

HERE = Path(__file__).parent
ANY_LAYOUT = re.compile(r"A\dA")  # in a signature: an array that need not be contiguous
# instructions that would make results differ between machines, or that level 3 does not have
FORBIDDEN = re.compile(r"\b(vfn?m(?:add|sub)\w*|%zmm\d+)\b")


def link(out: Path, levels: dict[int, list[dict[str, Any]]]) -> None:
    """Write the library; ``levels`` has the functions of each level, with their object files."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "table.h").write_text(_tables(levels))
        objects = {each["object"] for functions in levels.values() for each in functions}
        extension = Extension(
            "_native",
            [str(HERE / "call.c")],
            include_dirs=[numpy.get_include(), folder],
            extra_objects=sorted(map(str, objects)),
            extra_link_args=["-Wl,-s", "-Wl,-Bsymbolic"] if sys.platform == "linux" else [],
            extra_compile_args=[] if sys.platform == "win32" else ["-O2", "-fvisibility=hidden"],
            py_limited_api=True,
        )
        command = build_ext(Distribution({"ext_modules": [extension]}))
        command.build_lib, command.build_temp = folder, folder
        command.ensure_finalized()
        command.run()
        made = Path(command.get_ext_fullpath("_native"))
        _check_instructions(made)
        out.parent.mkdir(parents=True, exist_ok=True)
        finished = out.with_name(f"{out.name}.new")
        shutil.copyfile(made, finished)
        finished.replace(out)


def _tables(levels: dict[int, list[dict[str, Any]]]) -> str:
    """Return C tables of functions, by name; of a name, that for contiguous arrays comes first."""
    lines = []
    for level, functions in levels.items():
        functions.sort(key=lambda each: (each["name"], bool(ANY_LAYOUT.search(each["takes"]))))
        lines += [f"int32_t {each['symbol']}(int64_t *, int64_t *);" for each in functions]
        lines.append(f"static const Function LEVEL_{level}[] = {{")
        for each in functions:
            text = ", ".join(f'"{each[field]}"' for field in ("name", "takes", "gives"))
            lines.append(f"    {{{text}, {each['symbol']}, {int(each['releases_gil'])}}},")
        lines.append("};")
    rows = [f"{{{level}, LEVEL_{level}, {len(each)}}}" for level, each in levels.items()]
    lines.append(f"static const Table TABLES[] = {{{', '.join([*rows, '{0, NULL, 0}'])}}};")
    return "\n".join(lines) + "\n"


def _check_instructions(library: Path) -> None:
    """Refuse a library with fused or AVX-512 instructions; check nothing if objdump is missing."""
    if shutil.which("objdump") is None:
        return
    listing = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", library], capture_output=True, text=True, check=True
    )
    found = FORBIDDEN.search(listing.stdout)
    if found:
        raise ValueError(f"the library has an instruction that it must not have: {found[0]}")
