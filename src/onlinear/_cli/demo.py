"""``onlinear demo``: run five learners on a synthetic drifting stream and an EEG recording."""

import contextlib
import copy
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from onlinear import hindsight
from onlinear._cli.contest_table import show
from onlinear._engine.threads import usable_cores
from onlinear._evaluation.certified import certificate
from onlinear._evaluation.replay import replay
from onlinear._evaluation.report.comparison import Contest, Entry, comparison, thinned
from onlinear._evaluation.report.running_sums import Sums
from onlinear._learner.base import Learner
from onlinear._learner.replay_result import Replay
from onlinear.algorithms import LASER, NLMS, RLS, Auto, Ridge
from onlinear.streams import rotating

__all__ = ["run"]

B, C = 1, 30  # LASER and the best drifting predictor: penalties on weights and on their change
COLUMNS = 10
ELECTRODES = 4
LEGEND = (
    "relative error: squared error divided by that of predicting the mean label so far.\n"
    "over best fixed, over best drifting: loss minus that of this predictor in hindsight.\n"
    "ceiling: the largest loss that a theorem allows on these rows.\n"
)
PRICE = f"The best drifting predictor pays {C:g} times the squared change of its weights."

# the two processes take equally long to compile their learners (LASER and Ridge share a bound)
TEAMS: tuple[tuple[Learner, ...], ...] = (
    (Auto(), NLMS()),
    (LASER(b=B, c=C, shrink=False), RLS(forgetting=0.9), Ridge(b=B)),
)


class Stream(NamedTuple):
    """A stream of the demo: rows and labels, with a title and a description."""

    title: str
    words: str
    X: np.ndarray
    y: np.ndarray


def turning(rows: int, degrees: float, seed: int) -> Stream:
    """Return a synthetic stream whose true weights rotate by ``degrees`` degrees per row."""
    X, y = rotating(rows, COLUMNS, degrees, seed=seed)
    turn = f"the true weights turn by {degrees:g}° per row"
    words = f"{rows:,} rows of {COLUMNS} features; {turn}. {PRICE}"
    return Stream("Turning weights", words, X, y)


def brain() -> Stream | None:
    """Return the EEG recording that comes with matplotlib, or None if it is missing or damaged."""
    from matplotlib.cbook import get_sample_data

    try:
        path = get_sample_data("eeg.dat", asfileobj=False)
        recording = np.fromfile(path, dtype=np.float64)
    except OSError:
        return None
    if recording.size % ELECTRODES or not np.isfinite(recording).all():
        return None
    recording = recording.reshape(-1, ELECTRODES)
    words = (
        f"{len(recording)} samples of an electroencephalogram (it comes with matplotlib): one "
        f"electrode is predicted from the other three. {PRICE} Auto also uses the previous labels."
    )
    return Stream(
        "EEG recording", words, np.ascontiguousarray(recording[:, 1:]), recording[:, 0].copy()
    )


def run(rows: int, degrees: float, seed: int, report: Path) -> None:
    """Run all learners on both streams, print tables, and write an HTML page to ``report``."""
    streams = [stream for stream in (turning(rows, degrees, seed), brain()) if stream is not None]
    contests = _contests(streams)
    for contest in contests:
        show(contest)
    print(LEGEND)
    lead = "Learners on drifting streams, compared with the best predictors in hindsight."
    comparison("onlinear: a demonstration", lead, contests).write(report)


def _contests(streams: Sequence[Stream]) -> list[Contest]:
    """Return the results on each stream; a second process runs the second team of learners."""
    with _beside() as submit:
        quick, best = submit(_entries, TEAMS[1], streams), submit(_bests, streams)
        teams = [_entries(TEAMS[0], streams), quick()]
        bests = best()
    return [
        Contest(
            stream.title,
            stream.words,
            thinned(stream.y)[0],
            [entry for team in teams for entry in team[k]],
            bests[k],
            _loss_of_mean(stream.y),
        )
        for k, stream in enumerate(streams)
    ]


@contextlib.contextmanager
def _beside() -> Iterator[Callable[..., Callable[[], Any]]]:
    """Yield a function, ``submit``, that runs other functions in a second process.

    ``submit(function, *arguments)`` returns at once; what it returns is a function that, when
    called, waits for the result and returns it. On one core there is no second process: the result
    is computed when it is asked for.
    """
    if usable_cores() == 1:
        yield functools.partial
        return
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield lambda *work: pool.submit(*work).result


def _entries(team: Sequence[Learner], streams: Sequence[Stream]) -> list[list[Entry]]:
    """Return, for each stream, the loss of each learner and the upper bound on that loss."""
    return [[_entry(copy.deepcopy(model), stream) for model in team] for stream in streams]


def _entry(model: Learner, stream: Stream) -> Entry:
    name, ceiling = repr(model), math.nan
    if model._guarantee(search=False).known:
        proof = certificate(model, stream.X, stream.y)
        loss, ceiling = proof.loss, float(proof.ceiling[-1])
    else:
        loss = replay(model, stream.X, stream.y).cumulative_loss
    return Entry(name, thinned(loss)[1], ceiling)


def _bests(streams: Sequence[Stream]) -> list[dict[str, np.ndarray]]:
    return [_best(stream) for stream in streams]


def _best(stream: Stream) -> dict[str, np.ndarray]:
    """Return the losses of the best fixed and the best drifting predictor in hindsight."""
    fixed = hindsight.best_fixed(stream.X, stream.y)
    drifting = hindsight.best_drifting(stream.X, stream.y, B, C)
    return {"best fixed": thinned(fixed)[1], "best drifting": thinned(drifting)[1]}


def _loss_of_mean(y: np.ndarray) -> float:
    run = Replay(np.zeros(y.size), y, np.zeros(0, dtype=np.intp))
    return Sums().with_rows(run, np.ones(y.size, dtype=bool))[0].mean_lost
