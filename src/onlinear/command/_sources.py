"""Where rows come from: files of several kinds, several of them, or standard input."""

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from onlinear.command._faults import Faults
from onlinear.command._parsing import CSV, Lines, Parsed, Types
from onlinear.command._problems import DataError, UsageError
from onlinear.command._text import BOM, Text

__all__ = ["FORMATS", "START", "Block", "Place", "Source"]

FORMATS = ("csv", "jsonl", "parquet", "arrow")
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".json": "jsonl",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
}
ROWS, NUMBERS = 1 << 16, 1 << 21  # most of a block of Parquet or Arrow
HEAD, TAIL = 1 << 16, 1 << 12  # bytes by which a file is known again


class Place(NamedTuple):
    """A row of the stream: the file, a byte (of text) where a row begins, and how many rows on.

    ``row`` and ``total`` count the rows before that byte, of the file and of the stream.
    """

    file: int = 0
    byte: int = 0
    row: int = 0
    total: int = 0
    skip: int = 0

    @property
    def number(self) -> int:
        """The row of the stream, the first being 0."""
        return self.total + self.skip

    def plus(self, rows: int) -> "Place":
        """Return the place some rows on, within a block."""
        return self._replace(skip=self.skip + rows)


START = Place()


class Block(NamedTuple):
    """Some rows: what was read, what could not be, and the places before and after.

    Row k is at ``before.plus(k)``.
    """

    table: pa.Table
    faults: Faults
    before: Place
    after: Place


@dataclass(frozen=True)
class Source:
    """Files, or standard input, as one stream of rows."""

    paths: tuple[str, ...]
    format: str | None = None
    delimiter: str | None = None
    names: tuple[str, ...] | None = None  # of a CSV that has no header

    def __post_init__(self) -> None:
        """Refuse what cannot be read, before anything is."""
        if self.piped and len(self.paths) > 1:
            raise UsageError("standard input, -, is read alone, not beside files")
        for path in self.paths:
            if path != "-" and not Path(path).exists():
                raise DataError(f"there is no file {path}")
            if path != "-" and Path(path).is_dir():
                raise DataError(f"{path} is a folder: name the files in it, such as {path}/*.csv")
        self._files  # noqa: B018 - each is looked at

    @property
    def piped(self) -> bool:
        """Whether rows come through standard input, and so only once."""
        return "-" in self.paths

    @cached_property
    def size(self) -> int | None:
        """How many bytes there are; None if nobody knows."""
        if self.piped or any(_is_packed(path) for path in self.paths):
            return None
        return sum(Path(path).stat().st_size for path in self.paths)

    @cached_property
    def _files(self) -> "list[_File]":
        return [self._file(path) for path in self.paths]

    def _file(self, path: str) -> "_File":
        kind = self.format or ("csv" if path == "-" else _kind(path))
        if kind in ("parquet", "arrow"):
            if path == "-":
                raise UsageError(f"standard input is read as csv or jsonl, not {kind}")
            return _Batches(path, kind)
        delimiter = self.delimiter or ("\t" if ".tsv" in Path(path).suffixes else ",")
        return _Records(path, kind, delimiter, self.names)

    def first(self) -> pa.Table:
        """Return a first look at the rows: names, types, some values."""
        table = self._files[0].first()
        if not len(table):
            raise DataError(f"{self._files[0].name} has no rows")
        return table

    def columns(self, file: int) -> list[str]:
        """Return the names of a file's columns."""
        return self._files[file].columns()

    @property
    def may_miss(self) -> bool:
        """Whether a column may be missing from rows, as a key may from a JSON object."""
        return self._files[0].may_miss

    def blocks(self, types: Types, place: Place = START) -> Iterator[Block]:
        """Yield the rows from a place on, the columns asked for."""
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
                    yield Block(table, faults, place, after)
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
        """Return by what the file is known that was read up to a place."""
        return self._files[place.file].mark(place.byte, place.row)

    def where(self, place: Place) -> str:
        """Return words for the row at a place."""
        words = f"row {place.number}"
        if len(self.paths) > 1:
            words += f" (row {place.row + place.skip} of {self._files[place.file].name})"
        return words


def _is_packed(path: str) -> bool:
    return Text(path, quotes=False).packed


def _kind(path: str) -> str:
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and _is_packed(path):
        suffixes.pop()
    kind = SUFFIXES.get(suffixes[-1]) if suffixes else None
    if kind is None:
        raise UsageError(f"{path} could be anything: say --format {'|'.join(FORMATS)}")
    return kind


class _Records:
    """A text file: CSV or JSON lines."""

    def __init__(self, path: str, kind: str, delimiter: str, names: tuple[str, ...] | None) -> None:
        self.text = Text(path, quotes=kind == "csv")
        self.kind, self.delimiter, self.names = kind, delimiter, names
        self.name = self.text.name
        self.may_miss = kind == "jsonl"  # a key that is not there is a value that is missing

    @cached_property
    def _begun(self) -> tuple[CSV | Lines, bytes, int]:
        """The parser, the first records, and the byte where they begin."""
        data = self.text.first(2 if self.kind == "csv" and not self.names else 1)
        start = len(BOM) if data.startswith(BOM) else 0
        if not data[start:].strip():
            raise DataError(f"{self.name} is empty")
        if self.kind == "jsonl":
            return Lines(), data[start:], start
        names = list(self.names or ())
        if not names:
            end = self.text.first_end(data)
            names, start = self._header(data[start:end]), end
        return CSV(names, self.delimiter), data[start:], start

    def _header(self, line: bytes) -> list[str]:
        """Return the names in the first record."""
        try:
            options = pa.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)
            read = pa.csv.ReadOptions(autogenerate_column_names=True)
            row = pa.csv.read_csv(io.BytesIO(line), read, options)
        except pa.ArrowInvalid as error:
            raise DataError(f"{self.name} has a first line that is no CSV: {error}") from None
        if not len(row):
            raise DataError(f"{self.name} has no header: its first line is empty")
        self._refuse_numbers(row)
        texts = pa.csv.ConvertOptions(column_types=dict.fromkeys(row.column_names, pa.string()))
        row = pa.csv.read_csv(io.BytesIO(line), read, options, texts)
        names = [str(row[i][0].as_py()).strip() for i in range(row.num_columns)]
        self._check_names(names)
        return names

    def _refuse_numbers(self, row: pa.Table) -> None:
        if not any(pa.types.is_string(kind) for kind in row.schema.types):
            numbers = ", ".join(str(row[i][0]) for i in range(min(row.num_columns, 3)))
            raise DataError(
                f"{self.name} begins with numbers ({numbers}, …), not with the names of its "
                f"columns: give them, --names a,b,c"
            )

    def _check_names(self, names: list[str]) -> None:
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise DataError(f"{self.name} has more than one column {twice[0]!r}")
        if len(names) == 1:
            other = [mark for mark in (";", "\t", "|", ",") if mark in names[0]]
            if other:
                raise DataError(
                    f"{self.name} has one column, {names[0][:60]!r}: say --delimiter {other[0]!r}"
                )

    def first(self) -> pa.Table:
        parser, data, _ = self._begun
        return parser.guess(data) if data.strip() else pa.table({})

    def columns(self) -> list[str]:
        parser = self._begun[0]
        return parser.names if isinstance(parser, CSV) else self.first().column_names

    def blocks(self, types: Types, byte: int, row: int) -> Iterator[tuple[Parsed, int]]:
        parser, _, start = self._begun
        for data, after in self.text.blocks(byte):
            rows = data[max(start - (after - len(data)), 0) :]  # after the header
            if rows.strip():
                yield parser.parse(rows, types), after

    def mark(self, byte: int, row: int) -> str:
        if self.text.piped or self.text.packed:
            return ""
        with Path(self.text.path).open("rb") as file:
            head = file.read(min(byte, HEAD))
            file.seek(max(byte - TAIL, 0))
            return hashlib.sha256(head + file.read(min(byte, TAIL))).hexdigest()


class _Batches:
    """A file of columns: Parquet or Arrow."""

    may_miss = False

    def __init__(self, path: str, kind: str) -> None:
        self.name, self.kind = path, kind

    @cached_property
    def _file(self) -> Any:
        try:
            if self.kind == "parquet":
                return pa.parquet.ParquetFile(self.name)
            try:
                return pa.ipc.open_file(pa.OSFile(self.name))
            except pa.ArrowInvalid:
                return None  # a stream: it begins anew each time
        except (pa.ArrowInvalid, OSError) as error:
            raise DataError(f"{self.name} is no {self.kind} file: {error}") from None

    def _schema(self) -> pa.Schema:
        if self.kind == "parquet":
            return self._file.schema_arrow
        return (self._file or self._stream()).schema

    def _stream(self) -> Any:
        try:
            return pa.ipc.open_stream(pa.OSFile(self.name))
        except (pa.ArrowInvalid, OSError) as error:
            raise DataError(f"{self.name} is no arrow file: {error}") from None

    def columns(self) -> list[str]:
        return list(self._schema().names)

    def first(self) -> pa.Table:
        for batch in self._batches(self.columns(), 0):
            return pa.Table.from_batches([batch[:1000]])
        return self._schema().empty_table()

    def blocks(self, types: Types, byte: int, row: int) -> Iterator[tuple[Parsed, int]]:
        most = max(min(ROWS, NUMBERS // len(types)), 1)
        for batch in self._batches(list(types), row):
            for start in range(0, batch.num_rows, most):
                yield Parsed(pa.Table.from_batches([batch.slice(start, most)]), {}), 0

    def _batches(self, columns: list[str], skip: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows after the first ``skip``."""
        try:
            yield from self._all_batches(columns, skip)
        except (pa.ArrowInvalid, OSError) as error:
            raise DataError(f"cannot read {self.name}: {error}") from None

    def _all_batches(self, columns: list[str], skip: int) -> Iterator[pa.RecordBatch]:
        if self.kind == "parquet":
            groups = list(range(self._file.num_row_groups))
            while groups and skip >= (rows := self._file.metadata.row_group(groups[0]).num_rows):
                skip -= rows
                groups.pop(0)
            most = max(min(ROWS, NUMBERS // len(columns)), 1)
            batches: Any = self._file.iter_batches(most, row_groups=groups, columns=columns)
        elif self._file is not None:
            batches = map(self._file.get_batch, range(self._file.num_record_batches))
        else:
            batches = iter(self._stream())
        for batch in batches:
            passed = min(skip, batch.num_rows)
            skip -= passed
            if passed < batch.num_rows:
                yield batch.slice(passed).select(columns)

    def mark(self, byte: int, row: int) -> str:
        return hashlib.sha256(self._schema().to_string().encode()).hexdigest()


_File = _Records | _Batches
