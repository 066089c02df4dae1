"""News stories as filtering tasks, and the scores of filters on them.

In a task, a filter has to forward the stories of one topic. Stories are TF-IDF vectors.

Cesa-Bianchi, Conconi & Gentile (2003), section 4.1.
"""

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import onlinear as ol
from onlinear import streams
from onlinear._validation.checks import physical_memory
from onlinear.filtering import Filter, FilterReplay

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["FILTERS", "STORIES", "NewsSource", "Scores", "Tasks", "scores", "tasks"]

STORIES = 70_000  # the paper uses this many of the first stories of RCV1
SHARE = (0.01, 0.05)  # least and largest share of stories with a topic
PARTS = 20  # the F-measure is computed after each of this many equal parts of the stream


class NewsSource(NamedTuple):
    """Which stories to use: a data set, its folder, and how much of it."""

    name: str  # "rcv1" or "reuters21578"
    folder: Path | None = None
    download: bool = False
    first: int | None = None  # how many stories from the beginning, None: all
    labelled: bool = False  # only stories that have a topic at all
    topics: int | None = None  # how many of the most frequent topics, None: all


class Tasks(NamedTuple):
    """Stories as vectors of norm 1, and one column of labels per topic.

    The most frequent topic comes first.
    """

    X: "csr_array"
    Y: np.ndarray
    topics: tuple[str, ...]


@cache
def tasks(source: NewsSource) -> Tasks:
    """Return the non-empty stories, and the topics that 1 to 5 % of them have."""
    if source.name == "rcv1":
        X, has, names = _rcv1(source)
    else:
        X, has, names = _reuters(source)
    some = np.diff(X.indptr) > 0
    X, has = X[some], has[some]
    counts = has.sum(axis=0)
    low, high = (share * len(has) for share in SHARE)
    chosen = [k for k in np.argsort(-counts, kind="stable") if low <= counts[k] <= high]
    chosen = chosen[: source.topics]
    return Tasks(X, has[:, chosen], tuple(names[k] for k in chosen))


def _rcv1(source: NewsSource) -> tuple["csr_array", np.ndarray, list[str]]:
    """Return vectors, labels and topics of RCV1: as many of the first stories as memory allows.

    The filter RIDGE-FULL keeps n²/2 numbers for n stories, and may use half of the memory.
    """
    most = min(source.first or STORIES, int(math.sqrt(physical_memory() / 8)))
    X, Y, topics = streams.load("rcv1", source.folder, source.download)
    return X[:most], Y[:most].toarray().astype(bool), list(topics)


def _reuters(source: NewsSource) -> tuple["csr_array", np.ndarray, list[str]]:
    """Return vectors, labels and topics of Reuters-21578."""
    try:
        from onlinear.text import CorpusTfidf
    except ImportError as error:
        raise streams.DataNotFoundError(f"stories cannot be vectorized: {error}") from None

    texts, topics = streams.load("reuters21578", source.folder, source.download)
    chosen = [i for i, each in enumerate(topics) if each or not source.labelled][: source.first]
    names = sorted(set().union(*(topics[i] for i in chosen)))
    has = np.array([[name in topics[i] for name in names] for i in chosen])
    return CorpusTfidf().fit_transform([texts[i] for i in chosen]), has, names


# for each name, a function that makes the filter; only STAP uses the number of stories and the seed
FILTERS: dict[str, Callable[[int, int], Filter]] = {
    "RIDGE-FULL": lambda stories, seed: ol.RidgeFilter(c=0.0, feedback="full"),
    "Perceptron": lambda stories, seed: ol.Perceptron(),
    "RIDGE-FIL": lambda stories, seed: ol.RidgeFilter(),
    "STAP": lambda stories, seed: ol.AppleTasting(
        ol.RidgeFilter(c=0.0), horizon=stories, seed=seed
    ),
}


class Scores(NamedTuple):
    """A filter's scores on each topic, and its mean F-measure after each part of the stream."""

    f: np.ndarray
    late: np.ndarray  # F in the second half
    precision: np.ndarray
    recall: np.ndarray
    forwarded: np.ndarray  # share of the stories
    alarms: np.ndarray  # false alarms in the first and in the second half
    growing: np.ndarray  # mean F after each twentieth of the stream


def scores(item: tuple[NewsSource, str, int]) -> Scores:
    """Return a filter's scores on every task of a source, given (source, filter's name, seed)."""
    source, name, seed = item
    X, Y, _ = tasks(source)
    rows, middle = len(Y), len(Y) // 2
    runs: list[FilterReplay] = ol.filter_replay(FILTERS[name](rows, seed), X, Y)
    ends = [rows * part // PARTS for part in range(1, PARTS + 1)]
    return Scores(
        np.array([run.f_measure for run in runs]),
        np.array([run[middle:].f_measure for run in runs]),
        np.array([run.precision for run in runs]),
        np.array([run.recall for run in runs]),
        np.array([run.decisions.mean() for run in runs]),
        np.array([[half.false_alarms for half in (run[:middle], run[middle:])] for run in runs]),
        np.array([np.nanmean([run[:end].f_measure for run in runs]) for end in ends]),
    )
