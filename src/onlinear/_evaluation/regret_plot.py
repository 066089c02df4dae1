"""``regret_plot``: plot the losses of learners, the best losses in hindsight and upper bounds."""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from onlinear._evaluation.certificate import Certificate
from onlinear._evaluation.certified import certificate
from onlinear._learner.base import Learner
from onlinear._validation import checks
from onlinear.hindsight import best_fixed
from onlinear.losses import SQUARED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["COLOURS", "regret_plot"]

NEEDS = "regret_plot needs learners or certificates"
SMALLEST = 1e-5  # share of the largest loss that a logarithmic axis goes down to

# Okabe & Ito's palette, safe for colour-blind readers
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
    """Plot the cumulative loss of learners, the best loss in hindsight, and the upper bounds.

    Learners are replayed on X and y; certificates need neither X nor y. A cross marks where a bound
    ends because a condition of its theorem fails. A notebook shows the figure below the cell.
    Outside of notebooks, ``plt.show()`` shows the figure if pyplot was imported before
    ``regret_plot`` was called.

    Parameters
    ----------
    models : Learner, Certificate, or several of them
        The learners or certificates to plot. Each learner or certificate has three curves: its loss
        (solid), the comparator, which is the best loss in hindsight (dotted), and the ceiling,
        which is the upper bound on the loss (dashed).
    X, y : arrays or DataFrames, optional
        The stream on which learners are replayed. If X and y are given, the best fixed predictor
        (least squares) is drawn too, unless a learner has another loss than the square.
    also : dict of name to array, optional
        More curves, such as ``{"best of 5 segments": hindsight.best_shifting(X, y, 5).loss}``.
    log : bool, default False
        Whether both axes are logarithmic.
    ax : matplotlib Axes, optional
        The axes to plot on; if not given, those of a new figure.

    Returns
    -------
    Axes
        The axes with the plot; ``ax.figure.savefig("regret.png")`` writes it to a file.

    Examples
    --------
    >>> import onlinear as ol
    >>> X, y = ol.streams.rotating(rows=500, d=3, degrees=0.2)
    >>> ax = ol.regret_plot(ol.LASER(c=30.0), X, y, log=True)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['LASER(c=30.0)', 'best fixed', 'loss', 'comparator', 'ceiling']
    """
    if isinstance(models, (Learner, Certificate)):
        models = [models]
    if isinstance(models, str) or not isinstance(models, Iterable):
        raise TypeError(f"{NEEDS}, got {checks.described(models)}")
    if not (models := list(models)):
        raise TypeError(f"{NEEDS}, got none")
    proofs = [_proof(model, X, y) for model in models]
    ax = _axes() if ax is None else ax
    for number, proof in enumerate(proofs):
        colour = COLOURS[number % len(COLOURS)]
        _draw(ax, proof, proof.loss, colour, "-", proof.learner)
        _draw(ax, proof, proof.comparator, colour, ":")
        _draw(ax, proof, proof.ceiling, colour, "--")
        if proof.failed_from:  # the bound ends here
            last = proof.failed_from - 1
            ax.plot([proof.start + last + 1], proof.ceiling[last : last + 1], "x", color=colour)
    square = all(proof.run.loss == SQUARED for proof in proofs)
    if X is not None and y is not None and square:
        _draw(ax, proofs[0], _best_fixed(X, y), "black", ":", "best fixed")
    for number, (name, curve) in enumerate((also or {}).items()):
        curve = np.asarray(curve, dtype=float)
        if curve.shape != proofs[0].loss.shape:
            rounds = proofs[0].loss.size
            raise ValueError(f"also[{name!r}] needs {rounds} values, got shape {curve.shape}")
        _draw(ax, proofs[0], curve, "black", ("-.", (0, (1, 3)))[number % 2], name)
    if log:
        _logarithmic(ax)
    for style, what in (("-", "loss"), (":", "comparator"), ("--", "ceiling")):
        ax.plot([], [], color="grey", linestyle=style, label=what)
    ax.set_xlabel("round")
    ax.set_ylabel("cumulative squared loss" if square else "cumulative loss")
    ax.legend(fontsize="small", framealpha=0.6)
    ax.grid(alpha=0.3)
    return ax


def _axes() -> "Axes":
    """Return the axes of a new figure, made with pyplot in notebooks or if pyplot is imported."""
    if "ipykernel" in sys.modules:  # its backend shows each figure of pyplot once, below the cell
        import matplotlib.pyplot  # noqa: F401
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        return cast("Axes", pyplot.subplots(figsize=(8, 5), layout="constrained")[1])
    from matplotlib.figure import Figure

    return Figure(figsize=(8, 5), layout="constrained").subplots()


def _proof(model: Any, X: Any, y: Any) -> Certificate:
    if isinstance(model, Certificate):
        return model
    if not isinstance(model, Learner):
        raise TypeError(f"{NEEDS}, got {checks.described(model)}")
    if X is None or y is None:
        raise ValueError("regret_plot needs X and y to replay a learner on")
    return certificate(model, X, y)


def _best_fixed(X: Any, y: Any) -> np.ndarray:
    """Return the cumulative loss of the best fixed predictor; a row that is not finite adds 0."""
    X, _ = checks.table(X)
    y = checks.labels(y, len(X))
    good = np.isfinite(X).all(axis=1) & np.isfinite(y)
    if not good.any():
        return np.zeros(len(y))
    return np.asarray(np.concatenate([[0.0], best_fixed(X[good], y[good])])[np.cumsum(good)])


def _logarithmic(ax: "Axes") -> None:
    """Make both axes logarithmic; cut off losses so small that they are only rounding errors."""
    ax.set_xscale("log")
    ax.set_yscale("log")
    values = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in ax.lines])
    values = values[np.isfinite(values) & (values > 0)]
    if values.size:
        ax.set_ylim(bottom=max(values.min() / 2, SMALLEST * values.max()))


def _draw(
    ax: "Axes", proof: Certificate, curve: np.ndarray, colour: str, style: Any, name: str = ""
) -> None:
    rounds = proof.start + np.arange(1, curve.size + 1)
    label = name or "_"  # matplotlib leaves "_" out of the legend
    ax.plot(rounds, curve, color=colour, linestyle=style, label=label, lw=1.5)
