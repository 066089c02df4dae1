"""Pictures of the results in Tables 2 and 3 of Jamil & Bouchachia."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

from onlinear.papers._harness.pictures import LOOKS, band, new, plain
from onlinear.papers.cirr.protocol import LEARNERS, ONLINE

__all__ = ["by_parameter", "near_and_far", "over_time", "side_by_side", "struck_and_excess"]

Series = Mapping[str, Mapping[str, float]]  # by name of the series, and by learner
FORMS = ("o", "s", "D", "^")


def _dots(ax: Axes, series: Series) -> None:
    """Draw each learner's values as dots beside its name; those of the first series are rings."""
    at = {name: len(LEARNERS) - 1 - k for k, name in enumerate(LEARNERS)}
    for k, (label, values) in enumerate(series.items()):
        shown = [name for name in LEARNERS if name in values]
        ax.plot(
            [values[name] for name in shown],
            [at[name] + 0.19 * (len(series) / 2 - 0.5 - k) for name in shown],
            linestyle="",
            marker=FORMS[k],
            color=LOOKS[k].color,
            markerfacecolor="none" if k == 0 else LOOKS[k].color,
            markersize=5 if k == 0 else 4,
            markeredgewidth=1.2,
            label=label,
        )
    for between in range(1, len(LEARNERS)):
        ax.axhline(between - 0.5, color="#cccccc", lw=0.5)
    ax.grid(visible=False, axis="y")
    ax.set_yticks(list(at.values()), list(at))
    ax.set_ylim(-0.5, len(LEARNERS) - 0.5)


def _below(figure: Figure, ax: Axes, columns: int) -> None:
    """Put the legend below the axes."""
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=columns)


def _powers(axis: str, ax: Axes, *ticks: float) -> None:
    """Make an axis logarithmic; ``ticks``, if given, are the only ticks with labels."""
    ax.set(**{f"{axis}scale": "log"})
    if ticks:
        of = ax.xaxis if axis == "x" else ax.yaxis
        of.set_major_locator(FixedLocator(ticks))
        of.set_major_formatter(lambda value, _: f"{value:g}")
        of.set_minor_locator(NullLocator())
        of.set_minor_formatter(NullFormatter())


def near_and_far(series: Series) -> Figure:
    """Draw all values in one panel, and the values near the smallest value in another panel."""
    figure, ((far, near),) = new(1, 2, 3.1)
    for ax in (far, near):
        _dots(ax, series)
    values = [value for of in series.values() for value in of.values()]
    close = [value for value in values if value < 1.5 * min(values)]
    _powers("x", far)
    near.set_xlim(min(close) - 0.03, max(close) + 0.03)
    plain(far, "All of them", "RMSE", "")
    plain(near, "Those near the least", "RMSE", "")
    _below(figure, far, 4)
    return figure


def struck_and_excess(
    sizes: np.ndarray,
    struck: Mapping[str, np.ndarray],
    rounds: np.ndarray,
    excess: Mapping[str, np.ndarray],
) -> Figure:
    """Plot the RMSE against the size of anomalies, and the loss minus that of the best weights."""
    figure, ((left, right),) = new(1, 2, 2.9)
    for k, (look, name) in enumerate(zip(LOOKS, ONLINE, strict=False)):
        band(left, sizes, struck[name], name, look)
        left.lines[-1].set_markevery((k % 3, 3))  # markers alternate where curves coincide
        band(right, rounds[: excess[name].shape[1]], excess[name], name, look)
    for ax in (left, right):
        _powers("x", ax)
        _powers("y", ax)
    plain(left, "Two anomalies", "size of x₅ in two rows", "RMSE")
    plain(right, "Loss above the best in hindsight", "round", "loss − that of the best u so far")
    _below(figure, left, 6)
    return figure


def side_by_side(series: Mapping[str, Series]) -> Figure:
    """Draw the RMSE of each learner on two data sets, ISE and F-16, in panels side by side."""
    figure, (pair,) = new(1, 2, 3.2)
    for ax, (which, values) in zip(pair, series.items(), strict=True):
        _dots(ax, values)
        plain(ax, which, "RMSE", "")
    _powers("x", pair[0], 0.005, 0.01, 0.02, 0.05)
    _powers("x", pair[1])
    _below(figure, pair[0], 4)
    return figure


def over_time(curves: Mapping[str, Mapping[str, np.ndarray]]) -> Figure:
    """Plot each learner's RMSE over the rounds so far against the round; leave out OGD."""
    figure, (pair,) = new(1, 2, 2.9)
    for ax, (which, of) in zip(pair, curves.items(), strict=True):
        shown: Sequence[str] = [name for name in of if name != "OGD"]
        for look, name in zip(LOOKS, shown, strict=False):
            at = np.unique(np.geomspace(1, len(of[name]), 80).astype(int))
            ax.plot(at, of[name][at - 1], markevery=10, label=name, **look._asdict())
        _powers("x", ax)
        _powers("y", ax)
        plain(ax, which, "round", "RMSE of the rounds so far")
    _below(figure, pair[0], 6)
    return figure


def by_parameter(
    lines: Mapping[str, Mapping[str, tuple[np.ndarray, np.ndarray]]], reach: float
) -> Figure:
    """Plot each learner's RMSE against its parameter, divided by the tuned value."""
    figure, (pair,) = new(1, 2, 2.9)
    for ax, (which, of) in zip(pair, lines.items(), strict=True):
        for look, name in zip(LOOKS, ONLINE, strict=False):
            ax.plot(*of[name], markevery=2, label=name, **look._asdict())
        least = min(float(np.nanmin(errors)) for _, errors in of.values())
        ax.set(ylim=(0.9 * least, 20 * least))
        _powers("x", ax)
        ax.set_xlim(1 / reach, reach)
        plain(ax, which, "parameter, as a multiple of the tuned one", "RMSE")
    _powers("y", pair[0], 0.005, 0.01, 0.02, 0.05, 0.1)
    _powers("y", pair[1], 0.0002, 0.0005, 0.001, 0.002)
    _below(figure, pair[0], 6)
    return figure
