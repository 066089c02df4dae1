"""The data formats that can be read, and the file suffixes that imply them."""

from enum import StrEnum

__all__ = ["EXCEL", "SUFFIXES", "Format"]


class Format(StrEnum):
    """The format of a data file."""

    csv = "csv"
    jsonl = "jsonl"
    parquet = "parquet"
    arrow = "arrow"


SUFFIXES = {
    ".csv": Format.csv,
    ".tsv": Format.csv,
    ".txt": Format.csv,
    ".json": Format.jsonl,
    ".jsonl": Format.jsonl,
    ".ndjson": Format.jsonl,
    ".parquet": Format.parquet,
    ".pq": Format.parquet,
    ".arrow": Format.arrow,
    ".arrows": Format.arrow,
    ".ipc": Format.arrow,
    ".feather": Format.arrow,
}
EXCEL = (".xlsx", ".xls", ".ods")  # spreadsheets are not read
