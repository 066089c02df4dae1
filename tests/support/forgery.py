"""Forge state files with any contents and a valid checksum."""

import hashlib
import json
import math

import numpy as np

STRANGE = [0, -1, 1, 7, 1.5, -0.5, 2**53, 2**63, 10**30, 1e308, -1e308, 1e-308, math.inf, math.nan]
OTHERS = [None, True, False, "", "x", "inf", [], {}, [1], {"a": 1}]
FLOATS = [0.0, -1.0, 1.0, 0.5, 3.0, 1e9, 1e16, 1e150, 1e308, 1e-9, 1e-308, math.inf, math.nan]
SIZES = {"f8": 8, "i8": 8, "u1": 1}


def forge(path, header, numbers=b""):
    """Write a file with any header and a valid checksum."""
    body = b"onlinear 1\n" + json.dumps(header).encode() + b"\n" + numbers
    path.write_bytes(body + hashlib.sha256(body).digest())


def parts(path):
    """Return the header and the numbers of a file."""
    _, text, numbers = path.read_bytes()[:-32].split(b"\n", 2)
    return json.loads(text), numbers


def arrays_of(header, numbers):
    """Return writable copies of the arrays of a file, in their order."""
    found, first = {}, 0
    for name, shape in header["arrays"].items():
        kind = header.get("kinds", {}).get(name, "f8")
        size = math.prod(shape) * SIZES[kind]
        found[name] = np.frombuffer(numbers[first : first + size], "<" + kind).reshape(shape).copy()
        first += size
    return found


def alter(path, change):
    """Change the arrays of a file in place with ``change(header, arrays)``, and sign it again."""
    header, numbers = parts(path)
    arrays = arrays_of(header, numbers)
    change(header, arrays)
    forge(path, header, b"".join(array.tobytes() for array in arrays.values()))


def forge_at_random(path, rng, state=None):
    """Change a header field, a shape, or numbers; ``state`` shows which are in a matrix."""

    def change(header, arrays):
        filled = [array for array in arrays.values() if array.size]
        if not filled or rng.random() < 0.3:
            _change_header(header, rng)
        elif rng.random() < 0.05:
            _change_shape(header, rng)
        elif state is not None and rng.random() < 0.5:
            _change_matrix(arrays["state"], state, rng)
        else:
            _change_numbers(filled[rng.integers(len(filled))].reshape(-1), rng)

    alter(path, change)


def _change_header(header, rng):
    at, name = header, None
    while name is None or (isinstance(at[name], (dict, list)) and at[name] and rng.random() < 0.9):
        at = at if name is None else at[name]
        names = [key for key in at if key not in ("arrays", "kinds")]
        keys = names if isinstance(at, dict) else range(len(at))
        name = keys[rng.integers(len(keys))]
    if isinstance(at, dict) and rng.random() < 0.1:
        del at[name]
    else:
        choices = STRANGE if rng.random() < 0.7 else OTHERS
        at[name] = choices[rng.integers(len(choices))]


def _change_shape(header, rng):
    """Give an array another shape, or another type, of as many bytes."""
    name = list(header["arrays"])[rng.integers(len(header["arrays"]))]
    shape = header["arrays"][name]
    kinds = header.setdefault("kinds", {})
    how = rng.integers(4)
    if how == 0:
        kinds[name] = "i8" if kinds.get(name, "f8") == "f8" else "f8"
    elif how == 1:
        header["arrays"][name] = [1, *shape]
    elif how == 2:
        header["arrays"][name] = [*shape, 1]
    else:
        header["arrays"][name] = [math.prod(shape)]


def _change_numbers(flat, rng):
    if flat.dtype != np.float64:
        some = rng.integers(flat.size, size=1 + rng.integers(3))
        flat[some] = rng.integers(256, size=some.size) - 128 * (flat.dtype == np.int64)
        return
    some = rng.integers(flat.size, size=1 + rng.integers(3))
    if rng.random() < 0.2:
        some = slice(None)
    flat[some] = _altered(flat[some], rng)


def _altered(values, rng):
    how = rng.integers(5)
    with np.errstate(all="ignore"):
        if how == 0:
            return -values
        if how == 1:
            return values * 10.0 ** rng.integers(-20, 20)
        if how == 2:
            return values + rng.normal()
        return rng.choice([-1.0, 1.0]) * FLOATS[rng.integers(len(FLOATS))]


def _change_matrix(record, state, rng):
    """Change a square matrix of a learner's state so that it stays symmetric."""
    first, found = 0, []
    for array in state:
        if array.size and array.ndim > 1 and array.shape[-1] == array.shape[-2]:
            found.append((first, array.shape))
        first += array.size
    if not found:
        return _change_numbers(record, rng)
    first, shape = found[rng.integers(len(found))]
    stack = record[first : first + math.prod(shape)].reshape(-1, *shape[-2:])
    matrix = stack[rng.integers(len(stack))]
    i, j = rng.integers(shape[-1], size=2)
    matrix[i, j] = matrix[j, i] = _altered(matrix[i, j], rng)
