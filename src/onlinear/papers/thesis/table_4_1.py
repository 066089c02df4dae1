"""Moroshko (2013), Table 4.1: bounds on the regret against fixed weights u.

The claim
---------
Table 4.1 has six bounds on the regret against any fixed weights u, for rows with ‖x‖ ≤ 1. The
bounds of Vovk and of Forster have the factor Y², the largest squared label. The bound of Crammer et
al. for AROWR has the factor A, the learner's largest loss in a round. The bound of Orabona et al.
has the factor (U + Y)², for ‖u‖ ≤ U. The bounds of WEMM, Theorems 5 and 6, have the factor S, the
largest loss of u in a round.

The text of the thesis makes the following claims. Where y = uᵀx, the bound of Theorem 5 is O(1),
and the other logarithmic bounds are not. Theorem 5 is better than Crammer's bound, since S < A is
often true. Theorem 5 is better than the bounds of Vovk and Forster on problems that are
approximately linear with Y large; their bounds may be better if Y is small. Theorem 6 and Orabona's
bound may be sub-logarithmic, and S can be much smaller than (U + Y)².

What is run
-----------
Rows are uniform on the unit sphere in five dimensions, y = uᵀx + noise, and streams have T = 10,000
rounds (1,000 in a quick run). The learners have the parameters b = 2 (the penalty on their weights)
and r = 1 (AROWR's noise variance). There are five kinds of stream: linear (no noise, ‖u‖ = 1);
large labels (‖u‖ = 10, noise uniform in ±.5); noisy (‖u‖ = 1, noise in ±1); small labels (u = 0,
noise in ±.1); and fading noise (‖u‖ = 1, noise in ±t^−½), where the loss of u grows as ln T.

AAR (with predictions cut to [−Y, Y]), AROWR and WEMM run on each stream. Every bound is evaluated
at ten rounds per power of ten, with the Y, A, S and L (the total loss of u) of the rounds so far,
against the true weights u of the stream. The learner of Orabona et al. is the online Newton step
(the thesis says so in chapter 1), which is ONS in the library. ONS is not run here; only its bound
is evaluated, with U = ‖u‖. The certificates, a sharper form of the bounds that uses the rows and
labels of the stream at hand, are shown beside the table's bounds.

The bound in the last row of the table is also evaluated on a single example, x = y = 1, for several
b.

The reading
-----------
The last row of the table lacks the "1 +" that Theorem 6 has in the text, and is not a bound: with
d = T = 1 and u the best in hindsight, the regret exceeds the last row for all b < 1/ln 2. For b ≥ 3
the last row is a bound, since the bound with ln(1 + ⌈L/S⌉/(d(b − 1))) in place of the printed
logarithm can be proved, and ⌈L/S⌉ ≤ 2L/S. The printed proof of Theorem 6 has gaps (Lemma 8 and
(4.6) are false). Theorem 6 as in the text is violated in none of the runs, which is no proof.

S < A does not make Theorem 5 the better bound: Theorem 5 has a factor b/(b − 1), and b − 1 where
Crammer's bound has rb. With r = 1, Theorem 5 is the smaller bound if
S·b/(b − 1)·ln(1 + T/(d(b − 1))) is less than A·ln(1 + T/(drb)). With a larger b, the factor
b/(b − 1) of Theorem 5 is nearer 1, and its term b‖u‖² is larger.

"Often" is taken to mean in more than half of the runs, and "better" to mean smaller after T rounds
in every run. "Logarithmic" is taken to mean that the bound rises by 10 % or more from round T/10 to
round T, and "sub-logarithmic" to mean that it rises at most half as much as that of Theorem 5.
"""

from collections.abc import Iterable
from functools import partial

import numpy as np

from onlinear.papers._harness.outcome import Claim, Outcome
from onlinear.papers._harness.study import Study
from onlinear.papers.thesis.stationary_bounds import Seen, bounds, printed
from onlinear.papers.thesis.stationary_pictures import pictures, tables
from onlinear.papers.thesis.stationary_streams import (
    KINDS,
    LEARNERS,
    STRONG,
    Curves,
    D,
    look,
    one_row,
)

__all__ = ["run"]

VOVK, CRAMMER = "Vovk, Forster", "Crammer et al."  # rows of the table


def run(study: Study) -> Outcome:
    """Compute the bounds of the table and the regrets, on five kinds of stream."""
    rows = 1_000 if study.quick else 10_000
    items = [(kind, seed) for kind in KINDS for seed in study.seeds]
    flat = study.map(partial(look, rows), items)
    by_kind = {
        kind: _stacked(flat[k * study.repeats : (k + 1) * study.repeats])
        for k, kind in enumerate(KINDS)
    }
    numbers = {
        f"{kind}: {name}": float(curves[:, -1].mean())
        for kind, seen in by_kind.items()
        for name, curves in seen.items()
    }
    remarks = [_other_b(by_kind, rows), _sizes_of_regrets(by_kind)]
    return Outcome(_claims(by_kind), pictures(by_kind, rows), tables(by_kind), numbers, remarks)


def _stacked(repeats: list[Curves]) -> Curves:
    return {name: np.array([each[name] for each in repeats]) for name in repeats[0]}


def _other_b(of: dict[str, Curves], rows: int) -> str:
    S, A = (np.concatenate([seen["sizes"][:, k] for seen in of.values()]) for k in (0, -1))
    better = 0
    for each, largest in zip(S, A, strict=True):  # neither bound depends on the other losses of u
        row = bounds(Seen(np.append(np.zeros(rows - 1), each), 1.0, D, 0.0, largest), STRONG)
        better += row["Theorem 5"] < row["Crammer et al."]
    return (
        f"With b = {STRONG:g} for both, S < A in {np.sum(S < A)} of {S.size} runs, and Theorem 5 "
        f"is smaller than Crammer's bound in {better}."
    )


def _sizes_of_regrets(of: dict[str, Curves]) -> str:
    def apart(names: Iterable[str]) -> float:
        at_end = [[float(seen[name][:, -1].mean()) for name in names] for seen in of.values()]
        return max(max(each) / min(each) for each in at_end)

    regrets, rows = apart([f"{name}: regret" for name in LEARNERS]), apart(LEARNERS.values())
    return (
        "The bounds differ more than what they bound: at T the mean regrets of AAR, AROWR and WEMM "
        f"are within a factor {regrets:.1f} of each other on every kind of stream, their bounds up "
        f"to a factor {rows:.0f} apart."
    )


def _claims(of: dict[str, Curves]) -> list[Claim]:
    last = {kind: {name: c[:, -1] for name, c in seen.items()} for kind, seen in of.items()}
    return [
        *_bounds_hold(of),
        *_against_crammer(of, last),
        *_against_vovk(last["large labels"], last["small labels"]),
        *_against_orabona(of, last["large labels"], last["small labels"]),
        *_theorem_6(of),
    ]


def _bounds_hold(of: dict[str, Curves]) -> list[Claim]:
    """Return the claim that the bounds hold, and the claim about how they grow."""
    linear = of["linear"]
    constant = float(np.ptp(linear["Theorem 5"], axis=1).max())
    growth = min(np.min(linear[name][:, -1] / linear[name][:, -11]) for name in (VOVK, CRAMMER))
    gap = {
        name: min(np.min(seen[row] - seen[f"{name}: regret"]) for seen in of.values())
        for name, row in LEARNERS.items()
    }
    return [
        Claim(
            "rows",
            "the rows of Vovk, Forster, Crammer et al. and Theorem 5 bound the regret",
            bool(min(gap.values()) >= 0),
            "the least distance of bound and regret at any checkpoint is "
            + ", ".join(f"{value:.2g} ({name})" for name, value in gap.items()),
        ),
        Claim(
            "constant",
            "where y = uᵀx Theorem 5 is O(1), the bounds of Forster, Vovk and Crammer O(log T)",
            constant == 0 and bool(growth >= 1.1),
            f"from 10 to T Theorem 5 changes by {constant:g}; from T/10 to T the others grow by "
            f"{100 * (growth - 1):.0f} % or more",
        ),
    ]


def _against_crammer(of: dict[str, Curves], last: dict[str, Curves]) -> list[Claim]:
    """Return the claims about Theorem 5 and the bound of Crammer et al."""
    S, A = (np.concatenate([seen["sizes"][:, k] for seen in of.values()]) for k in (0, 1))
    ours, theirs = (
        np.concatenate([seen[name] for seen in last.values()]) for name in ("Theorem 5", CRAMMER)
    )
    smaller, better = S < A, ours < theirs
    worse = np.asarray((smaller & ~better).reshape(len(of), -1).any(axis=1))
    beaten = [kind for kind, ever in zip(of, worse, strict=True) if ever]
    noisy = last["noisy"]
    return [
        Claim(
            "often",
            "often S < A: u's largest loss is below the learner's",
            bool(smaller.mean() > 0.5),
            f"in {smaller.sum()} of {smaller.size} runs",
        ),
        Claim(
            "Crammer",
            "Theorem 5 is better than Crammer's bound, as S < A",
            bool(np.all(better[smaller])),
            f"of the runs with S < A, Theorem 5 is better in {np.sum(better & smaller)} and not "
            f"better in {np.sum(smaller & ~better)}, of kind {' and '.join(beaten) or 'none'} "
            f"(noisy: {noisy['Theorem 5'].mean():.3g} against {noisy[CRAMMER].mean():.3g} on "
            "average)",
        ),
    ]


def _against_vovk(large: Curves, small: Curves) -> list[Claim]:
    """Return the claims about Theorem 5 and the bound of Vovk and Forster."""
    return [
        Claim(
            "large Y",
            "Theorem 5 is better than Vovk's and Forster's bound if y ≈ uᵀx and Y is large",
            bool(np.all(large["Theorem 5"] < large[VOVK])),
            f"{large['Theorem 5'].mean():.3g} against {large[VOVK].mean():.4g} on average",
        ),
        Claim(
            "small Y",
            "Vovk's and Forster's bound may be better than Theorem 5 if Y is small",
            bool(np.all(small[VOVK] < small["Theorem 5"])),
            f"{small[VOVK].mean():.3g} against {small['Theorem 5'].mean():.3g} on average",
        ),
    ]


def _against_orabona(of: dict[str, Curves], large: Curves, small: Curves) -> list[Claim]:
    """Return the claims about Theorem 6 and the bound of Orabona et al."""
    fading = {
        name: c[:, -1] - c[:, -11] for name, c in of["fading noise"].items() if name != "sizes"
    }
    slow = max(
        np.max(fading[name] / fading["Theorem 5"])
        for name in ("Theorem 6, proved", "Orabona et al.")
    )
    return [
        Claim(
            "sub-logarithmic",
            "Theorem 6 and Orabona's bound may be sub-logarithmic if L is sublinear",
            bool(slow <= 0.5),
            f"with fading noise, from T/10 to T, they rise by at most {slow:.2f} times the rise of "
            "Theorem 5",
        ),
        Claim(
            "Orabona",
            "Theorem 6 has the factor S, which can be much smaller than Orabona's (U + Y)²",
            bool(np.all(large["Theorem 6, proved"] < large["Orabona et al."])),
            f"large labels: {large['Theorem 6, proved'].mean():.3g} (as proved) against "
            f"{large['Orabona et al.'].mean():.4g}; but small labels: "
            f"{small['Theorem 6, proved'].mean():.2g} against {small['Orabona et al.'].mean():.2g}",
        ),
    ]


def _theorem_6(of: dict[str, Curves]) -> list[Claim]:
    """Return the claims about Theorem 6 as in the text and as in the table."""
    text = min(
        np.min(seen["Theorem 6, as in the text"] - seen["WEMM: regret"]) for seen in of.values()
    )
    regret, seen_one = one_row(1.1)
    row = printed(seen_one, 1.1)
    return [
        Claim(
            "text",
            "Theorem 6 as in the text, with 1 + ln(1 + …), bounds the regret",
            bool(text >= 0),
            f"the least distance to WEMM's regret is {text:.2g}",
        ),
        Claim(
            "last row",
            "the last row, with ln(1 + …) alone, bounds the regret",
            regret <= row,
            f"d = T = 1, b = 1.1, x = y = 1: the regret is {regret:.4f}, the last row {row:.4f}; "
            f"with 1 + ln the bound is {printed(seen_one, 1.1, one=1.0):.4f}, and as proved "
            f"{bounds(seen_one, 1.1)['Theorem 6, proved']:.4f}",
        ),
    ]
