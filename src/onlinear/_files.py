r"""State files: a line of JSON and raw numbers under a checksum; nothing in them is executed.

    onlinear 1\n            what it is, and the version of this layout
    {...}\n                 JSON: the learner's name, parameters, and the name and shape of arrays
    <numbers>               the arrays, little-endian float64, one after the other
    <32 bytes>              SHA-256 of everything before

A file is written beside its place, flushed to the disk and renamed: after a crash there is the old
file or the new one, whole.
"""

import contextlib
import hashlib
import json
import math
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["StateFileError", "read", "replace", "write"]

MAGIC = b"onlinear "
VERSION = 1
LITTLE = np.dtype("<f8")


class StateFileError(ValueError):
    """A state file that is truncated, altered, from a newer version, or not one at all."""


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write a state file in one step: all of it, or nothing."""
    shapes = {name: list(array.shape) for name, array in arrays.items()}
    text = json.dumps({**header, "arrays": shapes}, ensure_ascii=True)
    body = MAGIC + f"{VERSION}\n{text}\n".encode("ascii")
    body += b"".join(np.ascontiguousarray(a, dtype=LITTLE).tobytes() for a in arrays.values())
    replace(Path(os.path.realpath(path)), body + hashlib.sha256(body).digest())


def replace(path: Path, content: bytes) -> None:
    """Put content at path so that a reader, or a crash, sees the old file or the new one."""
    beside = path.with_name(f".{os.urandom(8).hex()}.tmp")
    try:
        with beside.open("xb") as file:
            if path.exists():
                beside.chmod(stat.S_IMODE(path.stat().st_mode))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        if isinstance(error, OSError):  # speak of the file that was asked for
            raise type(error)(error.errno, error.strerror, str(path)) from None
        raise
    if os.name == "posix":  # the rename itself is on the disk only when the directory is
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the header and arrays of a state file, or refuse it in words."""
    content = Path(path).read_bytes()
    if not content.startswith(MAGIC):
        raise StateFileError(f"{path} is not an onlinear state file")
    version = content[len(MAGIC) : content.find(b"\n")]
    if version != str(VERSION).encode():
        raise StateFileError(
            f"{path} has layout version {version[:20]!r}, this onlinear reads version {VERSION}"
        )
    body, digest = content[:-32], content[-32:]
    if hashlib.sha256(body).digest() != digest:
        raise StateFileError(f"{path} is truncated or altered: its checksum does not match")
    try:
        _, text, numbers = body.split(b"\n", 2)
        header = json.loads(text)
        shapes = header.pop("arrays")
        sizes = [math.prod(_dimension(n) for n in shape) for shape in shapes.values()]
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise StateFileError(f"{path} has a header that cannot be read: {error}") from None
    if sum(sizes) * LITTLE.itemsize != len(numbers):
        raise StateFileError(
            f"{path} announces {sum(sizes)} numbers and holds {len(numbers) / LITTLE.itemsize:g}"
        )
    flat = np.frombuffer(numbers, dtype=LITTLE).astype(np.float64)
    arrays, start = {}, 0
    for (name, shape), size in zip(shapes.items(), sizes, strict=True):
        try:
            arrays[name] = flat[start : start + size].reshape(shape)
        except (ValueError, OverflowError) as error:
            raise StateFileError(f"{path} announces a shape that cannot be: {error}") from None
        start += size
    return header, arrays


def _dimension(n: Any) -> int:
    if type(n) is not int or n < 0:
        raise ValueError(f"a dimension is {n!r}")
    return n
