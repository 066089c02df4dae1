"""Moroshko (2013), Fig 3.1: the last-step min-max problem of Forster and of WEMM.

The claim
---------
In the last round the learner predicts ŷ, then an adversary chooses the label y. G(y, ŷ) is the
learner's loss minus that of the best u in hindsight, up to a constant (equation 3.7). The figure
shows three surfaces of G.

Left, Forster's problem: every loss of u has the weight 1, and G is convex in y. The adversary's
best label has the largest absolute value that is allowed. So in Forster's problem labels have to be
bounded (by Y = 10 in the figure), and the optimal prediction is clipped to that bound. Centre,
WEMM, case 1: the last loss of u has a weight a with 1 + aχ − a < 0, where χ = xᵀΣx for the last row
x and WEMM's covariance matrix Σ. In case 1 G is strictly concave in y, and the optimal prediction
is at the saddle point of G. Right, WEMM, case 2: 1 + aχ − a = 0, and for the optimal prediction G
does not depend on y. In both cases of WEMM labels need no bound, and the optimal prediction is
WEMM's (Theorem 2).

What is run
-----------
Each repeat draws 100 rows of three inputs with labels in [−10, 10], and one last row; the penalty
on ‖u‖² is b = 2. The thesis names no stream. In the stream used here the last row has a larger norm
than the others, so that Forster's prediction is clipped in some repeats and not in others.

G is computed from its definition. For each of 41 labels of the last row, the library's best
predictor in hindsight gives the least b‖u‖² + Σ a_t(y_t − uᵀx_t)². The weights a_t of earlier rows
are those of WEMM, or in Forster's problem 1. The optimal prediction is searched for without the
closed form: an inner search finds the adversary's best label, and an outer search finds the
prediction for which G at this best label is smallest. The adversary's labels are in [−10, 10] in
Forster's problem, and in [−100, 100] for WEMM, which should need no bound. In case 1 three weights
of the last row are tried: 1.5, 3 and 10 times that of case 2. The optimal predictions are compared
with those of AAR(clip=10) and WEMM after the same rows.

The reading
-----------
Except for Y = 10 the figure has no numbers, so only its shapes and the places of the optimal
predictions can be reproduced. Predictions count as equal within 10⁻⁵, since a numerical search
finds the minimum of a smooth function to only half the digits of a float. A factor of y² in G below
10⁻⁹ counts as 0. G counts as independent of y if it varies by less than 10⁻⁹ of the variation of
Forster's G. "Forster's value is not bounded" is taken to mean that the value of Forster's problem
grows more than tenfold when labels may go to 1000 and not only to 100. "WEMM needs no bound" is
taken to mean that WEMM's value then changes by less than 10⁻⁶ of the change of Forster's value.
"""

from typing import Generic, NamedTuple

import numpy as np

from onlinear._evaluation.html.page import Table
from onlinear.papers._harness.outcome import Claim, Outcome, Picture
from onlinear.papers._harness.study import Study
from onlinear.papers.thesis.last_step import (
    FREE,
    LABELS,
    SURPLUS,
    Game,
    Number,
    Y,
    games,
    predictions,
    prefix,
    solve,
)
from onlinear.papers.thesis.last_step_pictures import Panel, sections, surfaces

__all__ = ["run"]

SAME, ZERO, UNMOVED = 1e-5, 1e-9, 1e-6
DRAWN = 3  # the seed of a stream whose optimal predictions are well inside the pictures
WORDS = {"Forster": "Forster", "case 2": "WEMM, case 2, a = 1/(1 − χ)"}


class Found(NamedTuple, Generic[Number]):
    """The findings of one game, in one repeat or in all repeats."""

    misfit: Number
    alpha: Number  # of (3.7), the factor of y² in G
    away: Number  # distance of the optimal prediction from the learner's
    saddle: Number  # distance of the adversary's best label from the optimal prediction
    varies: Number  # the range of G over all labels, at the learner's prediction
    at_ends: Number  # 1 if the adversary goes to the bound, whatever is predicted
    free: Number  # the value of the game if labels may go to FREE
    freer: Number  # the value of the game if labels may go to ten times FREE


def look(this: Game, said: float) -> Found[float]:
    """Return the findings of a game, given ``said``, the learner's prediction of the last label."""
    optimal, value = solve(this)
    label, _ = this.worst(optimal)
    tries = np.linspace(-this.bound, this.bound, 9)
    return Found(
        this.misfit,
        1 - this.bend,
        abs(optimal - said),
        abs(label - optimal),
        float(np.ptp(this.value(LABELS, np.full_like(LABELS, said)))),
        float(all(abs(this.worst(tried)[0]) == this.bound for tried in tries)),
        value if this.bound == FREE else solve(this._replace(bound=FREE))[1],
        solve(this._replace(bound=10 * FREE))[1],
    )


def play(seed: int) -> tuple[float, dict[str, Found[float]]]:
    """Return AAR's prediction in one repeat, and the findings of each game."""
    given = prefix(seed)
    cut, own = predictions(given)
    of = games(given).items()
    return cut, {name: look(this, cut if name == "Forster" else own) for name, this in of}


def run(study: Study) -> Outcome:
    """Compute the shapes of the three games, and where their optimal predictions are."""
    said, shown = zip(*study.map(play, study.seeds), strict=True)
    of = {
        name: Found(*np.array([tuple(each[name]) for each in shown]).T)  # one entry per repeat
        for name in shown[0]
    }
    cut = int(np.sum(np.abs(said) == Y))
    rows = [
        (
            WORDS.get(name, f"WEMM, case 1, a = {name[8:]}/(1 − χ)"),
            f"{_signed(each.alpha.min())} to {_signed(each.alpha.max())}",
            f"{each.misfit.max():.0e}",
            f"{each.away.max():.0e}",
        )
        for name, each in of.items()
    ]
    table = Table(
        "The games",
        ("game", "factor of y² in G", "misfit of a parabola", "optimum − learner's"),
        rows,
        "Over all repeats: the range of the factor α of (3.7), how far the least cost in hindsight "
        "is from a parabola of y (as a share of its range), and how far the optimal prediction is "
        "from the learner's.",
    )
    numbers = {f"away: {name}": float(each.away.max()) for name, each in of.items()}
    return Outcome(_claims(of, cut), _pictures(), [table], numbers | {"cut": float(cut)})


def _signed(value: float) -> str:
    return f"{value:.3f}".replace("-0.000", "0.000").replace("-", "−")


def _claims(of: dict[str, Found[np.ndarray]], cut: int) -> list[Claim]:
    forster, linear = of["Forster"], of["case 2"]
    concave = [of[f"case 1, {k:g}"] for k in SURPLUS]
    growth = forster.freer / forster.free
    gain = forster.freer - forster.free
    moved = max(np.max(np.abs(each.freer - each.free) / gain) for each in (*concave, linear))
    highest = max(each.alpha.max() for each in concave)
    saddle = max(each.saddle.max() for each in concave)
    flat, varies = np.abs(linear.alpha).max(), np.max(linear.varies / forster.varies)
    own = max(each.away.max() for each in (*concave, linear))
    return [
        Claim(
            "convex",
            "Forster: G is convex in y, and the adversary's best label is Y or −Y",
            bool(forster.alpha.min() > 0 and forster.at_ends.all()),
            f"the factor of y² is at least {forster.alpha.min():.3f}; whatever was predicted, the "
            f"best label was ±10 in {forster.at_ends.sum():.0f} of {gain.size} streams",
        ),
        Claim(
            "unbounded",
            "Forster: the value is not bounded if labels are not",
            bool(growth.min() > 10),
            f"with labels up to 1000 the value is {growth.min():.0f} to {growth.max():.0f} times "
            "that with labels up to 100",
        ),
        Claim(
            "clip",
            "Forster: the optimal prediction is clipped to [−Y, Y], and equals that of AAR(clip=Y)",
            bool(forster.away.max() < SAME),
            f"they differ by at most {forster.away.max():.0e}; {cut} of {gain.size} were clipped",
        ),
        Claim(
            "concave",
            "WEMM, case 1: G is strictly concave in y, and the optimum is its saddle",
            bool(highest < -ZERO and saddle < SAME),
            f"the factor of y² is at most {_signed(highest)}; against the optimal prediction the "
            f"adversary's best label is the prediction itself, to {saddle:.0e}",
        ),
        Claim(
            "invariant",
            "WEMM, case 2: G is linear in y, and for the optimal prediction invariant to y",
            bool(flat < ZERO and varies < ZERO),
            f"the factor of y² is at most {flat:.0e}; at WEMM's prediction G varies {varies:.0e} "
            "times as much as Forster's G does at Forster's prediction",
        ),
        Claim(
            "free",
            "WEMM: the value is bounded without a bound on the labels",
            bool(moved < UNMOVED),
            f"if labels go up to 1000 and not only to 100, WEMM's value changes by {moved:.0e} of "
            "the change of Forster's value",
        ),
        Claim(
            "theorem 2",
            "WEMM: in both cases the optimal prediction is xᵀw with the previous round's w (3.8)",
            bool(own < SAME),
            f"they differ by at most {own:.0e}",
        ),
    ]


def _pictures() -> list[Picture]:
    given = prefix(DRAWN)
    cut, own = predictions(given)
    of = games(given)
    panels: list[Panel] = [
        ("Forster: convex in y", of["Forster"], cut),
        ("WEMM, case 1: strictly concave", of[f"case 1, {SURPLUS[0]:g}"], own),
        ("WEMM, case 2: invariant", of["case 2"], own),
    ]
    return [
        Picture(
            surfaces(panels),
            "G (upwards) over the label y and the prediction ŷ. Black: G along the optimal ŷ, "
            "convex, concave and level. Dashed: labels ±10, which Forster's adversary chooses.",
        ),
        Picture(
            sections(panels),
            "The same, cut along y: for the optimal prediction (black) and for smaller and "
            "larger ones. Dots are the most that the adversary can reach, which is least for "
            "the optimal prediction. In case 2 G has a maximum for the optimal prediction only.",
        ),
    ]
