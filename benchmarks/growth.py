"""How the cost grows with the width, the rounds and the examples kept: fitted exponents.

    python benchmarks/growth.py [--repeats 9] [--plot growth.png]

Everything runs in one thread, and times are typical of interleaved repeats. Each exponent is the
slope of a straight line through the times, both axes logarithmic. For the width d and the number n
of examples, the time is that of a row; for the number T of rounds, that of the whole replay. The
rows have norm about 1 at every width, so ARCOR's resets are equally rare.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import timing

# isort: split
import numpy as np

import onlinear as ol

WIDTHS = (128, 192, 256, 384, 512, 768, 1024)
EXAMPLES = (128, 192, 256, 384, 512, 768, 1024)
ROUNDS = 200  # rounds in a run of a learner that keeps examples


class Sweep(NamedTuple):
    """A measurement at several sizes; ``at(size)`` returns (rows, a function that runs them)."""

    name: str
    against: str
    sizes: tuple[int, ...]
    at: Callable[[int], tuple[int, timing.Run]]
    target: str = ""


def stream(rows: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = timing.stream(rows, d)
    return X / np.sqrt(d), y


def replay(kind: Any, X: np.ndarray, y: np.ndarray, engine: Any) -> None:
    ol.replay(kind(), X, y, engine=engine)


def of_width(kind: Any, engine: Any, numbers: int, d: int) -> tuple[int, timing.Run]:
    """Return a number of rows, about ``numbers``/d² (in bulk at least 4d), and their replay."""
    rows = max(numbers // d**2, 1 if engine == "rank-one" else 4 * d)
    return rows, partial(replay, kind, *stream(rows, d), engine)


def of_rounds(kind: Any, d: int, rows: int) -> tuple[int, timing.Run]:
    return 1, partial(replay, kind, *stream(rows, d), "auto")


def of_examples(n: int) -> tuple[int, timing.Run]:
    """Return a number of rounds, and their replay by a learner that keeps n examples."""
    X, y = stream(n + ROUNDS, 8)
    model = ol.KernelAAR(budget=n).fit(X[:n], y[:n])
    return ROUNDS, lambda: ol.replay(model, X[n:], y[n:])


def powers(first: int, last: int) -> tuple[int, ...]:
    return tuple(2**k for k in range(first, last + 1))


def sweeps() -> list[Sweep]:
    wide = [
        Sweep(name, "d", WIDTHS, partial(of_width, kind, engine, numbers), target)
        for name, kind, engine, numbers, target in (
            ("LASER", ol.LASER, "auto", 10**9, "≤ 2.1"),
            ("AAR", ol.AAR, "auto", 10**9, "≤ 2.1"),
            ("ARCOR", ol.ARCOR, "auto", 10**9, "≤ 2.1"),
            ("LASER, rank-one", ol.LASER, "rank-one", 3 * 10**8, ""),
            ("AAR, rank-one", ol.AAR, "rank-one", 3 * 10**8, ""),
        )
    ]
    long = [
        Sweep(f"{kind.__name__}, d = {d}", "T", sizes, partial(of_rounds, kind, d), "1 ± .05")
        for kind, d, sizes in (
            (ol.LASER, 20, powers(15, 19)),
            (ol.LASER, 128, powers(12, 16)),
            (ol.ARCOR, 20, powers(15, 19)),
            (ol.CIRR, 20, powers(11, 15)),
            (ol.NLMS, 20, powers(16, 20)),
        )
    ]
    return [*wide, *long, Sweep("KernelAAR", "examples kept", EXAMPLES, of_examples)]


def plot(found: list[tuple[Sweep, list[float], float]], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    kinds = list(dict.fromkeys(sweep.against for sweep, _, _ in found))
    figure, axes = plt.subplots(1, len(kinds), figsize=(4 * len(kinds), 5), layout="constrained")
    for axis, against in zip(axes, kinds, strict=True):
        for sweep, costs, slope in found:
            if sweep.against == against:
                axis.loglog(sweep.sizes, costs, "o-", ms=3, label=f"{sweep.name}: {slope:.2f}")
        axis.set(xlabel=against, ylabel="µs" if against == "T" else "µs/row")
        if against != "T":
            axis.set_xticks(WIDTHS, [f"{size}" for size in WIDTHS])
            axis.minorticks_off()
        axis.legend(title="exponent", loc="upper center", bbox_to_anchor=(0.5, -0.15))
    figure.savefig(path, dpi=100)


def main() -> None:
    parser = timing.parser(__doc__, 9)
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    found, lines = [], []
    for sweep in sweeps():
        contenders = {f"{size}": sweep.at(size) for size in sweep.sizes}
        costs = list(timing.microseconds(contenders, arguments.repeats).values())
        slope = timing.exponent(sweep.sizes, costs)
        found.append((sweep, costs, slope))
        lines.append(
            (
                f"{sweep.name}, against {sweep.against}",
                f"{sweep.sizes[0]}…{sweep.sizes[-1]}",
                f"{costs[0]:.4g}",
                f"{costs[-1]:.4g}",
                f"{slope:.3f}",
                sweep.target,
                timing.verdict(slope, sweep.target) if sweep.target else "",
            )
        )
    timing.table(("", "sizes", "µs, first", "µs, last", "exponent", "target", "verdict"), lines)
    if arguments.plot:
        plot(found, arguments.plot)


if __name__ == "__main__":
    main()
