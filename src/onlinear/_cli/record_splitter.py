"""Split a text file into blocks of whole records, starting at any byte.

A record is a row of a CSV file, which may span several lines, or a line of a JSON lines file. This
module, not the CSV or JSON parser, divides a text file into blocks. Because blocks have whole
records, a block with an invalid record can be parsed again record by record, a run can be resumed
at the byte where a block begins, and records from a pipe are parsed as soon as they arrive.
"""

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import closing
from io import FileIO
from lzma import LZMAError, LZMAFile
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from onlinear._cli.errors import DataError

__all__ = ["BLOCK", "BOM", "RecordReader", "mark_of"]

BLOCK = 1 << 22  # bytes read at once
LONGEST = 1 << 26  # bytes a record may have
EDGE = 1 << 16  # bytes at both ends that are hashed to recognize a file
BOM = b"\xef\xbb\xbf"


class _Reader(Protocol):
    def read(self, size: int, /) -> bytes: ...
    def close(self) -> None: ...


class RecordReader:
    """A text file, or standard input (``"-"``), read record by record.

    A record ends at a line end outside quotes; with ``quotes=False``, at any line end.
    """

    def __init__(self, path: str, *, quotes: bool) -> None:
        self.path, self.quotes = path, quotes
        self.piped = path == "-"
        self._ahead: list[bytes] = []  # pieces of a pipe that first() has read, not yet consumed

    @property
    def name(self) -> str:
        """The name of the input in error messages."""
        return "standard input" if self.piped else self.path

    @property
    def packed(self) -> bool:
        """Whether the file is compressed, so that it can only be read from the start."""
        return Path(self.path).suffix.lower() in (".gz", ".bz2", ".zst", ".lz4", ".xz")

    def _open(self, byte: int) -> _Reader:
        if not self.packed:
            plain = FileIO(self.path)
            plain.seek(byte)
            return plain
        if Path(self.path).suffix.lower() == ".xz":
            unpacked: _Reader = LZMAFile(self.path)  # noqa: SIM115 - closed by the caller
        else:
            unpacked = pa.input_stream(self.path, compression="detect")
        while byte > 0 and (passed := unpacked.read(min(byte, BLOCK))):
            byte -= len(passed)
        return unpacked

    def first(self, records: int) -> bytes:
        """Return the first records of the input without consuming them.

        The result has at least ``records`` records, or all records if the input has fewer.
        """
        whole = b""
        for part in self._parts(0):
            whole += part
            self._ahead = [whole]
            end, start, found = self._end(whole), 0, 0
            while start < end and found < records:
                size = self.first_end(whole[start:end])
                found += bool(whole[start : start + size].strip())  # a blank line is no record
                start += size
            if found == records:
                return whole[:end]
            self._check(whole)
        return whole

    def first_end(self, data: bytes) -> int:
        """Return the position after the first record of ``data``."""
        end = 0
        while end < len(data):
            end = data.find(b"\n", end) + 1 or len(data)
            if not (self.quotes and data.count(b'"', 0, end) % 2):
                break
        return end

    def blocks(self, byte: int) -> Iterator[tuple[bytes, int]]:
        """Yield blocks of whole records from ``byte`` on, each with the position where it ends."""
        rest = b""
        self._check_whole(byte)
        for part in self._parts(byte):
            data = rest + part if rest else part
            end = self._end(data)
            rest = data[end:]
            if end:
                byte += end
                yield data[:end], byte
            else:
                self._check(rest)
        if rest.strip():
            yield rest, byte + len(rest)

    def _parts(self, byte: int) -> Iterator[bytes]:
        """Yield pieces of the input, from position ``byte`` on, as the pieces are read.

        A piece read from a pipe has the bytes that have arrived; reading does not wait for more.
        """
        try:
            if self.piped:
                yield from self._ahead
                self._ahead = []
                while part := os.read(sys.stdin.fileno(), BLOCK):
                    yield part
                return
            with closing(self._open(byte)) as reader:
                while part := reader.read(BLOCK):
                    yield part
        except (OSError, EOFError, LZMAError) as error:
            raise DataError(f"cannot read {self.name}: {error}") from None

    def _end(self, data: bytes) -> int:
        """Return the position after the last whole record of ``data``; 0 if no record is whole."""
        end = data.rfind(b"\n") + 1
        if self.quotes:
            open_quotes = data.count(b'"', 0, end) % 2
            while end and open_quotes:
                before = data.rfind(b"\n", 0, end - 1) + 1
                open_quotes = (open_quotes + data.count(b'"', before, end)) % 2
                end = before
        return end

    def _check_whole(self, byte: int) -> None:
        """Refuse to resume within a line: it was incomplete when an earlier run read it."""
        if byte > 0 and not self.piped and not self.packed:
            with Path(self.path).open("rb") as file:
                file.seek(byte - 1)
                around = file.read(2)
            if len(around) == 2 and b"\n" not in around and around[1:] != b"\r":
                raise DataError(f"{self.name}: its last line was incomplete when it was read")

    def _check(self, data: bytes) -> None:
        if len(data) > LONGEST:
            raise DataError(
                f"{self.name} has a record of more than {LONGEST >> 20} MB: is a quote left open?"
            )


def mark_of(path: str, end: int | None) -> str:
    """Return a fingerprint of a file's first ``end`` bytes, or of all bytes if ``end`` is None.

    By the fingerprint, a resumed run recognizes the file that it read before. It consists of the
    number of bytes, and a hash of the first 65,536 and the last 65,536 of these bytes.
    """
    with Path(path).open("rb") as file:
        size = file.seek(0, os.SEEK_END) if end is None else end
        file.seek(0)
        head = file.read(min(size, EDGE))
        file.seek(max(size - EDGE, 0))
        return f"{size} {hashlib.sha256(head + file.read(min(size, EDGE))).hexdigest()}"
