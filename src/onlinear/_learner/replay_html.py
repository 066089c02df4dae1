"""HTML display of replays in notebooks: a table of error measures and a small SVG chart.

Text and axes use the colour of the surrounding page, and the line is visible on white and on black,
so the display works in light and dark themes.
"""

import math
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

__all__ = ["bank_page", "run_page"]

WIDTH, HEIGHT, LEFT, TOP = 420, 120, 52, 8  # of the chart; of its margins, for numbers
POINTS = 120  # the most points of the line
LINE = "#D9660D"
MOST = 20  # the most learners in a table
LONGEST = 80  # the most characters shown of a learner
CLIP = 5.0  # the line is clipped above this many medians: a few large errors would flatten it
CELL = "padding:1px 10px;text-align:right"


def run_page(losses: np.ndarray, skipped: int, measures: Mapping[str, float]) -> str:
    """Return the measures of a run and a chart of its error, given its squared errors."""
    rows = "".join(
        f'<tr><th style="{CELL};text-align:left;font-weight:normal">{escape(name)}</th>'
        f'<td style="{CELL}">{_figure(value)}</td></tr>'
        for name, value in measures.items()
    )
    note = f", {skipped:,} skipped" if skipped else ""
    return (
        f"<div><p><b>Replay</b> of {losses.size:,} rows{note}</p>"
        '<div style="display:flex;flex-wrap:wrap;gap:12px;align-items:flex-start">'
        f"<table>{rows}</table>{_picture(losses)}</div></div>"
    )


def bank_page(
    rows: int,
    learners: Sequence[str],
    skipped: np.ndarray,
    measures: Mapping[str, np.ndarray],
) -> str:
    """Return a table of the learners of a bank, the best in bold; of many, only the best ones."""
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


def _figure(value: float) -> str:
    """Return a number with four digits."""
    return f"{value:.4g}".replace("-", "−") if not math.isnan(value) else "–"


def _binned(losses: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the positions of the bins of rows, the root mean square of each, and their size."""
    size = max(1, -(-losses.size // POINTS))
    starts = np.arange(0, losses.size, size)
    known = np.isfinite(losses)
    counts = np.add.reduceat(known.astype(np.intp), starts)
    top = float(np.max(losses, where=known, initial=0.0)) or 1.0
    sums = np.add.reduceat(np.where(known, losses, 0.0) / top, starts)
    errors = np.sqrt(sums / np.where(counts, counts, 1)) * math.sqrt(top)
    return starts + size / 2, np.where(counts, errors, np.nan), size


def _picture(losses: np.ndarray) -> str:
    """Return a chart of the error over time as SVG; an empty string if there is no error."""
    if np.count_nonzero(np.isfinite(losses)) < 2:
        return ""
    at, errors, size = _binned(losses)
    most = float(np.nanmax(errors))
    top = min(most, CLIP * float(np.nanmedian(errors))) or most or 1.0
    x = LEFT + (WIDTH - LEFT - 4) * at / losses.size
    y = TOP + HEIGHT * (1 - np.minimum(errors / top, 1.0))
    drawn = " ".join(_path(x[part], y[part]) for part in _runs(np.isfinite(errors)))
    what = f"RMSE of each {size:,} rows" if size > 1 else "absolute error of each row"
    cut = f", cut at {_figure(top)}; the largest is {_figure(most)}" if top < most else ""
    label = 'fill="currentColor" font-size="11" font-family="sans-serif"'
    bottom = TOP + HEIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{WIDTH}" '
        f'height="{bottom + 34}" viewBox="0 0 {WIDTH} {bottom + 34}">'
        f"<title>{escape(what + cut)}</title>"
        f'<path d="M{LEFT} {TOP}V{bottom}H{WIDTH - 4}" fill="none" stroke="currentColor" '
        'stroke-opacity="0.5"/>'
        f'<path d="{drawn}" fill="none" stroke="{LINE}" stroke-width="1.5" '
        'stroke-linecap="round"/>'
        f'<text x="{LEFT - 5}" y="{TOP + 9}" text-anchor="end" {label}>{_figure(top)}</text>'
        f'<text x="{LEFT - 5}" y="{bottom}" text-anchor="end" {label}>0</text>'
        f'<text x="{LEFT}" y="{bottom + 14}" {label}>row 0</text>'
        f'<text x="{WIDTH - 4}" y="{bottom + 14}" text-anchor="end" {label}>'
        f"{losses.size - 1:,}</text>"
        f'<text x="{LEFT}" y="{bottom + 30}" {label}>{escape(what + cut)}</text></svg>'
    )


def _runs(known: np.ndarray) -> list[slice]:
    """Return the slices of consecutive points that are known.

    >>> _runs(np.array([True, True, False, True]))
    [slice(0, 2, None), slice(3, 4, None)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]]).astype(np.int8)))
    return [slice(a, b) for a, b in edges.reshape(-1, 2).tolist()]


def _path(x: np.ndarray, y: np.ndarray) -> str:
    """Return an SVG path through points; a single point is a dot.

    >>> _path(np.array([0.0, 2.0]), np.array([1.0, 3.5]))
    'M0.0 1.0L2.0 3.5'
    """
    points = [f"{a:.1f} {b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    return "M" + "L".join(points if len(points) > 1 else points * 2)
