"""The streams of classification.py: real data made into two classes, without a look ahead.

Each function takes a folder and returns a stream, or None if its file is not there.
"""

import csv
import gzip
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from onlinear.text import OnlineTfidf

__all__ = ["ORIGINS", "STREAMS", "Stream"]

DAY = 48  # half hours
WIDTH = 512  # columns that words are hashed to: few enough for a learner of d × d numbers
csv.field_size_limit(sys.maxsize)


@dataclass(frozen=True, eq=False)
class Stream:
    """Rows, their classes as 0 or 1, and whether the rows are texts, which need no scaling."""

    X: np.ndarray
    y: np.ndarray
    text: bool = False


def opened(folder: Path, name: str) -> Path | None:
    """Return the path of a file of a folder, compressed or not; None if there is none."""
    paths = folder / f"{name}.csv.gz", folder / f"{name}.csv"
    return next((path for path in paths if path.exists()), None)


def numbers(path: Path) -> tuple[list[str], np.ndarray]:
    """Return the names and the values of a table of numbers."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        names = file.readline().strip().split(",")
        return names, np.loadtxt(file, delimiter=",", ndmin=2)


def records(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open() as file:
        yield from csv.DictReader(file)


def elec2(path: Path) -> Stream:
    """Is the price above its mean over the last day? No price of the row itself is a feature."""
    _, table = numbers(path)
    price = table[:, -1]
    before = np.cumsum(np.r_[0.0, price])
    mean = (before[DAY:-1] - before[: -DAY - 1]) / DAY  # of the day before each half hour
    return Stream(np.ascontiguousarray(table[DAY:, :-1]), (price[DAY:] > mean) * 1.0)


def occupancy(path: Path) -> Stream:
    """Is somebody in the room? From temperature, humidity, light, CO₂ and the time of day."""
    names, table = numbers(path)
    j = names.index("Occupancy")
    return Stream(np.delete(table, j, axis=1), table[:, j].copy())


def steel(path: Path) -> Stream:
    """Is the load of a steel works light? From what it draws and the time of day."""
    names, table = numbers(path)
    light = table[:, names.index("light")].copy()
    kept = [j for j, name in enumerate(names) if name not in ("light", "max")]
    return Stream(np.ascontiguousarray(table[:, kept]), light)


def spam(path: Path) -> Stream:
    """Is a text message spam? From its words."""
    rows = list(records(path))
    return Stream(
        worded([row["text"] for row in rows]),
        np.array([float(row["y_spam"]) for row in rows]),
        text=True,
    )


def news(path: Path) -> Stream:
    """Is a post about hardware of a Macintosh, not of an IBM PC? In the order of their dates.

    Posts of one day stay in the order of the file, which mixes the groups.
    """
    groups = {"comp.sys.ibm.pc.hardware": 0.0, "comp.sys.mac.hardware": 1.0}
    rows = sorted(
        (row for row in records(path) if row["group"] in groups),
        key=lambda row: row["est_date"],
    )
    texts = [f"{row['subject']}\n{row['body']}" for row in rows]
    return Stream(worded(texts), np.array([groups[row["group"]] for row in rows]), text=True)


def worded(texts: list[str]) -> np.ndarray:
    """Return documents as TF-IDF rows, weighted by the documents up to and including each."""
    return np.asarray(OnlineTfidf(width=WIDTH).learn_transform(texts).toarray())


STREAMS: dict[str, tuple[str, Callable[[Path], Stream]]] = {  # the file, and how to read it
    "elec2": ("elec2_logprice", elec2),
    "occupancy": ("occupancy_co2", occupancy),
    "steel": ("steel_energy", steel),
    "spam": ("text_sms_spam", spam),
    "news": ("text_20news", news),
}
ORIGINS = {
    "elec2": "Elec2, New South Wales, log price",
    "occupancy": "UCI 357",
    "steel": "UCI 851",
    "spam": "UCI 228",
    "news": "20 newsgroups, two groups on hardware",
}
