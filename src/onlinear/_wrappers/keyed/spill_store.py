"""Records on disk by key, in a temporary SQLite file.

The record of a key is an array: some counts, then the state of the key's model.
"""

import contextlib
import ctypes
import os
import shutil
import sqlite3
import tempfile
import time
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from onlinear._state_files.key_codec import decoded, encoded
from onlinear._wrappers.keyed.key_batch import KeyBatch, integer_batch, other_batch

__all__ = ["SpillStore"]

CACHE = 8192  # kilobytes of SQLite's cache
ROWS = 4096  # how many records are read at a time
RUNS = 2**31  # run numbers start again from 0 at this number
PREFIX, FILE = "onlinear-", "records.sqlite"
FRESH = 60.0  # age in seconds up to which a file may be in use but not locked yet


class SpillStore:
    """Stores records of ``size`` numbers by key, in a file in ``folder``.

    If ``folder`` is None, the file is in the folder for temporary files. The file only extends the
    memory: it is removed when this object is deleted or the process ends. To keep the models for
    longer, save the ``Keyed``.
    """

    def __init__(self, size: int, folder: str | None) -> None:
        self.size = size
        self._run = 0  # number of the last run begun
        self._running = False
        remove_abandoned(folder)
        own = tempfile.mkdtemp(prefix=PREFIX, dir=folder)
        self._owner = os.getpid()
        self._connection = sqlite3.connect(
            Path(own) / FILE, isolation_level=None, check_same_thread=False
        )
        weakref.finalize(self, _remove, self._connection, own, self._owner)
        for setting in (
            "journal_mode=TRUNCATE",
            "synchronous=OFF",
            "locking_mode=EXCLUSIVE",
            f"cache_size=-{CACHE}",
        ):
            self._base.execute(f"PRAGMA {setting}")
        self._base.execute("CREATE TABLE integers (key INTEGER PRIMARY KEY, record BLOB)")
        self._base.execute("CREATE TABLE others (key BLOB PRIMARY KEY, record BLOB) WITHOUT ROWID")

    @property
    def _base(self) -> sqlite3.Connection:
        """The connection to the database; a forked child must not use its parent's connection."""
        self.check_process()
        return self._connection

    def check_process(self) -> None:
        """Raise an error in a process that was forked from the process that created the file."""
        if os.getpid() != self._owner:
            raise RuntimeError(
                f"these models are partly in a file of process {self._owner}, from which this one "
                f"({os.getpid()}) was forked: save them there and load them here, or start "
                "processes with multiprocessing's 'spawn'"
            )

    def begin(self) -> None:
        """Begin a run, a transaction that is later committed or rolled back."""
        self._undo()  # a transaction that an interrupt left open
        self._run = (self._run + 1) % RUNS
        self._base.execute("BEGIN")
        self._running = True

    def commit(self) -> None:
        """Make all changes since :meth:`begin` permanent."""
        self._base.execute(f"PRAGMA user_version = {self._run}")  # part of the transaction
        self._base.execute("COMMIT")
        self._running = False

    @property
    def committed(self) -> bool:
        """Whether the last run was committed; read from the file: right even after an interrupt."""
        (last,) = self._base.execute("PRAGMA user_version").fetchone()
        return bool(last == self._run) and not (self._running and self._base.in_transaction)

    def rollback(self) -> None:
        """Undo all changes since :meth:`begin`."""
        self._undo()
        self._running = False

    def _undo(self) -> None:
        if self._base.in_transaction:
            self._base.execute("ROLLBACK")

    def write(self, keys: KeyBatch, rows: np.ndarray) -> None:
        """Write ``rows``, the records of ``keys``; if an error occurs, none of them is written."""
        with self._transaction():
            for table, names, where in _tables(keys):
                order = np.argsort(keys.integers) if table == "integers" else range(len(names))
                self._base.executemany(
                    f"INSERT OR REPLACE INTO {table} VALUES (?, ?)",
                    ((names[k], rows[where[k]].tobytes()) for k in order),
                )

    def _transaction(self) -> "_Transaction":
        return _Transaction(self._base, self._running)

    def read(self, keys: KeyBatch) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions in ``keys`` of the keys that are on disk, and their records."""
        found: list[int] = []
        records: list[bytes] = []
        for table, names, where in _tables(keys):
            query = f"SELECT record FROM {table} WHERE key = ?"
            execute = self._base.execute
            order = np.argsort(keys.integers) if table == "integers" else range(len(names))
            for k in order:
                row = execute(query, (names[k],)).fetchone()
                if row is not None:
                    found.append(int(where[k]))
                    records.append(row[0])
        return np.array(found, dtype=np.int64), self._rows(records)

    def remove(self, keys: KeyBatch) -> None:
        """Remove keys and their records."""
        with self._transaction():
            for table, names, _ in _tables(keys):
                self._base.executemany(
                    f"DELETE FROM {table} WHERE key = ?", ((name,) for name in names)
                )

    def all_keys(self) -> tuple[np.ndarray, list[Any]]:
        """Return all keys: the integers in order, and the others in the order of their bytes."""
        integers, others = (
            [key for (key,) in self._base.execute(f"SELECT key FROM {table} ORDER BY key")]
            for table in ("integers", "others")
        )
        return np.array(integers, dtype=np.int64), [decoded(key) for key in others]

    def chunks(self) -> Iterator[tuple[KeyBatch, np.ndarray]]:
        """Yield all keys and records in order, ``ROWS`` at a time; integer keys come first."""
        for table in ("integers", "others"):
            cursor = self._base.execute(f"SELECT key, record FROM {table} ORDER BY key")
            while some := cursor.fetchmany(ROWS):
                names = [name for name, _ in some]
                if table == "integers":
                    keys = integer_batch(np.array(names, dtype=np.int64))
                else:
                    keys = other_batch([decoded(name) for name in names])
                yield keys, self._rows([record for _, record in some])

    def _rows(self, records: list[bytes]) -> np.ndarray:
        return np.frombuffer(b"".join(records)).reshape(len(records), self.size)


def _remove(base: sqlite3.Connection, folder: str, owner: int) -> None:
    if os.getpid() == owner:
        base.close()
        shutil.rmtree(folder, ignore_errors=True)
    else:  # a forked child must not even close it: that could roll back the parent's changes
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(base))


def remove_abandoned(folder: str | None) -> None:
    """Remove the files of killed processes: old files on which no process holds SQLite's lock."""
    for path in Path(folder or tempfile.gettempdir()).glob(f"{PREFIX}*/{FILE}"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > FRESH and _abandoned(path):
                shutil.rmtree(path.parent, ignore_errors=True)


def _abandoned(path: Path) -> bool:
    base = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=0, isolation_level=None)
    try:
        base.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError:  # locked, or this user may not open it
        return False
    except sqlite3.DatabaseError:  # damaged
        return True
    finally:
        base.close()
    return True


def _tables(keys: KeyBatch) -> Iterable[tuple[str, list[Any], np.ndarray]]:
    """Yield each SQLite table's name, the keys to store in it, and their positions in ``keys``."""
    yield "integers", keys.integers.tolist(), keys.integer_rows
    yield "others", [encoded(key) for key in keys.others], keys.other_rows


class _Transaction:
    """A ``with`` block of atomic changes: a part of a run's transaction, or one of its own."""

    def __init__(self, base: sqlite3.Connection, running: bool) -> None:
        self._base, self._running = base, running

    def __enter__(self) -> None:
        self._own = not (self._running and self._base.in_transaction)
        if self._own:
            try:
                if (
                    self._base.in_transaction
                ):  # left by an interrupt: its records are still in memory
                    self._base.execute("ROLLBACK")
                self._base.execute("BEGIN")
            except BaseException:
                if self._base.in_transaction:
                    self._base.execute("ROLLBACK")
                raise

    def __exit__(self, kind: Any, *_: Any) -> None:
        if self._own:
            if kind is None:
                self._base.execute("COMMIT")
            elif self._base.in_transaction:  # SQLite may have rolled back by itself
                self._base.execute("ROLLBACK")
