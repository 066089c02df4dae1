"""Herbster & Warmuth (2001), Theorems 14 to 19: bounds against weights that shift.

The claim
---------
The paper has no experiment. The theorems of the paper are about gradient descent and the
exponentiated gradient algorithms EGU and EG, each projected on a convex set after every round
(C-GD, C-EGU, C-EG). The loss is bounded by a multiple of the loss of any sequence of weight vectors
in the set, plus a penalty on how far the sequence moves: by Theorem 14 for C-GD, 15 and 18 for
C-EGU, and 16 for C-EG. Corollary 19 tunes α, the parameter of the set of C-EGU.

The paper also says that without a bound on the learner's weights w the cost of a shift of the true
weights cannot be bounded, and that the projection does bound it. If the true weights are sparse,
the paper says, the bounds of EG and EGU can be exponentially smaller than that of GD, as functions
of the number of inputs.

What is run
-----------
The streams have 2000 rounds and 20 inputs, and their true weights shift 9 times. Each learner has
the parameters of its theorem, which its constructors from_range and from_drift set. For C-GD the
vector of true weights and each row have norm 1; for C-EG and C-EGU only one input matters, and
inputs are uniform on [0, 1]. Labels have noise of standard deviation 0.1, and are clipped to [0, 1]
for C-EGU. Where a theorem needs the true weights inside the set, they are mixed with equal weights,
which get a share of 0.01; this share is also the α of C-EG, and of C-EGU in Theorem 15. In every
round, onlinear.certificate compares the loss with its ceiling, the theorem's upper bound against
the true weights. Each learner also runs free, that is without a projection.

The price of a shift is the loss after a single shift, minus the loss of a new learner that starts
at the shift. The true weights before the shift stay for 50 to 3200 rounds, inside the set or
outside. For EG and EGU the true weights are outside the set because half of the input that matters
after the shift is subtracted from the labels before the shift, and vice versa. The best weight of
the subtracted input is then 0, and EG and EGU go on lowering this weight. For GD the vector of true
weights before the shift is 10 times as long as the radius of the ball on which C-GD projects.

To vary the number of inputs n, there are streams where one input matters, all inputs are ±1, and
there are 3 shifts in 8000 rounds and no noise. Both sides of each statement that is false as
printed are computed on a counterexample, and so are both sides of its corrected form.

The reading
-----------
Theorem 14 holds as printed. Theorems 15, 16 and 18 and Corollary 19 need corrections. In Theorem 16
the range of every row, max x_i − min x_i, has to be at most X (it is not enough that each input has
an interval of length X of its own). The exponents of Lemmas 12 and 13 need the factor 2 of Fig 1.
In Theorems 15 and 18 and Corollary 19, predictions have to be clipped to at most Y, and the sign
before ‖u_ℓ‖₁ + H(u_ℓ), where u_ℓ are the last true weights and H is the entropy, has to be minus.
The corrected theorems hold in every round of every stream. The ceilings (upper bounds) are those of
the certificates: (43) itself for C-GD, and less than (45) for C-EG, since the certificates keep the
entropy of u, which the paper drops, and use the ranges of the rows seen.

The theorems are about the worst case, and only there does the projection matter. Where the true
weights are in the set, free and projected learners lose nearly the same, and the price of a shift
grows little with the rounds before it. While the true weights are outside the set, EG and EGU go on
lowering a weight, and afterwards need a proportional number of rounds to raise it again. In this
case the projection makes the difference, and the paper's statements on shifts can be seen: the
price of the free learner grows in proportion to the rounds before the shift, that of the projected
learner does not. For the free GD, the price of a shift is the loss while its weight vector, which
grew too long before the shift, shrinks again; this price depends on the length of the vector, not
on the number of rounds before the shift.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from onlinear._evaluation.html.page import Table
from onlinear.papers._harness.outcome import Claim, Outcome
from onlinear.papers._harness.study import Study
from onlinear.papers.tracking.shifting_errata import Counterexample, counterexamples
from onlinear.papers.tracking.shifting_pictures import ceilings, prices, tunings
from onlinear.papers.tracking.shifting_runs import (
    LEARNERS,
    PASTS,
    SETTINGS,
    Bounded,
    attained,
    bounded,
    over_shares,
    over_widths,
    priced,
)

__all__ = ["run"]

ROWS = 2000
GROWN = 2.0  # a price grows if four times as many rounds before it raise it by this factor
BOUNDS = (  # claims about SETTINGS, in the same order
    ("theorem-14", "The loss of C-GD is at most (43) (Theorem 14)"),
    (
        "theorem-16-mended",
        "The loss of C-EG is at most (45), if max x_i − min x_i ≤ X in every row (Theorem 16)",
    ),
    (
        "theorem-15-mended",
        "The loss of C-EGU is at most (44), with predictions clipped to Y and the sign corrected "
        "(Theorem 15)",
    ),
    (
        "theorem-18-mended",
        "The loss of C-EGU is at most (50), with the same corrections (Theorem 18, α by Corollary "
        "19)",
    ),
)


def run(study: Study) -> Outcome:
    """Compare losses with bounds on shifting streams; measure the cost of shifts."""
    lengths = [50 * 2**k for k in range(6 if study.quick else 7)]
    widths = [8, 32, 128] if study.quick else [8, 16, 32, 64, 128, 256]
    shares = list(np.geomspace(1e-4, 1, 5 if study.quick else 13))
    runs = study.map(partial(bounded, rows=ROWS), study.seeds)
    costs = study.map(partial(priced, lengths=lengths), study.seeds)
    by_width = np.array(study.map(partial(over_widths, widths=widths, rows=8000), study.seeds))
    by_share = np.array(study.map(partial(over_shares, shares=shares, rows=ROWS), study.seeds))
    price = np.mean([cost.prices for cost in costs], axis=0)
    ends = np.mean([[each.curves[:, -1] for each in run] for run in runs], axis=0)
    false = counterexamples()
    claims = [
        *[
            _bound(name, words, each)
            for (name, words), each in zip(BOUNDS, zip(*runs, strict=True), strict=True)
        ],
        *map(_printed, false),
        *_shifts(price),
        _sparse(widths, by_width.mean(axis=0)),
        _tuned(by_share),
    ]
    pictures = [
        ceilings(runs),
        prices(lengths, costs),
        tunings(costs, widths, by_width, by_share),
    ]
    tables = [_losses(ends), _prices(lengths, price), _false(false)]
    tight = attained()
    more = {s.theorem: end[1] / end[0] for s, end in zip(SETTINGS, ends, strict=True)}
    numbers = {
        "loss / ceiling where Theorem 14 is attained": tight,
        **{f"free / projected, {theorem}": ratio for theorem, ratio in more.items()},
        **{
            f"price, {learner}, {past}, {kind}": price[i, j, -1, k]
            for i, learner in enumerate(LEARNERS)
            for j, past in enumerate(PASTS)
            for k, kind in enumerate(("free", "projected"))
        },
    }
    remarks = [
        "Theorem 14 cannot be improved: with one input x = 1, u = 1, −1, 1, … and labels that "
        f"depend on the learner, y = 2u − w, the loss is {tight:.6f} times the ceiling.",
        "In the streams of 9 shifts, whose true weights are in the set, the free learner loses "
        "about as much as the projected one: "
        + ", ".join(f"{ratio:.3f} times as much ({theorem})" for theorem, ratio in more.items())
        + f". But the free learner has no ceiling: {runs[0][1].without.split(';')[0]}, as the "
        "certificate of EG says.",
    ]
    return Outcome(claims, pictures, tables, numbers, remarks)


def _bound(name: str, words: str, runs: Sequence[Bounded]) -> Claim:
    held = sum(run.holds for run in runs)
    nearest = max(run.nearest for run in runs)
    found = (
        f"it is so in every round of {held} of {len(runs)} streams; the loss is at most "
        f"{nearest:.2f} times the ceiling"
    )
    return Claim(name, words, held == len(runs), found, ours=name.endswith("-mended"))


def _printed(case: Counterexample) -> Claim:
    left, right = case.printed
    true_left, true_right = case.mended
    found = (
        f"{case.example}: the left side is {left:.4g}, the right side {right:.4g}. Corrected, with "
        f"{case.how}: {true_left:.4g} and {true_right:.4g}"
    )
    return Claim(case.name, f"{case.statement} (as printed)", case.holds, found)


def _shifts(price: np.ndarray) -> list[Claim]:
    """Return claims on the price of a shift.

    The axes of ``price`` are the learner, whether the true weights were in the set before the
    shift, the number of rounds before it, and whether the learner is free or projected.
    """
    last, before = price[:, :, -1], price[:, :, -3]  # ``last``: four times as many rounds before
    kept = last[:, :, 1] < GROWN * np.maximum(before[:, :, 1], 1.0)
    grown = last[1:, 1, 0] / before[1:, 1, 0]
    return [
        Claim(
            "projected-shift",
            "With the projection the price of a shift is bounded, whatever came before (24)",
            bool(kept.all()),
            "with the most rounds before the shift: "
            + ", ".join(
                f"{last[i, j, 1]:.1f} (C-{learner}, {past})"
                for i, learner in enumerate(LEARNERS)
                for j, past in enumerate(PASTS)
            )
            + f"; at most {np.max(last[:, :, 1] / before[:, :, 1]):.2f} times the price after a "
            f"quarter of these rounds (below {GROWN:g} counts as bounded)",
        ),
        Claim(
            "free-shift",
            "Without a bound on w the price of a shift cannot be bounded (sec. 2)",
            bool((grown > GROWN).all()),
            "if the true weights are outside the set for four times as long, the price is "
            f"{grown[0]:.1f} times as high for EG ({last[1, 1, 0]:.0f}) and {grown[1]:.1f} times "
            f"for EGU ({last[2, 1, 0]:.0f}; above {GROWN:g} counts as growing); GD pays "
            f"{last[0, 1, 0]:.0f} if the vector of true weights is ten times too long",
        ),
    ]


def _sparse(widths: Sequence[int], mean: np.ndarray) -> Claim:
    gd, eg = mean[-1, :, 0] / mean[0, :, 0]
    wider, longer = widths[-1] / widths[0], np.log(widths[-1]) / np.log(widths[0])
    return Claim(
        "sparse",
        "For sparse weights EG's loss is exponentially smaller than GD's in the dimension (5.1)",
        bool(gd > wider / 2 and eg < longer),
        f"from n = {widths[0]} to {widths[-1]} C-GD loses {gd:.1f} times as much (n grows "
        f"{wider:.0f} times), C-EG {eg:.2f} times (ln n grows {longer:.2f} times)",
    )


def _tuned(by_share: np.ndarray) -> Claim:
    alphas, losses, tops = np.moveaxis(by_share, 2, 0)
    least = losses.mean(axis=0).argmin()
    return Claim(
        "corollary-19",
        "α = Û/(ℓ̂ − 1) minimises the bound, if Û and ℓ̂ are right (Corollary 19)",
        bool((tops[:, -1:] <= tops[:, :-1]).all()),
        f"at α = {alphas[0, -1]:.3g} the ceiling is {tops[:, -1].mean():.0f} and the loss "
        f"{losses[:, -1].mean():.0f}; the least ceiling of other α is "
        f"{tops[:, :-1].mean(axis=0).min():.0f}; the least loss is "
        f"{losses.mean(axis=0).min():.0f}, at α = {alphas[0, least]:.2g}",
    )


def _losses(ends: np.ndarray) -> Table:
    rows = [
        (setting.theorem, *(f"{value:.1f}" for value in end))
        for setting, end in zip(SETTINGS, ends, strict=True)
    ]
    columns = ("", "projected", "free", "true weights", "ceiling")
    return Table("Squared losses after 2000 rounds and 9 shifts", columns, rows)


def _prices(lengths: Sequence[int], price: np.ndarray) -> Table:
    rows = [
        (f"{'C-' * k}{learner}", past, *(f"{value:.1f}" for value in price[i, j, :, k]))
        for i, learner in enumerate(LEARNERS)
        for j, past in enumerate(PASTS)
        for k in range(2)
    ]
    columns = ("", "before the shift", *(f"{length} rounds" for length in lengths))
    return Table("The price of a shift", columns, rows, words=2)


def _false(cases: Sequence[Counterexample]) -> Table:
    rows = [
        (
            case.statement,
            case.example,
            *(f"{value:.4g}" for value in case.printed),
            case.how,
            *(f"{value:.4g}" for value in case.mended),
        )
        for case in cases
    ]
    columns = ("printed", "counterexample", "left", "right", "true form", "left", "right")
    return Table("Statements that are false as printed", columns, rows, words=7)
