"""A learner to a state file and back: names and numbers, checked before they are believed."""

import contextlib
import copy
import numbers
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from onlinear._state_files import file_format

__all__ = [
    "READERS",
    "check_contents",
    "count",
    "described",
    "load",
    "plain",
    "rebuilt",
    "refusing",
    "save",
]


READERS: dict[str, Callable[[dict[str, Any], dict[str, np.ndarray]], Any]] = {}  # but learners


def save(model: Any, name: str, path: str | os.PathLike[str]) -> None:
    """Write a learner under the name its class is known by; refuse one that could not be loaded."""
    file_format.write(path, *described(model, name))


def described(model: Any, name: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the header and arrays that describe a learner; refuse one that could not be loaded."""
    model._numbers()
    copy.copy(model)  # the state fits the parameters, or this raises
    header: dict[str, Any] = {
        "learner": name,
        "params": {name: plain(value) for name, value in model._to_plain().items()},
        "skipped": model.n_skipped_,
    }
    arrays = {}
    if model._record is not None:
        header["features"] = model.n_features_in_
        header["names"] = model._names
        arrays["state"] = model._record
    return header, arrays


def load(path: str | os.PathLike[str], classes: dict[str, Any]) -> Any:
    """Return the learner of a state file, its class being one of ``classes``."""
    header, arrays = file_format.mapped(path)
    if "keyed" not in header:  # which takes some of them at a time
        arrays = file_format.in_memory(arrays)
    with refusing(path, "a learner"):
        if "certificate" in header:
            raise ValueError("it holds a learner with its certificate: use Certified.load")
        if "transformer" in header:
            raise ValueError(f"it holds {header['transformer']}: use onlinear.text's own load")
        for what, read in READERS.items():
            if what in header:
                return read(header, arrays)
        return rebuilt(header, arrays, classes)


@contextlib.contextmanager
def refusing(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Turn what contents can make go wrong into a refusal of the file."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise file_format.StateFileError(f"{path} does not describe {what}: {error}") from None


def rebuilt(header: dict[str, Any], arrays: dict[str, np.ndarray], classes: dict[str, Any]) -> Any:
    """Return the learner that a header and arrays describe."""
    name = header["learner"]
    if name not in classes:
        raise ValueError(f"there is no learner {name!r} here (import or define it first)")
    params = classes[name]._from_plain(header["params"])
    model = classes[name](**params)
    kept = {"params": params, "skipped": count(header["skipped"])}
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
    """Return a parameter as JSON can hold it."""
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
    """Return a number of rows, or refuse it."""
    if type(number) is not int or number < 0:
        raise ValueError(f"it has {number!r} for a number of rows")
    return number


def check_contents(d: Any, record: np.ndarray, names: Any, square: int) -> None:
    """Refuse contents no learner can have, before anything is allocated for them."""
    if type(d) is not int or not 0 < (d * d if square else d) <= record.size:
        raise ValueError(f"it says {d!r} features and holds {record.size} numbers")
    if names is not None and (
        type(names) is not list or len(names) != d or not all(type(n) is str for n in names)
    ):
        raise ValueError(f"it says {d} features and names them {names!r}")
    if not np.isfinite(record).all():
        raise ValueError("its state has numbers that are not finite")
