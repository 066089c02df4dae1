"""Parse CSV and JSON lines: whole blocks with pyarrow, value by value if a block has a bad row.

A parser is given the columns to read and their types. It returns a table with one row per record (a
row of a CSV file, or a JSON object). A record that cannot be read becomes a row of nulls, an
invalid value becomes a null; in both cases, ``Parsed.faults`` has the reason, under the number of
the row.
"""

import io
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from onlinear._cli.row_faults import Fault, Faults, quoted

__all__ = ["CSV", "Lines", "Parsed", "Types"]

Types = Mapping[str, pa.DataType]


class Parsed(NamedTuple):
    """A table, and its faults: the rows that could not be read in full, each with the reason."""

    table: pa.Table
    faults: Faults


class CSV(NamedTuple):
    """A parser of CSV text, with given column names, delimiter and decimal mark."""

    names: list[str]
    delimiter: str
    decimal: str = "."

    def _read(
        self, data: bytes, types: Types, handler: Callable[[Any], str] | None = None
    ) -> pa.Table:
        return pa.csv.read_csv(
            pa.py_buffer(data),
            pa.csv.ReadOptions(
                column_names=self.names, block_size=max(len(data), 1), use_threads=handler is None
            ),
            pa.csv.ParseOptions(
                delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=handler
            ),
            pa.csv.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                strings_can_be_null=True,
                decimal_point=self.decimal,
            ),
        )

    def guess(self, data: bytes) -> pa.Table:
        """Return the records in ``data`` as a table; the types of its columns are guessed."""
        table = self._read(data, {}, handler=lambda row: "skip")
        for i, name in enumerate(table.column_names):
            if pa.types.is_string(table[name].type) and _mostly_numbers(table[name], self.decimal):
                table = table.set_column(i, name, pa.nulls(len(table), pa.float64()))
        return table

    def parse(self, data: bytes, types: Types) -> Parsed:
        """Return the records in ``data``, as a table with the columns in ``types``, and faults."""
        try:
            return Parsed(self._read(data, types), {})
        except pa.ArrowInvalid:
            return self._row_by_row(data, types)

    def _row_by_row(self, data: bytes, types: Types) -> Parsed:
        faults: Faults = {}

        def ragged(row: Any) -> str:
            rule = f"another number of values than {row.expected_columns}"
            faults[row.number - 1] = Fault(rule, value=str(row.actual_columns))
            return "skip"

        texts = self._read(data, dict.fromkeys(types, pa.binary()), handler=ragged)
        rows = len(texts) + len(faults)
        whole = (row for row in range(rows) if row not in faults)
        where = {row: i for i, row in enumerate(whole)}
        place = pa.array([where.get(row) for row in range(rows)], pa.int64())  # null: unreadable
        columns = {}
        for name, kind in types.items():
            values = texts[name].combine_chunks().take(place)
            columns[name] = _converted(name, values, kind, self.decimal, faults)
        return Parsed(pa.table(columns), faults)


def _mostly_numbers(texts: pa.ChunkedArray, decimal: str) -> bool:
    """Whether most non-empty values are numbers, so that the column counts as numeric."""
    given = [text for text in texts.to_pylist() if text is not None]
    return sum(_number(text.strip(), decimal) is not None for text in given) * 2 > len(given)


def _number(text: str, decimal: str) -> float | None:
    if decimal != ".":
        text = text.replace(".", "_").replace(decimal, ".")
    try:
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None


def _converted(
    name: str, values: pa.Array, kind: pa.DataType, decimal: str, faults: Faults
) -> pa.Array:
    """Convert bytes to the type ``kind``; an invalid value becomes null and adds to ``faults``."""
    found: list[Any] = []
    for row, value in enumerate(values.to_pylist()):
        result = None
        if value is not None:
            text = value.decode("utf-8", errors="replace")
            result = text if pa.types.is_string(kind) else _number_or_bool(text, kind, decimal)
            if result is None or "\ufffd" in text:
                rule = "no text in UTF-8" if pa.types.is_string(kind) else "no number"
                faults.setdefault(row, Fault(rule, name, quoted(text, 40)))
                result = None
        found.append(result)
    return pa.array(found, kind)


def _number_or_bool(text: str, kind: pa.DataType, decimal: str) -> float | bool | None:
    """Return the text as a Boolean if ``kind`` is Boolean, or else as a number; None if invalid."""
    if pa.types.is_boolean(kind):
        return {"true": True, "false": False, "1": True, "0": False}.get(text.strip().lower())
    return _number(text.strip(), decimal)


class Lines:
    """The parser of JSON lines: one JSON object per line."""

    def guess(self, data: bytes) -> pa.Table:
        """Return the records in ``data`` as a table; the types of its columns are guessed."""
        try:
            return pa.json.read_json(
                io.BytesIO(data), pa.json.ReadOptions(block_size=max(len(data), 1))
            )
        except pa.ArrowInvalid:
            records = [found for line in data.splitlines() if (found := _object(line)) is not None]
            names = list(dict.fromkeys(name for record in records for name in record))
            return pa.table({name: _guessed([r.get(name) for r in records]) for name in names})

    def parse(self, data: bytes, types: Types) -> Parsed:
        """Return the records in ``data``, as a table with the columns in ``types``, and faults.

        If a JSON object lacks a key, the value in this column is null.
        """
        options = pa.json.ParseOptions(
            explicit_schema=pa.schema(list(types.items())), unexpected_field_behavior="ignore"
        )
        reading = pa.json.ReadOptions(block_size=max(len(data), 1))
        try:
            table = pa.json.read_json(io.BytesIO(data), reading, options)
            table.validate(full=True)  # checks that text is UTF-8
        except pa.ArrowInvalid:
            return self._line_by_line(data, types)
        if len(table) != sum(1 for line in data.split(b"\n") if line.strip()):
            return self._line_by_line(data, types)  # some object is not on exactly one line
        return Parsed(table, {})

    def _line_by_line(self, data: bytes, types: Types) -> Parsed:
        faults: Faults = {}
        lines = [line for line in data.split(b"\n") if line.strip()]
        columns: dict[str, list[Any]] = {name: [] for name in types}
        for row, line in enumerate(lines):
            record = _object(line)
            if record is None:
                text = quoted(line[:200].decode(errors="replace"), 40)
                faults[row] = Fault("no JSON object", value=text)
            for name, kind in types.items():
                value = None if record is None else record.get(name)
                if value is not None and not _fits(value, kind):
                    rule = "no text" if pa.types.is_string(kind) else "no number"
                    faults.setdefault(row, Fault(rule, name, quoted(value, 40)))
                    value = None
                if value is not None and pa.types.is_floating(kind):
                    value = float(value)
                columns[name].append(value)
        return Parsed(
            pa.table({name: pa.array(columns[name], kind) for name, kind in types.items()}), faults
        )


def _guessed(values: list[Any]) -> pa.Array:
    """Return an array of the type that most values have: Boolean, number, or else text.

    Only text is copied; Booleans and numbers become nulls, since only the array's type is needed.
    """
    given = [value for value in values if value is not None]
    for kind in (pa.bool_(), pa.float64()):
        if sum(_fits(value, kind) for value in given) * 2 > len(given):
            return pa.nulls(len(values), kind)
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a key comes twice")
    return record


def _fits(value: Any, kind: pa.DataType) -> bool:
    if pa.types.is_string(kind):
        return isinstance(value, str)
    if pa.types.is_boolean(kind):
        return isinstance(value, bool)
    try:
        return not isinstance(value, (bool, str)) and float(value) is not None
    except (TypeError, ValueError, OverflowError):
        return False
