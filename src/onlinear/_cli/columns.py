"""Choose the feature columns and encode text as 0/1 columns; refuse columns that cannot be used."""

import difflib
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from shlex import quote
from typing import Any

import numpy as np
import pyarrow as pa

from onlinear._cli.arrow_numbers import floats
from onlinear._cli.errors import DataError, UsageError
from onlinear._cli.row_faults import Fault, Faults, quoted
from onlinear._cli.source import START, Place, Source, SourceBlock
from onlinear._cli.target_classes import NO_CLASSES, Classes, classes_in, texts

__all__ = ["Columns", "LabelledRows", "choose", "encoded", "read", "split"]

MOST = 1000  # categories that a column may have
FEW = 20  # a text column with at most so many distinct values always counts as categorical
TEXT = "text"
INDEX = "__index_level_0__"  # pandas' name for an unnamed index in Parquet


@dataclass(frozen=True)
class LabelledRows:
    """A block of rows: features, labels (NaN if missing), and what is wrong with each bad row.

    The label of a class is its place in the list of classes.
    """

    X: np.ndarray
    y: np.ndarray
    faults: Faults

    def refuse_first(self, source: Source, block: SourceBlock) -> None:
        """Raise an error that says what is wrong with the first bad row."""
        row = min(self.faults)
        where = source.where(block.before.plus(row))
        raise DataError(f"{where} {self.faults[row]} (--on-bad skip leaves such rows out)")


@dataclass(frozen=True)
class Columns:
    """The target, the numeric columns, and the categorical columns with all their categories."""

    target: str
    numbers: tuple[str, ...]
    categories: dict[str, tuple[str, ...]]
    truths: tuple[str, ...] = ()  # the Boolean columns, features or the target
    dropped: tuple[str, ...] = ()
    classes: Classes = NO_CLASSES  # of the target

    @property
    def names(self) -> list[str]:
        """The names of the features in order; each category is a feature, such as "city=Rome"."""
        ones = [f"{name}={value}" for name, values in self.categories.items() for value in values]
        return [*self.numbers, *ones]

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The columns to read, each with the Arrow type to read it as."""
        numbers = {
            name: pa.bool_() if name in self.truths else pa.float64()
            for name in (*self.numbers, self.target)
        }
        text = [*self.categories, *([self.target] if self.classes.text else [])]
        return {**numbers, **dict.fromkeys(text, pa.string())}

    def check(self, source: Source) -> None:
        """Refuse a source whose columns differ from those the run began with."""
        given = source.columns(0)
        known = {self.target, *self.numbers, *self.categories, *self.dropped}
        missing = [name for name in known if name not in (*given, *self.dropped)]
        missing = [] if source.may_miss else missing
        new = [name for name in given if name not in known]
        for names, words in ((missing, "missing"), (new, "new")):
            if names:
                listed = ", ".join(map(repr, sorted(names)))
                raise DataError(f"the columns are not those the run began with: {words} {listed}")

    def rows(self, block: SourceBlock) -> LabelledRows:
        """Return the features and labels of a block; a row with a missing feature is a bad row."""
        table, faults = block.table, dict(block.faults)
        X = np.empty((len(table), len(self.names)))
        for j, name in enumerate(self.numbers):
            X[:, j] = floats(table[name])
        j = len(self.numbers)
        for name, values in self.categories.items():
            X[:, j : j + len(values)] = self._ones(name, values, table[name], faults)
            j += len(values)
        if not np.isfinite(X).all():
            self._find_missing(X, faults)
        if self.classes.names:
            y = self.classes.numbers(self.target, table[self.target], faults)
            return LabelledRows(X, y, faults)
        y = floats(table[self.target])
        for row in np.flatnonzero(np.isinf(y)):
            faults.setdefault(int(row), Fault("infinity", self.target))
        return LabelledRows(X, y, faults)

    def _ones(
        self, name: str, values: tuple[str, ...], column: pa.ChunkedArray, faults: Faults
    ) -> np.ndarray:
        """Return one 0/1 column per category; a missing or unknown category makes a row bad."""
        import pyarrow.compute as pc  # slow to load

        given = texts(column)
        which = pc.index_in(given, pa.array(values, pa.string())).to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(np.isnan(which.astype(float))):
            text = given[int(row)].as_py()
            missing = Fault("no value", name)
            new = Fault(f"none of the {len(values)} categories", name, quoted(text, 40))
            faults.setdefault(int(row), missing if text is None else new)
        return np.asarray(which.astype(float)[:, None] == np.arange(len(values)), dtype=float)

    def _find_missing(self, X: np.ndarray, faults: Faults) -> None:
        missing, names = ~np.isfinite(X), self.names
        rows = np.flatnonzero(missing.any(axis=1))
        for row, j in zip(rows.tolist(), missing[rows].argmax(axis=1).tolist(), strict=True):
            rule = "no value" if np.isnan(X[row, j]) else "infinity"
            faults.setdefault(row, Fault(rule, names[j]))


def read(
    source: Source, columns: Columns, place: Place = START
) -> Iterator[tuple[SourceBlock, LabelledRows]]:
    """Yield each block of a source from ``place`` on, with the features and labels of its rows."""
    for block in source.blocks(columns.types, place):
        yield block, columns.rows(block)


def choose(
    source: Source,
    target: str,
    drop: Iterable[str] = (),
    one_hot: Iterable[str] = (),
    *,
    classify: bool = False,
    classes: str | Iterable[str] | None = None,
) -> Columns:
    """Return which columns are target, features or dropped; refuse columns that cannot be used.

    With ``classify``, the target holds classes: those in ``classes`` (as names, or in one text with
    commas between), or else all that occur in the source.
    """
    table = source.first()
    drop, wanted = split(drop, table.column_names), dict(_wanted(one_hot, table.column_names))
    for name, option in ((target, "--target"), *((name, "--drop") for name in drop)):
        _known(name, table.column_names, option)
    if target in drop or target in wanted:
        raise UsageError(f"{target!r} is the target: it cannot be dropped or one-hot encoded")
    both = [name for name in wanted if name in drop]
    if both:
        raise UsageError(f"{both[0]!r} is both in --drop and in --one-hot")
    inputs = [name for name in table.column_names if name not in (target, *drop, *wanted)]
    _refuse_unclear(table, inputs, target, classify=classify)
    if not inputs and not wanted:
        raise UsageError(f"no columns are left to predict {target!r} from")
    truths = tuple(n for n in (*inputs, target) if pa.types.is_boolean(table[n].type))
    encoded = _categories(source, wanted)
    kind = table[target].type
    found = classes_in(source, target, kind, classes) if classify else NO_CLASSES
    return Columns(target, tuple(inputs), encoded, truths, tuple(drop), found)


def _wanted(one_hot: Iterable[str], names: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the columns to encode as 0/1 columns, with their categories if the user lists them."""
    for asked in one_hot:
        listed, _, values = (asked, "", "") if asked in names else asked.partition("=")
        for name in split([listed], names):
            _known(name, names, "--one-hot")
            yield name, list(dict.fromkeys(values.split(","))) if values else []


def encoded(one_hot: Iterable[str], names: Collection[str]) -> list[str]:
    """Return the names of the columns in ``one_hot``, without their categories."""
    listed = [asked if asked in names else asked.partition("=")[0] for asked in one_hot]
    return split(listed, names)


def split(asked: Iterable[str], names: Collection[str]) -> list[str]:
    """Return the column names in ``asked``: each text is a name, or several with commas between."""
    found: list[str] = []
    for name in asked:
        parts = name.split(",")
        found += parts if name not in names and all(part in names for part in parts) else [name]
    return found


def _known(name: str, names: list[str], option: str) -> None:
    if name not in names:
        near = [each for each in names if each.lower() == name.lower()]
        near += difflib.get_close_matches(name, names, 1)
        has = f"did you mean {near[0]!r}?" if near else f"the columns are {', '.join(names[:20])}"
        raise UsageError(f"{option} {name}: no such column; {has}")


def _refuse_unclear(table: pa.Table, inputs: list[str], target: str, *, classify: bool) -> None:
    """Refuse columns that are not numeric, and say what can be done about each."""
    comma = [name for name in (target, *inputs) if _has_commas(table[name])]
    if comma:
        raise UsageError(
            f"{comma[0]!r} has numbers with a comma: if it is a decimal comma, use --decimal , "
            "(with another delimiter than a comma); if it separates thousands, remove it"
        )
    kind = _words(table[target].type)
    if kind != "numbers" and not (classify and kind == TEXT):
        if classify:
            allowed = "classes are text, true and false, or numbers"
            raise UsageError(f"the target {target!r} holds {kind}, but {allowed}")
        shown = kind + _example(table[target], kind)
        hint = ": if it holds classes, use --task classify" if kind == TEXT else ""
        raise UsageError(f"the target {target!r} holds {shown}, not numbers{hint}")
    held = {name: _words(table[name].type) for name in inputs}
    held.update(dict.fromkeys({"", INDEX}.intersection(inputs), "what seems to be an index"))
    unclear = {name: words for name, words in held.items() if words != "numbers"}
    if unclear:
        which = "; ".join(
            f"{name!r} holds {words}{_example(table[name], words)}"
            for name, words in unclear.items()
        )
        texts = [name for name, kind in unclear.items() if kind == TEXT and _few(table[name])]
        others = [name for name in unclear if name not in texts]
        instead = " ".join(filter(None, (_option("--drop", others), _option("--one-hot", texts))))
        instead = f", or encode text as 0/1 columns ({instead})" if texts else ""
        them = "it" if len(unclear) == 1 else "them"
        dropped = _option("--drop", list(unclear))
        raise UsageError(f"features must be numbers, but {which}: drop {them} ({dropped}){instead}")


def _option(option: str, names: list[str]) -> str:
    """Return a command-line option that names the columns, quoted for a shell."""
    if any("," in name for name in names):
        return " ".join(f"{option} {quote(name)}" for name in names)
    return f"{option} {quote(','.join(names))}" if names else ""


def _example(column: pa.ChunkedArray, words: str) -> str:
    """Return an example of a text column for an error message: " such as" and its first value."""
    given = (value.as_py() for value in column if value.is_valid)
    return f" such as {quoted(next(given, ''), 30)}" if words == TEXT else ""


def _few(column: pa.ChunkedArray) -> bool:
    """Whether a text column has so few different values that they seem to be categories."""
    return len(column.unique()) <= max(FEW, len(column) // 10)


def _has_commas(column: pa.ChunkedArray) -> bool:
    """Whether most of the first values of a text column are numbers with a decimal comma."""
    if not pa.types.is_string(column.type):
        return False
    given = [text for text in column[:20].to_pylist() if text]
    return sum(bool(re.fullmatch(r"\s*-?\d*,\d+\s*", text)) for text in given) * 2 > len(given)


def _words(kind: Any) -> str:
    """Return what a column of this type holds, in words for messages: "numbers", for example."""
    is_ = pa.types
    tests = is_.is_integer, is_.is_floating, is_.is_decimal, is_.is_boolean, is_.is_null
    if any(test(kind) for test in tests):
        return "numbers"
    if pa.types.is_temporal(kind):
        return "times"
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_binary(kind):
        return "text that is not UTF-8 (iconv -f latin1 -t utf8 converts it)"
    return TEXT if pa.types.is_string(kind) or pa.types.is_large_string(kind) else str(kind)


def _categories(source: Source, wanted: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    """Return the categories of each column: those the user lists, else all that occur, sorted."""
    found: dict[str, set[str]] = {name: set() for name, given in wanted.items() if not given}
    if found and source.piped:
        name = next(iter(found))
        raise UsageError(
            f"the categories of {name!r} cannot be known before standard input ends: list them, "
            f"--one-hot {quote(name)}=a,b,c"
        )
    if found:
        types = dict.fromkeys(found, pa.string())
        for block in source.blocks(types):
            for name, values in found.items():
                values.update(v for v in texts(block.table[name]).unique().to_pylist() if v)
                if len(values) > MOST:
                    raise DataError(
                        f"column {name!r} has more than {MOST} categories: leave it out, --drop "
                        f"{quote(name)}"
                    )
    return {name: tuple(given or sorted(found[name])) for name, given in wanted.items()}
