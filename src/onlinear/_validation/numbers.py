"""Convert tables, rows and labels to float64 arrays, and say which value is not a number."""

import math
from typing import Any

import numpy as np

__all__ = ["FLOAT", "column_advice", "first_of", "floats", "sparse"]

FLOAT = np.dtype(np.float64)

ENCODE = (
    "drop it, or one-hot encode it (pandas.get_dummies, polars' to_dummies), or convert it to "
    "numbers if it holds numbers as text"
)
MEASURE = (
    "drop it, or convert it to numbers, such as the hour, the weekday or the seconds since 1970"
)
SPLIT = "give each number a column of its own"
ADVICE = {
    **dict.fromkeys(("String", "Categorical", "Enum", "Binary"), ENCODE),
    **dict.fromkeys(("Datetime", "Date", "Time", "Duration"), MEASURE),
    **dict.fromkeys(("List", "Array", "Struct"), SPLIT),
}


def column_advice(kind: str) -> str:
    """Return advice on a column that is not numeric; ``kind`` is narwhals' name of its type."""
    return ADVICE.get(kind, "drop it, or convert it to numbers")


def sparse(X: Any) -> bool:
    """Whether X is a matrix or array of scipy.sparse; SciPy need not be installed."""
    return hasattr(X, "tocsr")


def first_of(values: Any, name: str) -> str:
    """Return Python code for the first row or entry of ``values``, such as ``X[0]``."""
    if hasattr(values, "iloc"):
        return f"{name}.iloc[0]"
    return f"{name}.row(0)" if hasattr(values, "iter_rows") else f"{name}[0]"  # polars' frames


def floats(values: Any, what: str, names: list[str] | None = None) -> np.ndarray:
    """Return values as a C-contiguous float64 array; refuse what is not a real number.

    ``names`` are the column names, for error messages. None and pandas' NA are missing values, and
    become NaN.
    """
    if sparse(values):
        flat = ".ravel()" if what in ("x", "y") else ""
        raise TypeError(
            f"{what} is sparse; learners and onlinear.replay take sparse rows, but this needs a "
            f"dense array: {what}.toarray(){flat}"
        )
    if isinstance(values, dict):
        instead = (
            "make it a table, such as pandas.DataFrame(X)"
            if what == "X"
            else "onlinear.river.River(model) takes dicts, a learner takes arrays"
        )
        raise TypeError(f"{what} is a dict; {instead}")
    if values is None:
        raise ValueError(f"{what} needs numbers, got None")
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(FLOAT), math.nan)  # a masked value counts as missing
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{what} is not a rectangular array of numbers: {error}") from None
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {what} has dtype {array.dtype}")
    if array.dtype.kind in "USmMV":
        got = f"dtype {array.dtype}" if array.ndim else repr(array.item())
        raise ValueError(
            f"{what} needs numbers, got {got}: convert text and dates to numbers first"
        )
    if array.dtype.kind == "O":
        return _from_objects(array, what, names)
    with np.errstate(over="ignore"):  # a long double may become infinite, and is then refused
        return np.ascontiguousarray(array, dtype=FLOAT).reshape(array.shape)


def _from_objects(array: np.ndarray, what: str, names: list[str] | None) -> np.ndarray:
    """Convert Python objects to floats; refuse text, even '1.5', which float() would accept."""
    numbers = np.empty(array.shape, dtype=FLOAT)
    for index, value in np.ndenumerate(array):
        if value is None or type(value).__name__ == "NAType":
            numbers[index] = math.nan
            continue
        text = isinstance(value, (str, bytes))
        if text:
            why = ENCODE if what in ("X", "x") else "convert text to numbers first"
        else:
            try:
                numbers[index] = float(value)
                continue
            except OverflowError:
                where = f"{value!r:.30}…{_place(index, what, names)}"
                raise ValueError(f"{what} needs numbers that fit a float64, got {where}") from None
            except (TypeError, ValueError) as error:
                why = f"convert it to a number first ({error})"
        place = f"{value!r:.60}{_place(index, what, names)}: {why}"
        raise (ValueError if text else TypeError)(f"{what} needs numbers, got {place}")
    return numbers


def _place(index: tuple[int, ...], what: str, names: list[str] | None) -> str:
    """Return the position of a value in words, such as " in row 3, column 1"."""
    axes = ("column",) if what == "x" and len(index) == 1 else ("row", "column")
    parts = [f"{axis} {i}" for axis, i in zip(axes, index, strict=False)]
    if names is not None and parts and axes[len(parts) - 1] == "column":
        parts[-1] += f" ({names[index[-1]]!r})"
    return f" in {', '.join(parts)}" if parts else ""
