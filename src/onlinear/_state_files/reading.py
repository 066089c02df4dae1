"""Read state files (:mod:`onlinear._state_files.file_format`), checking every part of them.

A file is read once, from beginning to end, with ordinary reads. (A memory-mapped file that another
process truncates would end Python with SIGBUS.) The checksum is computed from the very bytes that
are parsed, and compared at the end, so a file that changes while it is read is refused, too.
"""

import contextlib
import hashlib
import json
import math
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

__all__ = ["KINDS", "MAGIC", "VERSION", "Contents", "Rows", "StateFileError", "opened", "regular"]

MAGIC = b"onlinear "
VERSION = 1
KINDS: dict[str, Any] = {"f8": np.dtype("<f8"), "i8": np.dtype("<i8"), "u1": np.dtype("u1")}
CHECKSUM = 32  # bytes
PIECE = 1 << 20  # bytes read at a time
LONGEST = 1 << 30  # most bytes that a header may have
MOST_AXES = 8
LARGEST = 1 << 32  # largest dimension, or (if larger) the file's bytes; for (0, n) too
OTHERS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class StateFileError(ValueError):
    """Raised for a file that is truncated, altered, from a newer version, or no state file."""


def regular(mode: int, path: str | os.PathLike[str]) -> None:
    """Refuse a path that is not a regular file, since reading a pipe or device may never end."""
    if not stat.S_ISREG(mode):
        kind = OTHERS.get(stat.S_IFMT(mode), "something else")
        raise StateFileError(f"{path} is {kind}: use the path of a regular file")


@contextlib.contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator["Contents"]:
    """Open a state file; at the end of the ``with`` block, refuse it if its checksum is wrong.

    If the block raises an error and the checksum is wrong, the wrong checksum is reported instead.
    """
    regular(Path(path).stat().st_mode, path)  # opening a device may have side effects
    # O_NONBLOCK: do not wait for the writer of a pipe. O_BINARY: no change of line ends on Windows.
    flags = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, os.O_RDONLY | flags), "rb") as file:
        regular(os.fstat(file.fileno()).st_mode, path)  # the file may have been replaced since
        contents = Contents(file, path)
        try:
            yield contents
        except Exception:
            contents.verify()
            raise
        contents.verify()


class Contents:
    """The contents of a state file; the header is read at once, the arrays later, in order."""

    header: dict[str, Any]

    def __init__(self, file: BinaryIO, path: str | os.PathLike[str]) -> None:
        self._file, self._path = file, path
        self._left = os.fstat(file.fileno()).st_size - CHECKSUM  # bytes before the checksum
        self._digest = hashlib.sha256()
        self._check_version()
        try:
            self._read_header()
        except StateFileError:
            self.verify()
            raise

    def _check_version(self) -> None:
        line = self._line(100)
        if not line.startswith(MAGIC):
            raise StateFileError(f"{self._path} is not an onlinear state file")
        version = line[len(MAGIC) :].rstrip(b"\n")
        if version != str(VERSION).encode():
            raise StateFileError(
                f"{self._path} has layout version {version[:20]!r}, this onlinear reads version "
                f"{VERSION}"
            )

    def _read_header(self) -> None:
        """Read the header; refuse arrays that do not fill the rest of the file exactly."""
        path, line = self._path, self._line(LONGEST)
        try:
            if not line.endswith(b"\n"):
                raise ValueError("it does not end")
            self.header = json.loads(line)
            shapes, kinds = self.header.pop("arrays"), self.header.pop("kinds", {})
            self._kinds = {name: KINDS[kinds.get(name, "f8")] for name in shapes}
            self._shapes = {name: tuple(map(_dimension, shape)) for name, shape in shapes.items()}
        except (ValueError, LookupError, AttributeError, TypeError, RecursionError) as error:
            raise StateFileError(f"{path} has a header that cannot be read: {error}") from None
        sizes = {name: math.prod(shape) for name, shape in self._shapes.items()}
        room = sum(size * self._kinds[name].itemsize for name, size in sizes.items())
        if room != self._left:
            raise StateFileError(
                f"{path} announces {room} bytes of numbers, but holds {self._left}"
            )
        for shape in self._shapes.values():
            if len(shape) > MOST_AXES or max(shape, default=0) > max(room, LARGEST):
                raise StateFileError(f"{path} announces an impossible shape: {shape!r:.60}")
        self.numbers = sum(sizes.values())

    # --- arrays -------------------------------------------------------------------------------

    def arrays(self, last: str | None = None) -> dict[str, Any]:
        """Return the arrays by name; the array ``last``, to be read later, is a :class:`Rows`."""
        found: dict[str, Any] = {}
        for name, shape in self._shapes.items():
            if name == last:
                if name != list(self._shapes)[-1] or not shape:
                    raise StateFileError(f"{self._path} has its {name} in the wrong place")
                found[name] = Rows(self, shape, self._kinds[name])
            else:
                found[name] = self._array(shape, self._kinds[name])
        return found

    def _array(self, shape: tuple[int, ...], kind: np.dtype[Any]) -> np.ndarray:
        array = np.empty(shape, dtype=kind)
        self._take(array.reshape(-1).view(np.uint8).data)
        return array.astype(kind.newbyteorder("="), copy=False)

    # --- bytes --------------------------------------------------------------------------------

    def _take(self, room: memoryview) -> None:
        """Fill ``room`` with the next bytes of the file."""
        for start in range(0, room.nbytes, PIECE):
            piece = room[start : start + PIECE]
            if self._file.readinto(piece) != piece.nbytes:  # type: ignore[attr-defined]
                raise StateFileError(f"{self._path} is truncated: it became shorter while read")
            self._digest.update(piece)
            self._left -= piece.nbytes

    def _line(self, most: int) -> bytes:
        """Return the next line, or its first ``most`` bytes."""
        line = self._file.readline(max(min(most, self._left), 0))
        self._digest.update(line)
        self._left -= len(line)
        return line

    def verify(self) -> None:
        """Read the rest of the file; refuse it if its checksum is wrong."""
        room = memoryview(bytearray(min(PIECE, max(self._left, 0))))
        while self._left > 0:
            self._take(room[: self._left])
        if self._left < 0 or self._file.read(CHECKSUM + 1) != self._digest.digest():
            raise StateFileError(
                f"{self._path} is truncated or altered: its checksum does not match"
            )


class Rows:
    """The last array of a file, which is read some rows at a time."""

    def __init__(self, file: Contents, shape: tuple[int, ...], kind: np.dtype[Any]) -> None:
        self._file, self._kind = file, kind
        self.shape, self.dtype = shape, kind.newbyteorder("=")

    def take(self, rows: int) -> np.ndarray:
        """Read and return the next ``rows`` rows of the array."""
        return self._file._array((rows, *self.shape[1:]), self._kind)


def _dimension(n: Any) -> int:
    if type(n) is not int or n < 0:
        raise ValueError(f"a dimension is {n!r}")
    return n
