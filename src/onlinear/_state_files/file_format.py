r"""The format of state files: a JSON header, raw numbers and a checksum; no code, no pickle.

    onlinear 1\n            the kind of file, and the version of this layout
    {...}\n                 JSON: name and parameters of the learner; names, shapes, types of arrays
    <numbers>               the arrays, little-endian, one after the other; float64 by default
    <32 bytes>              SHA-256 of everything before

A file is written under a temporary name, flushed to disk and renamed: after a crash there is either
the old file or the new one, complete.
"""

import contextlib
import hashlib
import json
import math
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Pieces", "StateFileError", "in_memory", "mapped", "read", "replace", "write"]

MAGIC = b"onlinear "
VERSION = 1
KINDS: dict[str, Any] = {"f8": np.dtype("<f8"), "i8": np.dtype("<i8"), "u1": np.dtype("u1")}


class StateFileError(ValueError):
    """A file that is truncated, altered, from a newer version, or not a state file at all."""


class Pieces(NamedTuple):
    """An array that is written piece by piece, because it would take too much memory at once."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    pieces: Iterable[np.ndarray]


def write(
    path: str | os.PathLike[str], header: dict[str, Any], arrays: Mapping[str, np.ndarray | Pieces]
) -> None:
    """Write a state file: all of it, or nothing."""
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

    replace(Path(os.path.realpath(path)), content())


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


def replace(path: Path, content: bytes | Iterable[bytes | memoryview]) -> None:
    """Write a file so that a reader sees either the old or the new content, also after a crash."""
    beside = path.with_name(f".{os.urandom(8).hex()}.tmp")
    try:
        with beside.open("xb") as file:
            if path.exists():
                beside.chmod(stat.S_IMODE(path.stat().st_mode))
            for part in (content,) if isinstance(content, bytes) else content:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
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
    header, arrays = mapped(path)
    return header, in_memory(arrays)


def in_memory(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return copies of mapped arrays, in memory and in the byte order of this machine."""
    return {name: array.astype(array.dtype.newbyteorder("=")) for name, array in arrays.items()}


def mapped(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Do as :func:`read`, but return the arrays as views of the file, not in memory."""
    content = _bytes(Path(path))
    line = content[:100].tobytes()
    if not line.startswith(MAGIC):
        raise StateFileError(f"{path} is not an onlinear state file")
    version = line[len(MAGIC) : line.find(b"\n")]
    if version != str(VERSION).encode():
        raise StateFileError(
            f"{path} has layout version {version[:20]!r}, this onlinear reads version {VERSION}"
        )
    body, digest = content[:-32], content[-32:]
    if hashlib.sha256(body.data).digest() != digest.tobytes():
        raise StateFileError(f"{path} is truncated or altered: its checksum does not match")
    try:
        start = line.index(b"\n") + 1
        text = body[start : start + _length(body[start:])].tobytes()
        header = json.loads(text)
        shapes = header.pop("arrays")
        kinds = {name: KINDS[header.get("kinds", {}).get(name, "f8")] for name in shapes}
        header.pop("kinds", None)
        sizes = [math.prod(_dimension(n) for n in shape) for shape in shapes.values()]
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise StateFileError(f"{path} has a header that cannot be read: {error}") from None
    numbers = body[start + len(text) + 1 :]
    room = sum(size * kinds[name].itemsize for name, size in zip(shapes, sizes, strict=True))
    if room != numbers.size:
        raise StateFileError(f"{path} announces {room} bytes of numbers, but holds {numbers.size}")
    arrays, first = {}, 0
    for (name, shape), size in zip(shapes.items(), sizes, strict=True):
        last = first + size * kinds[name].itemsize
        try:
            arrays[name] = numbers[first:last].view(kinds[name]).reshape(shape)
        except (ValueError, OverflowError) as error:
            raise StateFileError(f"{path} announces an impossible shape: {error}") from None
        first = last
    return header, arrays


def _bytes(path: Path) -> np.ndarray:
    """Return the bytes of a file, memory-mapped if possible."""
    if path.stat().st_size == 0 or not path.is_file():  # empty, or a pipe
        return np.frombuffer(path.read_bytes(), dtype=np.uint8)
    return np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))


def _length(text: np.ndarray) -> int:
    """Return the length of the first line in bytes."""
    block = 1 << 16
    for first in range(0, text.size, block):
        (ends,) = np.nonzero(text[first : first + block] == ord("\n"))
        if ends.size:
            return int(first + ends[0])
    raise ValueError("its first line does not end")


def _dimension(n: Any) -> int:
    if type(n) is not int or n < 0:
        raise ValueError(f"a dimension is {n!r}")
    return n
