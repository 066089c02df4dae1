"""Validate tables, rows and labels, and convert them to float64 arrays."""

import warnings
from typing import Any

import numpy as np

from onlinear._engine.status import BAD_INPUT, BAD_LABEL, Outcome
from onlinear._engine.tables import Rows
from onlinear._validation.numbers import FLOAT, column_advice, first_of, floats, sparse
from onlinear._validation.refusals import from_sklearn, refusal

__all__ = [
    "any_table",
    "finite_rows",
    "label",
    "labels",
    "numeric_row",
    "one_per_row",
    "row",
    "row_names",
    "same_columns",
    "same_index",
    "same_names",
    "sparse",
    "sparse_row",
    "sparse_table",
    "table",
    "width",
]

COLUMN = "X.reshape(-1, 1)"

SCALARS = frozenset({float, np.float64, np.float32, np.int64, np.int32})  # converted directly
EXACT = 2**53


def _frame(X: Any) -> tuple[Any, list[str] | None]:
    """Return the values and column names of a DataFrame, or X itself and None."""
    if not (hasattr(type(X), "columns") or hasattr(type(X), "column_names")):  # pyarrow's name
        return X, None
    import narwhals as nw

    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"X needs unique column names: {error}") from None
    if not isinstance(frame, nw.DataFrame):
        if isinstance(frame, nw.LazyFrame):
            raise TypeError(f"X is a lazy {type(X).__name__}: collect it first")
        return X, None
    for name, kind in frame.schema.items():
        if not (kind.is_numeric() or kind in (nw.Boolean, nw.Object, nw.Unknown)):
            given = type(kind).__name__
            raise ValueError(
                f"X needs numbers, got {given} in column {name!r}: {column_advice(given)}"
            )
    names = list(frame.columns)
    return frame.to_numpy(), names if all(isinstance(name, str) for name in names) else None


def table(X: Any, what: str = "X") -> tuple[np.ndarray, list[str] | None]:
    """Return X as a contiguous (rows, columns) float64 array, and its column names or None."""
    values, names = _frame(X)
    array = floats(values, what, names)
    _check_shape(array.shape, column="X.to_frame()" if hasattr(X, "to_frame") else COLUMN)
    return array, names


def _check_shape(shape: tuple[int, ...], column: str = COLUMN) -> None:
    """Refuse an empty table or an array that is not 2-D, with scikit-learn's error messages."""
    if len(shape) != 2:
        raise ValueError(
            f"Expected 2D array, got {len(shape)}D array of shape {shape} instead. "
            f"Reshape your data: {column} for one feature, [X] for one row"
        )
    if shape[0] == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required."
        )
    if shape[1] == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required."
        )


def sparse_table(X: Any) -> Rows:
    """Return the SciPy sparse matrix X as :class:`Rows`, for compiled code; do not change X."""
    _check_shape(X.shape)
    return _rows(X, "X")


def sparse_row(x: Any, d: int | None) -> Rows:
    """Return a sparse row of width d, of shape (1, d) or (d,), as a table of one row."""
    if len(x.shape) == 2 and x.shape[0] != 1:
        raise ValueError(f"x needs one row, of shape (1, d) if it is sparse, got shape {x.shape}")
    if x.shape[-1] == 0:
        raise ValueError("x needs at least one feature, got none")
    if d is not None and x.shape[-1] != d:
        raise ValueError(f"x needs {d} features, as the first row had, got {x.shape[-1]}")
    return _rows(x, "x")


def _rows(X: Any, what: str) -> Rows:
    csr = X.tocsr()
    indices, indptr = (np.ascontiguousarray(a, dtype=np.int64) for a in (csr.indices, csr.indptr))
    shape = csr.shape if len(csr.shape) == 2 else (1, *csr.shape)
    return Rows.checked(floats(csr.data, what), indices, indptr, shape)


def any_table(X: Any) -> tuple[np.ndarray | Rows, list[str] | None]:
    """Return a table, dense or sparse, and its column names, or None if it has none."""
    return (sparse_table(X), None) if sparse(X) else table(X)


def same_index(X: Any, **others: Any) -> None:
    """Refuse a Series or DataFrame of pandas whose index differs from that of the table X.

    Rows and labels are matched by position, not by index. If their indexes differ, one of them was
    shuffled, sorted or filtered without the other.
    """
    index = _index(X)
    for name, values in others.items():
        other = _index(values)
        if index is None or other is None or index is other or len(index) != len(other):
            continue  # different lengths are refused elsewhere
        pairs = () if index.equals(other) else enumerate(zip(index, other, strict=True))
        differ = next(((i, a, b) for i, (a, b) in pairs if a is not b and a != b), None)
        if differ is not None:
            row, here, there = differ
            raise ValueError(
                f"X and {name} need the same index, got {here!r} and {there!r} in row {row}: align "
                f"them with {name}.loc[X.index], or write {name}.to_numpy() if their rows are in "
                "the same order"
            )


def _index(values: Any) -> Any:
    """Return the index of a pandas Series or DataFrame; None for anything else, such as a list."""
    index = getattr(values, "index", None)
    return index if hasattr(index, "equals") else None


def labels(y: Any, rows: int) -> np.ndarray:
    """Return y as a contiguous float64 vector with one label per row."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    return one_per_row(floats(y, "y"), rows)


def one_per_row(array: np.ndarray, rows: int) -> np.ndarray:
    """Return labels as a vector with one label per row; warn if they are a column."""
    if array.ndim == 2 and array.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: using its only column",
            from_sklearn("DataConversionWarning", UserWarning),
            stacklevel=5,
        )
        array = array.reshape(-1)
    if array.ndim != 1:
        raise ValueError(f"y needs one label per row (1-D), got shape {array.shape}")
    if array.size != rows:
        raise ValueError(f"X and y need the same number of rows, got {rows} and {array.size}")
    return array


def finite_rows(owner: str, X: np.ndarray, y: np.ndarray, names: list[str] | None) -> None:
    """Refuse a table with a feature or label that is not finite, as a learner would refuse it."""
    bad = ~np.isfinite(X)
    rows = np.flatnonzero(bad.any(axis=1) | ~np.isfinite(y))
    if rows.size == 0:
        return
    row = int(rows[0])
    if bad[row].any():
        outcome = Outcome(row, BAD_INPUT, float(np.argmax(bad[row])))
    else:
        outcome = Outcome(row, BAD_LABEL, float(y[row]))
    raise refusal(owner, (), outcome, X[row], in_table=True, names=names, params={})


def row_names(x: Any) -> list[str] | None:
    """Return the column names of a row, if it is a pandas Series indexed by names."""
    if type(x).__name__ != "Series" or not hasattr(x, "index"):
        return None
    known, names = _LastIndex.known  # all rows of a DataFrame share one immutable index
    if x.index is not known:
        given = list(x.index)
        names = given if all(isinstance(name, str) for name in given) else None
        _LastIndex.known = x.index, names
    return names


class _LastIndex:
    """A cache of the last row's index and names, as all rows of a DataFrame have the same ones."""

    known: tuple[Any, list[str] | None] = None, None


def width(x: Any) -> int:
    """Return how many features a row has."""
    return sparse_row(x, None).shape[1] if sparse(x) else row(x, None).size


def numeric_row(x: Any, shape: tuple[int], names: list[str] | None) -> np.ndarray | None:
    """Return a list, tuple, array or Series of numbers as a float64 vector of shape ``shape``.

    For any other kind of row the result is None: :func:`row` converts such a row, or refuses it
    with a reason.
    """
    kind = x.__class__
    if kind is not np.ndarray:
        if kind is list or kind is tuple:
            try:
                x = np.asarray(x)
            except ValueError:
                return None
        elif kind.__name__ == "Series" and row_names(x) == names and hasattr(x, "to_numpy"):
            x = x.to_numpy()
        if x.__class__ is not np.ndarray:
            return None
    dtype = x.dtype
    if x.shape != shape or dtype.kind not in "fiu" or dtype.itemsize > FLOAT.itemsize:
        return None
    return np.ascontiguousarray(x) if dtype is FLOAT else x.astype(FLOAT)


def row(x: Any, d: int | None, names: list[str] | None = None, what: str = "x") -> np.ndarray:
    """Return x as a contiguous float64 vector of width d; its column names must be ``names``."""
    given, original = row_names(x), x
    if hasattr(x, "to_numpy"):
        if names is not None and given is not None:
            same_names(names, given)
        x = x.to_numpy()
    array = floats(x, what, given or names)
    if array.ndim != 1:
        instead = _instead(array.shape, what, first_of(original, what))
        raise ValueError(f"{what} needs one row (1-D), got {instead}")
    if array.size == 0:
        raise ValueError("x needs at least one feature, got none")
    if d is not None and array.size != d:
        raise ValueError(f"x needs {d} features, as the first row had, got {array.size}")
    return array


def _instead(shape: tuple[int, ...], what: str, first: str) -> str:
    """Return the shape of a value that is not a row, and advice on what to write instead."""
    if not shape:
        return f"shape (): write [{what}] for a row of one feature"
    if len(shape) == 2 and shape[0] == 1:
        return f"shape {shape}: write {first}"
    return f"shape {shape}: predict, partial_fit and onlinear.replay take tables"


def label(y: Any, what: str = "y") -> float:
    """Return y as a float; refuse what is not one real number."""
    if y.__class__ in SCALARS or (y.__class__ is int and abs(y) <= EXACT):
        return float(y)  # type: ignore[arg-type]
    array = floats(y, what)
    if array.ndim != 0:
        one = f": write {first_of(y, what)}" if array.size == 1 else ""
        raise ValueError(f"{what} needs to be one number, got shape {array.shape}{one}")
    return float(array)


def same_columns(owner: str, d: int, names: list[str] | None, X: np.ndarray, given: Any) -> None:
    """Refuse a table whose width or column names differ from those the learner began with."""
    if names is None or given is None:
        if names is not None:
            warnings.warn(
                f"X does not have valid feature names, but {owner} was fitted with feature names",
                stacklevel=4,
            )
        elif given is not None:
            warnings.warn(
                f"X has feature names, but {owner} was fitted without feature names", stacklevel=4
            )
    else:
        same_names(names, given)
    if X.shape[1] != d:
        raise ValueError(
            f"X has {X.shape[1]} features, but {owner} is expecting {d} features as input"
        )


def same_names(names: list[str], given: list[str]) -> None:
    """Refuse column names other than those the learner began with, as scikit-learn does."""
    if names == given:
        return
    text = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(given) - set(names)), sorted(set(names) - set(given))
    if unseen:
        text += "Feature names unseen at fit time:\n" + "".join(f"- {n}\n" for n in unseen)
    if missing:
        text += "Feature names seen at fit time, yet now missing:\n"
        text += "".join(f"- {n}\n" for n in missing)
    if not unseen and not missing:
        text += "Feature names must be in the same order as they were in fit.\n"
        text += "Write X[model.feature_names_in_] to put the columns in that order.\n"
    raise ValueError(text)
