"""Moroshko (2013), Table 4.1, rows 1 and 2: the least regret of any learner, beside AAR's.

The claim
---------
The regret of AAR against fixed weights u is at most b‖u‖² + dY² ln(1 + T/(db)), for T rounds, d
inputs, rows of length at most 1 and labels in [−Y, Y] (the bounds of Vovk and of Forster). The
papers have no lower bound; Jamil & Bouchachia call the tightness of such bounds an open question.

What is run
-----------
In the first three settings there is one column, x = 1. The labels are 1 or −1, and the probability
of 1 is drawn from the distribution Beta(a, a) once for each stream. Then the best prediction, which
no learner can improve on, is the mean of the label given the labels so far, and this is the
prediction of AAR with b = 2a − 1. So the regret of this AAR is the least regret of any learner, in
the mean over streams. Its value is known,

    2a/(2a + 1)·(1 + 1/(2a) + 1/(2a + 1) + … + 1/(2a + T − 1)),

which tends to 2a/(2a + 1)·ln T. In the fourth setting, there are d = 4 such columns, each with its
own probability, and rows have a single 1, in one column after the other. The streams have 100,000
rounds (10,000 in a quick run), and the regret is that against the best fixed weights in hindsight.

The reading
-----------
The factor dY² of the logarithm cannot be improved: for large a, the least regret of any learner
tends to d·ln T, times a factor as close to Y² = 1 as one likes. With a fixed a, the streams prove
the factor 2a/(2a + 1) only. The larger a, the longer the streams have to be for the logarithm to
show, because b = 2a − 1 rounds pass before it grows.
"""

from typing import NamedTuple

import numpy as np

import onlinear as ol
from onlinear._evaluation.html.page import Table
from onlinear.papers._harness.outcome import Claim, Outcome, Picture
from onlinear.papers._harness.pictures import LOOKS, NORMAL_95, band, new, plain
from onlinear.papers._harness.study import Study

__all__ = ["SETTINGS", "PriorSetting", "least", "run", "watch"]

POINTS = 40  # of a curve
VARIES = (
    "The least regret of any learner is computed: it is the mean over all streams of a kind. AAR's "
    "regret is a mean over {repeats} streams, which varies; the table has its standard error. By "
    "chance, a mean over few streams can be below the least regret, though no learner's mean over "
    "all streams is; the more streams (--repeats), the nearer the two are."
)


class PriorSetting(NamedTuple):
    """The a of the prior Beta(a, a), and the number of columns."""

    a: float
    d: int

    @property
    def name(self) -> str:
        """What the setting is called in tables and numbers."""
        return f"a = {self.a:g}" + (f", d = {self.d}" if self.d > 1 else "")


SETTINGS = (
    PriorSetting(1.0, 1),
    PriorSetting(5.0, 1),
    PriorSetting(25.0, 1),
    PriorSetting(25.0, 4),
)


class PriorTrial(NamedTuple):
    setting: PriorSetting
    rows: int
    seed: int


def least(setting: PriorSetting, rounds: np.ndarray) -> np.ndarray:
    """Return the least mean regret of any learner after each number of rounds."""
    a, d = setting
    each = -(-rounds // d)  # rounds with a 1 in the first column
    sums = np.cumsum(1 / (2 * a + np.arange(each.max())))
    return np.asarray(d * 2 * a / (2 * a + 1) * (1 + sums[each - 1]))


def watch(trial: PriorTrial) -> np.ndarray:
    """Return rounds, regrets of AAR at these rounds, and the bound of the thesis' table."""
    (a, d), rows, seed = trial
    rng = np.random.default_rng(seed)
    turn = np.arange(rows) % d
    X = np.eye(d)[turn]
    y = np.where(rng.random(rows) < rng.beta(a, a, size=d)[turn], 1.0, -1.0)
    b = 2 * a - 1
    at = _at(rows)
    loss = ol.replay(ol.AAR(b=b), X, y).cumulative_loss[at - 1]
    best = ol.hindsight.BestFixed()
    fixed = best.learn_many(X, y)[at - 1]
    size = b * np.sum(best.coef_**2)
    return np.array([loss - fixed, size + d * np.log1p(at / (d * b))])


def _at(rows: int) -> np.ndarray:
    """Return the rounds at which curves have points: multiples of four."""
    return np.unique(4 * np.geomspace(1, rows // 4, POINTS).astype(int))


def run(study: Study) -> Outcome:
    """Compare AAR's regret with the least regret of any learner, for labels drawn at random."""
    rows = 10_000 if study.quick else 100_000
    trials = [PriorTrial(setting, rows, seed) for setting in SETTINGS for seed in study.seeds]
    found = np.array(study.map(watch, trials)).reshape(len(SETTINGS), study.repeats, 2, -1)
    at = _at(rows)
    floors = np.array([least(setting, at) for setting in SETTINGS])
    numbers = {}
    for setting, floor, each in zip(SETTINGS, floors, found, strict=True):
        scale = setting.d * np.log(rows / setting.d)
        numbers[f"least, {setting.name}"] = floor[-1] / scale
        numbers[f"AAR, {setting.name}"] = each[:, 0, -1].mean() / scale
    return Outcome(
        _claims(found, floors, rows),
        [_picture(at, found, floors)],
        [_table(found, floors, rows)],
        numbers,
        [VARIES.format(repeats=study.repeats)],
    )


def _claims(found: np.ndarray, floors: np.ndarray, rows: int) -> list[Claim]:
    regret, bound = found[:, :, 0], found[:, :, 1]
    ends = regret[:, :, -1]
    errors = NORMAL_95 * ends.std(axis=1, ddof=1) / np.sqrt(ends.shape[1])
    off = (ends.mean(axis=1) - floors[:, -1]) / errors
    shares = [2 * setting.a / (2 * setting.a + 1) for setting in SETTINGS]
    return [
        Claim(
            "upper",
            "AAR's regret is at most b‖u‖² + dY² ln(1 + T/(db))",
            bool(np.all(regret[:, :, -1] <= bound[:, :, -1])),
            f"it is at most {np.max(ends / bound[:, :, -1]):.2f} times this bound",
        ),
        Claim(
            "least",
            "AAR's mean regret is the least regret of any learner (to twice the 95 % error)",
            bool(np.all(np.abs(off) < 2)),
            "; ".join(
                f"{setting.name}: {mean:.2f} ± {error:.2f}, and {floor[-1]:.2f}"
                for setting, mean, error, floor in zip(
                    SETTINGS, ends.mean(axis=1), errors, floors, strict=True
                )
            ),
            ours=True,
        ),
        Claim(
            "factor",
            "no smaller factor than dY² is possible (the least regret tends to more than "
            ".98·dY² ln T for the largest a)",
            max(shares) > 0.98,
            "2a/(2a + 1) is "
            + ", ".join(f"{share:.3f}" for share in shares[:3])
            + f"; at T = {rows:,} the least regret over ln T is "
            + ", ".join(f"{floor[-1] / np.log(rows):.2f}" for floor in floors[:3]),
            ours=True,
        ),
    ]


def _table(found: np.ndarray, floors: np.ndarray, rows: int) -> Table:
    body = []
    for setting, floor, each in zip(SETTINGS, floors, found, strict=True):
        a, d = setting
        scale = d * np.log(rows / d)
        ends = each[:, :, -1] / scale
        (regret, bound), (error, _) = ends.mean(axis=0), ends.std(axis=0, ddof=1)
        body.append(
            (
                setting.name,
                f"{2 * a - 1:g}",
                f"{2 * a / (2 * a + 1):.3f}",
                f"{floor[-1] / scale:.3f}",
                f"{regret:.3f} ± {error / np.sqrt(len(ends)):.3f}",
                f"{bound:.3f}",
            )
        )
    columns = ("prior", "b", "limit of the least", "least of any learner", "AAR", "upper bound")
    note = f"AAR and its upper bound: means over {found.shape[1]} streams, ± the standard error."
    return Table(f"Regret over d ln(T/d), T = {rows:,}", columns, body, note)


def _picture(at: np.ndarray, found: np.ndarray, floors: np.ndarray) -> Picture:
    figure, axes = new(1, len(SETTINGS), 2.6)
    for ax, setting, floor, each in zip(axes[0], SETTINGS, floors, found, strict=True):
        band(ax, at, each[:, 0], "AAR", LOOKS[0])
        ax.plot(at, floor, color="k", lw=1.2, ls="--", label="least of any learner")
        ax.plot(at, each[:, 1].mean(axis=0), color="0.5", lw=1, ls=":", label="upper bound")
        ax.set(xscale="log")
        plain(ax, setting.name, "rounds T", "")
    axes[0, 0].set_ylabel("regret")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return Picture(
        figure,
        "AAR's regret (means with 95 % bands), the least regret of any learner (dashed, computed), "
        "and the bound of the table (dotted). On these streams AAR is the best of all learners; a "
        "mean over few streams can be below the dashed line by chance.",
    )
