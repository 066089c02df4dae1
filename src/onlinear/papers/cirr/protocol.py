"""The error measures and the tuning that Tables 2 and 3 of Jamil & Bouchachia share."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

import numpy as np

import onlinear as ol
from onlinear._evaluation.html.page import Table

__all__ = [
    "LEARNERS",
    "ONLINE",
    "Row",
    "agrees",
    "apart",
    "blue",
    "differing",
    "digits",
    "grids",
    "misprinted",
    "named",
    "predicted",
    "printed_beside",
    "rmse",
    "row",
    "split",
    "tuned",
]

ONLINE = ("AAR", "ORR", "CIRR", "OSLOG", "OGD", "ONS")
LEARNERS = (*ONLINE, "BLUE")
PENALTIES = 10.0 ** np.arange(-8, 2.25, 0.5)  # values of a
RATES = 2.0 ** np.arange(-14, 7)  # η of OGD times max‖x‖²; above 1, steps may overshoot
STEPS = 10.0 ** np.arange(-3, 1.25, 0.5)  # gamma of ONS, in units of 1/mean y²
PRIORS = 10.0 ** np.arange(-8, 1.25)  # epsilon of ONS, in units of mean y² · max‖x‖²


class Row(NamedTuple):
    """A row of Table 2 or 3: measures of the errors y − ŷ; the last three are quartiles."""

    rmse: float
    r2: float
    mae: float
    low: float
    middle: float
    high: float


END = "at the end of its grid"
MEASURES = ("RMSE", "R²", "MAE", "LQE", "MQE", "UQE")
OURS = ("rmse", "correlation2", "mae", "lower_quartile", "median", "upper_quartile")


def row(y: np.ndarray, predictions: np.ndarray) -> Row:
    """Return the paper's error measures; R² in the paper is the squared correlation of y and ŷ."""
    found = _run(y, predictions).measures
    return Row(*(found[name] for name in OURS))


def rmse(y: np.ndarray, predictions: np.ndarray) -> float:
    """Return the root mean squared error."""
    return _run(y, predictions).rmse


def _run(y: np.ndarray, predictions: np.ndarray) -> ol.Replay:
    """Return a ``Replay``, whose error measures are all NaN if one of the predictions is NaN."""
    if np.isnan(predictions).any():  # Replay would leave this row out
        predictions = np.full(y.size, np.nan)
    return ol.Replay(predictions, y)


def apart(printed: str, value: float) -> float:
    """Return how far a value is from a printed number, in units of the last printed digit.

    >>> round(apart("1.19e5", 118_500), 9)
    0.5
    """
    exponent = Decimal(printed).as_tuple().exponent
    return abs(value - float(printed)) / 10.0 ** int(exponent)


def agrees(printed: str, value: float) -> bool:
    """Return whether a value is within one unit of the last digit of a printed number."""
    return apart(printed, value) <= 1.0


def split(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return rows and labels of the first quarter of a stream, and of the rest."""
    q = len(y) // 4
    return X[:q], y[:q], X[q:], y[q:]


def predicted(
    learners: Sequence[ol.Learner], X: np.ndarray, y: np.ndarray, threads: int | None = 1
) -> np.ndarray:
    """Return the predictions of new copies of the learners, one row per learner.

    A row that OGD refuses, because its step would overshoot, is predicted but not learnt.
    """
    return ol.replay(ol.Bank(learners, threads=threads), X, y).predictions.T


def blue(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the in-sample predictions of BLUE, which is least squares with an intercept."""
    best = ol.hindsight.BestFixed(intercept=True)
    best.learn_many(X, y)
    return best.predict(X)


def grids(X: np.ndarray, y: np.ndarray, every: int = 1) -> dict[str, list[ol.Learner]]:
    """Return the learners to choose from, by name, with every ``every``-th of the penalties."""
    longest, power = float(np.max(np.sum(X**2, axis=1))), float(np.mean(y**2))
    penalties = PENALTIES[::every].tolist()
    return {
        "AAR": [ol.AAR(b=a) for a in penalties],
        "ORR": [ol.Ridge(b=a) for a in penalties],
        "CIRR": [ol.CIRR(a=a) for a in penalties],
        "OSLOG": [ol.OSLOG(a=a) for a in penalties],
        "OGD": [ol.OGD(eta=rate / longest, on_bad="skip") for rate in RATES.tolist()],
        "ONS": [
            ol.ONS(gamma=step / power, epsilon=prior * power * longest, on_bad="skip")
            for step in STEPS.tolist()
            for prior in PRIORS.tolist()
        ],
    }


def tuned(X: np.ndarray, y: np.ndarray, every: int = 1) -> dict[str, ol.Learner]:
    """Return, for each algorithm, a new learner with the parameters of least loss on the rows."""
    chosen = {}
    for name, learners in grids(X, y, every).items():
        losses = np.sum((y - predicted(learners, X, y)) ** 2, axis=1)
        chosen[name] = learners[int(np.nanargmin(losses))]
    return chosen


def named(learner: ol.Learner, grid: Sequence[ol.Learner] = ()) -> str:
    """Return, as text, the tuned parameters and which of them are at an end of their grid."""
    names = {"a": "a", "b": "a", "eta": "η", "gamma": "γ", "epsilon": "ε"}
    words = []
    for name, value in learner.get_params().items():
        if name in names:
            tried = [each.get_params()[name] for each in grid]
            end = bool(tried) and value in (min(tried), max(tried))
            words.append(f"{names[name]} = {value:.2g}" + (f" ({END})" if end else ""))
    return ", ".join(words)


def digits(value: float) -> str:
    """Return a value as text with four significant digits."""
    return f"{value:.4g}".replace("-", "−")


def printed_beside(
    heading: str,
    printed: Mapping[str, Sequence[str]],
    found: Mapping[str, Row],
    caption: str,
    within: slice,
) -> Table:
    """Return a table of some measures, with the paper's values next to those found here."""
    columns = [f"{name}, {whose}" for name in MEASURES[within] for whose in ("paper", "here")]
    rows = []
    for name, values in printed.items():
        cells = [digits(value) for value in found[name]] if name in found else ["–"] * len(values)
        pairs = zip(values[within], cells[within], strict=True)
        rows.append([name, *(cell.replace("-", "−") for pair in pairs for cell in pair)])
    return Table(heading, ["learner", *columns], rows, caption)


def misprinted(printed: str, value: float) -> bool:
    """Return whether a value agrees with a printed number except for its sign or a power of ten.

    >>> misprinted("2.41e-1", 0.02408), misprinted("2.95e-4", -2.947e-4), misprinted("1.2", 1.4)
    (True, True, False)
    """
    others = [sign * value * 10.0**power for sign in (-1, 1) for power in (-2, -1, 0, 1, 2)]
    return not agrees(printed, value) and any(agrees(printed, other) for other in others)


def differing(printed: Mapping[str, Sequence[str]], found: Mapping[str, Row]) -> str:
    """Return, as text, the cells that differ by more than one unit of the last printed digit."""
    slips: list[str] = []
    others: list[str] = []
    for name in found:
        for measure, was, value in zip(MEASURES, printed[name], found[name], strict=True):
            if not agrees(was, value):
                cell = f"{name} {measure} {was.replace('-', '−')} (here {digits(value)})"
                (slips if misprinted(was, value) else others).append(cell)
    return (
        "Different only by a sign or a power of ten, like a misprint: "
        f"{'; '.join(slips) or 'none'}. "
        f"Otherwise different, and so not reproduced: {'; '.join(others) or 'none'}."
    )
