"""The undo log: copies of records from before a run, in memory or, if large, on disk."""

import tempfile
import weakref
from typing import IO

import numpy as np

from onlinear._engine.segments import Segments
from onlinear._wrappers.keyed.integer_table import FREE

__all__ = ["UndoLog"]

IN_MEMORY = 1 << 22  # bytes; the rest goes to a temporary file


class UndoLog:
    """A copy of each record that a run changes, made before its first change.

    The file is kept for the next run: overwriting it is much faster than writing a new one.
    """

    def __init__(self, folder: str | None = None) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None
        self.clear()

    def clear(self) -> None:
        """Drop all copies."""
        self._saved: list[tuple[np.ndarray, np.ndarray | None]] = []  # slots; records (None: disk)
        self._bytes = self._written = 0
        self._log, self._logged = np.empty((0, 0)), np.empty(0, dtype=np.int64)

    def buffers(self, rows: int, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the buffers to which a run writes copies of records, and their slots."""
        if self._log.shape != (rows, size):
            self._log, self._logged = np.empty((rows, size)), np.full(rows, FREE)
        return self._log, self._logged

    def _buffered(self) -> tuple[np.ndarray, np.ndarray]:
        count = np.count_nonzero(self._logged != FREE)
        return self._logged[:count], self._log[:count]

    def save_buffers(self) -> None:
        """Save and empty the buffers; safe against interrupts."""
        slots, rows = self._buffered()
        self._bytes += rows.nbytes
        if self._bytes <= IN_MEMORY:
            self._saved.append((slots.copy(), rows.copy()))
        elif slots.size:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="onlinear-", dir=self._folder)  # noqa: SIM115
                weakref.finalize(self, self._file.close)
            self._file.seek(self._written)
            self._file.write(rows.data)
            self._saved.append((slots.copy(), None))
            self._written += rows.nbytes
        slots[:] = FREE

    def restore(self, segments: Segments) -> None:
        """Write all copies back; if interrupted, it can be called again."""
        segments.put(*self._buffered())
        if self._file is not None:
            self._file.seek(0)
        for slots, rows in self._saved:
            if rows is None:
                assert self._file is not None
                content = self._file.read(8 * segments.size * slots.size)
                rows = np.frombuffer(content).reshape(slots.size, segments.size)
            segments.put(slots, rows)
