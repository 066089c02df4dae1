"""Check that no output overwrites an input or another output, before any file is written.

Files are compared by identity, not by name: hard links, symbolic links, other spellings of a path
and redirected standard streams are all recognized.
"""

import os
import stat
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from onlinear._cli.errors import DataError, UsageError

__all__ = ["check_outputs", "is_same_file", "or_standard_output"]

STANDARD_OUTPUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")

AnyPath = str | os.PathLike[str]


def or_standard_output(path: str | None) -> str | None:
    """Return "-" for a path such as /dev/stdout that is standard output, else the path itself."""
    return "-" if path in STANDARD_OUTPUT else path


def check_outputs(
    inputs: Iterable[tuple[str, AnyPath]], outputs: Mapping[str, AnyPath | None]
) -> None:
    """Refuse outputs that would overwrite an input or each other, or that cannot be written.

    ``inputs`` are pairs of a description and a path ("-" is standard input). ``outputs`` maps
    options to paths ("-" is standard output). Standard output is always checked, as the command
    prints its summary there.
    """
    files = {option: path for option, path in outputs.items() if path is not None and path != "-"}
    taken = {
        _identity(path, sys.stdin): f"{words}, {'standard input' if path == '-' else path}"
        for words, path in inputs
    }
    for option, path in {"standard output": "-", **files}.items():
        file = _identity(path, sys.stdout)
        if file is not None and file in taken:
            shown = option if path == "-" else f"{option} {path}"
            raise UsageError(f"{shown} would overwrite {taken[file]}")
        taken[file] = option
    for option, path in files.items():
        _check_place(option, path)


def is_same_file(one: AnyPath, other: AnyPath) -> bool:
    """Whether two paths lead to the same file."""
    return _identity(one, None) == _identity(other, None)


def _identity(path: AnyPath, stream: Any) -> object:
    """Return a value that is the same for all paths to a file; None for pipes and devices.

    The file need not exist yet. The path "-" stands for ``stream``.
    """
    try:
        found = os.fstat(stream.fileno()) if path == "-" else Path(path).stat()
    except (OSError, ValueError):  # a file that does not exist yet, or a stream without a file
        return None if path == "-" else _identity_to_be(Path(os.path.realpath(path)))
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _identity_to_be(path: Path) -> object:
    folder = path.parent.stat() if path.parent.is_dir() else None
    return (folder.st_dev, folder.st_ino, path.name) if folder else path


def _check_place(option: str, path: AnyPath) -> None:
    real = Path(os.path.realpath(path))
    if not real.parent.is_dir():
        raise DataError(f"cannot write {path}: there is no folder {Path(path).parent}")
    if real.exists() and not real.is_file() and option != "--out":
        raise DataError(f"cannot write {path}: it is not an ordinary file")
