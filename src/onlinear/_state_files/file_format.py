r"""The format of state files: a JSON header, raw numbers and a checksum; no code, no pickle.

    onlinear 1\n            the kind of file, and the version of this layout
    {...}\n                 JSON: name and parameters of the learner; names, shapes, types of arrays
    <numbers>               the arrays, little-endian, one after the other; float64 by default
    <32 bytes>              SHA-256 of everything before

A file is written under a temporary name, flushed to disk, read back
(:mod:`onlinear._state_files.reading`) and renamed: after a crash there is either the old file or
the new one, complete.
"""

import contextlib
import errno
import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from onlinear._state_files.reading import (
    KINDS,
    MAGIC,
    VERSION,
    Contents,
    StateFileError,
    opened,
    regular,
)

__all__ = ["Pieces", "StateFileError", "opened", "read", "replace", "summary", "write"]


class Pieces(NamedTuple):
    """An array that is written piece by piece, because it would take too much memory at once."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    pieces: Iterable[np.ndarray]


def write(
    path: str | os.PathLike[str], header: dict[str, Any], arrays: Mapping[str, np.ndarray | Pieces]
) -> None:
    """Write a state file; if writing fails, leave the old file as it is."""
    shapes = {name: list(array.shape) for name, array in arrays.items()}
    kinds = {name: _kind(array) for name, array in arrays.items() if _kind(array) != "f8"}
    about = {**header, **({"kinds": kinds} if kinds else {}), "arrays": shapes}
    text = json.dumps(about, ensure_ascii=True)

    def content() -> Iterable[bytes | memoryview]:
        digest = hashlib.sha256()
        for part in _parts(MAGIC + f"{VERSION}\n{text}\n".encode("ascii"), arrays):
            digest.update(part)
            yield part
        yield digest.digest()

    def check(file: BinaryIO) -> None:
        try:
            Contents(file, "what was written").verify()
        except StateFileError as error:
            raise StateFileError(f"{path} is unchanged, because {error}") from None

    replace(Path(os.path.realpath(path)), content(), check)


def _kind(array: np.ndarray | Pieces) -> str:
    kind: str = array.dtype.str[1:]
    return kind if kind in KINDS else "f8"


def _parts(first: bytes, arrays: Mapping[str, np.ndarray | Pieces]) -> Iterable[bytes | memoryview]:
    """Yield the bytes of a file without its checksum: the header, then the arrays."""
    yield first
    for array in arrays.values():
        little = KINDS[_kind(array)]
        for piece in array.pieces if isinstance(array, Pieces) else (array,):
            yield np.ascontiguousarray(piece, dtype=little).reshape(-1).view(np.uint8).data


def replace(
    path: Path,
    content: bytes | Iterable[bytes | memoryview],
    check: Callable[[BinaryIO], None] | None = None,
) -> None:
    """Write a file so that a reader sees either the old or the new content, also after a crash.

    ``check`` is called with the new file, before the new file replaces the old one. If ``check``
    raises an error, the old file stays.
    """
    if path.exists():
        regular(path.stat().st_mode, path)
    beside = path.with_name(f".{os.urandom(8).hex()}.tmp")
    try:
        with beside.open("x+b") as file:
            if path.exists():
                beside.chmod(stat.S_IMODE(path.stat().st_mode))
            size = 0
            for part in (content,) if isinstance(content, bytes) else content:
                size += file.write(part)
            file.flush()
            os.fsync(file.fileno())
            written = os.fstat(file.fileno()).st_size
            if written != size:
                raise OSError(errno.EIO, f"{size} bytes were written, {written} are in the file")
            if check is not None:
                file.seek(0)
                check(file)
        beside.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        if isinstance(error, OSError):  # name the given file, not the temporary one
            raise type(error)(error.errno, error.strerror, str(path)) from None
        raise
    if os.name == "posix":  # the rename is on disk only once the directory is flushed
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the header and arrays of a state file; refuse a file that is not intact."""
    with opened(path) as file:
        return file.header, file.arrays()


def summary(path: str | os.PathLike[str]) -> tuple[dict[str, Any], int]:
    """Return the header of an intact state file, and how many numbers its arrays hold."""
    with opened(path) as file:
        return file.header, file.numbers
