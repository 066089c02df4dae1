"""Encode keys of models and ids of rows as bytes for state files and databases, and decode them.

Keys that are equal in Python (1, 1.0, True) have the same bytes.
"""

import math
from collections.abc import Hashable
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

__all__ = [
    "LARGEST",
    "SMALLEST",
    "MissingKeyError",
    "canonical",
    "decoded",
    "encoded",
    "joined",
    "parted",
]

SMALLEST, LARGEST = -(2**63), 2**63 - 1
TIMES = np.datetime64, np.timedelta64  # their item() may be a plain integer


class MissingKeyError(ValueError):
    """Raised if a key or id is missing (None, NaN or another null value)."""


def canonical(key: Any) -> Hashable:
    """Return a key as a plain Python object, a whole number as an int; refuse a missing key.

    >>> canonical(np.int32(3)), canonical(2.0), canonical(True), canonical("a")
    (3, 2, 1, 'a')
    """
    kind = type(key)
    if kind is int or kind is str:
        return key  # type: ignore[no-any-return]
    time = isinstance(key, TIMES)
    if isinstance(key, np.generic) and not time:
        key = key.item()
    if _missing(key):
        raise MissingKeyError(f"a key or id is needed, got {key!r}")
    if isinstance(key, (Real, Decimal)) and not time and math.isfinite(key):
        whole = math.floor(key)
        if whole == key:
            return int(whole)
    try:
        hash(key)
    except TypeError as error:
        raise TypeError(f"a key or id needs to be hashable: {error}, got {key!r:.60}") from None
    return key  # type: ignore[no-any-return]


def _missing(key: Any) -> bool:
    """Whether a key is None, NaN or a DataFrame's null value, or a tuple that contains NaN.

    NaN cannot be a key: NaN is not equal to itself, so each NaN would be a new key.
    """
    if isinstance(key, tuple):
        return any(part is not None and _missing(part) for part in key)
    try:
        return key is None or bool(key != key)
    except (TypeError, ValueError, ArithmeticError):  # bool(pandas.NA) raises
        return True


def encoded(key: Hashable) -> bytes:
    """Return the bytes that encode a key; the key has the form that :func:`canonical` returns."""
    if isinstance(key, np.generic) and not isinstance(key, TIMES):  # a NumPy scalar inside a tuple
        key = key.item()
    if isinstance(key, str):
        return b"s" + key.encode("utf-8", "surrogatepass")
    if isinstance(key, (int, float)):
        if key == key // 1:
            return b"i%d" % int(key)
        return b"f" + float(key).hex().encode()
    if isinstance(key, bytes):
        return b"b" + key
    if key is None:
        return b"n"
    if isinstance(key, tuple):
        return b"t" + b"".join(b"%d:" % len(part) + part for part in map(encoded, key))
    raise TypeError(
        "keys and ids that go to a file need to be numbers, strings, bytes, or tuples of them, "
        f"got {key!r:.60} of {type(key).__name__}: str(key) makes a string of it"
    )


def decoded(code: bytes) -> Any:
    """Return the key that :func:`encoded` encoded as the bytes ``code``."""
    kind, rest = code[:1], code[1:]
    if kind == b"s":
        return rest.decode("utf-8", "surrogatepass")
    if kind == b"i":
        return int(rest)
    if kind == b"f":
        return float.fromhex(rest.decode())
    if kind == b"b":
        return rest
    if code == b"n":
        return None
    if kind != b"t":
        raise ValueError(f"no key has the bytes {code!r:.60}")
    parts = []
    while rest:
        length, _, rest = rest.partition(b":")
        size = int(length)
        if not 0 < size <= len(rest):
            raise ValueError(f"a tuple key ends too soon: {code!r:.60}")
        parts.append(decoded(rest[:size]))
        rest = rest[size:]
    return tuple(parts)


def joined(keys: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return keys as two arrays for a file: their concatenated bytes, and their lengths."""
    codes = [encoded(key) for key in keys]
    lengths = np.array([len(code) for code in codes], dtype=np.int64)
    return np.frombuffer(b"".join(codes), dtype=np.uint8), lengths


def parted(text: np.ndarray, lengths: np.ndarray) -> list[Any]:
    """Return the keys that :func:`joined` encoded, given their bytes and lengths."""
    if np.any(lengths < 1) or lengths.sum() != text.size:
        raise ValueError("the lengths of its keys do not fit their bytes")
    content, ends = text.tobytes(), np.cumsum(lengths)
    try:
        return [
            decoded(content[end - length : end])
            for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)
        ]
    except RecursionError:
        raise ValueError("its keys are nested too deeply") from None
