"""Herbster & Warmuth (2001), sec 5.1: a stream on which EG beats all that combine rows.

The claim
---------
If few inputs matter, the loss bounds of EG and EGU may be exponentially smaller than that of GD, as
functions of the number n of inputs. A lower bound for this case, of the perceptron against Winnow,
is in a paper by Kivinen, Warmuth and Auer; the argument can be extended to GD against EGU (footnote
6).

What is run
-----------
The rows are those of a Hadamard matrix: n rows of n entries ±1, any two of them orthogonal. The
label of a row is one of its entries, always the same one, so the best weights are a unit vector and
lose nothing. Each repeat draws the order and the signs of the rows, and the entry. The learners are
GD (with the rate of Theorem 14, and twice that rate), NLMS, AAR, ridge regression, LASER, EG, EG±,
and Jamil & Bouchachia's CIRR and OSLOG, whose penalty prefers few weights.

For footnote 6 the entries are 0 and 1 in place of −1 and 1, in the rows and the labels, because EGU
needs inputs and labels that are not negative. There the learners are GD, AAR and EGU.

The reading
-----------
The weights of GD, NLMS, AAR, ridge regression and LASER are linear combinations of the rows seen so
far (and so are those of every kernel learner with the linear kernel, and of the perceptron). A new
row is orthogonal to all of them. So the prediction is 0 in each of the n rounds, and the loss is
exactly n, whatever the learner's parameters and whichever entry is the label. EG's loss is at most
6 ln n, by Theorem 16 with X = 2: its weights are no combination of rows, because they are updated
in the exponent. Nor are those of CIRR and OSLOG, which rescale every column; they lose a logarithm
as well, and the least of all.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

import onlinear as ol
from onlinear._evaluation.html.page import Table
from onlinear.papers._harness.outcome import Claim, Outcome, Picture
from onlinear.papers._harness.pictures import LOOKS, new, plain
from onlinear.papers._harness.study import Study

__all__ = ["hadamard", "losses", "run"]

COMBINE = ("GD", "GD, twice the rate", "NLMS", "AAR", "ridge regression", "LASER")
SIGNS = (*COMBINE, "EG", "EG±", "CIRR", "OSLOG")
BITS = ("GD", "AAR", "EGU")
FEW = 20  # repeats are alike


def hadamard(n: int) -> np.ndarray:
    """Return Sylvester's Hadamard matrix with n rows; n is a power of 2."""
    H = np.ones((1, 1))
    while len(H) < n:
        H = np.block([[H, H], [H, -H]])
    return H


def losses(seed: int, n: int) -> list[float]:
    """Return the losses of the learners ``SIGNS`` on rows of ±1, then of ``BITS`` on 0 and 1."""
    rng = np.random.default_rng(seed)
    H = hadamard(n)[rng.permutation(n)] * rng.choice([-1.0, 1.0], size=(n, 1))
    y = H[:, rng.integers(n)]
    learners = [
        ol.GD.from_range(X=n**0.5),
        ol.GD(eta=1 / (2 * n)),
        ol.NLMS(eta=1.0),
        ol.AAR(b=0.01),
        ol.Ridge(b=0.01),
        ol.LASER(b=0.01, c=10.0),
        ol.EG.from_range(X=2.0),
        ol.EGPM(U=1.0, X=1.0),
        ol.CIRR(a=0.01),
        ol.OSLOG(a=0.01),
    ]
    found = [_loss(learner, H, y) for learner in learners]
    bits, labels = (1 + H) / 2, (1 + y) / 2
    others = [ol.GD.from_range(X=n**0.5), ol.AAR(b=0.01), ol.EGU.from_range(X=1.0, Y=1.0)]
    return found + [_loss(learner, bits, labels) for learner in others]


def _loss(learner: ol.Learner, X: np.ndarray, y: np.ndarray) -> float:
    return float(ol.replay(learner, X, y).cumulative_loss[-1])


def run(study: Study) -> Outcome:
    """Run learners on rows of Hadamard matrices of growing size."""
    sizes = [8, 16, 32] if study.quick else [8, 16, 32, 64, 128, 256]
    seeds = study.seeds[:FEW]
    found = np.array([study.map(partial(losses, n=n), seeds) for n in sizes])
    mean = dict(zip((*SIGNS, *(f"{name}, 0 and 1" for name in BITS)), found.mean(1).T, strict=True))
    numbers = {
        f"{name}, n = {n}": float(value)
        for name, values in mean.items()
        for n, value in zip(sizes, values, strict=True)
    }
    exact = np.abs(found[:, :, : len(COMBINE)] - np.array(sizes)[:, None, None]).max()
    eg = found[:, :, SIGNS.index("EG")]
    return Outcome(
        _claims(sizes, mean, float(exact), eg),
        [_picture(sizes, mean)],
        [_table(sizes, mean)],
        numbers,
    )


def _claims(
    sizes: Sequence[int], mean: dict[str, np.ndarray], exact: float, eg: np.ndarray
) -> list[Claim]:
    ceiling = 6 * np.log(sizes)
    gd, egu = (mean[f"{name}, 0 and 1"] for name in ("GD", "EGU"))
    return [
        Claim(
            "exponentially",
            "EG's loss bound is exponentially smaller than what GD loses: 6 ln n, and n",
            bool(np.all(eg <= ceiling[:, None]) and exact < 1e-6),
            f"at n = {sizes[-1]}, EG loses {mean['EG'][-1]:.1f} (its bound is {ceiling[-1]:.1f}), "
            f"GD {mean['GD'][-1]:.1f}",
        ),
        Claim(
            "footnote 6",
            "the argument can be extended to GD against EGU (inputs 0 and 1: GD loses more than "
            "n/4, EGU at most 3 ln n)",
            bool(np.all(gd > np.array(sizes) / 4) and np.all(egu < ceiling / 2)),
            f"GD loses {np.min(gd / sizes):.2f}·n to {np.max(gd / sizes):.2f}·n; at n = "
            f"{sizes[-1]}, EGU loses {egu[-1]:.1f} (its bound is {ceiling[-1] / 2:.1f})",
        ),
        Claim(
            "all that combine rows",
            "GD at any rate, NLMS, AAR, ridge regression and LASER lose n exactly",
            exact < 1e-6,
            f"their losses differ from n by {exact:.1g} at most",
            ours=True,
        ),
        Claim(
            "rescaled columns",
            "CIRR and OSLOG lose a logarithm (at most 2 log₂ n)",
            bool(np.all(np.maximum(mean["CIRR"], mean["OSLOG"]) <= 2 * np.log2(sizes))),
            f"at n = {sizes[-1]}, CIRR loses {mean['CIRR'][-1]:.1f} and OSLOG "
            f"{mean['OSLOG'][-1]:.1f}; log₂ n is {np.log2(sizes[-1]):g}",
            ours=True,
        ),
    ]


def _table(sizes: Sequence[int], mean: dict[str, np.ndarray]) -> Table:
    rows = [(name, *(f"{value:.1f}" for value in values)) for name, values in mean.items()]
    rows.append(("EG's bound, 6 ln n", *(f"{6 * np.log(n):.1f}" for n in sizes)))
    columns = ("", *(f"n = {n}" for n in sizes))
    return Table("Squared loss in n rounds", columns, rows, "Means over the repeats.")


def _picture(sizes: Sequence[int], mean: dict[str, np.ndarray]) -> Picture:
    figure, axes = new(1, 2, 2.8)
    shown = (("GD", "GD, AAR, …"), ("CIRR", "CIRR"), ("EG±", "EG±"), ("EG", "EG"))
    for (name, label), look in zip(shown, LOOKS, strict=False):
        axes[0, 0].plot(sizes, mean[name], label=label, **look._asdict())
    axes[0, 0].plot(sizes, 6 * np.log(sizes), color="0.4", lw=1, ls=":", label="EG, bound")
    for name, look in zip(BITS, LOOKS, strict=False):
        axes[0, 1].plot(sizes, mean[f"{name}, 0 and 1"], label=name, **look._asdict())
    axes[0, 1].plot(sizes, 3 * np.log(sizes), color="0.4", lw=1, ls=":", label="EGU, bound")
    for ax, title in zip(axes[0], ("Entries −1 and 1", "Entries 0 and 1"), strict=True):
        ax.set(xscale="log", yscale="log")
        ax.set_xscale("log", base=2)
        plain(ax, title, "inputs and rounds, n", "squared loss")
        ax.legend()
    return Picture(
        figure,
        "Losses on rows of Hadamard matrices, whose label is one of the entries. GD, NLMS, AAR, "
        "ridge regression and LASER all lose n (left, one line).",
    )
