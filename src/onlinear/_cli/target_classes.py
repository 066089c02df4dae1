"""The classes of a target: find them in the data, and read labels as numbers of classes.

A class is known by its name as text. The names of numbers have no superfluous digits: both 1 and
1.0 are the class "1". The Boolean values are the classes "false" and "true".
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from shlex import quote
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from onlinear._cli.arrow_numbers import floats
from onlinear._cli.errors import DataError, UsageError
from onlinear._cli.row_faults import Fault, Faults, quoted
from onlinear._cli.source import Source

__all__ = ["NO_CLASSES", "Classes", "classes_in", "texts"]

MOST = 100  # classes that are found; more may be given
TRUTHS = ("false", "true")


class Classes(NamedTuple):
    """The names of the classes, and whether labels are text; no names if labels are numbers."""

    names: tuple[str, ...] = ()
    text: bool = False

    @property
    def labels(self) -> tuple[str, ...] | tuple[float, ...] | tuple[bool, ...]:
        """The classes as labels of a classifier: text, numbers, or False and True."""
        if self.text:
            return self.names
        if set(self.names) == set(TRUTHS):
            return tuple(name == TRUTHS[1] for name in self.names)
        return tuple(int(v) if v.is_integer() else v for v in map(_value, self.names))

    def read(self, listed: str) -> list[str]:
        """Return the names in a list of classes, written as in ``names``."""
        found = listed.split(",")
        if self.text:
            return found
        values = [_number(name.lower()) for name in found]
        return [
            name.lower() if value is None else _name(value)
            for name, value in zip(found, values, strict=True)
        ]

    def numbers(self, target: str, column: pa.ChunkedArray, faults: Faults) -> np.ndarray:
        """Return each label's class as its place in ``names``, NaN where the label is missing.

        Another label makes its row a bad row.
        """
        if self.text:
            import pyarrow.compute as pc  # slow to load

            labels = texts(column)
            places = pc.index_in(labels, pa.array(self.names, pa.string()))
            found = places.to_numpy(zero_copy_only=False).astype(float)
            missing = np.asarray(labels.is_null().to_numpy(zero_copy_only=False))
        else:
            values = floats(column)
            found, missing = np.full(values.size, np.nan), np.isnan(values)
            for k, name in enumerate(self.names):
                found[values == _value(name)] = k
        for row in np.flatnonzero(np.isnan(found) & ~missing).tolist():
            rule = f"none of the classes {', '.join(self.names)} (--classes lists them)"
            label = quoted(labels[row].as_py(), 60) if self.text else _name(float(values[row]))
            faults.setdefault(row, Fault(rule, target, label))
        return np.asarray(found)


NO_CLASSES = Classes()


def texts(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array of text."""
    if column.type != pa.string():
        column = column.cast(pa.string())
    return column.combine_chunks()


def classes_in(
    source: Source, target: str, kind: pa.DataType, asked: str | Iterable[str] | None
) -> Classes:
    """Return the classes that are given, or else those that occur in the source, sorted.

    ``kind`` is the type that the target seems to have. ``asked`` has the given classes, as names or
    in one text with commas between.
    """
    listed = asked.split(",") if isinstance(asked, str) else list(asked or ())
    given = ",".join(listed)
    is_text = not (pa.types.is_boolean(kind) or _is_number(kind))
    if pa.types.is_boolean(kind):
        listed = [name.lower() for name in listed]
        if other := [name for name in listed if name not in TRUTHS]:
            raise UsageError(f"--classes {given}: {target!r} is true or false, not {other[0]!r}")
    elif not is_text and listed:
        values = list(map(_number, listed))
        is_text = None in values
        listed = listed if is_text else [_name(v) for v in values if v is not None]
    names = tuple(listed) if listed else _found(source, target, kind, is_text)
    if len(set(names)) < len(names) or "" in names:
        raise UsageError(f"--classes {given}: each class must have a name of its own")
    if len(names) < 2 and given:
        raise UsageError(f"--classes {given}: one class is too few, list all that may come")
    if len(names) < 2:
        only = f"only one class, {names[0]!r}" if names else "no class"
        raise UsageError(f"the target {target!r} has {only}: list all that may come, --classes a,b")
    return Classes(names, is_text)


def _found(source: Source, target: str, kind: pa.DataType, is_text: bool) -> tuple[str, ...]:
    """Return the classes that occur in a source, in their order as text or as numbers."""
    if pa.types.is_boolean(kind):
        return TRUTHS
    if source.piped:
        raise UsageError(
            f"the classes of {target!r} cannot be known before standard input ends: list them, "
            "--classes a,b"
        )
    found = Counter[str]()
    for block in source.blocks({target: pa.string() if is_text else pa.float64()}):
        for name, rows in _counts(block.table[target], is_text):
            found[name] += rows
        if len(found) > MOST:
            raise DataError(
                f"the target {target!r} has more than {MOST} classes: if it is a number to "
                f"predict, leave out --task classify; if not, list them, --classes {quote('a,b')}"
            )
    if is_text:
        _warn_of_similar(target, found)
    return tuple(sorted(found) if is_text else sorted(found, key=_value))


def _counts(column: pa.ChunkedArray, is_text: bool) -> Iterable[tuple[str, int]]:
    """Return the names of the classes in a column, each with its number of rows."""
    if is_text:
        pairs = texts(column).value_counts().to_pylist()
        return [(pair["values"], pair["counts"]) for pair in pairs if pair["values"] is not None]
    values = floats(column)
    found, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    return zip(map(_name, found.tolist()), counts.tolist(), strict=True)


def _warn_of_similar(target: str, found: Counter[str]) -> None:
    """Print one line of warning if classes differ only by spaces or by upper and lower case."""
    alike = defaultdict[str, list[str]](list)
    for name in sorted(found):
        alike["".join(name.split()).casefold()].append(name)
    listed = [
        " and ".join(f"{quoted(name, 40)} ({found[name]:,} rows)" for name in names)
        for names in alike.values()
        if len(names) > 1
    ]
    if listed:
        print(
            f"onlinear: warning: the target {target!r} has classes that differ only by spaces or "
            f"upper case: {'; '.join(listed)}",
            file=sys.stderr,
        )


def _is_number(kind: pa.DataType) -> bool:
    tests = pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null
    return any(test(kind) for test in tests)


def _name(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)


def _value(name: str) -> float:
    return float(TRUTHS.index(name)) if name in TRUTHS else float(name)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
