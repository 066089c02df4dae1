"""Helpers of the benchmarks: one thread, a stream, typical times, tables in Markdown.

A benchmark imports this module before NumPy, which reads the number of threads when it is loaded.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

Run = Callable[[], Any]


def parser(doc: str | None, repeats: int) -> argparse.ArgumentParser:
    """Return an argument parser with the option --repeats, and ``doc`` as its description."""
    options = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--repeats", type=int, default=repeats)
    return options


def stream(rows: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return normally distributed rows, and labels of a fixed linear predictor with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, d))
    return X, X @ rng.normal(size=d) + rng.normal(size=rows)


def again(times: int, run: Run) -> Run:
    """Return a function that calls ``run`` several times, for calls that are too short to time."""

    def repeated() -> None:
        for _ in range(times):
            run()

    return repeated


def each(contenders: Mapping[str, Run], repeats: int) -> dict[str, np.ndarray]:
    """Return the seconds of each contender in interleaved repeats; the first repeat is dropped."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repeats + 1):
        for name, run in contenders.items():
            began = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - began)
    return {name: np.array(several[1:]) for name, several in times.items()}


def typical(contenders: Mapping[str, Run], repeats: int) -> dict[str, float]:
    """Return the seconds of each contender at the machine's best speed, with stable ratios.

    A machine's speed varies, but slowly. In each repeat, the contenders' times are divided by the
    geometric mean of these times. A contender's result is the median of its quotients over the
    repeats, times the smallest geometric mean of a repeat.
    """
    times = each(contenders, repeats)
    speed = np.exp(np.mean([np.log(several) for several in times.values()], axis=0))
    return {
        name: float(np.median(several / speed) * speed.min()) for name, several in times.items()
    }


def microseconds(contenders: Mapping[str, tuple[int, Run]], repeats: int) -> dict[str, float]:
    """Return the typical µs per row of each contender, given its number of rows and a function."""
    times = typical({name: run for name, (_, run) in contenders.items()}, repeats)
    return {name: times[name] / rows * 1e6 for name, (rows, _) in contenders.items()}


def exponent(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """Return the exponent p of the least-squares fit cost ∝ size^p."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a Markdown table with aligned columns."""
    cells = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    print()
    for row in (cells[0], rule, *cells[1:]):
        first, *others = (
            f"{cell:{'>' if i else '<'}{width}}"
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("|", " | ".join([first, *others]), "|")
    print(flush=True)


def verdict(value: float, target: str) -> str:
    """Return whether a figure meets "≥ 3", "≤ 3" or "1 ± .05"."""
    first, *_, last = target.split()
    if "±" in target:
        met = abs(value - float(first)) <= float(last)
    else:
        met = value >= float(last) if first == "≥" else value <= float(last)
    return "met" if met else "NOT MET"


def targets(figures: Iterable[tuple[str, float, str]]) -> None:
    """Print a table of figures, their targets (may be empty), and whether they are met."""
    table(
        ("", "measured", "target", "verdict"),
        [
            (words, f"{value:.2f}", target, verdict(value, target) if target else "")
            for words, value, target in figures
        ],
    )
