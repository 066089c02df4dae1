"""What input is accepted, and the words for what is not: the rule first, then the values."""

import math
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from onlinear._engine import step
from onlinear._engine.tables import Rows

__all__ = [
    "NotFittedError",
    "any_table",
    "asked",
    "choice",
    "finite_rows",
    "fits",
    "holds",
    "label",
    "labels",
    "limit",
    "not_fitted",
    "number",
    "physical_memory",
    "refusal",
    "row",
    "row_names",
    "same_columns",
    "same_names",
    "sparse",
    "sparse_row",
    "sparse_table",
    "table",
    "whole",
    "width",
    "within_half",
]

FLOAT = np.dtype(np.float64)
SMALLEST = 1e-150  # a parameter closer to a limit than this is taken for the limit
LARGEST = 2**53  # whole numbers up to here are exact as floats


class NotFittedError(ValueError, AttributeError):
    """Raised by ``predict`` and ``score`` before ``fit`` where scikit-learn is not in use."""


def _from_sklearn(name: str, otherwise: type) -> Any:
    """Return scikit-learn's class of that name if the user has it loaded: never import it."""
    return getattr(sys.modules.get("sklearn.exceptions"), name, otherwise)


def not_fitted(owner: str) -> Exception:
    """Return the error for a method that needs a learner that has seen data."""
    error: Exception = _from_sklearn("NotFittedError", NotFittedError)(
        f"This {owner} instance is not fitted yet: call fit, partial_fit, learn_one or "
        "onlinear.replay first. (predict_one needs none of them.)"
    )
    return error


# --- parameters -----------------------------------------------------------------------------


def asked(what: str, **values: Any) -> Any:
    """Return the arguments of a function as an object the checks below can speak of by name."""
    return type(what, (), values)()


def number(
    owner: Any,
    name: str,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
) -> float:
    """Return parameter ``name`` of ``owner`` as a float inside its range, or say the rule.

    The number is to be finite, unless ``most`` is infinity.
    """
    value = getattr(owner, name)
    left = f"{above:g} < " if above is not None else f"{least:g} ≤ " if least is not None else ""
    right = f" < {below:g}" if below is not None else f" ≤ {most:g}" if most is not None else ""
    try:
        if isinstance(value, (bool, str, bytes)):
            raise TypeError
        number = float(value)
        if (
            (above is None or number > above + SMALLEST)
            and (least is None or number >= least)
            and (below is None or number < below)
            and (most is None or number <= most)
            and (math.isfinite(number) or number == most)
        ):
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    kind = "number" if most == math.inf else "finite number"
    owner = type(owner).__name__
    raise ValueError(f"{owner} needs a {kind} {left}{name}{right}, got {name}={value!r}")


def whole(owner: Any, name: str, *, least: int, most: int = LARGEST, else_: str = "") -> int:
    """Return a parameter that is a whole number of at least ``least``, and at most ``most``.

    ``else_`` says what else it may be.
    """
    value = getattr(owner, name)
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if is_whole and least <= value <= most:
        return int(value)
    kind = type(owner).__name__
    top = "2⁵³" if most == LARGEST else most
    raise ValueError(
        f"{kind} needs a whole number {least} ≤ {name} ≤ {top}{else_}, got {name}={value!r}"
    )


def limit(owner: Any, name: str) -> float:
    """Return a parameter that is a positive number, or None for no limit: then infinity."""
    return math.inf if getattr(owner, name) is None else number(owner, name, above=0)


def choice(owner: Any, name: str, allowed: Sequence[Any]) -> Any:
    """Return parameter ``name`` of ``owner`` if it is one of ``allowed``, or say which they are."""
    value = getattr(owner, name)
    if isinstance(value, np.generic):
        value = value.item()  # np.True_ is True
    for option in allowed:
        if type(value) is type(option) and value == option:
            return value
    options = " or ".join(repr(option) for option in allowed)
    raise ValueError(f"{type(owner).__name__} needs {name} to be {options}, got {name}={value!r}")


# --- memory ---------------------------------------------------------------------------------


def physical_memory() -> float:
    """Return how many bytes of memory this machine has; 8 GB where it does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return 8e9


def within_half(what: str, numbers: float, instead: str) -> None:
    """Refuse what takes more than half the memory: a replay keeps a copy to go back to."""
    needed, memory = 8.0 * numbers, physical_memory()
    if needed > memory / 2:
        raise ValueError(
            f"{what}, {needed / 1e9:,.4g} GB, more than half of this machine's {memory / 1e9:.3g} "
            f"GB: {instead}"
        )


def fits(
    owner: str,
    d: int,
    matrices: int,
    instead: str = "NLMS, GD or OGD (O(d)), which take sparse rows",
) -> None:
    """Refuse d × d matrices of more than half the memory."""
    what = f"a {d} × {d} matrix" if matrices == 1 else f"{matrices} matrices of {d} × {d}"
    words = f"use {instead}, or fewer columns (features hashed to a smaller width)"
    within_half(f"{owner} keeps {what}", float(matrices) * d * d, words)


def holds(
    owner: str,
    examples: int,
    numbers: float,
    instead: str = "set a budget, or use onlinear.features in front of a linear learner",
) -> None:
    """Refuse to keep examples that take more than half the memory."""
    what = f"{owner} would keep {examples} examples"
    within_half(what, numbers, f"{instead}; nothing was changed")


# --- data -----------------------------------------------------------------------------------


def _floats(values: Any, what: str) -> np.ndarray:
    """Return values as a C-contiguous float64 array; refuse what is not a real number."""
    if sparse(values):
        flat = ".ravel()" if what in ("x", "y") else ""
        raise TypeError(
            f"{what} is sparse; learners and onlinear.replay take sparse rows, but this needs a "
            f"dense array: {what}.toarray(){flat}"
        )
    if isinstance(values, dict):
        raise TypeError(
            f"{what} is a dict; onlinear.river.River(model) takes dicts, a learner takes arrays"
        )
    if values is None:
        raise ValueError(f"{what} needs numbers, got None")
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(FLOAT), math.nan)  # a masked value is a missing one
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{what} is not a rectangular array of numbers: {error}") from None
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {what} has dtype {array.dtype}")
    if array.dtype.kind in "USmMV":
        raise ValueError(
            f"{what} needs numbers, got dtype {array.dtype}: convert strings and dates first"
        )
    if array.dtype.kind == "O":
        _refuse_text(array, what)
    try:
        with np.errstate(over="ignore"):  # a long double may become infinite, which is then refused
            return np.ascontiguousarray(array, dtype=FLOAT).reshape(array.shape)
    except (TypeError, ValueError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{what} needs numbers that fit a float64: {error}") from None


def _refuse_text(array: np.ndarray, what: str) -> None:
    """Refuse text in an array of objects: NumPy would read the number in '1.5' without a word."""
    for index, value in np.ndenumerate(array):
        if isinstance(value, (str, bytes)):
            where = ", ".join(
                f"{axis} {i}" for axis, i in zip(("row", "column"), index, strict=False)
            )
            raise ValueError(f"{what} needs numbers, got {value!r} in {where}")


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
            raise ValueError(f"X needs numbers, got {kind} in column {name!r}")
    names = list(frame.columns)
    return frame.to_numpy(), names if all(isinstance(name, str) for name in names) else None


def table(X: Any, what: str = "X") -> tuple[np.ndarray, list[str] | None]:
    """Return X as a contiguous (rows, columns) float64 array, with its column names if any."""
    values, names = _frame(X)
    array = _floats(values, what)
    _check_shape(array.shape)
    return array, names


def _check_shape(shape: tuple[int, ...]) -> None:
    """Refuse a table that is none, in scikit-learn's words."""
    if len(shape) != 2:
        raise ValueError(
            f"Expected 2D array, got {len(shape)}D array of shape {shape} instead. "
            "Reshape your data: X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one row"
        )
    if shape[0] == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required."
        )
    if shape[1] == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required."
        )


def sparse(X: Any) -> bool:
    """Whether X is a matrix or array of scipy.sparse (which need not be installed)."""
    return hasattr(X, "tocsr")


def sparse_table(X: Any) -> Rows:
    """Return a sparse matrix as rows, leaving the matrix as it is."""
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
    return Rows.checked(_floats(csr.data, what), indices, indptr, shape)


def any_table(X: Any) -> tuple[np.ndarray | Rows, list[str] | None]:
    """Return a table, dense or sparse, with its column names if any."""
    return (sparse_table(X), None) if sparse(X) else table(X)


def labels(y: Any, rows: int) -> np.ndarray:
    """Return y as a contiguous float64 vector with one label per row."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    array = _floats(y, "y")
    if array.ndim == 2 and array.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: using its only column",
            _from_sklearn("DataConversionWarning", UserWarning),
            stacklevel=4,
        )
        array = array.reshape(-1)
    if array.ndim != 1:
        raise ValueError(f"y needs one label a row (1-D), got shape {array.shape}")
    if array.size != rows:
        raise ValueError(f"X and y need as many rows as each other, got {rows} and {array.size}")
    return array


def finite_rows(owner: str, X: np.ndarray, y: np.ndarray, names: list[str] | None) -> None:
    """Refuse a table with a value that is not finite, as the engine does row by row."""
    bad = ~np.isfinite(X)
    rows = np.flatnonzero(bad.any(axis=1) | ~np.isfinite(y))
    if rows.size == 0:
        return
    row = int(rows[0])
    if bad[row].any():
        outcome = step.Outcome(row, step.BAD_INPUT, float(np.argmax(bad[row])))
    else:
        outcome = step.Outcome(row, step.BAD_LABEL, float(y[row]))
    raise refusal(owner, (), outcome, X[row], in_table=True, names=names, params={})


def row_names(x: Any) -> list[str] | None:
    """Return the names of a row that has them: a pandas Series with names for its index."""
    if type(x).__name__ != "Series" or not hasattr(x, "index"):
        return None
    names = list(x.index)
    return names if all(isinstance(name, str) for name in names) else None


def width(x: Any) -> int:
    """Return how many features a row has."""
    return sparse_row(x, None).shape[1] if sparse(x) else row(x, None).size


def row(x: Any, d: int | None, names: list[str] | None = None, what: str = "x") -> np.ndarray:
    """Return x as a contiguous float64 vector of width d; refuse names other than ``names``."""
    if hasattr(x, "to_numpy"):
        given = row_names(x)
        if names is not None and given is not None:
            same_names(names, given)
        x = x.to_numpy()
    array = _floats(x, what)
    if array.ndim != 1:
        raise ValueError(f"x needs one row (1-D), got shape {array.shape}")
    if array.size == 0:
        raise ValueError("x needs at least one feature, got none")
    if d is not None and array.size != d:
        raise ValueError(f"x needs {d} features, as the first row had, got {array.size}")
    return array


def label(y: Any, what: str = "y") -> float:
    """Return y as a float; refuse what is not one real number."""
    array = _floats(y, what)
    if array.ndim != 0:
        raise ValueError(f"{what} needs to be one number, got shape {array.shape}")
    return float(array)


def same_columns(owner: str, d: int, names: list[str] | None, X: np.ndarray, given: Any) -> None:
    """Refuse a table whose width or column names are not those the learner began with."""
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
    """Refuse column names that are not those the learner began with, in scikit-learn's words."""
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
    raise ValueError(text)


# --- refusals of the engine -----------------------------------------------------------------


def _shown(value: float) -> str:
    return "NaN" if math.isnan(value) else f"{value:g}".replace("inf", "infinity")


def refusal(
    owner: str,
    rules: Sequence[str],
    outcome: step.Outcome,
    x: np.ndarray,
    *,
    in_table: bool,
    names: list[str] | None,
    params: dict[str, Any],
) -> ValueError:
    """Return the error for a row that broke a rule: which rule, where, and by what value."""
    place = f"row {outcome.row}" if in_table else "this row"

    def at(j: int) -> str:
        return f"{place}, column {j}" + (f" ({names[j]!r})" if names else "")

    if outcome.rule == step.BAD_INPUT:
        j = int(outcome.value)
        text = f"needs finite input: X contains {_shown(x[j])} in {at(j)}"
    elif outcome.rule == step.BAD_LABEL:
        text = f"needs finite labels: y contains {_shown(outcome.value)} in {place}"
    elif outcome.rule == step.OVERFLOW:
        text = (
            f"needs numbers whose squares fit in floating point, but {place} would overflow "
            f"(largest |x_i| = {np.max(np.abs(x)):g}): rescale the data"
        )
    else:
        rule = rules[outcome.rule - step.DOMAIN]
        text = rule.format(value=outcome.value, **params)
        (where,) = np.nonzero(np.abs(x) == abs(outcome.value))  # rules on x_i give it as the value
        text += f" in {at(int(where[0]))}" if "got x_i" in rule and where.size else f" in {place}"
    return ValueError(f"{owner} {text}")
