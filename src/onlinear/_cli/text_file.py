"""CSV and JSON lines files, read as tables."""

import io
from collections import Counter
from collections.abc import Iterator
from functools import cached_property

import pyarrow as pa
import pyarrow.csv

from onlinear._cli.errors import DataError
from onlinear._cli.parsing import CSV, Lines, Parsed, Types
from onlinear._cli.record_splitter import BOM, RecordReader, mark_of

__all__ = ["Records"]

PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")  # gzip, bzip2, xz, zstd
HEAD = 1 << 16  # bytes searched for a null byte, which text does not have


class Records:
    """A text file: CSV or JSON lines."""

    def __init__(
        self, path: str, kind: str, delimiter: str, decimal: str, names: tuple[str, ...] | None
    ) -> None:
        self.text = RecordReader(path, quotes=kind == "csv")
        self.kind, self.delimiter, self.decimal, self.names = kind, delimiter, decimal, names
        self.name = self.text.name
        self.may_miss = kind == "jsonl"  # an absent key is a missing value

    @cached_property
    def _begun(self) -> tuple[CSV | Lines, bytes, int]:
        """The parser of the file, its first records, and the byte position where they begin."""
        data = self.text.first(2 if self.kind == "csv" and not self.names else 1)
        start = len(BOM) if data.startswith(BOM) else 0
        self._refuse_other(data[start:])
        if self.kind == "jsonl":
            return Lines(), data[start:], start
        names = list(self.names or ())
        self._check_names(names)
        if not names:
            end = self.text.first_end(data)
            names, start = self._header(data[start:end]), end
        return CSV(names, self.delimiter, self.decimal), data[start:], start

    def _refuse_other(self, data: bytes) -> None:
        """Refuse data that are empty, compressed, not text, or of another format."""
        begins = data.lstrip()[:1]
        if not begins:
            raise DataError(f"{self.name} is empty")
        if data.startswith(PACKED):
            raise DataError(f"{self.name} is compressed: unpack it, as in zcat data.csv.gz | …")
        if b"\0" in data[:HEAD]:
            raise DataError(f"{self.name} is not UTF-8 text: it contains null bytes")
        if self.kind == "jsonl" and begins == b"[":
            raise DataError(
                f"{self.name} is a JSON array, not JSON lines (jq -c '.[]' converts it)"
            )
        if self.kind == "csv" and begins == b"{":
            raise DataError(f"{self.name} looks like JSON lines: use --format jsonl")

    def _header(self, line: bytes) -> list[str]:
        """Return the column names in the first record of a CSV file."""
        try:
            options = pa.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)
            read = pa.csv.ReadOptions(autogenerate_column_names=True)
            row = pa.csv.read_csv(io.BytesIO(line), read, options)
        except pa.ArrowInvalid as error:
            raise DataError(f"{self.name} has a first line that is not CSV: {error}") from None
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
            numbers = ", ".join(f"{row[i][0]!s:.20}" for i in range(min(row.num_columns, 3)))
            raise DataError(
                f"{self.name} begins with numbers ({numbers}, …), not with the names of its "
                f"columns: give them, --names a,b,c"
            )

    def _check_names(self, names: list[str]) -> None:
        twice = [name for name, times in Counter(names).items() if times > 1]
        if twice:
            raise DataError(f"{self.name} has more than one column named {twice[0]!r}")
        if len(names) == 1:
            other = [mark for mark in (";", "\t", "|", ",") if mark in names[0]]
            if other:
                raise DataError(
                    f"{self.name} has one column, {names[0][:60]!r}: use --delimiter {other[0]!r}"
                )

    def first(self) -> pa.Table:
        """Return the first rows as a table, to find out column names, types and example values."""
        parser, data, _ = self._begun
        table = parser.guess(data) if data.strip() else pa.table({})
        if data.strip() and not len(table) and isinstance(parser, CSV):
            raise DataError(
                f"{self.name}: no row has as many values as its first line, which should name the "
                f"columns ({', '.join(parser.names)[:60]})"
            )
        return table

    def columns(self) -> list[str]:
        """Return the names of the columns."""
        parser = self._begun[0]
        return parser.names if isinstance(parser, CSV) else self.first().column_names

    def blocks(self, types: Types, byte: int, row: int) -> Iterator[tuple[Parsed, int]]:
        """Yield blocks of rows from byte ``byte`` on, each with the position of the block's end.

        ``row``, how many rows to skip, is ignored: only the readers of Parquet and Arrow files need
        it.
        """
        parser, _, start = self._begun
        for data, after in self.text.blocks(byte):
            rows = data[max(start - (after - len(data)), 0) :]  # after the header
            if rows.strip():
                yield parser.parse(rows, types), after

    def mark(self, byte: int, row: int) -> str:
        """Return a fingerprint of the first ``byte`` bytes, or of a whole file if it is compressed.

        When a run is resumed, the fingerprint shows whether the file still begins with the same
        bytes. Later bytes of an uncompressed file are left out, since the file may have grown
        meanwhile. For a pipe, the fingerprint is empty.
        """
        if self.text.piped:
            return ""
        return mark_of(self.text.path, None if self.text.packed else byte)
