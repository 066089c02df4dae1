"""Tables and pictures for Jamil & Bouchachia's Table 3: the paper's numbers beside ours."""

from collections.abc import Mapping

from onlinear._evaluation.html.page import Table
from onlinear.papers._harness.outcome import Picture
from onlinear.papers.cirr.data_sets import REACH, SetSeen, parameter
from onlinear.papers.cirr.pictures import by_parameter, over_time, side_by_side
from onlinear.papers.cirr.protocol import ONLINE, differing, digits, printed_beside

__all__ = ["LIRA", "PRINTED", "pictures", "remarks", "tables"]

LIRA = "ISE_TL"
PRINTED = {
    "ISE": {
        "OGD": ("0.019", "5.49e-1", "0.014", "-8.40e-3", "2.52e-3", "1.24e-2"),
        "ONS": ("0.019", "5.50e-1", "0.014", "-8.42e-3", "2.50e-3", "1.22e-2"),
        "AAR": ("1.87e-2", "3.61e-1", "1.39e-2", "-8.46e-3", "2.49e-3", "1.18e-2"),
        "ORR": ("5.67e-2", "1.69e-1", "2.41e-1", "-1.26e-1", "5.57e-4", "1.28e-2"),
        "CIRR": ("6.30e-3", "9.00e-1", "4.56e-3", "-3.85e-3", "2.95e-4", "3.22e-3"),
        "OSLOG": ("1.05e-2", "7.46e-1", "4.44e-3", "-3.72e-3", "2.91e-4", "2.80e-3"),
        "BLUE": ("4.81e-3", "9.35e-1", "3.74e-3", "-3.11e-2", "-5.55e-6", "4.99e-3"),
    },
    "F-16": {
        "OGD": ("5.32e-4", "1.73e-1", "3.84e-4", "-4.96e-4", "-2.33e-4", "2.22e-5"),
        "ONS": ("2.73e5", "2.48e-4", "3.22e4", "-1.05e-3", "-1.52e-3", "6.51e-3"),
        "AAR": ("7.61e-1", "5.25e-5", "2.71e-1", "-9.12e-2", "8.29e-3", "1.05e-1"),
        "ORR": ("2.58e7", "2.49e-4", "2.00e6", "-2.24e4", "3.60e3", "8.99e4"),
        "CIRR": ("1.97e-4", "7.89e-1", "1.41e-4", "-8.57e-5", "2.23e-5", "1.16e-5"),
        "OSLOG": ("2.81", "1.78e-5", "3.80e-2", "-7.35e-5", "3.00e-5", "1.23e-4"),
        "BLUE": ("1.69e-4", "8.41e-1", "1.25e-4", "-9.08e-5", "2.79e-6", "9.64e-5"),
    },
}


def remarks(seen: Mapping[str, SetSeen]) -> list[str]:
    """Return remarks on the cells of the table that differ from the printed ones."""
    return [
        f"Cells of {which} that differ from the printed ones by more than one unit of the last "
        "printed digit, with AAR and ORR as the paper ran them. "
        f"{differing(PRINTED[which], each.paper)}"
        for which, each in seen.items()
    ]


def tables(
    seen: Mapping[str, SetSeen], hidden: Mapping[str, float], times: Mapping[str, float]
) -> list[Table]:
    """Return tables of printed and computed numbers, and of results without the paper's errors.

    ``hidden`` has the RMSE without the column ``LIRA``, and ``times`` the seconds per row.
    """
    tables = []
    for which, each in seen.items():
        printed = PRINTED[which]
        note = (
            "AAR and ORR are run with the paper's programming errors; the parameters of ONS are "
            "not given."
        )
        tables += [
            printed_beside(
                f"Table 3 as the paper ran it: {which}", printed, each.paper, note, slice(0, 3)
            ),
            printed_beside(
                f"Quartiles of the errors: {which}", printed, each.paper, "", slice(3, 6)
            ),
        ]
    for which, each in seen.items():
        rows = [
            [
                name,
                digits(each.right[name].rmse) if name in each.right else "–",
                digits(each.fair[name]) if name in each.fair else "–",
                digits(each.going[name]) if name in each.going else "–",
                (digits(hidden[name]) if name in hidden else "–")
                if which == "ISE"
                else (f"{1e6 * times[name]:.2g}" if name in times else "–"),
                each.tuned_to.get(name, ""),
            ]
            for name in (*ONLINE[:4], "OSLOG, ŷ₁ = w₀ᵀx₁", *ONLINE[4:])
        ]
        last = f"tuned, without {LIRA}" if which == "ISE" else "µs per row"
        tables.append(
            Table(
                f"RMSE without the paper's programming errors: {which}",
                (
                    "learner",
                    "paper's constant",
                    "tuned",
                    "tuned, continuing from the first quarter",
                    last,
                    "tuned parameters",
                ),
                rows,
                f"BLUE, which knows all rows, has {digits(each.paper['BLUE'].rmse)}"
                + (f", without {LIRA} {digits(hidden['BLUE'])}." if which == "ISE" else "."),
            )
        )
    return tables


def pictures(seen: Mapping[str, SetSeen], hidden: Mapping[str, float]) -> list[Picture]:
    """Return plots of the RMSE: printed next to computed, over time, and over the parameter."""
    series = {
        which: {
            "printed in the paper": {n: float(values[0]) for n, values in PRINTED[which].items()},
            "as the paper ran it": {name: value.rmse for name, value in each.paper.items()},
            "corrected, tuned": each.fair,
        }
        for which, each in seen.items()
    }
    series["ISE"]["corrected, tuned, without the index in lira"] = dict(hidden)
    lines = {
        which: {
            name: (parameters / parameter(each.chosen[name])[1], errors)
            for name, (parameters, errors) in each.by_parameter.items()
        }
        for which, each in seen.items()
    }
    return [
        Picture(
            side_by_side(series),
            "RMSE on the last three quarters. Rings: as printed. Squares: the paper's protocol, "
            "run here, with the paper's programming errors. Diamonds: AAR, ORR and OSLOG "
            "corrected, all learners tuned.",
        ),
        Picture(
            over_time({which: each.curves for which, each in seen.items()}),
            "The error over time, with the paper's constant and without its programming errors. "
            "OSLOG's first prediction as printed still dominates its RMSE at the end; BLUE knows "
            "all rows beforehand.",
        ),
        Picture(
            by_parameter(lines, REACH),
            "RMSE on the last three quarters if the parameter is not the tuned one (a; η of OGD; γ "
            "of ONS, whose ε is not changed). A step of OGD that would overshoot is not taken.",
        ),
    ]
