"""``Source``: one or more files, or standard input, read as one stream of rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from onlinear._cli.columnar_file import Batches
from onlinear._cli.errors import DataError, UsageError
from onlinear._cli.formats import EXCEL, SUFFIXES, Format
from onlinear._cli.parsing import Types
from onlinear._cli.record_splitter import RecordReader
from onlinear._cli.row_faults import Faults
from onlinear._cli.text_file import Records

__all__ = ["START", "Place", "Source", "SourceBlock"]


class Place(NamedTuple):
    """A position in a stream of rows, from which a run can be resumed.

    Each file is read in blocks of rows. ``file`` is the number of the file that the place is in,
    and ``byte`` is where the block that has the place begins in this file (text files only).
    ``row`` and ``total`` count the rows before the block, ``row`` in the file and ``total`` in the
    stream; ``skip`` counts the rows of the block that come before the place.
    """

    file: int = 0
    byte: int = 0
    row: int = 0
    total: int = 0
    skip: int = 0

    @property
    def number(self) -> int:
        """The number of the row at this place, counted from 0 at the start of the stream."""
        return self.total + self.skip

    def plus(self, rows: int) -> "Place":
        """Return the place that is ``rows`` rows later in the same block."""
        return self._replace(skip=self.skip + rows)


START = Place()


class SourceBlock(NamedTuple):
    """A block of rows: its table, the bad rows, and the places before and after the block.

    ``faults`` has the reason why each bad row cannot be used. Row k of the block is at the place
    ``before.plus(k)``.
    """

    table: pa.Table
    faults: Faults
    before: Place
    after: Place


@dataclass(frozen=True)
class Source:
    """Files, or standard input, as one stream of rows."""

    paths: tuple[str, ...]
    format: Format | None = None
    delimiter: str | None = None
    decimal: str = "."
    names: tuple[str, ...] | None = None  # for a CSV without a header

    def __post_init__(self) -> None:
        """Refuse files and options that cannot be used, before any row is read."""
        for option, mark in (("--delimiter", self.delimiter), ("--decimal", self.decimal)):
            if mark is not None and (len(mark) != 1 or not mark.isascii()):
                raise UsageError(f"{option} {mark}: it must be one character")
        if self.decimal == (self.delimiter or ","):
            raise UsageError(
                f"--decimal {self.decimal} needs another delimiter: set --delimiter ';', for "
                "example; a file with commas for both must be converted first"
            )
        if self.piped and len(self.paths) > 1:
            raise UsageError("standard input (-) cannot be combined with files")
        for path in self.paths:
            if path != "-" and not Path(path).exists():
                raise DataError(f"there is no file {path}")
            if path != "-" and Path(path).is_fifo():
                raise DataError(f"{path} is a pipe: read it from standard input, - < {path}")
            if path != "-" and Path(path).is_dir():
                raise DataError(f"{path} is a folder: name the files in it, such as {path}/*.csv")
        self._files  # noqa: B018 - opens and checks each

    @property
    def piped(self) -> bool:
        """Whether the rows come from standard input, so that they can be read only once."""
        return "-" in self.paths

    @cached_property
    def size(self) -> int | None:
        """The total size of the files in bytes; None for compressed files and standard input."""
        if self.piped or any(_is_packed(path) for path in self.paths):
            return None
        return sum(Path(path).stat().st_size for path in self.paths)

    @cached_property
    def _files(self) -> list[Records | Batches]:
        return [self._file(path) for path in self.paths]

    def _file(self, path: str) -> Records | Batches:
        kind = self.format or (Format.csv if path == "-" else _kind(path))
        if kind in (Format.parquet, Format.arrow):
            if path == "-":
                raise UsageError(f"standard input is read as csv or jsonl, not {kind}")
            return Batches(path, kind)
        delimiter = self.delimiter or ("\t" if ".tsv" in Path(path).suffixes else ",")
        return Records(path, kind, delimiter, self.decimal, self.names)

    def first(self) -> pa.Table:
        """Return the first rows as a table, to find out column names, types and example values."""
        table = self._files[0].first()
        if not len(table):
            raise DataError(f"{self._files[0].name} has no rows")
        return table

    def columns(self, file: int) -> list[str]:
        """Return the names of the columns of a file, which is given by its number."""
        return self._files[file].columns()

    @property
    def may_miss(self) -> bool:
        """Whether rows may lack a column, as a JSON object may lack a key."""
        return self._files[0].may_miss

    def blocks(self, types: Types, place: Place = START) -> Iterator[SourceBlock]:
        """Yield blocks of rows with the columns and types in ``types``, starting at ``place``."""
        for number in range(place.file, len(self.paths)):
            file = self._files[number]
            if number > place.file:
                place = Place(number, total=place.number)
            self._check_columns(number, types)
            for (table, faults), byte in file.blocks(types, place.byte, place.row):
                rows = len(table)
                after = Place(number, byte, place.row + rows, place.total + rows)
                if (past := min(place.skip, rows)) > 0:
                    table = table.slice(past)
                    faults = {row - past: words for row, words in faults.items() if row >= past}
                    after = after.plus(place.skip - past)
                if past < rows:
                    yield SourceBlock(table, faults, place, after)
                place = after

    def _check_columns(self, number: int, types: Types) -> None:
        columns = self.columns(number)
        missing = [name for name in types if name not in columns]
        if missing and not self._files[number].may_miss:
            raise DataError(
                f"{self._files[number].name} has no column "
                f"{' and no '.join(repr(name) for name in missing)}; it has "
                f"{', '.join(map(repr, columns[:20]))}"
            )

    def mark(self, place: Place) -> str:
        """Return a fingerprint of the data before a place; a resumed run checks it."""
        if self.piped:
            return ""
        before = [str(Path(path).stat().st_size) for path in self.paths[: place.file]]
        return " ".join([*before, self._files[place.file].mark(place.byte, place.row)])

    def where(self, place: Place) -> str:
        """Return a description of the row at a place, for error messages."""
        words = f"row {place.number}"
        if len(self.paths) > 1:
            words += f" (row {place.row + place.skip} of {self._files[place.file].name})"
        return words


def _is_packed(path: str) -> bool:
    return RecordReader(path, quotes=False).packed


def _kind(path: str) -> Format:
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and _is_packed(path):
        suffixes.pop()
    kind = SUFFIXES.get(suffixes[-1]) if suffixes else None
    if suffixes and suffixes[-1] in EXCEL:
        raise UsageError(f"{path} is a spreadsheet: save it as CSV")
    if kind is None:
        raise UsageError(f"cannot tell the format of {path}: use --format {'|'.join(Format)}")
    return kind
