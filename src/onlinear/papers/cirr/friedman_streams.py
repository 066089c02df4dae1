"""Results on streams of Friedman's function, for Jamil & Bouchachia's Table 2.

They include the experiments that the paper adds in its text.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

import onlinear as ol
from onlinear._evaluation.html.page import Table
from onlinear.papers.cirr.misused_inverse import MisusedInverse
from onlinear.papers.cirr.protocol import (
    Row,
    blue,
    digits,
    grids,
    named,
    predicted,
    rmse,
    row,
    split,
    tuned,
)

__all__ = ["ROUNDS", "SIGNIFICANT", "SIZES", "StreamSeen", "by_input", "draw", "look"]

SIGNIFICANT = [0, 1, 3, 4]  # the columns of x₁, x₂, x₄ and x₅
OTHERS = [2, 5, 6, 7, 8, 9]
STRUCK = 4  # x₅, the input with anomalies
SIZES = 10.0 ** np.arange(1, 7)  # the sizes of the anomalies
WRONG = 1000.0  # a wrong label
ROUNDS = np.unique(np.geomspace(20, 30_576, 40).astype(int))

GIVEN: dict[str, ol.Learner] = {  # the paper's constants, without its errors
    "AAR": ol.AAR(b=0.1),
    "ORR": ol.Ridge(b=0.5),
    "CIRR": ol.CIRR(a=0.5),
    "OSLOG": ol.OSLOG(a=0.5),
    "OGD": ol.OGD(eta=0.05, on_bad="skip"),
}


class StreamSeen(NamedTuple):
    """The results of all learners on one stream."""

    paper: dict[str, Row]  # as the paper ran it, errors included
    right: dict[str, float]  # RMSE with the paper's constants, without its errors
    fair: dict[str, float]  # RMSE of tuned learners
    four: dict[str, float]  # RMSE with the four significant inputs alone
    six: dict[str, float]  # RMSE with the other six inputs alone
    struck: dict[str, np.ndarray]  # RMSE with anomalies of each of SIZES
    mislabelled: dict[str, float]  # RMSE with two labels replaced by WRONG
    weights: dict[str, np.ndarray]  # weights after the first quarter
    excess: dict[str, np.ndarray]  # loss minus that of the best fixed weights, after each of ROUNDS
    chosen: dict[str, str]  # the tuned parameters


def look(X: np.ndarray, y: np.ndarray, every: int) -> StreamSeen:
    """Return the results on a stream; tuning tries every ``every``-th value of the penalty."""
    early, known, rest, labels = split(X, y)
    fair, tried = tuned(early, known, every), grids(early, known, every)
    given = {**GIVEN, "ONS": fair["ONS"]}
    slips = {
        "AAR": MisusedInverse(a=0.1, shrink=True),
        "ORR": MisusedInverse(a=0.5),
        "CIRR": ol.CIRR(a=0.5, floor=0.0),
        "OSLOG": ol.OSLOG(a=0.5, floor=0.0, first="w0"),
    }
    paper = _rows(given | slips, rest, labels)
    paper["BLUE"] = row(labels, blue(rest, labels))
    said = predicted(list(given.values()), rest, labels)
    at = ROUNDS[len(labels) >= ROUNDS] - 1
    best = ol.hindsight.best_fixed(rest, labels)[at]
    excess = np.cumsum((labels - said) ** 2, axis=1)[:, at] - best
    struck = [_errors(given, _struck(rest, size), labels) for size in SIZES]
    bank = ol.Bank([*given.values(), slips["ORR"]], threads=1)
    ol.replay(bank, early, known)
    learnt = [*given, "ORR with the slip"]
    return StreamSeen(
        paper,
        {name: rmse(labels, each) for name, each in zip(given, said, strict=True)},
        _errors(fair, rest, labels),
        _errors(given, np.ascontiguousarray(rest[:, SIGNIFICANT]), labels),
        _errors(given, np.ascontiguousarray(rest[:, OTHERS]), labels),
        {name: np.array([each[name] for each in struck]) for name in given},
        _errors(given, rest, _struck(labels, WRONG)),
        {name: bank[k].coef_ for k, name in enumerate(learnt)},
        dict(zip(given, excess, strict=True)),
        {name: named(learner, tried[name]) for name, learner in fair.items()},
    )


def _rows(learners: Mapping[str, ol.Learner], X: np.ndarray, y: np.ndarray) -> dict[str, Row]:
    said = predicted(list(learners.values()), X, y)
    return {name: row(y, each) for name, each in zip(learners, said, strict=True)}


def _errors(learners: Mapping[str, ol.Learner], X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    return {name: each.rmse for name, each in _rows(learners, X, y).items()}


def _struck(of: np.ndarray, size: float, column: int = STRUCK) -> np.ndarray:
    """Return a copy of rows, or of labels, with ``size`` in place of two values of a column."""
    spoilt = of.copy()
    table = spoilt[:, None] if of.ndim == 1 else spoilt
    table[[len(of) // 3, 2 * len(of) // 3], 0 if of.ndim == 1 else column] = size
    return spoilt


def by_input(X: np.ndarray, y: np.ndarray) -> Table:
    """Return a table of the learners' RMSE: in each row, another input has two anomalies."""
    _, _, rest, labels = split(X, y)
    rows = []
    for column in range(rest.shape[1]):
        errors = _errors(GIVEN, _struck(rest, SIZES[-1], column), labels)
        rows.append([f"x{chr(0x2080 + column + 1) if column < 9 else '₁₀'}"])
        rows[-1] += [digits(errors[name]) for name in GIVEN]
    note = "RMSE on the stream of the first seed, with the paper's constants, without its errors."
    return Table("Two anomalies of 10⁶ in each input", ("input", *GIVEN), rows, note)


def draw(seed: int, rows: int, every: int) -> StreamSeen:
    """Return the results on a new stream of Friedman's function."""
    return look(*ol.streams.friedman(rows=rows, seed=seed), every)
