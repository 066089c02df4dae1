"""Download data sets from their public sources with scikit-learn; no other module downloads."""

import csv
import io
import os
import socket
import tarfile
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "ADVICE",
    "ailerons",
    "allowed",
    "fetching",
    "friedman",
    "istanbul",
    "rcv1",
    "reuters",
    "sklearn_cache",
]

PATIENCE = 30.0  # timeout of a connection, in seconds
ADVICE = 'fetching data sets needs scikit-learn: pip install "onlinear[papers]"'

FRIEDMAN = 564  # number of the data set at OpenML
ISTANBUL = "https://archive.ics.uci.edu/static/public/247/data.csv"
AILERONS = "https://www.dcc.fc.up.pt/~ltorgo/Regression/ailerons.tgz"
AILERONS_SHA256 = "2eb15628e03b0686cb84d199570f5caa9a01755136d87d0002f805dde8464c71"
REUTERS = (
    "https://archive.ics.uci.edu/ml/machine-learning-databases/reuters21578-mld/reuters21578.tar.gz"
)
REUTERS_SHA256 = "3bae43c9b14e387f76a61b6d82bf98a4fb5d3ef99ef7e7075ff2ccbcf59f9d30"

AILERONS_NAMES = (
    *("climbRate", "Sgz", "p", "q", "curPitch", "curRoll", "absRoll", "diffClb", "diffRollRate"),
    *("diffDiffClb", *(f"SeTime{k}" for k in range(1, 15))),
    *(*(f"diffSeTime{k}" for k in range(1, 15)), "alpha", "Se", "target"),
)


class DamagedDataError(ValueError):
    """Raised if a copy of a data set is damaged, or is a copy of another data set."""


@contextmanager
def fetching() -> Iterator[None]:
    """Set a timeout for downloads, and silence warnings of retries."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(PATIENCE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        socket.setdefaulttimeout(before)


@contextmanager
def damaged(where: object) -> Iterator[None]:
    """Turn errors while reading data into a DamagedDataError that names the file or address."""
    try:
        yield
    except (OSError, EOFError, LookupError, TypeError, ValueError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno is not None:  # it cannot be accessed at all
            raise
        raise DamagedDataError(f"{where} is damaged, or not what its name says: {error}") from None


def allowed(download: bool) -> None:
    """Raise an error unless downloading is allowed."""
    if not download:
        raise FileNotFoundError("fetching is not allowed")


def friedman(folder: Path) -> tuple[Sequence[str], np.ndarray]:
    """Return the column names and the rows of OpenML's data set of Friedman's function."""
    from sklearn.datasets import fetch_openml

    got = fetch_openml(
        data_id=FRIEDMAN, as_frame=False, parser="liac-arff", data_home=folder, n_retries=1
    )
    return [*got.feature_names, "target"], np.column_stack([got.data, got.target]).astype(float)


def istanbul(folder: Path) -> tuple[Sequence[str], np.ndarray]:
    """Return the column names and the rows of UCI's data set of Istanbul stock returns."""
    text = _file(ISTANBUL, folder, "istanbul_stock_exchange-uci.csv").read_text("utf-8-sig")
    names = ("ISE_TL", "SP", "DAX", "FTSE", "NIKKEI", "BOVESPA", "EU", "EM", "target")
    with damaged(ISTANBUL):
        _, *rows = csv.reader(io.StringIO(text))
        numbers = np.array([row[1:] for row in rows if row], dtype=float)
        return names, np.column_stack([numbers[:, 0], numbers[:, 2:], numbers[:, 1]])


def ailerons(folder: Path) -> tuple[Sequence[str], np.ndarray]:
    """Return the column names and the rows of ailerons.data, the first part of Torgo's archive."""
    path = _file(AILERONS, folder, "ailerons.tgz", AILERONS_SHA256)
    with tarfile.open(path) as archive:
        member = next(m for m in archive.getmembers() if m.name.endswith("ailerons.data"))
        file = archive.extractfile(member)
        assert file is not None, "it is a file"
        text = file.read().decode("ascii")
    return AILERONS_NAMES, np.loadtxt(io.StringIO(text.replace(",", " ")))


def reuters(folder: Path) -> Path:
    """Return the path of the Reuters-21578 archive, downloading it unless it is in the folder."""
    return _file(REUTERS, folder, "reuters21578.tar.gz", REUTERS_SHA256)


def sklearn_cache() -> Path:
    """Return the folder where scikit-learn keeps its downloads."""
    return Path(os.environ.get("SCIKIT_LEARN_DATA") or Path.home() / "scikit_learn_data")


def rcv1(folder: Path | None, download: bool) -> Any:
    """Return RCV1 from scikit-learn, whose cache is ``folder`` or, if None, the default one."""
    from sklearn.datasets import fetch_rcv1

    try:
        return fetch_rcv1(data_home=folder, download_if_missing=False)
    except OSError:
        if not download:
            raise
    return fetch_rcv1(data_home=folder, n_retries=1)


def _file(url: str, folder: Path, name: str, sha256: str | None = None) -> Path:
    from sklearn.datasets import fetch_file

    folder.mkdir(parents=True, exist_ok=True)
    return Path(fetch_file(url, folder=folder, local_filename=name, sha256=sha256, n_retries=1))
