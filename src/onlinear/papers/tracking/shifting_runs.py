"""Experiments for Herbster & Warmuth (2001): shifting targets, with and without projection."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import onlinear as ol
from onlinear._learner.base import Learner

__all__ = [
    "ALPHA",
    "LEARNERS",
    "PASTS",
    "SETTINGS",
    "SHIFTS",
    "Bounded",
    "Priced",
    "Setting",
    "attained",
    "bounded",
    "over_shares",
    "over_widths",
    "priced",
]

ALPHA = 0.01  # the α of C-EG and C-EGU where no theorem sets it
WIDTH, SHIFTS = 20, 9
CURVE = 200  # points of a curve
HARM = 0.5  # half of the other true weights' prediction is subtracted from the label
LENGTH = 10.0  # the length of true weights outside the ball
BLOCK = 50  # losses of a recovery are averaged over this many rounds


class Setting(NamedTuple):
    """A theorem, a stream to which it applies, and its learner, with and without projection."""

    theorem: str
    stream: dict[str, Any]
    cut: bool  # whether labels are clipped to [0, 1]
    kept: Callable[[np.ndarray], Learner]  # with projection, given the true weights
    free: Callable[[], Learner]  # without projection


SPHERES = {"truth": "sphere", "inputs": "sphere"}

SETTINGS = (
    Setting(
        "Theorem 14, C-GD",
        SPHERES,
        False,
        lambda u: ol.GD.from_range(X=1.0, radius=1.0),
        lambda: ol.GD.from_range(X=1.0),
    ),
    Setting(
        "Theorem 16, C-EG",
        {"active": 1, "floor": ALPHA},
        False,
        lambda u: ol.EG.from_range(X=1.0, alpha=ALPHA),
        lambda: ol.EG.from_range(X=1.0),
    ),
    Setting(
        "Theorem 15, C-EGU",
        {"active": 1, "floor": ALPHA},
        True,
        lambda u: ol.EGU.from_range(X=1.0, Y=1.0, alpha=ALPHA),
        lambda: ol.EGU.from_range(X=1.0, Y=1.0),
    ),
    Setting(
        "Theorem 18, C-EGU",
        {"active": 1},
        True,
        lambda u: ol.EGU.from_drift(len(u), ol.hindsight.total_drift(u, norm=1), X=1.0, Y=1.0),
        lambda: ol.EGU.from_range(X=1.0, Y=1.0),
    ),
)


class Bounded(NamedTuple):
    """A learner's cumulative loss and upper bound at some rounds, and whether the bound held."""

    rounds: np.ndarray
    curves: np.ndarray  # losses with and without projection, of the true weights; ceiling
    holds: bool
    nearest: float  # the largest quotient of loss and ceiling in any round
    without: str  # why there is no ceiling for the learner without projection


def bounded(seed: int, rows: int) -> list[Bounded]:
    """Run the learners of each setting on its stream, and return the results."""
    return [_bounded(setting, seed, rows) for setting in SETTINGS]


def _bounded(setting: Setting, seed: int, rows: int) -> Bounded:
    X, y, u = ol.streams.shifting(rows, WIDTH, SHIFTS, seed=seed, **setting.stream)
    if setting.cut:
        y = np.clip(y, 0.0, 1.0)
    proof = ol.certificate(setting.kept(u), X, y, comparator=u)
    free = ol.certificate(setting.free(), X, y, comparator=u)
    shown = np.unique(np.linspace(0, rows - 1, CURVE).astype(int))
    curves = np.array([proof.loss, free.loss, proof.comparator, proof.ceiling])[:, shown]
    nearest = float(np.max(proof.loss / proof.ceiling))
    return Bounded(shown + 1, curves, bool(proof.holds.all()), nearest, str(free.failed))


# --- the price of a shift -----------------------------------------------------------------------

LEARNERS = ("GD", "EG", "EGU")
PASTS = ("truth in the set", "truth outside")


class Priced(NamedTuple):
    """The cost of one shift, and how EG recovers from it."""

    prices: np.ndarray  # by learner, past, rounds before the shift, without or with projection
    recovery: np.ndarray  # mean losses after the shift: EG without and with projection, new EG


def priced(seed: int, lengths: Sequence[int]) -> Priced:
    """Return the cost of a shift of the true weights after each number of rounds in ``lengths``.

    The cost of a shift is the learner's loss after the shift minus the loss of a new learner that
    starts at the shift. The rows after the shift are the same, however many rounds precede it.
    """
    longest = max(lengths)
    prices = np.empty((len(LEARNERS), len(PASTS), len(lengths), 2))
    recovery = np.empty(0)
    for i, setting in enumerate(SETTINGS[:3]):
        stream = {**setting.stream, "floor": 0.0}
        X, y, u = ol.streams.shifting(2 * longest, WIDTH, 1, seed=seed, **stream)
        for j, labels in enumerate((y, _outside(X, y, u))):
            cut = np.clip(labels, 0.0, 1.0) if setting.cut else labels
            fresh = _losses(setting, X[longest:], cut[longest:], u)
            for k, length in enumerate(lengths):
                late = _losses(setting, X[longest - length :], cut[longest - length :], u)[length:]
                prices[i, j, k] = np.sum(late - fresh, axis=0)
            if (LEARNERS[i], j) == ("EG", 1):
                both = np.column_stack([late, fresh[:, 1]])[: longest // BLOCK * BLOCK]
                recovery = both.reshape(-1, BLOCK, 3).mean(axis=1).T
    return Priced(prices, recovery)


def _losses(setting: Setting, X: np.ndarray, y: np.ndarray, u: np.ndarray) -> np.ndarray:
    bank = ol.Bank([setting.free(), setting.kept(u)], threads=1)
    return np.asarray(ol.replay(bank, X, y).losses)


def _outside(X: np.ndarray, y: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return labels made by true weights outside the set onto which the learner projects.

    Before the shift, the vector of true weights is made longer than the radius of the ball. If no
    weight is negative, half of the prediction of the true weights on the other side of the shift is
    subtracted from each label instead.
    """
    middle = len(y) // 2
    other = np.sum(u[::-1] * X, axis=1)  # predictions of the other true weights
    if np.all(u >= 0):
        return np.asarray(y - HARM * other)
    longer = np.where(np.arange(len(y)) < middle, LENGTH - 1, 0.0)
    return np.asarray(y + longer * np.sum(u * X, axis=1))


# --- many inputs, α, and a stream on which Theorem 14 is attained -------------------------------


def over_widths(seed: int, widths: Sequence[int], rows: int) -> np.ndarray:
    """Return loss and upper bound of C-GD and C-EG if only one of n inputs matters, for each n.

    ``widths`` has the numbers n; all inputs are ±1.
    """
    found = []
    for n in widths:
        X, y, u = ol.streams.shifting(
            rows, n, 3, active=1, floor=ALPHA, inputs="signs", noise=0.0, seed=seed
        )
        models = (
            ol.GD.from_range(X=n**0.5, radius=1.0),
            ol.EG.from_range(X=2.0, alpha=ALPHA),
        )
        proofs = [ol.certificate(model, X, y, comparator=u) for model in models]
        found.append([(proof.loss[-1], proof.ceiling[-1]) for proof in proofs])
    return np.array(found)


def over_shares(seed: int, shares: Sequence[float], rows: int) -> np.ndarray:
    """Return α, loss and upper bound of C-EGU for each α in ``shares``, then Corollary 19's α."""
    setting = SETTINGS[3]
    X, y, u = ol.streams.shifting(rows, WIDTH, SHIFTS, seed=seed, **setting.stream)
    y = np.clip(y, 0.0, 1.0)
    tuned = setting.kept(u)
    models = [ol.EGU.from_range(X=1.0, Y=1.0, alpha=alpha) for alpha in shares]
    proofs = [ol.certificate(model, X, y, comparator=u) for model in (*models, tuned)]
    alphas = [*shares, tuned.get_params()["alpha"]]
    return np.array(
        [(a, proof.loss[-1], proof.ceiling[-1]) for a, proof in zip(alphas, proofs, strict=True)]
    )


def attained(rows: int = 200) -> float:
    """Return the loss of C-GD divided by Theorem 14's upper bound, for labels y = 2u − w.

    The only input is 1, w is the weight of C-GD, and u, the true weight, alternates between 1 and
    −1.
    """
    learner, X = ol.GD.from_range(X=1.0, radius=1.0), np.ones((rows, 1))
    u, y = np.where(np.arange(rows) % 2, -1.0, 1.0), np.empty(rows)
    for t in range(rows):
        y[t] = 2 * u[t] - learner.predict_one(X[t])
        learner.learn_one(X[t], y[t])
    proof = ol.certificate(ol.GD.from_range(X=1.0, radius=1.0), X, y, comparator=u[:, None])
    return float(proof.loss[-1] / proof.ceiling[-1])
