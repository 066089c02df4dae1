"""Vaits & Crammer (2011), Fig 2: ARCOR beside AROWR and NLMS on two drifting streams.

The claim
---------
On both streams AROW for regression (AROWR) performs worst, NLMS is second, and ARCOR, with several
values of q, is the best (the larger q, the more rarely ARCOR resets its covariance). The gaps
between the cumulative losses grow with time. The paper takes this to mean that ARCOR tracks better
both when the true weights drift and when they switch. The paper leaves out the aggregating
algorithm (AA) and ridge regression, since both are very close to AROWR in performance.

What is run
-----------
The streams have 2,000 rows and 20 columns (onlinear.streams.paired), and label noise N(0, 2). In
the left panel, only the first two columns have true weights other than 0, and in round t these
weights turn at a rate of t^−.01. In the right panel the rate is t^−.5, and every 50 rounds the true
weights move to the next pair of columns. One parameter of each learner (the step size η of NLMS,
the noise variance r of the others) is tuned on one stream by the total loss; the curves are means
over other streams with 95 % confidence bands. One learner is said to lose less than another if the
95 % confidence interval of the mean difference of their losses on the same stream excludes 0. AA
for regression (AAR) and ridge regression run on the same streams, with their penalty b tuned over
AROWR's values of r. The tables of other readings of the paper repeat the experiment with the rate
in radians, with 2 as the standard deviation of N(0, 2), with both, with ten pairs of columns, and
with a lower rate.

The reading
-----------
The paper does not say in which unit the rate is, how large R_B (the bound on the norm of ARCOR's
weights) is, which values of q the figure shows, or over which values the parameter was tuned. Here
the rate is in degrees per round, N(0, 2) has variance 2, R_B = 1, and the true weights move through
five pairs of columns in turn.

The result of the left panel depends on the unit of the rate. If it is radians, the weights turn by
57° per round, and no learner can follow them. AROWR is then the best, since its tuned r makes it
predict almost 0. At 1° per round the learners are in the paper's order for q up to 1.5, and with
larger q ARCOR falls behind NLMS. At .1° per round, half a turn in all, ARCOR is ahead of NLMS with
q = 2 as well. In the right panel the learners are in the paper's order for q up to 2 under every
reading. Since the paper does not say which q its figure shows, its claim is taken to be about the
best q of those tried here.

Ridge regression with b = r has the same predictions as AROWR, so it is as close as can be. AAR
divides AROWR's prediction by 1 + xᵀΣx. "Very close" is taken to mean a loss that differs by less
than 5 %.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from onlinear import AAR, ARCOR, AROWR, NLMS, Learner, Ridge
from onlinear._evaluation.html.page import Table
from onlinear.papers._harness.drifting import (
    LossCurves,
    Stream,
    below,
    compared,
    grid,
    picture,
    powers,
    readings,
    shown,
    totals,
)
from onlinear.papers._harness.outcome import Claim, Outcome
from onlinear.papers._harness.study import Study

__all__ = ["run"]

SEVERAL_Q = (1.0, 1.5, 2.0, 3.0)
CLOSE = 1.05  # losses are very close if neither is this many times the other
PANELS: Mapping[str, Stream] = {
    "drifting": {"rows": 2000, "decay": 0.01, "noise": 2.0},
    "drifting and switching": {"rows": 2000, "decay": 0.5, "switch_every": 50, "noise": 2.0},
}
READINGS: Mapping[str, Stream] = {
    "radians": {"unit": "radians"},
    "deviations": {"normal": "deviation"},
    "radians, deviations": {"unit": "radians", "normal": "deviation"},
    "ten pairs": {"pairs": 10},
    ".1° a round": {"rate": 0.1},
}


def named(q: float) -> str:
    """Return the name of ARCOR with this q in tables and pictures."""
    return f"ARCOR, q = {q:g}"


def families(coarse: bool) -> dict[str, Sequence[Learner]]:
    """Return by name the candidates for each learner's tuning; there are fewer if ``coarse``."""
    step = 0.5 if coarse else 0.25
    arcor = {
        named(q): [ARCOR(r=r, radius=1.0, q=q) for r in powers(-2, 4, step)] for q in SEVERAL_Q
    }
    return {
        "AROWR": [AROWR(r=r) for r in powers(-2, 6, step)],
        "NLMS": [NLMS(eta=k / 20) for k in range(1, 40, 2 if coarse else 1)],
        **arcor,
    }


def relatives(coarse: bool) -> dict[str, Sequence[Learner]]:
    """Return by name the candidates for AROWR's tuning, and those for AAR and ridge regression."""
    values = powers(-2, 6, 0.5 if coarse else 0.25)
    return {
        "AROWR": [AROWR(r=r) for r in values],
        "AAR": [AAR(b=b) for b in values],
        "ridge regression": [Ridge(b=b) for b in values],
    }


def run(study: Study) -> Outcome:
    """Run the streams of both panels, and repeat them under other readings of the paper."""
    rows = {"rows": 800} if study.quick else {}
    tried = families(study.quick)
    panels = {name: {**stream, **rows} for name, stream in PANELS.items()}
    curves = compared(study, list(panels.values()), tried)
    close = compared(study, list(panels.values()), relatives(study.quick))
    tables = [totals(panels, curves), grid(tried), _beside_arowr(panels, close)]
    if not study.quick:
        tables += readings(study, panels, READINGS, tried)
    numbers = {
        f"{panel}, {name}": each.total(name)
        for panel, each in zip(panels, curves, strict=True)
        for name in each.losses
    }
    for panel, each in zip(panels, close, strict=True):
        of_arowr = each.total("AROWR")
        numbers |= {
            f"{panel}, {name} / AROWR": each.total(name) / of_arowr
            for name in ("AAR", "ridge regression")
        }
    claims = [*_claims(curves), *_claims_of_relatives(close)]
    return Outcome(claims, [picture(panels, curves, beside="NLMS")], tables, numbers)


def _claims(curves: Sequence[LossCurves]) -> list[Claim]:
    claims = []
    for panel, each in zip(PANELS, curves, strict=True):
        slug = panel.replace(" ", "-")
        ahead = [q for q in SEVERAL_Q if below(each, named(q), "NLMS")]
        others = [name for name in each.losses if name != "AROWR"]
        claims += [
            Claim(
                f"{slug}-arowr-worst",
                f"{panel.capitalize()}: AROWR performs worst",
                all(below(each, name, "AROWR") for name in others),
                shown(each),
            ),
            Claim(
                f"{slug}-arcor-best",
                f"{panel.capitalize()}: ARCOR is best, with a suitable q, and NLMS second",
                bool(ahead),
                f"ahead of NLMS: {', '.join(f'q = {q:g}' for q in ahead) or 'none'}; "
                + shown(each, "NLMS", *map(named, SEVERAL_Q)),
            ),
            Claim(
                f"{slug}-arcor-best-any-q",
                f"{panel.capitalize()}: ARCOR is ahead of NLMS for every q from 1 to 3",
                len(ahead) == len(SEVERAL_Q),
                f"not ahead of NLMS: "
                f"{', '.join(f'q = {q:g}' for q in SEVERAL_Q if q not in ahead) or 'none'}",
                ours=True,
            ),
            _gap(panel, slug, each),
        ]
    return claims


def _gap(panel: str, slug: str, curves: LossCurves) -> Claim:
    """Return the claim that the gaps between the learners' losses grow in each quarter.

    The learners are AROWR, NLMS and the best ARCOR; the quarters are those of the stream.
    """
    best = min(map(named, SEVERAL_Q), key=curves.total)
    at = np.linspace(0, len(curves.rounds) - 1, 5).astype(int)[1:]
    gaps = {
        f"{worse} − {better}": (curves.losses[worse] - curves.losses[better]).mean(axis=0)[at]
        for worse, better in (("AROWR", "NLMS"), ("NLMS", best))
    }
    return Claim(
        f"{slug}-gap-grows",
        f"{panel.capitalize()}: the gaps between all learners grow with time",
        all((np.diff([0.0, *gap]) > 0).all() for gap in gaps.values()),
        "difference of losses after each quarter: "
        + "; ".join(f"{pair} {', '.join(f'{g:,.0f}' for g in gap)}" for pair, gap in gaps.items()),
    )


def _claims_of_relatives(curves: Sequence[LossCurves]) -> list[Claim]:
    """Return the claims that AAR and ridge regression lose about as much as AROWR."""
    claims = []
    for slug, name in (("aa", "AAR"), ("ridge", "ridge regression")):
        ratios = [each.total(name) / each.total("AROWR") for each in curves]
        found = ", ".join(f"{r:.4f} ({panel})" for r, panel in zip(ratios, PANELS, strict=True))
        claims.append(
            Claim(
                f"{slug}-close",
                f"{'AA' if slug == 'aa' else 'RR'} is very close in performance to AROWR",
                bool(max(abs(np.log(ratios))) < np.log(CLOSE)),
                f"the loss of {name} over that of AROWR: {found}",
            )
        )
    return claims


def _beside_arowr(panels: Mapping[str, Stream], curves: Sequence[LossCurves]) -> Table:
    table = totals(panels, curves)
    return replace(table, heading="AA and ridge regression beside AROWR")
