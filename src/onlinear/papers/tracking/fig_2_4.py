"""Herbster & Warmuth (2001), Figs 2, 3 and 4: Bregman divergences and projections.

The claim
---------
Fig 4 shows the Bregman divergence of a convex function F: D(u, w) is how far F(u) is above the
tangent of F at w. The divergence is never negative, and 0 only for u = w (Proposition 21). Fig 2
shows why the point of a ball nearest to w is found by scaling w (Theorem 5). With the unnormalised
entropy, the point of a box nearest to w is found by clipping each weight to the box (Theorem 6).
With the relative entropy, the nearest point of the simplex with a lower limit on each of n weights
is found by the algorithm of Fig 3, which finds a threshold by medians in O(n) steps (Theorem 7).

All bounds of the paper rest on the generalised theorem of Pythagoras (Theorem 2): if p is the
projection of w on a convex set and u is in the set, D(u, w) ≥ D(u, p) + D(p, w), with equality if
the set is affine.

What is run
-----------
Figures 2 and 4 are drawn with onlinear.bregman. Fig 2, which the paper has for the ball, is drawn
for the box and the simplex too, and Fig 4 for the convex functions of all three divergences. The
statements about divergences and projections are tested on random points, w outside the set and u
inside it, with 2 to 20 coordinates. The sets to project on are the ball of radius 1, the box
[α/n, n/α]ⁿ, and the simplex with the lower limit α/n on each weight, where α = 0.3 and n is the
number of coordinates. The affine set is a hyperplane through u in a random direction; the
projection on it is found by a search for the multiplier in the paper's equation (57).

The algorithm of Fig 3 is transcribed line by line, once as printed, and once with the denominators
of Claim 1 in lines 8 and 15. Random weights of 2 to 40 coordinates come from three Dirichlet
distributions, with parameters 5 (weights much alike), 1 (uniform on the simplex) and 0.3 (a few
large ones); α is uniform on (0, 1).

The reading
-----------
All statements tested here but Fig 3 hold as printed, up to rounding. In Fig 3 the denominators of
lines 8 and 15 have a factor α/n too many: they should be the sum of the weights that are not raised
to the lower limit, 1 − (C% + L%) and 1 − C%, as in Claim 1 in the proof of Theorem 7. The result of
Fig 3 as printed is right only if no weight has to change. Otherwise the result does not sum to 1,
or line 11 takes the minimum of an empty set. How often no weight has to change depends on how
weights and α are drawn, which is why weights are drawn from three distributions.

That a point is the projection is also tested directly: points of the set on the line from the
projection to u have to be farther from w than the projection is. For the simplex the projection is
computed in two ways: by Fig 3 with the right denominators, and by the library, which raises weights
to the lower limit until none is below it.
"""

from functools import partial
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.ticker import NullFormatter

from onlinear import bregman
from onlinear._evaluation.html.page import Table
from onlinear.papers._harness.outcome import Claim, Outcome, Picture
from onlinear.papers._harness.pictures import LOOKS, STYLE, new, plain
from onlinear.papers._harness.study import Study
from onlinear.papers.tracking.bregman_pictures import divergences, projections
from onlinear.papers.tracking.bregman_points import GEOMETRIES, Projected, figure_3, projected

__all__ = ["run"]

EQUAL = 1e-9  # relative tolerance for equality
DRAWS = (5.0, 1.0, 0.3)  # parameters of the Dirichlet distributions
MOST = 40  # Figure 3 is given at most this many weights
BINS = 10  # bins of α in a picture
SHOWN = 150  # points in a picture


class Lifting(NamedTuple):
    """Results of Figure 3: numbers for one w, or arrays by w and by Dirichlet parameter."""

    alpha: Any
    lifted: Any  # whether a weight is below the lower limit α/n
    wrong: Any  # whether the algorithm as printed gives a wrong result
    none: Any  # whether the algorithm as printed gives no result
    gap: Any  # distance of the corrected algorithm's result from the projection
    looks: Any  # how many weights the corrected algorithm's medians look at, divided by n


def run(study: Study) -> Outcome:
    """Draw Figs 2 and 4; test Theorem 2 and Fig 3 (as printed, and corrected) on random points."""
    tried = study.map(partial(_tried, points=25 if study.quick else 100), study.seeds)
    sides = Projected(*np.concatenate([points for points, _ in tried], axis=1).T)
    cases = Lifting(*np.concatenate([some for _, some in tried], axis=1).T)
    table = Table(
        "Fig 3 as printed",
        ("Dirichlet parameter", "right", "wrong", "no result", "right, if a weight is below α/n"),
        [_shares(cases, draw) for draw in range(len(DRAWS))],
    )
    pictures = [projections(), divergences(), _pythagoras(sides), _printed(cases)]
    named = list(zip([f"{c:g}" for c in DRAWS], cases.wrong.T, cases.none.T, strict=True))
    numbers = {
        "most of the right side of Theorem 2": np.max(sides.parts / sides.whole),
        "gap of the equality": np.max(np.abs(sides.parts_plane / sides.whole - 1)),
        **{f"wrong, Dirichlet {name}": wrong.mean() for name, wrong, _ in named},
        **{f"no result, Dirichlet {name}": none.mean() for name, _, none in named},
    }
    return Outcome([*_theorem_2(sides), *_figure_3(cases)], pictures, [table], numbers)


def _tried(seed: int, points: int) -> tuple[np.ndarray, np.ndarray]:
    """Return both sides of Theorem 2, and the results of Figure 3, for random points.

    The first array has an axis for the geometries (a divergence and a set) and one for the points;
    the second has an axis for the Dirichlet parameters and one for the points.
    """
    rng = np.random.default_rng(seed)
    sides = [[projected(geometry, rng) for _ in range(points)] for geometry in GEOMETRIES]
    return np.array(sides), np.array([[_case(rng, c) for _ in range(points)] for c in DRAWS])


def _case(rng: np.random.Generator, concentration: float) -> Lifting:
    n = int(rng.integers(2, MOST + 1))
    w, alpha = rng.dirichlet(np.full(n, concentration)), rng.uniform()
    right = bregman.project_simplex(w, alpha)
    corrected, looked = figure_3(w, alpha, printed=False)
    wrong = none = False
    try:
        wrong = bool(np.abs(figure_3(w, alpha, printed=True)[0] - right).max() > EQUAL)
    except ValueError:
        none = True
    lifted, gap = bool(w.min() < alpha / n), float(np.abs(corrected - right).max())
    return Lifting(alpha, lifted, wrong, none, gap, looked / n)


def _theorem_2(sides: Projected) -> list[Claim]:
    """Return the claims on divergences and projections.

    The last axis of the arrays in ``sides`` has the geometries (a divergence and a set).
    """
    points = f"3 × {len(sides.whole)} points"
    drawn = np.max(np.abs(sides.definition / sides.whole - 1))
    most = np.max(sides.parts / sides.whole)
    apart = np.max(np.abs(sides.parts_plane / sides.whole - 1))
    nearer = np.sum(sides.farther < sides.nearest * (1 - EQUAL), axis=0)
    nearest = "{} of " + f"{len(sides.whole)} other points of the set were nearer"
    return [
        Claim(
            "fig-4",
            "D(u, w) is F(u) minus the tangent of F at w, and positive (Fig 4, Proposition 21)",
            bool(drawn < EQUAL and np.min(sides.whole) > 0),
            f"{points}: they are equal up to {drawn:.0e}; the least D is {sides.whole.min():.2g}",
        ),
        Claim(
            "fig-2",
            "The nearest point of a ball is γw/‖w‖ (Fig 2, Theorem 5)",
            not nearer[0],
            nearest.format(nearer[0]),
        ),
        Claim(
            "theorem-6",
            "The nearest point of a box, in unnormalised entropy, is w clipped to it (Theorem 6)",
            not nearer[1],
            nearest.format(nearer[1]),
        ),
        Claim(
            "theorem-2",
            "D(u, w) ≥ D(u, p) + D(p, w) for the projection p on a convex set (Theorem 2)",
            bool(most <= 1 + EQUAL),
            f"{points}: the right side is {np.mean(sides.parts / sides.whole):.2f} times the left "
            f"side on average, and at most {most:.5f} times",
        ),
        Claim(
            "theorem-2-affine",
            "The two sides are equal if the set is affine (Theorem 2)",
            bool(apart < EQUAL),
            f"{points} and hyperplanes: they are equal up to {apart:.0e}",
        ),
    ]


def _figure_3(cases: Lifting) -> list[Claim]:
    wrong, none = np.mean(cases.wrong, axis=0), np.mean(cases.none, axis=0)
    shares = [
        f"{w:.0%} wrong and {e:.0%} without a result at Dirichlet parameter {c:g}"
        for c, w, e in zip(DRAWS, wrong, none, strict=True)
    ]
    return [
        Claim(
            "fig-3",
            "The algorithm of Fig 3, as printed, gives the projection (Theorem 7)",
            not (wrong.any() or none.any()),
            f"{', '.join(shares)}; 3 × {len(cases.wrong)} random weights",
        ),
        Claim(
            "theorem-7",
            "With the denominators of Claim 1 Fig 3 gives the projection in O(n) steps (Theorem 7)",
            bool(np.max(cases.gap) < EQUAL and np.max(cases.looks) <= 2),
            f"the error is at most {np.max(cases.gap):.0e}; the medians look at "
            f"{np.mean(cases.looks):.2f}n weights on average, {np.max(cases.looks):.2f}n at most",
            ours=True,
        ),
    ]


def _shares(cases: Lifting, draw: int) -> tuple[str, ...]:
    wrong, none, lifted = (part[:, draw] for part in (cases.wrong, cases.none, cases.lifted))
    failed = wrong + none
    shares = (1 - failed.mean(), wrong.mean(), none.mean(), 1 - failed[lifted > 0].mean())
    return (f"{DRAWS[draw]:g}", *(f"{share:.1%}" for share in shares))


def _pythagoras(sides: Projected) -> Picture:
    with matplotlib.rc_context(STYLE):
        figure, axes = new(1, 3, height=2.5, sharey=True)
        for k, (ax, geometry) in enumerate(zip(axes[0], GEOMETRIES, strict=True)):
            whole = sides.whole[:SHOWN, k]
            for parts, look, name in (
                (sides.parts, LOOKS[0], "the set"),
                (sides.parts_plane, LOOKS[1], "a hyperplane"),
            ):
                ratio = parts[:SHOWN, k] / whole
                ax.plot(whole, ratio, look.marker, color=look.color, ms=2, alpha=0.7, label=name)
            ax.set_xscale("log")
            ax.xaxis.set_minor_formatter(NullFormatter())
            plain(ax, f"{geometry.name},\n{geometry.region}", "D(u, w)", "")
        axes[0, 0].set_ylabel("right side / left side")
        axes[0, 0].set_ylim(0, 1.08)
        lines = axes[0, 0].get_legend_handles_labels()
        figure.legend(*lines, title="p is the projection on", loc="outside lower center", ncols=2)
    words = (
        f"Theorem 2 for {len(whole)} random points w and u of each kind: the right side divided by "
        "the left side is at most 1 with a convex set, and 1 with a hyperplane."
    )
    return Picture(figure, words)


def _printed(cases: Lifting) -> Picture:
    with matplotlib.rc_context(STYLE):
        figure, axes = new(1, 2, height=2.3, sharey=True)
        for draw, (c, look) in enumerate(zip(DRAWS, LOOKS, strict=False)):
            alpha = cases.alpha[:, draw]
            which = np.minimum((BINS * alpha).astype(int), BINS - 1)
            for ax, part in zip(axes[0], (cases.wrong, cases.none), strict=True):
                failed = np.bincount(which, part[:, draw], BINS)
                share = failed / np.maximum(np.bincount(which, minlength=BINS), 1)
                ax.plot((np.arange(BINS) + 0.5) / BINS, share, label=f"{c:g}", **look._asdict())
        plain(axes[0, 0], "wrong", "α", "share of random weights")
        plain(axes[0, 1], "no result: line 11 has no weight left", "α", "")
        axes[0, 0].set_ylim(0, 1.02)
        axes[0, 1].legend(title="Dirichlet parameter")
    words = (
        "Fig 3 as printed, on random weights. The more weights are below the lower limit α/n, the "
        "more often the result is not the projection, or there is no result."
    )
    return Picture(figure, words)
