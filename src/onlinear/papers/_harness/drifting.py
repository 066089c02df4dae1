"""Experiments on drift: tune parameters on one stream, and average losses over other streams."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from onlinear import Bank, Learner, replay
from onlinear._evaluation.html.page import Table
from onlinear.papers._harness import pictures
from onlinear.papers._harness.outcome import Picture
from onlinear.papers._harness.study import Study
from onlinear.streams import paired

__all__ = [
    "LossCurves",
    "Stream",
    "below",
    "compared",
    "grid",
    "picture",
    "powers",
    "readings",
    "shown",
    "totals",
    "undecided",
]

Stream = dict[str, Any]  # arguments of streams.paired
Families = Mapping[str, Sequence[Learner]]

POINTS = 100  # points of a curve
FEW = 10  # at most this many repeats for other interpretations of the paper


class LossCurves(NamedTuple):
    """Cumulative losses of tuned learners at some rounds: an array (repeats × rounds) for each."""

    tuned: dict[str, str]  # the chosen parameters, as text
    losses: dict[str, np.ndarray]
    rounds: np.ndarray

    def total(self, name: str) -> float:
        """Return the total loss of a learner, averaged over the repeats."""
        return float(self.losses[name][:, -1].mean())


class _Trial(NamedTuple):
    """Learners to run on one stream, which :func:`paired` generates from arguments and a seed."""

    stream: Stream
    seed: int
    learners: Sequence[Learner]


def powers(least: float, most: float, step: float = 0.5) -> list[float]:
    """Return powers of ten from 10^least to 10^most, with exponents ``step`` apart."""
    return [float(f"{10.0**k:.3g}") for k in np.arange(least, most + step / 2, step)]


def compared(
    study: Study, streams: Sequence[Stream], families: Families, repeats: int | None = None
) -> list[LossCurves]:
    """Choose the best learner of each family on a tuning stream; run it on other such streams.

    A family is one kind of learner with different values of its parameters. An entry of ``streams``
    has the arguments with which :func:`paired` generates streams from different seeds: one to tune
    on, and one for each repeat. The result has the loss curves for each entry.
    """
    seeds = study.seeds[:repeats]
    tuning = [
        _Trial(stream, study.tuning_seed, learners)
        for stream in streams
        for learners in families.values()
    ]
    best = iter(study.map(_best, tuning))
    tuned = [{name: next(best) for name in families} for _ in streams]
    trials = [
        _Trial(stream, seed, tuple(learners.values()))
        for stream, learners in zip(streams, tuned, strict=True)
        for seed in seeds
    ]
    losses = np.array(study.map(partial(_losses, points=POINTS), trials))
    parts = losses.reshape(len(streams), len(seeds), *losses.shape[1:])
    return [
        LossCurves(
            {name: _words(learners[name], families[name]) for name in families},
            dict(zip(families, np.moveaxis(part, -1, 0), strict=True)),
            _at(stream),
        )
        for stream, learners, part in zip(streams, tuned, parts, strict=True)
    ]


def _words(best: Learner, family: Sequence[Learner]) -> str:
    """Return, as text, the best learner's values of the parameters that vary in its family.

    An asterisk marks the smallest or largest value in the family.
    """
    params = [learner.get_params() for learner in family]
    varied = {key: sorted({each[key] for each in params}) for key in params[0] if key != "on_bad"}
    chosen = best.get_params()
    return ", ".join(
        f"{key} = {chosen[key]:g}{'*' * (chosen[key] in (values[0], values[-1]))}"
        for key, values in varied.items()
        if len(values) > 1
    )


def _best(trial: _Trial) -> Learner:
    """Return the learner of a trial with the lowest total loss."""
    return trial.learners[int(_losses(trial, 1)[-1].argmin())]


def _losses(trial: _Trial, points: int) -> np.ndarray:
    """Return the cumulative losses of a trial as an array of points × learners."""
    X, y = paired(seed=trial.seed, **trial.stream)
    run = replay(Bank(trial.learners, threads=1), X, y)
    return np.asarray(run.cumulative_loss[_at(trial.stream, points) - 1])


def _at(stream: Stream, points: int = POINTS) -> np.ndarray:
    """Return the rounds at which curves have points, including the last round."""
    rows = stream["rows"]
    return np.arange(rows, 0, -max(1, rows // points))[::-1]


def spread(losses: np.ndarray) -> float:
    """Return half the width of the 95 % confidence interval of the mean total loss."""
    return float(pictures.NORMAL_95 * losses[:, -1].std(ddof=1) / np.sqrt(len(losses)))


def below(curves: LossCurves, one: str, *others: str) -> bool:
    """Return whether one learner's mean loss is significantly lower than those of the others.

    Losses are compared stream by stream: for each other learner, the 95 % confidence interval of
    the mean of its total loss minus that of ``one`` must lie above 0.
    """
    apart = [curves.losses[other] - curves.losses[one] for other in others]
    return all(each[:, -1].mean() > spread(each) for each in apart)


def shown(curves: LossCurves, *names: str) -> str:
    """Return the mean total losses of the named learners, or of all, as text."""
    return ", ".join(f"{name} {curves.total(name):,.0f}" for name in names or curves.losses)


def undecided(curves: LossCurves, one: str, *others: str) -> str:
    """Return, as text, the learners that ``one`` beats on average, but not significantly."""
    close = [
        name
        for name in others
        if curves.total(one) < curves.total(name) and not below(curves, one, name)
    ]
    return f" ({one} against {' and '.join(close)}: too few streams to tell)" if close else ""


# --- tables and pictures ------------------------------------------------------------------------


def picture(
    titles: Iterable[str], curves: Sequence[LossCurves], rows: int = 1, beside: str | None = None
) -> Picture:
    """Return a picture with a panel of loss curves for each entry of ``curves``.

    If ``beside`` names a learner, another panel below each of these has the losses divided by the
    losses of that learner.
    """
    columns = len(curves) // rows
    figure, axes = pictures.new(rows + bool(beside), columns, height=2.5, sharex=True)
    for k, (title, each) in enumerate(zip(titles, curves, strict=True)):
        place, last = axes.flat[k], not beside and k >= len(curves) - columns
        for look, (name, losses) in zip(pictures.LOOKS, each.losses.items(), strict=False):
            pictures.band(place, each.rounds, losses, name, look)
            if beside and name != beside:
                below_it = axes[rows + k // columns, k % columns]
                pictures.band(below_it, each.rounds, losses / each.losses[beside], name, look)
        up = "" if k % columns else "cumulative squared loss"
        pictures.plain(place, title, "round" * last, up)
        place.set_yscale("log")
    words = "Cumulative squared loss on a log axis: mean of the repeats with its 95 % band."
    if beside:
        for k, place in enumerate(axes[-1]):
            pictures.plain(place, "", "round", "" if k else f"loss / loss of {beside}")
            place.axhline(1, color="black", lw=0.8)
            place.set_ylim(0.65, 1.5)
        words += f" Below: the loss divided by that of {beside} on the same stream, near 1."
    handles = axes.flat[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=6)
    return Picture(figure, words)


def totals(titles: Iterable[str], curves: Sequence[LossCurves]) -> Table:
    """Return a table of the total losses, with the tuned parameters."""
    rows = [
        (title, name, each.tuned[name], f"{each.total(name):,.0f}", f"± {spread(losses):,.0f}")
        for title, each in zip(titles, curves, strict=True)
        for name, losses in each.losses.items()
    ]
    columns = ("stream", "learner", "tuned to", "loss", "95 %")
    note = "* marks a value at an end of the grid of values that were tried."
    return Table("Total squared loss", columns, rows, note, words=3)


def grid(families: Families) -> Table:
    """Return a table of the values that each learner's parameters were chosen from."""
    rows = []
    for name, learners in families.items():
        params = [learner.get_params() for learner in learners]
        for key in params[0]:
            values = list(dict.fromkeys(each[key] for each in params))
            if len(values) > 1:
                rows.append((name, key, ", ".join(f"{value:g}" for value in values)))
    return Table("What was tuned over", ("learner", "parameter", "values"), rows, words=3)


def readings(
    study: Study,
    streams: Mapping[str, Stream],
    otherwise: Mapping[str, Stream],
    families: Families,
) -> list[Table]:
    """Tune and run all learners under other interpretations of the paper; return tables of losses.

    ``otherwise`` maps the name of an interpretation to the arguments of the streams that it
    changes, with their new values.
    """
    other = [
        (title, name, {**stream, **changed})
        for title, stream in streams.items()
        for name, changed in otherwise.items()
        if "pairs" not in changed or "switch_every" in stream  # else pairs do not matter
    ]
    curves = compared(study, [stream for _, _, stream in other], families, FEW)
    tables = []
    for title in streams:
        rows = [
            (name, *(f"{each.total(learner):,.0f}" for learner in families))
            for (of, name, _), each in zip(other, curves, strict=True)
            if of == title
        ]
        note = f"Means of {min(FEW, study.repeats)} streams, each learner tuned anew."
        heading = f"Under other readings, {title}"
        tables.append(Table(heading, ("reading", *families), rows, note))
    return tables
