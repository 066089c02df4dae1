"""HTML display of learners, replays and certificates in notebooks, as tables and SVG charts.

All text from outside this module is escaped.

Text and axes have the text colour of the surrounding page, and the line of a chart is visible on
white and on black, so the display works in light and dark themes.
"""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

__all__ = [
    "Text",
    "bank_page",
    "certificate_page",
    "facts_page",
    "model_page",
    "models_page",
    "run_page",
]

WIDTH, HEIGHT, LEFT, TOP = 432, 120, 64, 8  # of the chart, and its margins
POINTS = 120  # the most points of the line
LINE = "#D9660D"
MOST = 20  # the most learners in a table
LONGEST = 80  # the most characters shown of a learner
CLIP = 5.0  # the line is cut off above this many medians, or a few large errors would flatten it
CELL = "padding:1px 10px;text-align:right"
STYLES = {
    "loss": f'stroke="{LINE}" stroke-width="1.5"',
    "comparator": 'stroke="currentColor" stroke-dasharray="1 3"',
    "ceiling": 'stroke="currentColor" stroke-dasharray="6 4"',
}


class Text(str):
    """A text that a notebook shows line by line, rather than as a quoted string."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self)}</pre>"


def facts_page(title: str, facts: Mapping[str, Any], *more: str) -> str:
    """Return HTML: a title, a table of the ``facts`` that are not None, then the HTML ``more``."""
    rows = "".join(
        f'<tr><th style="{CELL};text-align:left;font-weight:normal">{escape(name)}</th>'
        f'<td style="{CELL}">{_shown(value)}</td></tr>'
        for name, value in facts.items()
        if value is not None
    )
    return (
        f"<div><p><b>{escape(_short(title))}</b></p>"
        '<div style="display:flex;flex-wrap:wrap;gap:12px;align-items:flex-start">'
        f"<table>{rows}</table>{''.join(more)}</div></div>"
    )


def model_page(model: Any) -> str:
    """Return HTML with a learner's parameters, the number of rows learnt, and the coefficients."""
    learnt = model.__sklearn_is_fitted__()
    facts: dict[str, Any] = {
        name: repr(value) for name, value in model.get_params(deep=False).items()
    }
    facts["rows learnt"] = model.rounds_ if learnt else 0
    facts["rows skipped"] = model.n_skipped_ or None
    more = []
    weights = getattr(model, "coef_", None) if learnt else None
    if weights is not None and weights.ndim == 1:  # 2 for more than two classes
        names = getattr(model, "feature_names_in_", None)
        more.append(_coefficients(weights, names, getattr(model, "intercept_", None)))
    if learnt and hasattr(model, "explain"):
        more.append(Text(model.explain())._repr_html_())
    return facts_page(type(model).__name__, facts, *more)


def models_page(bank: Any) -> str:
    """Return HTML that lists the learners of a bank; if there are many, only the first ones."""
    shown = {f"learner {k}": repr(model) for k, model in enumerate(bank._models[:MOST])}
    rest = len(bank) - len(shown)
    facts = {**shown, "and": f"{rest:,} more" if rest else None}
    return facts_page(f"Bank of {len(bank):,} learners", facts)


def _coefficients(weights: np.ndarray, names: Any, intercept: float | None) -> str:
    """Return an HTML table of coefficients; if there are many, only the largest ones."""
    largest = np.argsort(-np.abs(weights), kind="stable")[:MOST]
    rows = [("intercept", intercept)] if intercept is not None else []
    for j in sorted(largest.tolist()):
        name = f"column {j}" if names is None else _short(str(names[j]))
        rows.append((name, float(weights[j])))
    some = f", the {MOST} largest of {weights.size:,}" if weights.size > MOST else ""
    lines = "".join(
        f'<tr><td style="{CELL};text-align:left">{escape(name)}</td>'
        f'<td style="{CELL}">{_figure(value)}</td></tr>'
        for name, value in rows
    )
    head = f'<tr><th colspan="2" style="{CELL};text-align:left">coefficients{some}</th></tr>'
    return f"<table><thead>{head}</thead><tbody>{lines}</tbody></table>"


def certificate_page(
    title: str, facts: Mapping[str, Any], curves: Mapping[str, np.ndarray], first: int
) -> str:
    """Return HTML with the numbers of a certificate, and a chart of loss, comparator and bound."""
    return facts_page(title, facts, _curves(curves, first))


def _curves(curves: Mapping[str, np.ndarray], first: int) -> str:
    """Return an SVG chart of curves over the rounds; a bound far above the loss is cut off."""
    rounds = next(iter(curves.values())).size
    at = np.unique(np.linspace(0, rounds - 1, POINTS).astype(int))
    drawn = {name: np.asarray(curve)[at] for name, curve in curves.items()}
    highest = {name: _highest(curve) for name, curve in drawn.items()}
    most = max(highest.values())
    top = min(most, CLIP * max(highest["loss"], highest["comparator"])) or most or 1.0
    if rounds < 2 or not math.isfinite(top):
        return ""
    x = LEFT + (WIDTH - LEFT - 4) * at / (rounds - 1)
    paths = ""
    for name, curve in drawn.items():
        visible = np.isfinite(curve) & (curve <= top)
        y = TOP + HEIGHT * (1 - np.maximum(np.where(visible, curve, 0.0), 0.0) / top)
        line = " ".join(_path(x[part], y[part]) for part in _runs(visible))
        paths += f'<path d="{line}" fill="none" {STYLES[name]}/>' if line else ""
    what = "loss (solid), comparator (dotted), ceiling (dashed)"
    if most > top:
        what += ", partly above the chart"
    return _chart(paths, _figure(top), (f"round {first:,}", f"{first + rounds - 1:,}"), what)


def _highest(curve: np.ndarray) -> float:
    return float(np.max(curve, where=np.isfinite(curve), initial=0.0))


def run_page(
    losses: np.ndarray, skipped: int, measures: Mapping[str, float], *, square: bool = True
) -> str:
    """Return HTML with the measures of a replay and a chart of its error over time.

    ``square`` says whether the losses are squared errors, of which the chart shows the root.
    """
    note = f", {skipped:,} skipped" if skipped else ""
    return facts_page(f"Replay of {losses.size:,} rows{note}", measures, _picture(losses, square))


def bank_page(
    rows: int,
    learners: Sequence[str],
    skipped: np.ndarray,
    measures: Mapping[str, np.ndarray],
) -> str:
    """Return an HTML table of a bank's learners, the best in bold; if many, only the best ones."""
    first = next(iter(measures.values()))
    order = np.argsort(np.where(np.isnan(first), np.inf, first), kind="stable")
    shown = sorted(order[:MOST].tolist())
    any_skipped = bool(np.any(skipped))
    titles = ["", "learner", *measures, *(["skipped"] if any_skipped else [])]
    head = "".join(f'<th style="{CELL}">{escape(title)}</th>' for title in titles)
    lines = []
    for k in shown:
        cells = [_figure(float(values[k])) for values in measures.values()]
        cells += [f"{int(skipped[k]):,}"] if any_skipped else []
        best = ";font-weight:bold" if k == order[0] and not math.isnan(first[k]) else ""
        lines.append(
            f'<tr style="{best[1:]}"><td style="{CELL}">{k}</td>'
            f'<td style="{CELL};text-align:left">{escape(_short(learners[k]))}</td>'
            + "".join(f'<td style="{CELL}">{cell}</td>' for cell in cells)
            + "</tr>"
        )
    some = f", the best {len(shown)}" if len(shown) < len(learners) else ""
    return (
        f"<div><p><b>BankReplay</b> of {rows:,} rows by {len(learners):,} learners{some}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _shown(value: Any) -> str:
    """Return a value as HTML: a float with four digits, an int in full, others as short text."""
    if isinstance(value, float):
        return _figure(value)
    return f"{value:,}" if type(value) is int else escape(_short(str(value)))


def _figure(value: float) -> str:
    """Return a number as text with four digits."""
    return f"{value:.4g}".replace("-", "−") if not math.isnan(value) else "–"


def _binned(losses: np.ndarray, square: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """Divide the rows into bins; return the bins' positions and errors, and the rows per bin.

    The error of a bin is the mean of its losses, or the root of the mean if they are squares.
    """
    size = max(1, -(-losses.size // POINTS))
    starts = np.arange(0, losses.size, size)
    known = np.isfinite(losses)
    counts = np.add.reduceat(known.astype(np.intp), starts)
    top = float(np.max(losses, where=known, initial=0.0)) or 1.0
    sums = np.add.reduceat(np.where(known, losses, 0.0) / top, starts)
    means = sums / np.where(counts, counts, 1)
    errors = np.sqrt(means) * math.sqrt(top) if square else means * top
    return starts + size / 2, np.where(counts, errors, np.nan), size


def _picture(losses: np.ndarray, square: bool) -> str:
    """Return a chart of the error over time as SVG, or "" if fewer than two losses are finite."""
    if np.count_nonzero(np.isfinite(losses)) < 2:
        return ""
    at, errors, size = _binned(losses, square)
    most = float(np.nanmax(errors))
    top = min(most, CLIP * float(np.nanmedian(errors))) or most or 1.0
    x = LEFT + (WIDTH - LEFT - 4) * at / losses.size
    y = TOP + HEIGHT * (1 - np.minimum(errors / top, 1.0))
    drawn = " ".join(_path(x[part], y[part]) for part in _runs(np.isfinite(errors)))
    many, one = ("RMSE", "absolute error") if square else ("mean loss", "loss")
    what = f"{many} of each {size:,} rows" if size > 1 else f"{one} of each row"
    cut = f", cut at {_figure(top)}; the largest is {_figure(most)}" if top < most else ""
    path = (
        f'<path d="{drawn}" fill="none" stroke="{LINE}" stroke-width="1.5" stroke-linecap="round"/>'
    )
    return _chart(path, _figure(top), ("row 0", f"{losses.size - 1:,}"), what + cut)


def _chart(paths: str, top: str, ends: tuple[str, str], what: str) -> str:
    """Return an SVG chart: the given paths, two axes labelled at their ends, and a caption."""
    label = 'fill="currentColor" font-size="11" font-family="sans-serif"'
    bottom = TOP + HEIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{WIDTH}" '
        f'height="{bottom + 34}" viewBox="0 0 {WIDTH} {bottom + 34}">'
        f"<title>{escape(what)}</title>"
        f'<path d="M{LEFT} {TOP}V{bottom}H{WIDTH - 4}" fill="none" stroke="currentColor" '
        f'stroke-opacity="0.5"/>{paths}'
        f'<text x="{LEFT - 5}" y="{TOP + 9}" text-anchor="end" {label}>{top}</text>'
        f'<text x="{LEFT - 5}" y="{bottom}" text-anchor="end" {label}>0</text>'
        f'<text x="{LEFT}" y="{bottom + 14}" {label}>{escape(ends[0])}</text>'
        f'<text x="{WIDTH - 4}" y="{bottom + 14}" text-anchor="end" {label}>'
        f"{escape(ends[1])}</text>"
        f'<text x="{LEFT}" y="{bottom + 30}" {label}>{escape(what)}</text></svg>'
    )


def _runs(known: np.ndarray) -> list[slice]:
    """Return a slice for each run of consecutive true values in ``known``.

    >>> _runs(np.array([True, True, False, True]))
    [slice(0, 2, None), slice(3, 4, None)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]]).astype(np.int8)))
    return [slice(a, b) for a, b in edges.reshape(-1, 2).tolist()]


def _path(x: np.ndarray, y: np.ndarray) -> str:
    """Return an SVG path through the given points; a single point is drawn as a dot.

    >>> _path(np.array([0.0, 2.0]), np.array([1.0, 3.5]))
    'M0.0 1.0L2.0 3.5'
    """
    points = [f"{a:.1f} {b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    return "M" + "L".join(points if len(points) > 1 else points * 2)
