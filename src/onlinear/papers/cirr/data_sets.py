"""Results on a data set of Jamil & Bouchachia's Table 3, with the paper's errors and without."""

import time
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

import onlinear as ol
from onlinear.papers.cirr.misused_inverse import MisusedInverse
from onlinear.papers.cirr.protocol import (
    ONLINE,
    Row,
    blue,
    grids,
    named,
    predicted,
    rmse,
    row,
    split,
    tuned,
)

__all__ = [
    "GONE",
    "KEPT",
    "NOTHING",
    "RATES",
    "REACH",
    "STARTS",
    "A",
    "SetSeen",
    "kept",
    "look",
    "parameter",
    "seconds",
    "sensitivity",
    "slips",
    "weights",
    "zeros",
]

KEPT = {"ISE": [0, 1, 2, 3, 5, 6, 7], "F-16": [*range(10), 38]}  # columns kept by CIRR and OSLOG
GONE = [25, 29, 31, 33]  # columns removed from F-16 for AAR and ORR
RATES = {"ISE": 1e-5, "F-16": 1.55e-6}  # the learning rates η of OGD
A = 1e-5  # the paper's constant a
NOTHING = 1e-100  # smaller weights count as 0: they underflow in a few rounds
REACH = 100.0  # the factor by which a parameter is changed to test sensitivity
STARTS = 40  # CIRR's selection of columns is repeated from each of this many of the first rows
MULTIPLES = 10.0 ** np.arange(-2, 2.25, 0.5)  # the multiples of the tuned value that are tried


class SetSeen(NamedTuple):
    """The results of all learners on a data set."""

    rows: int
    paper: dict[str, Row]  # as the paper ran it, errors included
    right: dict[str, Row]  # with the paper's constant, without its errors
    fair: dict[str, float]  # RMSE of tuned learners that start anew
    going: dict[str, float]  # RMSE of tuned learners that continue from the first quarter
    chosen: dict[str, ol.Learner]  # the tuned learners
    tuned_to: dict[str, str]  # their parameters as text
    curves: dict[str, np.ndarray]  # RMSE of the rounds so far, with the paper's constant
    by_parameter: dict[str, tuple[np.ndarray, np.ndarray]]  # parameters and RMSE


def look(name: str, X: np.ndarray, y: np.ndarray, every: int) -> SetSeen:
    """Return the results on a data set; tuning tries every ``every``-th value of the penalty."""
    early, known, rest, labels = split(X, y)
    few = np.ascontiguousarray(rest[:, KEPT[name]])
    ogd = ol.OGD(eta=RATES[name], on_bad="skip")
    sparse = [ol.CIRR(a=A, floor=0.0), ol.OSLOG(a=A, floor=0.0, first="w0")]
    said = [*predicted([*slips(), ogd], rest, labels), *predicted(sparse, few, labels)]
    said.append(blue(rest, labels))
    paper = dict(zip(("AAR", "ORR", "OGD", "CIRR", "OSLOG", "BLUE"), said, strict=True))
    given = [ol.AAR(b=A), ol.Ridge(b=A), ol.CIRR(a=A), ol.OSLOG(a=A), ogd]
    given.append(ol.OSLOG(a=A, first="w0"))
    names = (*ONLINE[:-1], "OSLOG, ŷ₁ = w₀ᵀx₁")
    right = dict(zip(names, predicted(given, rest, labels), strict=True))
    count = np.arange(1, len(labels) + 1)
    chosen, tried = tuned(early, known, every), grids(early, known, every)
    learners = list(chosen.values())
    fair, going = predicted(learners, rest, labels), predicted(learners, X, y)[:, len(known) :]
    return SetSeen(
        len(y),
        {learner: row(labels, each) for learner, each in paper.items()},
        {learner: row(labels, each) for learner, each in right.items()},
        {learner: rmse(labels, each) for learner, each in zip(chosen, fair, strict=True)},
        {learner: rmse(labels, each) for learner, each in zip(chosen, going, strict=True)},
        chosen,
        {learner: named(each, tried[learner]) for learner, each in chosen.items()},
        {
            learner: np.sqrt(np.cumsum((labels - each) ** 2) / count)
            for learner, each in (right | {"BLUE": paper["BLUE"]}).items()
        },
        _by_parameter(chosen, rest, labels),
    )


def slips() -> list[ol.Learner]:
    """Return AAR and ORR with the programming errors of the paper's code."""
    return [MisusedInverse(a=A, form="sums", shrink=True), MisusedInverse(a=A)]


def parameter(learner: ol.Learner) -> tuple[str, float]:
    """Return the name of the learner's parameter that is varied, and its value."""
    given = learner.get_params()
    name = next(name for name in ("a", "b", "eta", "gamma") if name in given)
    return name, float(given[name])


def _by_parameter(
    chosen: Mapping[str, ol.Learner], X: np.ndarray, y: np.ndarray
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return, for each algorithm, multiples of the tuned parameter and the RMSE with each of them.

    The ε of ONS keeps its tuned value.
    """
    found = {}
    for name, learner in chosen.items():
        moved, value = parameter(learner)
        parameters = value * MULTIPLES
        line = [type(learner)(**learner.get_params() | {moved: p}) for p in parameters.tolist()]
        found[name] = parameters, np.array([rmse(y, each) for each in predicted(line, X, y)])
    return found


def sensitivity(seen: SetSeen, name: str) -> float:
    """Return a learner's RMSE with the worst parameter tried, divided by its RMSE when tuned."""
    return float(np.max(seen.by_parameter[name][1]) / seen.fair[name])


def weights(learner: ol.Learner, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the weights of a new learner after it has learnt the rows."""
    bank = ol.Bank([learner], threads=1)
    ol.replay(bank, X, y)
    return bank[0].coef_


def zeros(learner: ol.Learner, X: np.ndarray, y: np.ndarray) -> set[int]:
    """Return the columns that have weight 0 after all rows, except columns that hold only 0."""
    nothing = np.abs(weights(learner, X, y)) < NOTHING
    return set(np.flatnonzero(nothing & X.any(axis=0)).tolist())


def kept(learner: ol.Learner, X: np.ndarray, y: np.ndarray) -> set[int]:
    """Return the columns with a nonzero weight after all rows."""
    return set(np.flatnonzero(np.abs(weights(learner, X, y)) >= NOTHING).tolist())


def seconds(learner: ol.Learner, X: np.ndarray, y: np.ndarray) -> float:
    """Return the seconds that a learner takes per round, in the fastest of three replays."""
    spent = []
    for _ in range(3):
        fresh = ol.Bank([learner], threads=1)
        start = time.perf_counter()
        ol.replay(fresh, X, y)
        spent.append(time.perf_counter() - start)
    return min(spent) / len(y)
