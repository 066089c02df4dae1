"""Compare accuracy on real streams: squared error relative to that of the running mean label.

    python benchmarks/accuracy.py [--data FOLDER] [--only NAME ...] [--rows N | --quick]
                                  [--picture FILE]

The folder has the data sets below, or any .csv or .csv.gz files of numbers with a header, in order
of time, with the label in the last column. Each row is predicted before its label is learnt, and
the first 100 rows are not scored. The learners are in benchmarks/peers.py. Except for Auto, the
last label and the ridges marked "x alone", learners run both with x alone and with y_{t−1} added to
x, and the better of the two results counts (a y marks results with y_{t−1}); --lags 0 1 2 also
tries y_{t−2}, which Auto() uses. Other libraries run at their defaults and, on separate lines
("tuned"), at the best setting of a printed grid, chosen in hindsight per data set. The whole
comparison takes most of an hour. --rows N uses the first N rows of each set, with grids and without
trees, which takes ten minutes for 5,000 rows. --quick uses 2,000 rows, no grids and no trees, and
takes a minute.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import timing

# isort: split
import numpy as np
from peers import CONTENDERS, RIDGES, WARM, Contender, Settings
from rich.console import Console
from rich.progress import Progress

DATA = Path(__file__).parent.parent.parent / "shared" / "data"
QUICK = 2000  # rows with --quick
AUTOS = {"Auto()": "≤ 0.33", "Auto(lags=0)": "≤ 0.45"}  # geometric mean of error / ridge's
TUNED = ", tuned"
SETS = {  # origin, and the published errors of the weighted ridges on x alone
    "elec2_logprice": ("Elec2, New South Wales, log price", (0.329, 0.222, 0.139)),
    "air_quality_co": ("UCI 360", (0.111, 0.099, 0.066)),
    "wind_farm_power": ("a wind farm", (0.223, 0.035, 0.032)),
    "bike_hourly": ("UCI 275", (0.438, 0.320, 0.302)),
    "metro_traffic": ("UCI 492", (0.090, 0.085, 0.077)),
    "debutanizer": ("Fortuna et al. 2007", (0.801, 0.727, 0.447)),
    "exchange_rate_levels": ("LSTNet", (0.047, 0.026, 0.011)),
    "appliances_energy": ("UCI 374", (0.819, 0.742, 0.634)),
    "kin8nm": ("OpenML 189", (0.591, 0.592, 0.615)),
    "ccpp": ("UCI 294", (0.072, 0.072, 0.074)),
    "ailerons": ("OpenML 296", (0.184, 0.186, 0.202)),
}
Stream = tuple[np.ndarray, np.ndarray]


class Score(NamedTuple):
    """A relative squared error (infinite if the learner diverged), and its lags and settings."""

    error: float
    lags: int
    settings: Settings

    def __str__(self) -> str:
        return f"{self.error:.3g}{' y' if self.lags else ''}" if self.error < np.inf else "diverged"


Rows = dict[str, dict[str, Score]]  # by learner, by set


# --- sets -----------------------------------------------------------------------------------


def find(folder: Path, only: Sequence[str]) -> dict[str, Path]:
    """Return the files of the known data sets in a folder, or of all tables if none is known.

    If ``only`` names data sets, return the files of these data sets.
    """
    files = sorted([*folder.glob("*.csv"), *folder.glob("*.csv.gz")])
    there = {path.name.removesuffix(".gz").removesuffix(".csv"): path for path in files}
    known = [name for name in SETS if name in there]
    names = only or known or list(there)
    if missing := [name for name in only if name not in there]:
        sys.exit(f"there is no {', '.join(missing)} in {folder}")
    if not names:
        origins = ", ".join(f"{name} ({origin})" for name, (origin, _) in SETS.items())
        sys.exit(f"there is no .csv or .csv.gz in {folder}; the sets of this benchmark: {origins}")
    if known and not only and len(known) < len(SETS):
        absent = ", ".join(name for name in SETS if name not in known)
        print(f"data sets that are missing and left out: {absent}", file=sys.stderr)
    return {name: there[name] for name in names}


def read(path: Path, rows: int | None) -> Stream:
    data = np.loadtxt(path, delimiter=",", skiprows=1, max_rows=rows, ndmin=2)
    if len(data) <= WARM:
        sys.exit(f"{path} needs more than {WARM} rows, got {len(data)}")
    return np.ascontiguousarray(data[:, :-1]), data[:, -1].copy()


def with_past(X: np.ndarray, y: np.ndarray, lags: int) -> np.ndarray:
    """Return X with the columns y_{t−1}, …, y_{t−lags}; y_0 stands for labels before the stream."""
    past = [np.r_[np.full(lag, y[0]), y[:-lag]] for lag in range(1, lags + 1)]
    return np.column_stack([X, *past])


# --- errors ---------------------------------------------------------------------------------


def relative_error(predictions: np.ndarray, y: np.ndarray) -> float:
    means = np.r_[0.0, np.cumsum(y)[:-1] / np.arange(1, len(y))]
    with np.errstate(all="ignore"):
        losses, yardstick = (predictions - y) ** 2, (means - y) ** 2
        error = float(losses[WARM:].sum() / yardstick[WARM:].sum())
    return error if np.isfinite(error) else np.inf


def score(contender: Contender, settings: Settings, stream: Stream, lags: int) -> Score:
    X, y = stream
    try:
        with np.errstate(all="ignore"):
            predictions = contender.run(settings, with_past(X, y, lags), y)
    except (ArithmeticError, ValueError):  # raised by learners that diverge
        return Score(np.inf, lags, settings)
    return Score(relative_error(predictions, y), lags, settings)


def best(scores: Iterable[Score]) -> Score:
    return min(scores, key=lambda score: score.error)


def compare(
    contenders: Sequence[Contender],
    streams: dict[str, Path],
    lags: Sequence[int],
    length: int | None,
    tune: bool,
) -> Rows:
    """Return the scores at the defaults and, with ``tune``, the best scores of the grids."""
    rows: Rows = {}
    terminal = Console(stderr=True)
    with Progress(console=terminal, transient=True, disable=not terminal.is_terminal) as progress:
        task = progress.add_task("", total=len(streams) * len(contenders))
        for name, path in streams.items():
            stream = read(path, length)
            for contender in contenders:
                progress.update(task, description=f"{name}: {contender.name}")
                forms = lags if contender.lags else (0,)
                plain = [score(contender, {}, stream, form) for form in forms]
                rows.setdefault(contender.name, {})[name] = best(plain)
                if tune and contender.grid:
                    grid = [score(contender, at, stream, f) for at in contender.grid for f in forms]
                    rows.setdefault(contender.name + TUNED, {})[name] = best(plain + grid)
                progress.advance(task)
    return rows


def mean_ranks(errors: np.ndarray) -> np.ndarray:
    """Return the rank of each row in each column, averaged over columns; ties share their rank."""
    above = (errors[:, None] > errors[None]).sum(axis=1)
    level = (errors[:, None] == errors[None]).sum(axis=1)
    return np.asarray((above + (level + 1) / 2).mean(axis=1))


# --- tables ---------------------------------------------------------------------------------


def in_words(settings: Settings) -> str:
    return " ".join(f"{name}={value}" for name, value in settings.items()) or "default"


def print_versions(contenders: Iterable[Contender]) -> None:
    names = {"sklearn": "scikit-learn"}
    packages = sorted({names.get(each.package, each.package) for each in contenders})
    print(", ".join(f"{package} {version(package)}" for package in packages))


def print_grids(contenders: Iterable[Contender]) -> None:
    for contender in contenders:
        if contender.grid:
            print(f"{contender.name}: default; {'; '.join(map(in_words, contender.grid))}")


def rank(rows: Rows) -> dict[str, float]:
    """Return the mean ranks of the linear learners, best first."""
    curved = [contender.name for contender in CONTENDERS if not contender.linear]
    linear = [row for row in rows if row not in curved]
    errors = np.array([[score.error for score in rows[row].values()] for row in linear])
    return dict(sorted(zip(linear, mean_ranks(errors).tolist(), strict=True), key=lambda at: at[1]))


def report(rows: Rows, ranks: dict[str, float], names: Sequence[str]) -> None:
    """Print the errors, the settings chosen in hindsight, and the best learner except Auto."""
    curved = [row for row in rows if row not in ranks]
    missing = [contender.name for contender in CONTENDERS if not contender.is_installed()]
    timing.table(
        ("relative squared error", "mean rank", *names),
        [(row, f"{at:.1f}", *map(str, rows[row].values())) for row, at in ranks.items()]
        + [(f"{row} (not linear)", "", *map(str, rows[row].values())) for row in curved]
        + [(row, "", *("not installed" for _ in names)) for row in missing],
    )
    tuned = [row for row in ranks if row.endswith(TUNED)]
    if tuned:
        timing.table(
            ("chosen in hindsight", *names),
            [(row, *(in_words(score.settings) for score in rows[row].values())) for row in tuned],
        )
    others = [row for row in ranks if row not in AUTOS]
    closest = {name: min(others, key=lambda row: rows[row][name].error) for name in names}
    timing.table(
        ("best linear learner except Auto", "", "its error", "Auto() / it"),
        [
            (
                name,
                row,
                str(rows[row][name]),
                f"{rows['Auto()'][name].error / rows[row][name].error:.3f}",
            )
            for name, row in closest.items()
        ],
    )


def figures(rows: Rows, ranks: dict[str, float], whole: bool) -> list[tuple[str, float, str]]:
    """Return Auto's errors relative to the best weighted ridge on x alone, and Auto's rank."""
    names = list(rows["Auto()"])
    published = whole and all(name in SETS for name in names)
    ridge = {name: min(rows[ridge][name].error for ridge in RIDGES) for name in names}
    if published:
        ridge = {name: min(SETS[name][1]) for name in names}
    found = []
    for auto, target in AUTOS.items():
        ratios = {name: rows[auto][name].error / ridge[name] for name in names}
        mean = float(np.exp(np.mean(np.log(list(ratios.values())))))
        worst = max(ratios, key=ratios.__getitem__)
        complete = published and len(names) == len(SETS)
        found += [
            (f"{auto} / best weighted ridge, geometric mean", mean, target if complete else ""),
            (f"{auto}: its worst set, {worst}", ratios[worst], "≤ 1.01" if published else ""),
        ]
    rival = min((row for row in ranks if row not in AUTOS), key=ranks.__getitem__)
    lead = ranks["Auto()"] / ranks[rival]
    return [*found, (f"mean rank of Auto() / that of {rival}", lead, "≤ 1")]


def check_ridges(rows: Rows) -> None:
    """Print the errors of the weighted ridges on x alone, beside the published errors."""
    names = [name for name in rows["Auto()"] if name in SETS]
    timing.table(
        ("weighted ridge 1 / .999 / .99, x alone", "here", "published"),
        [
            (
                name,
                " / ".join(f"{rows[ridge][name].error:.3f}" for ridge in RIDGES),
                " / ".join(f"{error:.3f}" for error in SETS[name][1]),
            )
            for name in names
        ],
    )


# --- the picture ----------------------------------------------------------------------------

COLOURS = {  # Okabe & Ito's palette, safe for colour-blind readers
    "Auto": "#d55e00",
    "Standardized": "#e69f00",
    "weighted": "#000000",
    "the": "#999999",
    "river": "#0072b2",
    "padasip": "#009e73",
    "scikit-learn": "#cc79a7",
    "Vowpal": "#56b4e9",
}
MARKERS = "osD^vP"
RIGHT = 10.0  # larger errors, and diverged learners, are drawn at the edge


def draw(rows: Rows, ranks: dict[str, float], file: Path) -> None:
    """Draw a line for each data set, with a marker for each learner at its best settings."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    shown = [row for row in rows if row + TUNED not in rows and row not in RIDGES]
    shown.sort(key=lambda row: ranks.get(row, np.inf))
    names = list(rows["Auto()"])
    heights = np.arange(len(names))[::-1]
    steps = np.linspace(0.38, -0.38, len(shown))  # within a data set, the best rank is on top
    figure, axes = plt.subplots(figsize=(12, max(6.0, 1.0 + len(names))), layout="constrained")
    used = dict.fromkeys(COLOURS, -1)
    for row, step in zip(shown, steps, strict=True):
        family = next(family for family in COLOURS if row.startswith(family))
        used[family] += 1
        axes.plot(
            [min(rows[row][name].error, RIGHT) for name in names],
            heights + step,
            linestyle="",
            marker="*" if row == "Auto()" else MARKERS[used[family]],
            markersize=14 if row == "Auto()" else 6,
            color=COLOURS[family],
            markerfacecolor=COLOURS[family] if row in ranks else "none",
            label=f"{row} ({ranks[row]:.1f})" if row in ranks else f"{row} (not linear)",
        )
    axes.set_xscale("log")
    axes.axvline(1.0, color="0.6", linewidth=0.8)
    axes.set_yticks(heights, names)
    axes.set_ylim(-0.5, len(names) - 0.5)
    for height in heights[:-1]:
        axes.axhline(height - 0.5, color="0.8", linewidth=0.8)
    axes.grid(axis="x", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel(
        f"squared error / that of the running mean ({RIGHT:g}: this or more, or diverged)"
    )
    axes.legend(title="(mean rank)", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    figure.savefig(file, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[])
    parser.add_argument("--lags", type=int, nargs="+", default=[0, 1])
    shorter = parser.add_mutually_exclusive_group()
    shorter.add_argument("--rows", type=int, metavar="N")
    shorter.add_argument("--quick", action="store_true")
    parser.add_argument("--picture", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    tune = not arguments.quick
    length = QUICK if arguments.quick else arguments.rows
    streams = find(arguments.data, arguments.only)
    contenders = [
        contender
        for contender in CONTENDERS
        if contender.is_installed() and (contender.linear or length is None)
    ]
    print_versions(contenders)
    if tune:
        print_grids(contenders)
    rows = compare(contenders, streams, arguments.lags, length, tune)
    ranks = rank(rows)
    report(rows, ranks, list(streams))
    if length is None:
        check_ridges(rows)
    timing.targets(figures(rows, ranks, length is None))
    if arguments.picture:
        draw(rows, ranks, arguments.picture)


if __name__ == "__main__":
    main()
