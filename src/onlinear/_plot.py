"""One picture: loss, comparators and ceiling over time."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from onlinear._certificate import Certificate
from onlinear._certified import certificate
from onlinear._model import Learner
from onlinear.hindsight import best_fixed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["COLOURS", "regret_plot"]

SMALLEST = 1e-6  # share of the largest loss that a logarithmic axis goes down to

# Okabe & Ito: told apart by colour-blind readers too
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#999999")


def regret_plot(
    models: Learner | Certificate | Iterable[Learner | Certificate],
    X: Any = None,
    y: Any = None,
    *,
    also: dict[str, Any] | None = None,
    log: bool = False,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the loss of learners, what hindsight would have lost, and the ceilings.

    Learners are replayed on X and y; for a certificate that is there already, none are needed.

    Parameters
    ----------
    models : Learner, Certificate, or several of them
        What to draw: for each the loss (full), its comparator (dotted) and its ceiling (dashed).
    X, y : arrays or DataFrames, optional
        The stream, for learners; the best fixed predictor (least squares) is then drawn too.
    also : dict of name to array, optional
        More curves, such as ``{"best of 5 segments": hindsight.best_shifting(X, y, 5).loss}``.
    log : bool, default False
        Logarithmic axes.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    Axes
        ``.figure.savefig("regret.png")`` writes it.

    Examples
    --------
    >>> import onlinear as ol
    >>> X, y = ol.streams.rotating(rows=500, d=3, degrees=0.2)
    >>> ax = ol.regret_plot(ol.LASER(c=30.0), X, y, log=True)
    >>> [line.get_label() for line in ax.lines][:2]
    ['LASER(c=30.0)', 'ceiling of LASER(c=30.0)']
    """
    from matplotlib.figure import Figure

    if isinstance(models, (Learner, Certificate)):
        models = [models]
    if ax is None:
        ax = Figure(figsize=(8, 5), layout="constrained").subplots()
    for number, model in enumerate(models):
        proof = model if isinstance(model, Certificate) else _proof(model, X, y)
        name = proof.learner
        colour = COLOURS[number % len(COLOURS)]
        _draw(ax, proof.loss, name, colour, "-")
        if np.isfinite(proof.ceiling).any():
            _draw(ax, proof.ceiling, f"ceiling of {name}", colour, "--")
        _draw(ax, proof.comparator, f"comparator of {name}", colour, ":")
    if X is not None and y is not None:
        _draw(ax, best_fixed(X, y), "best fixed", "black", ":")
    for number, (name, curve) in enumerate((also or {}).items()):
        _draw(ax, np.asarray(curve, dtype=float), name, "black", ("-.", (0, (1, 3)))[number % 2])
    if log:
        ax.set_xscale("log")
        ax.set_yscale("log")
        values = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in ax.lines])
        values = values[np.isfinite(values) & (values > 0)]
        if values.size:  # a loss of mere rounding is not worth an axis
            ax.set_ylim(bottom=max(values.min() / 2, SMALLEST * values.max()))
    ax.set_xlabel("round")
    ax.set_ylabel("cumulative squared loss")
    ax.legend(fontsize="small")
    ax.grid(alpha=0.3)
    return ax


def _proof(model: Learner, X: Any, y: Any) -> Certificate:
    if X is None or y is None:
        raise ValueError("regret_plot needs X and y to replay a learner on")
    return certificate(model, X, y)


def _draw(ax: "Axes", curve: np.ndarray, name: str, colour: str, style: Any) -> None:
    ax.plot(np.arange(1, curve.size + 1), curve, color=colour, linestyle=style, label=name, lw=1.5)
