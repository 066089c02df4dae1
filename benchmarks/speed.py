"""Time the learners against NumPy loops and other libraries, in one run on this machine.

    python benchmarks/speed.py [--d 20 100] [--rows 20000] [--repeats 9]

Everything runs in one thread. --rows is the number of rows for d = 20; streams of wider rows are
shorter. Each figure is a typical value over interleaved repeats. Libraries that are not installed
are reported as missing. Absolute times depend on the machine and mean little; the ratios of times
are the result. The loops are those of benchmarks/loops.py: straightforward NumPy, optimized NumPy,
and compiled. "rank-one" is the engine with which a replay takes narrow rows one by one.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import timing

# isort: split
import loops
import numpy as np

import onlinear as ol
from onlinear.bregman import lift_simplex

Run = timing.Run
LASER = "onlinear LASER, rank-one"
RIVER = "river BayesianLinearRegression"
TARGETS: dict[str, dict[int, str]] = {  # for the ratio of times to LASER's, by d
    "NumPy loop": {20: "≥ 45", 100: "≥ 10"},
    "careful NumPy loop": {},
    "padasip FilterRLS": {},
    RIVER: {20: "≥ 100"},
}


def replays(X: np.ndarray, y: np.ndarray) -> dict[str, Run]:
    """Return, by name, a replay of the stream by each learner, with settings that it accepts."""
    longest = float(np.max(np.sum(X * X, axis=1)))
    reach = float(np.max(np.abs(X)))
    settings: dict[str, dict[str, float]] = {
        "EG": {"X": 2 * reach},
        "EGPM": {"X": reach},
        "EGU": {"X": reach, "Y": float(np.max(np.abs(y)))},
        "GD": {"eta": 0.1 / longest},
        "OGD": {"eta": 0.1 / longest},
        "WEMM": {"b": 1.1 * longest},
    }

    def contender(name: str) -> Run:
        positive = name == "EGU"
        rows, labels = (np.abs(X), np.abs(y)) if positive else (X, y)
        if name in ("AROW", "LogisticLASER"):
            labels = (y > 0).astype(float)
        kind: Any = ol.LEARNERS[name]
        params = settings.get(name, {})

        def run() -> None:
            ol.replay(kind(**params), rows, labels)

        return run

    # the rounds of kernel learners take longer and longer
    linear = [name for name in ol.LEARNERS if not name.startswith("Kernel")]
    return {f"onlinear {name}, replay": contender(name) for name in linear}


def row_by_row(model: ol.Learner, X: np.ndarray, y: np.ndarray) -> None:
    predict, learn = model.predict_one, model.learn_one
    for x, label in zip(X, y.tolist(), strict=True):
        predict(x)
        learn(x, label)


def river(kind: str, X: np.ndarray, y: np.ndarray) -> Run:
    from river import linear_model

    rows = [dict(enumerate(x)) for x in X.tolist()]
    labels = y.tolist()

    def run() -> None:
        model = getattr(linear_model, kind)()
        for x, label in zip(rows, labels, strict=True):
            model.predict_one(x)
            model.learn_one(x, label)

    return run


def padasip(kind: str, X: np.ndarray, y: np.ndarray) -> Run:
    from padasip import filters

    def run() -> None:
        model = getattr(filters, kind)(X.shape[1], mu=0.99 if kind == "FilterRLS" else 0.5)
        for x, label in zip(X, y, strict=True):
            model.predict(x)
            model.adapt(label, x)

    return run


def sklearn(X: np.ndarray, y: np.ndarray) -> Run:
    from sklearn.linear_model import SGDRegressor

    def run() -> None:
        model = SGDRegressor().partial_fit(X[:1], y[:1])
        for i in range(len(X)):
            model.predict(X[i : i + 1])
            model.partial_fit(X[i : i + 1], y[i : i + 1])

    return run


def contenders(rows: int, d: int) -> dict[str, tuple[int, Run]]:
    """Return, by name, the number of rows and the function to time; slow ones get fewer rows."""
    X, y = timing.stream(rows, d)
    few = min(rows, max(200, rows // 20))
    table: dict[str, tuple[int, Run]] = {name: (rows, run) for name, run in replays(X, y).items()}
    some = X[: rows // 4], y[: rows // 4]
    table["onlinear LASER, one by one"] = (len(some[0]), lambda: row_by_row(ol.LASER(), *some))
    table[LASER] = (rows, lambda: ol.replay(ol.LASER(), X, y, engine="rank-one"))
    table["compiled loop"] = (rows, partial(loops.compiled, X, y))
    table["NumPy loop"] = (len(some[0]), partial(loops.as_written, *some))
    table["careful NumPy loop"] = (len(some[0]), partial(loops.careful, *some))
    peers: list[tuple[str, str, int, Callable[[np.ndarray, np.ndarray], Run]]] = [
        ("river", "LinearRegression", rows // 4, lambda a, b: river("LinearRegression", a, b)),
        (
            "river",
            "BayesianLinearRegression",
            few,
            lambda a, b: river("BayesianLinearRegression", a, b),
        ),
        ("padasip", "FilterRLS", few, lambda a, b: padasip("FilterRLS", a, b)),
        ("padasip", "FilterNLMS", few, lambda a, b: padasip("FilterNLMS", a, b)),
        ("sklearn", "SGDRegressor, row by row", few, sklearn),
    ]
    for package, kind, size, make in peers:
        if find_spec(package) is None:
            print(f"missing: {package} is not installed, no {kind}")
        else:
            table[f"{package} {kind}"] = (size, make(X[:size], y[:size]))
    return table


def seconds(programs: dict[str, str], repeats: int) -> dict[str, float]:
    """Return the typical time of a new process for each program.

    The processes may write and reuse Python's bytecode files, as in an ordinary installation.
    """
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

    def process(code: str) -> None:
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)

    return timing.typical(
        {name: partial(process, code) for name, code in programs.items()}, repeats
    )


def first_call(repeats: int) -> float:
    """Return the shortest time of a first call in a new process, with the code already compiled."""
    code = (
        "import time, onlinear as ol; m = ol.LASER(); t = time.perf_counter();"
        "m.learn_one([1.0] * 20, 1.0); print(time.perf_counter() - t)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        for _ in range(repeats + 1)
    ]
    return min(float(run.stdout) for run in runs[1:])


def projections(n: int) -> dict[str, tuple[int, Run]]:
    """Return two projections of n weights to time: that of EG, and one by sorting."""
    w = np.random.default_rng(0).dirichlet(np.ones(n))
    floor = 0.5 / n

    def by_sorting() -> None:
        rising = np.sort(w)
        below = np.concatenate([[0.0], np.cumsum(rising)[:-1]])
        factor = (1.0 - np.arange(n) * floor) / (1.0 - below)
        np.maximum(w * factor[np.argmax(rising * factor >= floor)], floor)

    def by_passes() -> None:
        lift_simplex(w.copy(), 0.5)  # what a round of EG calls

    times = 1 + 10**5 // n
    return {
        "passes": (times, timing.again(times, by_passes)),
        "sort": (times, timing.again(times, by_sorting)),
    }


def peers(d: int, rows: int, repeats: int) -> list[tuple[str, float, str]]:
    """Print the times and their ratios to LASER's; return the ratios to check."""
    best = timing.microseconds(contenders(rows, d), repeats)
    laser, single = best[LASER], best["onlinear LASER, one by one"]
    timing.table(
        (f"d = {d}, {rows:,} rows", "µs/row", f"× {LASER.removeprefix('onlinear ')}"),
        [
            (name, f"{value:.3f}", f"{value / laser:.2f}")
            for name, value in sorted(best.items(), key=lambda item: item[1])
        ],
    )
    figures = [
        (f"d = {d}: {name} / LASER, rank-one", best[name] / laser, target.get(d, ""))
        for name, target in TARGETS.items()
        if name in best
    ]
    plain = best["compiled loop"]
    target = "≤ 2" if d == 20 else ""
    figures.append((f"d = {d}: LASER, rank-one / compiled loop", laser / plain, target))
    return figures + [
        (f"d = {d}: {name} / LASER, one by one", best[name] / single, "")
        for name in (RIVER, "river LinearRegression")
        if name in best
    ]


def main() -> None:
    parser = timing.parser(__doc__, 9)
    parser.add_argument("--d", type=int, nargs="+", default=[20, 100])
    parser.add_argument("--rows", type=int, default=20_000)
    arguments = parser.parse_args()
    repeats = arguments.repeats
    figures = []
    for d in arguments.d:
        figures += peers(d, arguments.rows * 20 // max(20, d), repeats)
    for n in (100, 1_000_000):
        times = timing.microseconds(projections(n), repeats)
        ratio = times["sort"] / times["passes"]
        figures.append((f"projecting {n:,} weights on the simplex: by a sort / ours", ratio, ""))
    programs = {"nothing": "pass", "numba": "import numba", "onlinear": "import onlinear"}
    start = seconds(programs, repeats)
    ratio = (start["onlinear"] - start["nothing"]) / (start["numba"] - start["nothing"])
    figures.append(("import onlinear / import numba", ratio, ""))
    figures.append(("seconds of the first cached call in a new process", first_call(repeats), ""))
    timing.targets(figures)


if __name__ == "__main__":
    main()
