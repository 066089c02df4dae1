"""Labels of classes: find the classes among the labels of a table, and code labels as numbers."""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from onlinear._validation import checks
from onlinear._validation.tables import one_per_row

__all__ = ["ZERO_ONE", "as_array", "code", "codes", "declared", "flat", "found"]

ZERO_ONE = (0, 1)  # the classes of labels 0 and 1, if no classes are known
KINDS = (str, int, bool, float)  # the types of classes
EXACT = 2.0**53  # a float holds every whole number up to it
SHOWN = 5  # how many classes an error message lists


def _plain(label: Any) -> Any:
    """Return a label as a Python object, if it is a scalar of NumPy."""
    if isinstance(label, np.generic) or (isinstance(label, np.ndarray) and label.ndim == 0):
        return label.item()
    return label


def _missing(label: Any) -> bool:
    """Return whether a label is None, NaN, or pandas' NA or NaT."""
    return (
        label is None
        or (isinstance(label, float) and math.isnan(label))
        or type(label).__name__ in ("NAType", "NaTType")
    )


def _infinite(label: Any) -> bool:
    """Return whether a label is an infinite float; an int may be too large to become a float."""
    return isinstance(label, float) and math.isinf(label)


def _among(classes: Sequence[Any]) -> str:
    """Return classes in words, such as "'a', 'b' or 'c'"."""
    shown = [repr(each) for each in classes[:SHOWN]]
    if len(classes) > SHOWN:
        return ", ".join(shown) + f" or {len(classes) - SHOWN} others"
    return ", ".join(shown[:-1]) + f" or {shown[-1]}"


# --- which classes there are --------------------------------------------------------------------


def declared(owner: str, classes: Any) -> tuple[Any, ...]:
    """Return the classes that a user gives, checked, as a tuple of Python objects."""
    if isinstance(classes, (set, frozenset, dict)):
        raise ValueError(
            f"{owner} needs classes in an order: a list or tuple such as ('ham', 'spam'), got "
            f"classes={classes!r:.60}"
        )
    if isinstance(classes, str) or not isinstance(classes, Iterable):
        raise ValueError(
            f"{owner} needs classes to be a sequence of labels, such as ('ham', 'spam'), got "
            f"classes={classes!r:.60}"
        )
    listed = tuple(_plain(each) for each in classes)
    try:
        return _checked(owner, listed, tuple(map(type, listed)))
    except TypeError:  # a label that cannot be hashed
        strange = next(label for label in listed if type(label) not in KINDS)
        raise _no_class(owner, strange) from None


def _no_class(owner: str, label: Any) -> ValueError:
    """Return the error for a label that cannot be a class."""
    return ValueError(f"{owner} needs classes that are text or finite numbers, got {label!r:.60}")


@lru_cache(maxsize=64)  # 1, 1.0 and True are equal, so their types are part of the key
def _checked(owner: str, classes: tuple[Any, ...], kinds: tuple[type, ...]) -> tuple[Any, ...]:
    for label, kind in zip(classes, kinds, strict=True):
        if kind not in KINDS or (kind is float and not math.isfinite(label)):
            raise _no_class(owner, label)
        if classes.count(label) > 1:
            raise ValueError(f"{owner} needs classes that differ, got {label!r:.60} twice")
    if len(classes) < 2:
        raise ValueError(f"{owner} needs two or more classes, got classes={classes!r:.60}")
    return classes


def flat(y: Any, rows: int | None = None) -> np.ndarray:
    """Return labels of any type as an array with one label per row."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    if isinstance(y, np.ma.MaskedArray):
        y = checks.labels(y, len(y))
    array = np.asarray(y)
    if array is not y and array.dtype.kind == "f" and (np.abs(array) >= EXACT).any():
        array = np.asarray(y, dtype=object)  # a list with whole numbers that floats would round
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: y has dtype {array.dtype}")
    return one_per_row(array, len(array) if rows is None and array.ndim else rows or 0)


def found(owner: str, y: np.ndarray, *, soft: bool) -> tuple[Any, ...] | None:
    """Return the classes of a table's labels, sorted; None if all are 0 or 1 (or missing).

    If ``soft``, numbers between 0 and 1 are labels, too, and the result is None for them.
    """
    if y.dtype.kind == "b":
        return False, True
    values: list[Any]
    if y.dtype.kind in "iuf":
        values = np.unique(y[np.isfinite(y)]).tolist()
    else:
        values = _different(owner, y)
        if values and all(isinstance(label, bool) for label in values):
            return False, True
    strange: Any
    if all(isinstance(label, (int, float)) for label in values):
        values = sorted(label for label in values if not _infinite(label))
        if all(value in ZERO_ONE for value in values) or (
            soft and values[0] >= 0 and values[-1] <= 1
        ):
            return None
        strange = next((value for value in values if value % 1), None)
    else:
        values.sort(key=lambda label: (type(label).__name__, label))
        strange = next((value for value in values if not isinstance(value, str)), None)
        text = next((value for value in values if isinstance(value, str)), None)
        if text is not None and isinstance(strange, (int, float)):
            kind = "boolean" if isinstance(strange, bool) else "number"
            raise ValueError(
                f"Unknown label type: {owner} needs labels of one type, got a {kind}, "
                f"{strange!r:.60}, and text, {text!r:.60}; if these are classes, list them in the "
                "parameter classes"
            )
    if strange is not None:
        raise ValueError(
            f"Unknown label type: {owner} needs classes as labels, such as text or whole numbers, "
            f"got {strange!r:.60}; if these are classes, list them in the parameter classes"
        )
    if len(values) < 2:
        raise ValueError(
            f"{owner} needs the parameter classes, or two or more classes in the first table, got "
            f"only {values[0]!r:.60}"
        )
    return tuple(values)


def _different(owner: str, y: np.ndarray) -> list[Any]:
    """Return the different labels among objects, without missing ones."""
    labels = [_plain(label) for label in y.tolist()]
    for label in labels:
        try:
            hash(label)
        except TypeError:
            raise ValueError(
                f"{owner} needs labels that are text, numbers or booleans, got {label!r:.60}"
            ) from None
    return list({label for label in labels if not _missing(label)})


def as_array(classes: Sequence[Any]) -> np.ndarray:
    """Return classes as an array, of Python objects if they are of different kinds.

    Whole numbers that no integer type of NumPy holds, or a float would round, are Python objects.
    """
    kinds = {"number" if type(each) in (int, float) else type(each).__name__ for each in classes}
    if all(type(each) is int and 0 <= each < 2**64 for each in classes) and max(classes) >= 2**63:
        return np.array(classes, dtype=np.uint64)
    array = np.array(classes, dtype=object if len(kinds) > 1 else None)
    return array if array.tolist() == list(classes) else np.array(classes, dtype=object)


# --- labels as numbers ----------------------------------------------------------------------------


def code(
    owner: str, y: Any, classes: Sequence[Any] | None, numbers: Sequence[float], *, soft: bool
) -> float:
    """Return the number of a label's class; a number between the first two for a soft label.

    A label that is missing or infinite is returned as a float, for the learner to refuse.
    """
    label = _plain(y)
    if _missing(label):
        return math.nan
    try:
        return float(numbers[(classes or ZERO_ONE).index(label)])
    except (ValueError, TypeError):
        pass
    number = isinstance(label, (int, float))
    if _infinite(label):
        return float(label)
    if number and soft and classes is None and 0 <= label <= 1:
        return float(numbers[0] + (numbers[1] - numbers[0]) * label)
    raise ValueError(_unknown(owner, label, classes, soft))


def _unknown(
    owner: str, label: Any, classes: Sequence[Any] | None, soft: bool, where: str = ""
) -> str:
    """Return the error message for a label that is none of the classes."""
    if classes is not None:
        return f"{owner} needs labels {_among(classes)}, its classes, got y = {label!r:.60}{where}"
    allowed = "labels from 0 to 1" if soft else "labels 0 and 1"
    return (
        f"{owner} needs {allowed}, or the parameter classes, such as classes=('ham', 'spam'), got "
        f"y = {label!r:.60}{where}"
    )


def _equal(y: np.ndarray, label: float) -> np.ndarray:
    """Return which of the numbers y are equal to a label; no whole number is rounded."""
    if isinstance(label, float) and not label.is_integer():
        return np.asarray(y == label)
    whole = int(label)
    if y.dtype.kind != "f":
        return np.asarray(y == whole)
    wide = np.promote_types(y.dtype, np.float64)
    try:
        rounded = float(whole)
    except OverflowError:  # too large for a float
        return np.zeros(y.shape, dtype=bool)
    return np.asarray((y.astype(wide) == rounded) & (rounded == whole))


def codes(
    owner: str,
    y: np.ndarray,
    classes: Sequence[Any] | None,
    numbers: Sequence[float],
    *,
    soft: bool,
    skip: bool,
) -> np.ndarray:
    """Return the number of each label, as :func:`code` does.

    If ``skip``, a label that is none of the classes becomes NaN, so that its row is skipped.
    """
    if y.dtype.kind not in "iufb":
        out = np.empty(y.size)
        for row, label in enumerate(y.tolist()):
            try:
                out[row] = code(owner, label, classes, numbers, soft=soft)
            except ValueError:
                if not skip:
                    text = _unknown(owner, _plain(label), classes, soft, f" in row {row}")
                    raise ValueError(text) from None
                out[row] = math.nan
        return out
    out = y.astype(np.float64)
    known = ~np.isfinite(out)
    if soft and classes is None:
        known |= (out >= 0) & (out <= 1)
        out = np.where(np.isfinite(out), numbers[0] + (numbers[1] - numbers[0]) * out, out)
    else:
        for label, number in zip(classes or ZERO_ONE, numbers, strict=True):
            if not isinstance(label, str):
                here = _equal(y, label)
                out[here] = number
                known |= here
    if not known.all():
        row = int(np.argmin(known))
        if not skip:
            raise ValueError(_unknown(owner, y[row].item(), classes, soft, f" in row {row}"))
        out[~known] = math.nan
    return out
