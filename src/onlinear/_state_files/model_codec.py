"""Save and load learners as state files, and register readers for other kinds of objects.

Nothing read from a file is trusted before it is checked. This module knows only learners. A package
that saves other objects registers a function that reads them (:func:`register_reader`), or an error
that says which ``load`` to use (:func:`register_refusal`).
"""

import contextlib
import copy
import numbers
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from onlinear._state_files import file_format

__all__ = [
    "check_contents",
    "check_names",
    "count",
    "described",
    "load",
    "plain",
    "rebuilt",
    "refusing",
    "register_reader",
    "register_refusal",
    "save",
]

Read = Callable[..., Any]  # takes a header, arrays, and settings that are not in the file


class _Reader(NamedTuple):
    read: Read
    last: str | None
    settings: tuple[str, ...]


MOST = 2**62  # the largest count; it fits in 64 bits, with room to add more

# errors that the contents of a file can cause if they do not describe a model
BROKEN = (
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    MemoryError,
)

_readers: dict[str, _Reader] = {}  # by the header key that marks such a file
_refusals: dict[str, str] = {}


def register_reader(
    mark: str, read: Read, *, last: str | None = None, settings: tuple[str, ...] = ()
) -> None:
    """Let :func:`load` call ``read(header, arrays)`` for files whose header has the key ``mark``.

    ``last`` names the array at the end of the file if ``read`` takes it some rows at a time
    (:class:`onlinear._state_files.reading.Rows`); other arrays are read into memory. ``settings``
    names further arguments of ``read`` that the caller of :func:`load` gives, since a file must not
    choose them.
    """
    _readers[mark] = _Reader(read, last, settings)


def register_refusal(mark: str, words: str) -> None:
    """Let :func:`load` refuse files whose header has the key ``mark``, with the message ``words``.

    ``{}`` in ``words`` is replaced by the value of this key.
    """
    _refusals[mark] = words


def save(model: Any, name: str, path: str | os.PathLike[str]) -> None:
    """Write a learner and its class name to a file; refuse a learner that ``load`` would refuse."""
    file_format.write(path, *described(model, name))


def described(model: Any, name: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the header and the arrays for the state file of a learner.

    If ``load`` would refuse the learner, this raises an error.
    """
    model._numbers()
    model = copy.copy(model)  # as it is now; raises if its state does not fit its parameters
    if model._record is not None:
        try:
            model._check_state()
        except ValueError as error:
            raise ValueError(
                f"{model} cannot be saved, since load would refuse it: {error}"
            ) from None
    header: dict[str, Any] = {
        "learner": name,
        "params": {name: plain(value) for name, value in model._to_plain().items()},
        "skipped": model.n_skipped_,
    }
    if learnt := model._plain_learnt():
        header["learnt"] = learnt
    arrays = {}
    if model._record is not None:
        header["features"] = model.n_features_in_
        header["names"] = model._names
        arrays["state"] = model._record
    return header, arrays


def load(path: str | os.PathLike[str], classes: dict[str, Any], **settings: Any) -> Any:
    """Return the object in a state file: a learner of one of ``classes``, or of a registered kind.

    ``settings`` are the further arguments of a reader (see :func:`register_reader`).
    """
    with file_format.opened(path) as file:
        header = file.header
        reader = next((reader for mark, reader in _readers.items() if mark in header), None)
        for name in settings:
            if reader is None or name not in reader.settings:
                raise ValueError(f"what {path} holds has no setting {name!r}")
        with refusing(path, "a learner"):
            for mark, words in _refusals.items():
                if mark in header:
                    raise ValueError(words.format(header[mark]))
            arrays = file.arrays(None if reader is None else reader.last)
            if reader is not None:
                return reader.read(header, arrays, **settings)
            if "learner" not in header:
                raise ValueError(_unknown(header))
            return rebuilt(header, arrays, classes)


def _unknown(header: dict[str, Any]) -> str:
    """Return the error message for a file of a kind that no imported module has registered."""
    if not header:
        return "its header is empty"
    mark, value = next(iter(header.items()))
    return f"it holds {mark}={value!r:.60}: use the load of the class that saved it"


@contextlib.contextmanager
def refusing(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Turn errors caused by the contents of a file into a StateFileError."""
    try:
        yield
    except file_format.StateFileError:
        raise
    except BROKEN as error:
        raise file_format.StateFileError(f"{path} does not describe {what}: {error}") from None


def rebuilt(header: dict[str, Any], arrays: dict[str, np.ndarray], classes: dict[str, Any]) -> Any:
    """Return the learner that a header and arrays describe."""
    name = header["learner"]
    if name not in classes:
        raise ValueError(f"no learner is known as {name!r} (import or define its class first)")
    params = classes[name]._from_plain(header["params"])
    model = classes[name](**params)
    kept = {"params": params, "skipped": count(header["skipped"])}
    if "learnt" in header:
        kept["learnt"] = header["learnt"]
        model._restore_learnt(header["learnt"])
    begun = "state" in arrays
    if begun:
        d, record, names = header["features"], arrays["state"], header["names"]
        check_contents(d, record, names, model._matrices())
        kept["state"] = (d, record, names)
    model.__setstate__(kept)
    model._numbers()
    if begun:
        model._check_state()
    return model


def plain(value: Any) -> Any:
    """Return a parameter in a form that JSON can hold."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def count(number: Any) -> int:
    """Return a count that was read from a file; refuse what is not an integer from 0 to 2⁶²."""
    if type(number) is not int or not 0 <= number <= MOST:
        raise ValueError(f"it has {number!r} for a number of rows")
    return number


def check_contents(d: Any, record: np.ndarray, names: Any, square: int) -> None:
    """Refuse contents of a file that fit no learner, before memory is allocated for the learner."""
    if type(d) is not int or not 0 < (d * d if square else d) <= record.size:
        raise ValueError(f"its header says {d!r} features, but its state has {record.size} numbers")
    if record.dtype != np.float64 or record.ndim != 1:
        raise ValueError(f"its state is {record.dtype} of shape {record.shape}")
    check_names(d, names)
    if not np.isfinite(record).all():
        raise ValueError("its state has numbers that are not finite")


def check_names(d: int, names: Any) -> None:
    """Refuse ``names`` unless it is None or has one name for each of d ≥ 1 columns."""
    if d < 1 or (
        names is not None
        and (type(names) is not list or len(names) != d or not all(type(n) is str for n in names))
    ):
        raise ValueError(f"its header says {d} features, but names them {names!r:.200}")
