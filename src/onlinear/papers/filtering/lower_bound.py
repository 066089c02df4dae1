"""Cesa-Bianchi, Conconi & Gentile (2003), Theorem 1: SIMPLE-FIL and the least regret of a filter.

The claim
---------
If every row is relevant with the same probability ½ + δ, the expected regret of SIMPLE-FIL after n
rounds is at most (32/|δ| + 2) ln n + 4. The paper has no lower bound.

What is run
-----------
In each round a filter forwards the row or holds it back; only if it forwards does it see whether
the row is relevant. The regret is 2|δ| for each wrong decision: for each row forwarded if δ < 0,
and for each row held back if δ > 0. For a filter whose expected regret grows less than any power of
n for every δ, Lai & Robbins proved that for δ < 0 the regret is at least about

    2|δ|·ln n / KL,  KL = p ln(2p) + (1 − p) ln(2(1 − p)),  p = ½ + δ,

for large n. For n up to 100,000 (10,000 in a quick run) and δ = −.05, −.1, −.2 and −.3, SIMPLE-FIL
is run with the paper's threshold −√(c ln t/N), c = 4, and with c = 1 and ½. With δ > 0 of the same
sizes, its regret is what it holds back.

The reading
-----------
SIMPLE-FIL's logarithm is of the right order: no filter that copes with every δ can have less than a
logarithm. The constant is 8 times that of the lower bound for small δ, because SIMPLE-FIL goes on
forwarding until it has N = 4 ln n/δ² labels, and ln n/(2δ²) are necessary; the theorem's constant
is 32 times that of the lower bound. SimpleFilter(c=0.5) has the constant of the lower bound. There
is no theorem for this c, but its regret for δ > 0 is small, too: in some runs it stops forwarding
where it should not, and soon goes on. The simulation jumps over the rounds in which nothing is
forwarded, in which only t changes.
"""

import math
from typing import NamedTuple

import numpy as np

from onlinear._evaluation.html.page import Table
from onlinear.filtering.simple import theorem_1
from onlinear.papers._harness.outcome import Claim, Outcome, Picture
from onlinear.papers._harness.pictures import LOOKS, new, plain
from onlinear.papers._harness.study import Study

__all__ = ["forwarded", "lai_robbins", "run"]

DELTAS = (0.05, 0.1, 0.2, 0.3)
PARAMETERS = (4.0, 1.0, 0.5)  # c
POINTS = 30  # of a curve
EIGHT = 8.0  # the constant of SIMPLE-FIL over that of the lower bound, for small δ


class FilterTrial(NamedTuple):
    c: float
    delta: float
    n: int
    seed: int


def lai_robbins(delta: float, n: float) -> float:
    """Return Lai & Robbins' lower bound on the regret in n rounds, for δ < 0."""
    p = 0.5 + delta
    return 2 * abs(delta) * math.log(n) / (p * math.log(2 * p) + (1 - p) * math.log(2 * (1 - p)))


def forwarded(c: float, relevant: np.ndarray, n: int) -> np.ndarray:
    """Return the rounds in 1, …, n in which SIMPLE-FIL forwards.

    ``relevant`` has the labels of the rows in the order in which they are forwarded.
    """
    rounds, t, hits = [], 1, 0
    for count, hit in enumerate(relevant.tolist(), 1):
        rounds.append(t)
        hits += hit
        margin = min(hits / count - 0.5, 0.0)
        wait = count * margin * margin / c  # until ln t is as large
        if wait > math.log(n):
            break
        t = max(t + 1, math.ceil(math.exp(wait)))
        if t > n:
            break
    return np.array(rounds)


def regrets(trial: FilterTrial) -> np.ndarray:
    """Return the regret of SIMPLE-FIL at the rounds of a curve."""
    c, delta, n, seed = trial
    rng = np.random.default_rng(seed)
    rounds = forwarded(c, rng.random(n) < 0.5 + delta, n)
    at = _at(n)
    count = np.searchsorted(rounds, at, side="right")
    return 2 * abs(delta) * np.asarray(count if delta < 0 else at - count)


def _at(n: int) -> np.ndarray:
    return np.unique(np.geomspace(10, n, POINTS).astype(int))


def run(study: Study) -> Outcome:
    """Compare the regret of SIMPLE-FIL with the least that any filter can have."""
    n = 10_000 if study.quick else 100_000
    settings = [(c, sign * d) for c in PARAMETERS for d in DELTAS for sign in (-1, 1)]
    trials = [FilterTrial(c, delta, n, seed) for c, delta in settings for seed in study.seeds]
    flat = np.array(study.map(regrets, trials)).reshape(len(settings), study.repeats, -1)
    found = dict(zip(settings, flat.mean(axis=1), strict=True))
    numbers = {f"c = {c:g}, δ = {delta:g}": float(of[-1]) for (c, delta), of in found.items()}
    numbers |= {f"least, δ = {-d:g}": lai_robbins(-d, n) for d in DELTAS}
    return Outcome(_claims(found, n), [_picture(found, n)], [_table(found, n)], numbers)


def _claims(found: dict[tuple[float, float], np.ndarray], n: int) -> list[Claim]:
    ends = np.array([found[4.0, -d][-1] for d in DELTAS])
    below = np.array([lai_robbins(-d, n) for d in DELTAS])
    above = np.array([theorem_1(d, n) for d in DELTAS])
    best = np.array([found[0.5, -d][-1] for d in DELTAS])
    kept = [found[c, d][-1] for c in (4.0, 0.5) for d in DELTAS]
    return [
        Claim(
            "theorem 1",
            "the expected regret of SIMPLE-FIL is at most (32/|δ| + 2) ln n + 4",
            bool(np.all(ends <= above) and max(kept[: len(DELTAS)]) <= above.min()),
            "for δ < 0: "
            + ", ".join(f"{e:,.0f} (bound {a:,.0f})" for e, a in zip(ends, above, strict=True)),
        ),
        Claim(
            "lower bound",
            "SIMPLE-FIL's regret is above the bound on any filter's, by a constant factor (of at "
            "most 9)",
            bool(np.all(ends >= below) and np.all(ends <= 9 * below)),
            f"for δ = {', '.join(f'{-d:g}' for d in DELTAS)}, it is "
            + ", ".join(f"{ratio:.1f}" for ratio in ends / below)
            + f" times this bound; for small δ and large n, {EIGHT:g} times",
            ours=True,
        ),
        Claim(
            "constant",
            "with c = ½ in place of 4, the regret is near the bound on any filter's (at most 1.5 "
            "times as large), also where most rows are relevant",
            bool(np.all(best <= 1.5 * below) and max(kept[len(DELTAS) :]) <= 1.5 * below.max()),
            "for δ < 0 "
            + ", ".join(f"{ratio:.2f}" for ratio in best / below)
            + " times this bound, which is one for large n; for δ > 0 it is "
            + ", ".join(f"{value:.2g}" for value in kept[len(DELTAS) :]),
            ours=True,
        ),
    ]


def _table(found: dict[tuple[float, float], np.ndarray], n: int) -> Table:
    rows = [
        (
            f"{-d:g}",
            f"{lai_robbins(-d, n):,.0f}",
            *(f"{found[c, -d][-1]:,.0f}" for c in PARAMETERS),
            f"{theorem_1(d, n):,.0f}",
            *(f"{found[c, d][-1]:.2g}" for c in PARAMETERS),
        )
        for d in DELTAS
    ]
    columns = (
        "δ",
        "any filter, for large n",
        *(f"c = {c:g}" for c in PARAMETERS),
        "Theorem 1",
        *(f"−δ, c = {c:g}" for c in PARAMETERS),
    )
    note = (
        "Means over the repeats; the paper has c = 4. The last columns have −δ in place of δ. Lai "
        "& Robbins' bound on any filter holds for large n: here, a regret may be below it."
    )
    return Table(f"Regret after n = {n:,} rounds", columns, rows, note)


def _picture(found: dict[tuple[float, float], np.ndarray], n: int) -> Picture:
    figure, axes = new(1, 2, 2.8)
    at = _at(n)
    for ax, d in zip(axes[0], (0.1, 0.3), strict=True):
        for c, look in zip(PARAMETERS, LOOKS, strict=False):
            style = {**look._asdict(), "markevery": 6}
            ax.plot(at, found[c, -d], label=f"SIMPLE-FIL, c = {c:g}", **style)
        least = [lai_robbins(-d, m) for m in at]
        ax.plot(at, least, color="k", ls="--", lw=1.2, label="any filter, for large n")
        ax.plot(at, [theorem_1(d, m) for m in at], color="0.5", ls=":", lw=1, label="Theorem 1")
        ax.set(xscale="log", yscale="log")
        plain(ax, f"δ = −{d:g}", "rounds n", "regret")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return Picture(
        figure,
        "Mean regret of SIMPLE-FIL for three values of c, Lai & Robbins' lower bound for large n "
        "(dashed), and the bound of Theorem 1 (dotted).",
    )
