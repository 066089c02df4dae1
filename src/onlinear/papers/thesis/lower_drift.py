"""Moroshko (2013), sec 6.1: the least regret of any learner under drift, beside LASER's.

The claim
---------
LASER's regret against weights with a drift V, the sum of the squared lengths of their steps, is of
the order T^{2/3}V^{1/3} in T rounds (6.9). The thesis has no lower bound, so it leaves open whether
another learner could do better.

What is run
-----------
There is one column, x = 1, and labels are 1 or −1, with the mean u_t, which is also the true
weight. The rounds are divided into blocks of m = 3.2·(T/V)^{1/3} rounds. In a block, u_t rises
evenly from 0 to a height and falls back, or does the same below 0; a coin decides which. The height
is such that the drift of all blocks together is V.

The regret of a learner with predictions ŷ_t is the mean of Σ (ŷ_t − u_t)², which equals the mean of
its loss minus that of the true weights. A learner can know everything but the coins. Then the best
prediction is the mean of u_t given the labels so far, which is known in closed form; its regret is
the least regret of any learner, and so a lower bound. (The best weights in hindsight lose even less
than the true weights.)

LASER.from_drift knows T and V; T has the values 1,000, 10,000 and 100,000 (the last in at most 20
repeats, and not in a quick run), and V is 1 or 10. The other learners are LASER without its
division by 1 + xᵀΣx (shrink=False) and gradient descent (GD), each with the parameter that is best
in hindsight.

The reading
-----------
LASER's rate is right: on these streams, no learner's regret is below about a third of
T^{2/3}V^{1/3}, and LASER's own is twice as large. So T^{2/3}V^{1/3} cannot be replaced by anything
of a smaller order, and the constant of (6.9), which is 3·2^{1/3} = 3.78 here, can be lowered to
about a tenth of that at best. The reason is that the labels of a block of this length just do not
suffice to tell which way u_t went: with longer blocks of the same drift, the coin could be learnt
early; with shorter ones, there would be less to lose.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import onlinear as ol
from onlinear._evaluation.html.page import Table
from onlinear.papers._harness.outcome import Claim, Outcome, Picture
from onlinear.papers._harness.pictures import LOOKS, new, plain
from onlinear.papers._harness.study import Study

__all__ = ["Drifting", "run", "stream"]

DRIFTS = (1.0, 10.0)
FEW = 20  # repeats of the longest streams
TOP = 0.9  # the largest |u_t|
RATES = tuple(2.0**-k for k in range(1, 10))  # of GD
SLOWER = tuple(4.0**k for k in range(-4, 3))  # factors of LASER's c
NAMES = ("least of any learner", "LASER", "LASER, not shrunk", "GD")
CONSTANT = 3 * 2 ** (1 / 3)  # of (6.9), with X = Y = d = 1


class Drifting(NamedTuple):
    """A stream of one column of ones: its labels, true weights, and the best predictions."""

    y: np.ndarray
    u: np.ndarray
    best: np.ndarray


class DriftTrial(NamedTuple):
    T: int
    V: float
    seed: int


def stream(T: int, V: float, seed: int) -> Drifting:
    """Return a stream of T rounds (or a few less, to have whole blocks) with the drift V."""
    rng = np.random.default_rng(seed)
    m = 2 * max(2, round(1.6 * (T / V) ** (1 / 3)))
    triangle = 1 - np.abs(np.linspace(-1, 1, m))
    blocks = T // m
    height = min(TOP, np.sqrt(V / (blocks * np.sum(np.diff(triangle) ** 2))))
    level = height * triangle  # |u_t| in a block
    u = rng.choice([-1.0, 1.0], size=(blocks, 1)) * level
    y = np.where(rng.random(u.shape) < 0.5 * (1 + u), 1.0, -1.0)
    said = np.log1p(y * level) - np.log1p(-y * level)  # of the coin, by a label, in log-odds
    known = np.cumsum(said, axis=1) - said
    return Drifting(y.ravel(), u.ravel(), (level * np.tanh(known / 2)).ravel())


def regrets(trial: DriftTrial) -> np.ndarray:
    """Return the regrets of the best predictions, LASER, LASER without shrinking, and GD.

    The last two have an entry for each value of a parameter.
    """
    T, V, seed = trial
    y, u, best = stream(T, V, seed)
    model = ol.LASER.from_drift(T=y.size, V=V, X=1.0, Y=1.0, d=1)
    freer = [ol.LASER(b=model.b, c=k * model.c, shrink=False) for k in SLOWER]
    learners = [model, *freer, *(ol.GD(eta=eta) for eta in RATES)]
    run = ol.replay(ol.Bank(learners, threads=1), np.ones((y.size, 1)), y)
    said = np.column_stack([best, run.predictions])
    return np.asarray(np.sum((said - u[:, None]) ** 2, axis=0))


def run(study: Study) -> Outcome:
    """Compute the least regret of any learner, and that of some learners, on drifting streams."""
    lengths = (1_000, 10_000) if study.quick else (1_000, 10_000, 100_000)
    trials = [
        DriftTrial(T, V, seed)
        for T in lengths
        for V in DRIFTS
        for seed in study.seeds[: FEW if T > 10_000 else None]
    ]
    by_trial: dict[tuple[int, float], list[np.ndarray]] = {}
    for trial, found in zip(trials, study.map(regrets, trials), strict=True):
        by_trial.setdefault((trial.T, trial.V), []).append(found)
    split = 2 + len(SLOWER)
    shares = {}  # of T^{2/3}V^{1/3}
    for (T, V), each in by_trial.items():
        mean = np.mean(each, axis=0) / (T ** (2 / 3) * V ** (1 / 3))
        shares[T, V] = np.array([*mean[:2], mean[2:split].min(), mean[split:].min()])
    numbers = {
        f"{name}, T = {T:g}, V = {V:g}": share
        for (T, V), each in shares.items()
        for name, share in zip(NAMES, each, strict=True)
    }
    pictures = [_picture(lengths, shares, study.seed)]
    return Outcome(_claims(shares), pictures, [_table(shares)], numbers)


def _claims(shares: dict[tuple[int, float], np.ndarray]) -> list[Claim]:
    least, laser, *_ = np.array(list(shares.values())).T
    others = np.array(list(shares.values()))[:, 1:]
    return [
        Claim(
            "order",
            "LASER's regret is of the order T^{2/3}V^{1/3} (6.9)",
            bool(laser.max() < min(CONSTANT, 1.5 * laser.min())),
            f"it is {laser.min():.2f} to {laser.max():.2f} times T^{{2/3}}V^{{1/3}}; the constant "
            f"of (6.9) is {CONSTANT:.2f}",
        ),
        Claim(
            "no smaller order",
            "no learner's regret is of a smaller order (it is at least .3·T^{2/3}V^{1/3})",
            bool(least.min() > 0.3),
            f"the least regret of any learner is {least.min():.2f} to {least.max():.2f} times "
            "T^{2/3}V^{1/3}",
            ours=True,
        ),
        Claim(
            "nobody is below",
            "no learner that was run is below the least regret",
            bool(np.all(others >= least[:, None])),
            f"the best of them has {np.min(others / least[:, None]):.2f} times the least regret",
            ours=True,
        ),
    ]


def _table(shares: dict[tuple[int, float], np.ndarray]) -> Table:
    rows = [
        (f"{T:,}", f"{V:g}", *(f"{share:.3f}" for share in each), f"{CONSTANT:.2f}")
        for (T, V), each in shares.items()
    ]
    note = (
        "Means over the repeats. LASER is LASER.from_drift; the last two learners have the "
        "parameter that is best in hindsight, one for each T and V."
    )
    return Table("Regret over T^{2/3}V^{1/3}", ("T", "V", *NAMES, "(6.9)"), rows, note)


def _picture(
    lengths: Sequence[int], shares: dict[tuple[int, float], np.ndarray], seed: int
) -> Picture:
    figure, axes = new(1, 2, 2.8)
    left, right = axes[0]
    for V, dashes in zip(DRIFTS, ("-", "--"), strict=True):
        curves = np.array([shares[T, V] for T in lengths]).T
        for name, look, curve in zip(NAMES, LOOKS, curves, strict=False):
            style = {**look._asdict(), "linestyle": dashes}
            left.plot(lengths, curve, label=name if dashes == "-" else None, **style)
    left.axhline(CONSTANT, color="0.4", lw=1, ls=":", label="(6.9)")
    left.set(xscale="log", yscale="log")
    plain(left, "All of the same order", "rounds T", "regret over $T^{2/3}V^{1/3}$")
    T, V = 10_000, 1.0
    y, u, best = stream(T, V, seed)
    model = ol.LASER.from_drift(T=y.size, V=V, X=1.0, Y=1.0, d=1)
    said = ol.replay(model, np.ones((y.size, 1)), y).predictions
    shown = slice(0, 600)
    right.plot(u[shown], color="k", lw=1.4, label="true weight")
    right.plot(best[shown], color=LOOKS[0].color, lw=1.1, ls="--")
    right.plot(said[shown], color=LOOKS[1].color, lw=0.9)
    plain(right, f"Predictions, T = {T:,}, V = 1", "round", "")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return Picture(
        figure,
        "Left: regrets over T^{2/3}V^{1/3} for V = 1 (solid) and V = 10 (dashed); level curves "
        "mean that the order is right. Right: the first blocks of a stream, with the true weight "
        "(black), the best predictions of a learner that knows everything but the coins (dashed), "
        "and LASER's.",
    )
