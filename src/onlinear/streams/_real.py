"""``load``: real data sets of the algorithms' papers, from a folder, the cache, or the web.

The checksum of every copy of a data set is verified, so that the papers' figures are made from the
same numbers on every machine.
"""

import csv
import gzip
import hashlib
import io
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, overload

import numpy as np

from onlinear._state_files import file_format
from onlinear.streams import _published, _reuters

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["DataNotFoundError", "Documents", "Table", "Vectors", "cache", "load"]


class DataNotFoundError(FileNotFoundError):
    """Raised if a data set is in none of the folders searched, and could not be downloaded."""


class Table(NamedTuple):
    """Rows of numbers X, their labels y, and the names of the columns of X."""

    X: np.ndarray
    y: np.ndarray
    names: tuple[str, ...]


class Documents(NamedTuple):
    """Texts in order of date, and the topics of each text."""

    texts: list[str]
    topics: list[frozenset[str]]


class Vectors(NamedTuple):
    """Documents as sparse rows, a column of Y for each topic, and the names of the topics."""

    X: "csr_array"
    Y: "csr_array"
    topics: tuple[str, ...]


class _Known(NamedTuple):
    """A data set that is a table: public address, checksum, and the function that downloads it."""

    address: str
    sha256: str  # of its numbers, row by row, the label last, as little-endian float64
    fetch: Callable[[Path], tuple[Sequence[str], np.ndarray]]  # names and numbers, the label last


TABLES = {
    "friedman": _Known(
        "https://www.openml.org/d/564",
        "e28f61f7afa3ea95efce0e200fe79686a5984c8f2803dfd03947578ac96dcf8d",
        _published.friedman,
    ),
    "istanbul_stock_exchange": _Known(
        "https://archive.ics.uci.edu/dataset/247",
        "1dd9b7f52e418b7e9c58689663b8eb7739a11f8cb9af86284f116a9a7c66d0f4",
        _published.istanbul,
    ),
    "f16_ailerons": _Known(
        "https://www.dcc.fc.up.pt/~ltorgo/Regression/ailerons.html",
        "50c943fcbd36d707b6f300bc1d6c1d4697752434ca06f7a3f2c0d6a73f5a8700",
        _published.ailerons,
    ),
}
REUTERS = "https://archive.ics.uci.edu/dataset/137"
REUTERS_TABLE_SHA256 = "8ccb15e54b4a29bc50fff0c01a1f19148797f965a22410071f4a0f4d9606f90f"
RCV1 = "https://scikit-learn.org/stable/datasets/real_world.html#rcv1-dataset"
NAMES = (*TABLES, "reuters21578", "rcv1")

Place = str | os.PathLike[str]
TableName = Literal["friedman", "istanbul_stock_exchange", "f16_ailerons"]


def cache() -> Path:
    """Return the folder for downloaded data sets: ``ONLINEAR_DATA``, or ``~/.cache/onlinear``."""
    return Path(os.environ.get("ONLINEAR_DATA") or Path.home() / ".cache" / "onlinear")


@overload
def load(name: TableName, folder: Place | None = None, download: bool = True) -> Table: ...
@overload
def load(
    name: Literal["reuters21578"], folder: Place | None = None, download: bool = True
) -> Documents: ...
@overload
def load(name: Literal["rcv1"], folder: Place | None = None, download: bool = True) -> Vectors: ...


def load(
    name: str, folder: Place | None = None, download: bool = True
) -> Table | Documents | Vectors:
    """Return a real data set on which the papers of the algorithms report results.

    The data set is looked for in ``folder``, then in the cache (the folder in the environment
    variable ``ONLINEAR_DATA``, or ``~/.cache/onlinear``), then downloaded from its public source
    and kept in the cache. The checksum of the data is always verified. Downloading needs
    scikit-learn: ``pip install "onlinear[papers]"``.

    Parameters
    ----------
    name : str
        ``"friedman"`` (40,768 rows × 10 features, OpenML 564), ``"istanbul_stock_exchange"``
        (536 × 8, UCI 247) and ``"f16_ailerons"`` (7,154 × 40, Torgo's collection) are returned as a
        :class:`Table`. In a folder, each of these three is a file ``NAME.csv`` or ``NAME.csv.gz``,
        with a header and the label last. ``"reuters21578"``, the stories of Reuters-21578 (UCI
        137), is returned as :class:`Documents`. In a folder, it is the archive
        ``reuters21578.tar.gz``, or ``text_reuters21578.csv.gz``, a table made from the archive with
        the columns title, body and topics. ``"rcv1"`` is returned as :class:`Vectors`, with the
        numbers of scikit-learn's ``fetch_rcv1``; it is read from scikit-learn's cache, or from
        ``folder`` if that is a ``data_home`` of scikit-learn.
    folder : path, optional
        The folder in which to look for the data set first.
    download : bool, default True
        Whether the data set may be downloaded.

    Raises
    ------
    DataNotFoundError
        If the data set is not found; the message names the places searched and the public address.
    ValueError
        If a copy of the data set has the wrong checksum, or cannot be read.

    Examples
    --------
    >>> X, y, names = load("friedman")  # doctest: +SKIP
    >>> load("friedman", "nowhere", download=False)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    DataNotFoundError: the data set friedman is not there: no friedman.csv.gz in nowhere or …
    """
    places = [cache()] if folder is None else [Path(folder), cache()]
    if name in TABLES:
        return _table(name, places, download)
    if name == "reuters21578":
        return _documents(places, download)
    if name == "rcv1":
        return _vectors(places, download)
    raise ValueError(f"load needs one of {', '.join(NAMES)}, got {name!r}")


def _table(name: str, places: Sequence[Path], download: bool) -> Table:
    known = TABLES[name]
    path = _first(places, f"{name}.csv.gz", f"{name}.csv")
    if path is not None:
        return _checked(str(path), known, *_read(path))
    with (
        _reaching(name, f"{name}.csv.gz", known.address, places, download),
        tempfile.TemporaryDirectory() as folder,
    ):
        _published.allowed(download)
        names, numbers = known.fetch(Path(folder))
    table = _checked(known.address, known, names, numbers)
    _keep(places[-1] / f"{name}.csv.gz", _written(names, numbers))
    return table


def _keep(path: Path, content: bytes) -> None:
    """Write a downloaded and verified file to the cache; warn if writing fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file_format.replace(path, content)
    except OSError as error:
        warnings.warn(f"{path.name} was fetched but is not kept: {error}", stacklevel=5)


def _read(path: Path) -> tuple[Sequence[str], np.ndarray]:
    """Return the column names and the numbers of a CSV file, without its column of dates."""
    opened = gzip.open if path.suffix == ".gz" else open
    with _published.damaged(path), opened(path, "rt", encoding="utf-8-sig", newline="") as file:
        names, *rows = (row for row in csv.reader(file) if row)
        start = int(names[0] == "date")
        return names[start:], np.array([row[start:] for row in rows], dtype=float)


def _written(names: Sequence[str], numbers: np.ndarray) -> bytes:
    """Return a table as a compressed CSV file for ``_read``, with every digit of the numbers."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(names)
    writer.writerows(numbers.tolist())
    return gzip.compress(text.getvalue().encode(), mtime=0)


def _checked(where: str, known: _Known, names: Sequence[str], numbers: np.ndarray) -> Table:
    """Return names and numbers as a :class:`Table`; raise unless the checksum is right."""
    plain = np.ascontiguousarray(numbers + 0.0, dtype="<f8")  # turns −0 into 0
    digest = hashlib.sha256(plain.tobytes()).hexdigest()
    if digest != known.sha256:
        raise _published.DamagedDataError(
            f"{where} is not the data set that the papers used: its {numbers.shape} "
            f"numbers have SHA-256 {digest}, not {known.sha256}"
        )
    return Table(plain[:, :-1].copy(), plain[:, -1].copy(), tuple(names[:-1]))


def _documents(places: Sequence[Path], download: bool) -> Documents:
    """Return Reuters-21578 from its archive, or from a table made from the archive."""
    table = _first(places, "text_reuters21578.csv.gz")
    path = _first(places, "reuters21578.tar.gz")
    if path is None and table is None:
        with _reaching("reuters21578", "reuters21578.tar.gz", REUTERS, places, download):
            _published.allowed(download)
            path = _published.reuters(places[-1])
    if path is not None:
        stories = _reuters.read_archive(path, _published.REUTERS_SHA256)
    elif table is not None:
        stories = _reuters.read_table(table, REUTERS_TABLE_SHA256)
    return Documents([text for text, _ in stories], [topics for _, topics in stories])


def _vectors(places: Sequence[Path], download: bool) -> Vectors:
    """Return RCV1 from scikit-learn."""
    from scipy.sparse import csr_array

    folder = next((place for place in places if (place / "RCV1").is_dir()), None)
    with _reaching("rcv1", "RCV1", RCV1, [*places, _published.sklearn_cache()], download):
        found = _published.rcv1(folder, download)
    topics = tuple(map(str, found.target_names))
    return Vectors(csr_array(found.data), csr_array(found.target, dtype=bool), topics)


def _first(places: Sequence[Path], *names: str) -> Path | None:
    """Return the first file in the folders ``places`` that has one of the ``names``, or None."""
    paths = (place / name for place in places for name in names)
    return next((path for path in paths if path.exists()), None)


@contextmanager
def _reaching(
    name: str, file: str, address: str, places: Sequence[Path], download: bool
) -> Iterator[None]:
    """Turn a failed or forbidden download into an error that names the folders and the address."""
    sought = " or ".join(f"{place}{'' if place.is_dir() else ' (no folder)'}" for place in places)
    missing = f"the data set {name} is not there: no {file} in {sought}"
    try:
        with _published.fetching():
            yield
    except ImportError:
        raise DataNotFoundError(f"{missing}, and {_published.ADVICE}") from None
    except OSError as error:
        reason = getattr(error, "reason", error)
        why = f"it could not be fetched ({reason}): is there a network?"
        raise DataNotFoundError(
            f"{missing}, and {why if download else 'fetching it was not allowed.'} It is at "
            f"{address}"
        ) from None
