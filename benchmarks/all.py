"""Run the speed benchmarks and write their output as a page of the documentation.

    python benchmarks/all.py [--repeats N] [--out docs/speed.md]

Tables are copied unchanged, and other output is put into code blocks. Without --repeats, each
benchmark uses its own default. A picture of how costs grow is written next to the page.
"""

import argparse
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from itertools import groupby
from pathlib import Path

FOLDER = Path(__file__).parent
SCRIPTS = ("speed", "limit", "growth", "arcor", "shrinkage", "bank", "keyed", "certificate_cost")
PICTURE = "growth.png"


def machine() -> str:
    """Return the processor, its cores, and the versions of Python and packages, on one line."""
    cpu = platform.processor()
    if (info := Path("/proc/cpuinfo")).exists():
        models = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = models[0].split(":", 1)[1].strip() if models else cpu
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba"))
    return f"{cpu}, {os.cpu_count()} cores; Python {platform.python_version()}, {packages}."


def page(output: str) -> str:
    """Return output with its tables unchanged and the rest in code fences."""
    parts = []
    for is_table, lines in groupby(output.splitlines(), lambda line: line.startswith("|")):
        text = "\n".join(lines).strip("\n")
        if text:
            parts.append(text if is_table else f"```text\n{text}\n```")
    return "\n\n".join(parts)


def run(name: str, repeats: int | None, picture: Path) -> str:
    """Run a benchmark; return its section of the page, in Markdown."""
    script = FOLDER / f"{name}.py"
    source = script.read_text(encoding="utf-8")
    options = ["--repeats", f"{repeats}"] if repeats and "--repeats" in source else []
    drawn = ["--plot", str(picture)] if name == "growth" else []
    command = [sys.executable, str(script), *options, *drawn]
    done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8")
    if done.returncode:
        sys.exit(f"{name}.py failed")
    title = source.split('"""')[1].splitlines()[0].rstrip(".")
    parts = [f"## {title}", f"`{' '.join(['python', f'benchmarks/{name}.py', *options])}`"]
    parts += [f"![{title}]({picture.name})"] if drawn else []
    return "\n\n".join([*parts, page(done.stdout)]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--out", type=Path, default=FOLDER.parent / "docs" / "speed.md")
    arguments = parser.parse_args()
    heading = "# Speed\n\nWritten by `python benchmarks/all.py`; other machines will differ."
    sections = [f"{heading}\n\n{machine()}\n"]
    for name in SCRIPTS:
        if (FOLDER / f"{name}.py").exists():
            print(name, file=sys.stderr, flush=True)
            sections.append(run(name, arguments.repeats, arguments.out.with_name(PICTURE)))
    arguments.out.write_text("\n".join(sections), encoding="utf-8")


if __name__ == "__main__":
    main()
