"""The undo log: copies of records from before a run, in memory or, if large, on disk.

A record is an array of numbers that holds the model of a key, a slot is the place of a record in
memory, and a run is one pass over the rows of a table.
"""

import io
import os
import tempfile
import weakref

import numpy as np

from onlinear._engine.segments import Segments
from onlinear._wrappers.keyed.integer_table import FREE

__all__ = ["UndoLog"]

IN_MEMORY = 1 << 22  # most bytes in memory; more copies go to a temporary file


class UndoLog:
    """Copies of the records that a run changes, each made before the run first changes the record.

    The temporary file of a large log is kept for the next run, since overwriting a file is much
    faster than writing a new one. A forked child process makes its own temporary file.
    """

    def __init__(self, folder: str | None = None) -> None:
        self._folder = folder
        self._file: io.FileIO | None = None
        self._owner = 0  # the process that made the file
        self.clear()

    def clear(self) -> None:
        """Drop all copies."""
        self._saved: list[tuple[np.ndarray, np.ndarray | None]] = []  # slots; records (None: disk)
        self._bytes = self._written = 0
        self._log, self._logged = np.empty((0, 0)), np.empty(0, dtype=np.int64)

    def buffers(self, rows: int, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return buffers for ``rows`` records of ``size`` numbers, and for their slots."""
        if self._log.shape != (rows, size):
            self._log, self._logged = np.empty((rows, size)), np.full(rows, FREE)
        return self._log, self._logged

    def _buffered(self) -> tuple[np.ndarray, np.ndarray]:
        count = np.count_nonzero(self._logged != FREE)
        return self._logged[:count], self._log[:count]

    def save_buffers(self) -> None:
        """Save the copies in the buffers, then empty the buffers; an interrupt loses no copy."""
        slots, rows = self._buffered()
        self._bytes += rows.nbytes
        if self._bytes <= IN_MEMORY:
            self._saved.append((slots.copy(), rows.copy()))
        elif slots.size:
            file = self._own_file()
            file.seek(self._written)
            _write_all(file, rows)
            self._saved.append((slots.copy(), None))
            self._written += rows.nbytes
        slots[:] = FREE

    def _own_file(self) -> io.FileIO:
        """Return the temporary file of this process; make it if there is none yet."""
        if self._file is None or self._owner != os.getpid():
            file = tempfile.TemporaryFile(buffering=0, dir=self._folder)  # noqa: SIM115
            weakref.finalize(self, file.close)
            self._file, self._owner = file, os.getpid()
        return self._file

    def restore(self, segments: Segments) -> None:
        """Write all copies back to their records; an interrupted call can be repeated."""
        segments.put(*self._buffered())
        if self._file is not None:
            self._file.seek(0)
        for slots, rows in self._saved:
            if rows is None:
                assert self._file is not None
                rows = np.empty((slots.size, segments.size))
                _read_all(self._file, rows)
            segments.put(slots, rows)


def _write_all(file: io.FileIO, rows: np.ndarray) -> None:
    """Write all numbers; the file is unbuffered, so a full disk raises an error here."""
    left = rows.reshape(-1).view(np.uint8).data
    while left:
        left = left[file.write(left) :]


def _read_all(file: io.FileIO, rows: np.ndarray) -> None:
    left = rows.reshape(-1).view(np.uint8).data
    while left:
        got = file.readinto(left)
        if not got:
            raise OSError(f"the file of the undo log ends {len(left)} bytes too soon")
        left = left[got:]
