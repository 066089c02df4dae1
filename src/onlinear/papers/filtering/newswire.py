"""News stories as filtering tasks, and the scores of filters on them.

In a task, a filter has to forward the stories of one topic. Stories are TF-IDF vectors.

Cesa-Bianchi, Conconi & Gentile (2003), section 4.1.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import onlinear as ol
from onlinear import streams
from onlinear._validation.checks import physical_memory
from onlinear.filtering import Filter, FilterReplay
from onlinear.papers._harness.study import Study

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "BY_CHANCE",
    "FILTERS",
    "PARTS",
    "SEES_ALL",
    "STORIES",
    "NewsSource",
    "Scores",
    "Tasks",
    "mean_scores",
    "news_source",
    "scores",
    "tasks",
]

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
    pieces: int = 1  # the wanted topic changes after each of so many equal parts of the stream


def news_source(study: Study) -> NewsSource:
    """Return RCV1 if it is available, else its substitute, Reuters-21578."""
    if not study.quick:
        source = NewsSource("rcv1", study.folder)
        try:
            tasks(source)
        except streams.DataNotFoundError:
            pass
        else:
            return source
    source = NewsSource("reuters21578", study.folder, study.download)
    return source._replace(first=3000, topics=4) if study.quick else source


class Tasks(NamedTuple):
    """Stories as vectors of norm 1, and one column of labels per topic.

    The most frequent topic comes first.
    """

    X: "csr_array"
    Y: np.ndarray
    topics: tuple[str, ...]


@cache
def tasks(source: NewsSource) -> Tasks:
    """Return the non-empty stories, and the topics that 1 to 5 % of them have.

    If the stream has several pieces, the k-th task is to forward the stories of topic k in the
    first piece, those of topic k + 1 in the second, and so on; after the last topic comes the
    first.
    """
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
    Y = has[:, chosen]
    pieces = [np.roll(part, -i, axis=1) for i, part in enumerate(np.array_split(Y, source.pieces))]
    return Tasks(X, np.concatenate(pieces), tuple(names[k] for k in chosen))


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


SEES_ALL = ("RIDGE-FULL", "Perceptron")  # the filters that see the label of every story
BY_CHANCE = (  # the filters that use the seed
    "STAP",
    "P-RIDGE-FIL",
    "P-RIDGE-FIL, forward",
    "P-RIDGE-FIL, p = .05",
    "LASER-FIL",
)

# for each name, a function that makes the filter, given the number of stories and the seed
FILTERS: dict[str, Callable[[int, int], Filter]] = {
    "RIDGE-FULL": lambda stories, seed: ol.RidgeFilter(c=0.0, feedback="full"),
    "Perceptron": lambda stories, seed: ol.Perceptron(),
    "RIDGE-FIL": lambda stories, seed: ol.RidgeFilter(),
    "RIDGE-FIL, drift": lambda stories, seed: ol.RidgeFilter(drift=1e4),
    "RIDGE-FIL, faster drift": lambda stories, seed: ol.RidgeFilter(drift=5e3),
    "STAP": lambda stories, seed: ol.AppleTasting(
        ol.RidgeFilter(c=0.0), horizon=stories, seed=seed
    ),
    "P-RIDGE-FIL": lambda stories, seed: ol.PRidgeFilter(horizon=stories, seed=seed),
    "P-RIDGE-FIL, forward": lambda stories, seed: ol.PRidgeFilter(
        margin="forward", horizon=stories, seed=seed
    ),
    "P-RIDGE-FIL, p = .05": lambda stories, seed: ol.PRidgeFilter(
        p=0.05, margin="forward", seed=seed
    ),
    "LASER-FIL": lambda stories, seed: ol.LaserFilter(c=1e4, p=0.05, seed=seed),
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
    local: np.ndarray  # F in each twentieth of the stream, of the counts of all topics


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
        np.array([pooled([run[i:j] for run in runs]) for i, j in pairwise([0, *ends])]),
    )


def pooled(runs: Sequence[FilterReplay]) -> float:
    """Return the F-measure of the counts of several runs; NaN if it is 0/0."""
    hits, mistakes = (sum(getattr(run, name) for run in runs) for name in ("hits", "mistakes"))
    return 2 * hits / (2 * hits + mistakes) if hits + mistakes else math.nan


def mean_scores(each: Sequence[Scores]) -> Scores:
    """Return the mean of the scores of several runs."""
    return Scores(*(np.mean(values, axis=0) for values in zip(*each, strict=True)))
