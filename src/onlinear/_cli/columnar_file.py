"""Parquet and Arrow files, read as tables."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from onlinear._cli.errors import DataError
from onlinear._cli.parsing import Parsed, Types
from onlinear._cli.record_splitter import mark_of
from onlinear._validation.words import with_article

__all__ = ["Batches"]

ROWS, NUMBERS = 1 << 16, 1 << 21  # the most rows, and the most numbers, of a block


class Batches:
    """A Parquet or Arrow file, read in blocks of rows."""

    may_miss = False

    def __init__(self, path: str, kind: str) -> None:
        self.name, self.kind = path, kind

    @cached_property
    def _file(self) -> Any:
        try:
            if self.kind == "parquet":
                from pyarrow.parquet import ParquetFile  # slow to load

                return ParquetFile(self.name)
            try:
                return pa.ipc.open_file(pa.OSFile(self.name))
            except pa.ArrowInvalid:
                return None  # Arrow's stream format: opened anew for each read
        except (pa.ArrowInvalid, OSError) as error:
            raise DataError(f"{self.name} is not {with_article(self.kind)} file: {error}") from None

    def _schema(self) -> pa.Schema:
        if self.kind == "parquet":
            return self._file.schema_arrow
        return (self._file or self._stream()).schema

    def _stream(self) -> Any:
        try:
            return pa.ipc.open_stream(pa.OSFile(self.name))
        except (pa.ArrowInvalid, OSError) as error:
            raise DataError(f"{self.name} is not {with_article(self.kind)} file: {error}") from None

    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return list(self._schema().names)

    def first(self) -> pa.Table:
        """Return the first rows as a table, to find out column names, types and example values."""
        for batch in self._batches(self.columns(), 0):
            return pa.Table.from_batches([batch[:1000]])
        return self._schema().empty_table()

    def blocks(self, types: Types, byte: int, row: int) -> Iterator[tuple[Parsed, int]]:
        """Skip the first ``row`` rows; yield the others in blocks, each paired with the number 0.

        In place of 0, the reader of text files yields the byte position after the block. Parquet
        and Arrow files have no byte positions, so ``byte``, the position to begin at, is ignored
        here.
        """
        most = max(min(ROWS, NUMBERS // len(types)), 1)
        for batch in self._batches(list(types), row):
            for start in range(0, batch.num_rows, most):
                yield Parsed(pa.Table.from_batches([batch.slice(start, most)]), {}), 0

    def _batches(self, columns: list[str], skip: int) -> Iterator[pa.RecordBatch]:
        """Yield batches of the given columns, without the first ``skip`` rows."""
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
        """Return a fingerprint of the file, by which a resumed run recognizes it."""
        return mark_of(self.name, None)
