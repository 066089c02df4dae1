"""Compare classifiers on real streams by accuracy and log loss, predicting before learning.

    python benchmarks/classification.py [--data FOLDER] [--only NAME ...] [--rows N | --quick]

The folder has these files, as .csv or .csv.gz, in order of time:

    elec2_logprice    Elec2: is the price above its mean over the last day?
    occupancy_co2     UCI 357: is somebody in the room?
    steel_energy      UCI 851: is the load of a steel works light?
    text_sms_spam     UCI 228: is a text message spam? 512 columns, to which words are hashed
    text_20news       20 newsgroups: hardware of a PC or of a Macintosh? 512 columns

Every learner gets the same rows; benchmarks/classification_peers.py says how they are scaled. The
first 100 rows are not scored. Learners run at their defaults and, on separate lines ("tuned"), at
the best setting of a printed grid, chosen in hindsight per stream: by log loss if the learner
predicts probabilities, else by accuracy. scikit-learn's SGDClassifier learns row by row, like all
others. --quick uses 1,000 rows and no grids.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import timing

# isort: split
import numpy as np
from classification_peers import CONTENDERS, Contender, Outcome, Settings
from classification_streams import ORIGINS, STREAMS, Stream, opened
from rich.console import Console
from rich.progress import Progress

WARM = 100  # rows that are not scored
QUICK = 1000  # rows with --quick
EDGE = 2.0**-53  # the least distance of a scored probability from 0 and 1
TUNED = ", tuned"
PACKAGES = {"sklearn": "scikit-learn"}


class Score(NamedTuple):
    """The share of wrong predictions, the log loss (NaN without probabilities), and settings."""

    wrong: float
    log_loss: float
    settings: Settings

    @property
    def key(self) -> float:
        """What the settings are chosen by."""
        return self.wrong if np.isnan(self.log_loss) else self.log_loss


Rows = dict[str, dict[str, Score]]  # by learner, by stream


def scored(outcome: Outcome, y: np.ndarray, settings: Settings) -> Score:
    wrong = float(np.mean(outcome.chosen[WARM:] != (y[WARM:] > 0.5)))
    if outcome.probabilities is None:
        return Score(wrong, np.nan, settings)
    p = np.clip(outcome.probabilities[WARM:], EDGE, 1.0 - EDGE)
    return Score(wrong, float(-np.mean(np.log(np.where(y[WARM:] > 0.5, p, 1.0 - p)))), settings)


def compare(contenders: Sequence[Contender], streams: dict[str, Stream], *, tune: bool) -> Rows:
    """Return the scores at the defaults and, with ``tune``, the best scores of the grids."""
    rows: Rows = {}
    terminal = Console(stderr=True)
    with Progress(console=terminal, transient=True, disable=not terminal.is_terminal) as progress:
        task = progress.add_task("", total=len(streams) * len(contenders))
        for name, stream in streams.items():
            for contender in contenders:
                progress.update(task, description=f"{name}: {contender.name}")
                plain = scored(contender.run({}, stream), stream.y, {})
                rows.setdefault(contender.name, {})[name] = plain
                if tune and contender.grid:
                    several = [
                        scored(contender.run(at, stream), stream.y, at) for at in contender.grid
                    ]
                    best = min([plain, *several], key=lambda score: score.key)
                    rows.setdefault(contender.name + TUNED, {})[name] = best
                progress.advance(task)
    return rows


def in_words(settings: Settings) -> str:
    return " ".join(f"{name}={value}" for name, value in settings.items()) or "default"


def report(rows: Rows, streams: dict[str, Stream]) -> None:
    """Print the accuracies, the log losses, and the settings that were chosen in hindsight."""
    sizes = [f"{name}, {len(stream.y):,} × {stream.X.shape[1]}" for name, stream in streams.items()]
    timing.table(
        ("accuracy, %", *sizes),
        [
            (row, *(f"{100 * (1 - score.wrong):.2f}" for score in scores.values()))
            for row, scores in rows.items()
        ],
    )
    probable = {
        row: scores
        for row, scores in rows.items()
        if not any(np.isnan(score.log_loss) for score in scores.values())
    }
    timing.table(
        ("log loss", *sizes),
        [
            (row, *(f"{score.log_loss:.4f}" for score in scores.values()))
            for row, scores in probable.items()
        ],
    )
    tuned = {row: scores for row, scores in rows.items() if row.endswith(TUNED)}
    if tuned:
        timing.table(
            ("chosen in hindsight", *streams),
            [
                (row, *(in_words(score.settings) for score in scores.values()))
                for row, scores in tuned.items()
            ],
        )


def find(folder: Path, only: Sequence[str], rows: int | None) -> dict[str, Stream]:
    """Return the streams whose files are in a folder; print which are missing."""
    if unknown := [name for name in only if name not in STREAMS]:
        sys.exit(f"there is no stream {', '.join(unknown)}; there are {', '.join(STREAMS)}")
    found, missing = {}, []
    for name in only or STREAMS:
        file, read = STREAMS[name]
        path = opened(folder, file)
        if path is None:
            missing.append(f"{file} ({ORIGINS[name]})")
            continue
        stream = read(path)
        found[name] = Stream(stream.X[:rows], stream.y[:rows], stream.text)
    if missing:
        print(f"missing in {folder}, and left out: {', '.join(missing)}", file=sys.stderr)
    if not found:
        sys.exit(1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[])
    shorter = parser.add_mutually_exclusive_group()
    shorter.add_argument("--rows", type=int, metavar="N")
    shorter.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    streams = find(arguments.data, arguments.only, QUICK if arguments.quick else arguments.rows)
    contenders = [contender for contender in CONTENDERS if contender.is_installed()]
    packages = sorted({PACKAGES.get(each.package, each.package) for each in contenders})
    print(", ".join(f"{package} {version(package)}" for package in packages))
    for contender in CONTENDERS:
        if not contender.is_installed():
            print(f"not installed: {contender.package}, for {contender.name}")
        elif contender.grid and not arguments.quick:
            print(f"{contender.name}: default; {'; '.join(map(in_words, contender.grid))}")
    report(compare(contenders, streams, tune=not arguments.quick), streams)


if __name__ == "__main__":
    main()
