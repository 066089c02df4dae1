"""Write the predictions of ``onlinear run`` as CSV, one line per row.

A resumed run first truncates the file to the length that it had when the state of the run was
saved.
"""

import csv
import io
import os
import stat
import sys
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv

from onlinear._cli.answers import Answers
from onlinear._cli.arrow_numbers import array_of
from onlinear._cli.errors import DataError, UsageError

__all__ = ["Nothing", "Output", "Predictions"]

NOT_CSV = (".parquet", ".arrow", ".feather", ".json", ".jsonl", ".xlsx", ".gz")


class Output(Protocol):
    """The protocol of an output for predictions: a file, standard output or nothing."""

    path: str | None

    def write(self, first: int, predictions: np.ndarray, labels: np.ndarray) -> None:
        """Write the predictions and labels of rows numbered from ``first`` on."""
        ...

    def settle(self) -> int:
        """Flush everything to the disk; return the size of the output in bytes."""
        ...


class Nothing:
    """An output that discards predictions, for a run without a predictions file."""

    path: str | None = None

    def write(self, first: int, predictions: np.ndarray, labels: np.ndarray) -> None:
        """Discard the predictions."""

    def settle(self) -> int:
        """Return 0, since this output writes no bytes."""
        return 0


class Predictions:
    """A CSV file of predictions, or standard output (``"-"``), written from byte ``start`` on."""

    def __init__(self, path: str, answers: Answers, start: int = 0) -> None:
        self.path: str | None = path
        self._answers, self._names = answers, ["row", *answers.header]
        if Path(path).suffix.lower() in NOT_CSV:
            raise UsageError(f"--out {path}: predictions are written as CSV")
        self._fd = sys.stdout.fileno() if path == "-" else self._open(path, start)
        self._bytes = start
        if start == 0:
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerow(self._names)
            self._put(text.getvalue().encode())

    def _open(self, path: str, start: int) -> int:
        """Open the file and truncate it to ``start`` bytes, its length when the state was saved."""
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
            size = os.fstat(fd).st_size
            if size < start:
                os.close(fd)
                raise DataError(
                    f"{self.path} has {size} bytes, fewer than the {start} it had at the snapshot: "
                    "it is not the file that was written then"
                )
            if stat.S_ISREG(os.fstat(fd).st_mode):
                os.ftruncate(fd, start)
                os.lseek(fd, start, os.SEEK_SET)
        except OSError as error:
            raise DataError(f"cannot write {self.path}: {error.strerror}") from None
        return fd

    def write(self, first: int, predictions: np.ndarray, labels: np.ndarray) -> None:
        """Write one line for each row, numbered from ``first``; a NaN becomes an empty field."""
        rows = array_of(np.arange(first, first + len(predictions)))
        table = pa.table([rows, *self._answers.columns(predictions, labels)], self._names)
        text = io.BytesIO()
        options = pa.csv.WriteOptions(include_header=False, quoting_style=self._answers.quoting)
        pa.csv.write_csv(table, text, options)
        self._put(text.getbuffer())

    def _put(self, data: bytes | memoryview) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except BrokenPipeError:
            raise
        except OSError as error:
            raise DataError(f"cannot write {self.path}: {error.strerror}") from None
        self._bytes += len(data)

    def settle(self) -> int:
        """Flush everything to the disk; return the size of the output in bytes."""
        if stat.S_ISREG(os.fstat(self._fd).st_mode):
            try:
                os.fsync(self._fd)
            except OSError as error:
                raise DataError(f"cannot write {self.path}: {error.strerror}") from None
        return self._bytes
