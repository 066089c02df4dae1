"""Records as they were before a run, to go back to: in memory, and on disk if they are many."""

import tempfile
import weakref
from typing import IO

import numpy as np

from onlinear._engine.segments import Segments
from onlinear._wrappers.keyed.key_index import FREE

__all__ = ["Undo"]

IN_MEMORY = 1 << 22  # bytes; what is more goes to a temporary file


class Undo:
    """Each record once, as it was when the run first came to it.

    The file stays for the next run: to write where it has been written is much faster.
    """

    def __init__(self, folder: str | None = None) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None
        self.forget()

    def forget(self) -> None:
        """Have nothing to go back to."""
        self._kept: list[tuple[np.ndarray, np.ndarray | None]] = []  # slots; records, or on disk
        self._bytes = self._written = 0
        self._log, self._logged = np.empty((0, 0)), np.empty(0, dtype=np.int64)

    def log(self, room: int, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return where a run enters records, from the first row on, and their slots."""
        if self._log.shape != (room, size):
            self._log, self._logged = np.empty((room, size)), np.full(room, FREE)
        return self._log, self._logged

    def _entered(self) -> tuple[np.ndarray, np.ndarray]:
        count = np.count_nonzero(self._logged != FREE)
        return self._logged[:count], self._log[:count]

    def keep(self) -> None:
        """Keep what was entered, and make room. An interrupt may fall anywhere in it."""
        slots, rows = self._entered()
        self._bytes += rows.nbytes
        if self._bytes <= IN_MEMORY:
            self._kept.append((slots.copy(), rows.copy()))
        elif slots.size:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="onlinear-", dir=self._folder)  # noqa: SIM115
                weakref.finalize(self, self._file.close)
            self._file.seek(self._written)
            self._file.write(rows.data)
            self._kept.append((slots.copy(), None))
            self._written += rows.nbytes
        slots[:] = FREE

    def go_back(self, segments: Segments) -> None:
        """Make the records what they were, whatever is pressed meanwhile."""
        while True:
            try:
                segments.put(*self._entered())
                if self._file is not None:
                    self._file.seek(0)
                for slots, rows in self._kept:
                    if rows is None:
                        assert self._file is not None
                        content = self._file.read(8 * segments.size * slots.size)
                        rows = np.frombuffer(content).reshape(slots.size, segments.size)
                    segments.put(slots, rows)
                return
            except KeyboardInterrupt:  # there is an error on its way already
                continue
