"""Tables and pictures of bounds and regrets, for streams whose true weights do not drift."""

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from onlinear._evaluation.html.page import Table
from onlinear.papers._harness.outcome import Picture
from onlinear.papers._harness.pictures import LOOKS, band, new, plain
from onlinear.papers.thesis.stationary_bounds import bounds, printed
from onlinear.papers.thesis.stationary_streams import LEARNERS, SIZES, Curves, checkpoints, one_row

__all__ = ["pictures", "tables"]


def tables(of: dict[str, Curves]) -> list[Table]:
    """Return four tables: the bounds, the regrets, the quantities in the bounds, and an example."""
    return [_bounds_table(of), _regrets_table(of), _sizes_table(of), _last_row()]


def pictures(of: dict[str, Curves], rows: int) -> list[Picture]:
    """Return pictures of the bounds and of the regrets over the rounds."""
    return [_bounds_picture(of, rows), _regrets_picture(of, rows)]


def _bounds_table(of: dict[str, Curves]) -> Table:
    first = next(iter(of.values()))
    names = [name for name in first if name != "sizes" and ": " not in name]
    rows = [(name, *(f"{seen[name][:, -1].mean():.3g}" for seen in of.values())) for name in names]
    return Table("Bounds at T", ("bound", *of), rows, "Means over the repeats.")


def _regrets_table(of: dict[str, Curves]) -> Table:
    rows = [
        (
            f"{name}: {what}",
            *(f"{seen[f'{name}: {what}'][:, -1].mean():.3g}" for seen in of.values()),
        )
        for name in LEARNERS
        for what in ("regret", "certificate")
    ]
    caption = "Means over the repeats. A certificate is the bound that ol.certificate gives."
    return Table("Regrets at T, and the bounds of the library", ("learner", *of), rows, caption)


def _sizes_table(of: dict[str, Curves]) -> Table:
    rows = [
        (name, *(f"{seen['sizes'][:, k].mean():.3g}" for seen in of.values()))
        for k, name in enumerate(SIZES)
    ]
    return Table("What the bounds are made of", ("at T", *of), rows, "Means over the repeats.")


def _last_row() -> Table:
    rows = []
    for b in (1.1, 1.2, 1.4, 1.5, 2.0, 3.0):
        regret, seen = one_row(b)
        forms = (printed(seen, b), printed(seen, b, one=1.0), bounds(seen, b)["Theorem 6, proved"])
        rows.append((f"{b:g}", *(f"{value:.4f}" for value in (regret, *forms))))
    columns = ("b", "regret of WEMM", "last row", "Theorem 6 in the text", "as proved")
    caption = "One row, x = y = 1, u the best in hindsight: up to b = 1.4 the last row is no bound."
    return Table("The last row on one example", columns, rows, caption)


def _bounds_picture(of: dict[str, Curves], rows: int) -> Picture:
    figure, axes = new(2, 3, 2.3)
    at = checkpoints(rows)
    names = [*LEARNERS.values(), "Orabona et al.", "Theorem 6, proved"]
    for ax, (kind, seen) in zip(axes.flat, of.items(), strict=False):
        for name, style in zip(names, LOOKS, strict=False):
            ax.plot(at, seen[name].mean(axis=0), markevery=5, label=name, **style._asdict())
        ax.plot(at, seen["WEMM: regret"].mean(axis=0), color="k", lw=2.4, label="regret of WEMM")
        ax.set(xscale="log", yscale="log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter(NullFormatter())
        plain(ax, kind, "rounds", "bound on the regret")
    _legend(axes.flat[-1], axes.flat[0])
    return Picture(
        figure,
        "The bounds in the rows of the table over the rounds, means over the repeats, and (black) "
        "the regret of WEMM, which Theorems 5 and 6 bound. Which bound is least depends on the "
        "stream.",
    )


def _regrets_picture(of: dict[str, Curves], rows: int) -> Picture:
    figure, axes = new(2, 3, 2.3)
    at = checkpoints(rows)
    for ax, (kind, seen) in zip(axes.flat, of.items(), strict=False):
        for name, style in zip(LEARNERS, LOOKS, strict=False):
            band(ax, at, seen[f"{name}: regret"], name, style)
        ax.set(xscale="log", ylim=(0, None))
        plain(ax, kind, "rounds", "regret")
    _legend(axes.flat[-1], axes.flat[0])
    return Picture(
        figure,
        "The regrets themselves, means over the repeats with 95 % confidence bands.",
    )


def _legend(empty: Axes, of: Axes) -> None:
    """Draw the legend of the axes ``of`` in the axes ``empty``, which show nothing else."""
    empty.set_axis_off()
    empty.legend(*of.get_legend_handles_labels(), loc="center")
