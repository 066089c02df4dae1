"""Time the learners against what people use now, in one run on this machine.

    python benchmarks/speed.py [--d 20] [--rows 20000] [--repeats 5]

One thread. Each figure is the least over interleaved repeats, so that a busy moment of the machine
touches no single contender. Peers that are not installed are said to be missing. Absolute times
mean little; the ratios are the result.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402  the number of threads is read when it is loaded

import onlinear as ol  # noqa: E402
from onlinear.bregman import lift_simplex  # noqa: E402

Contender = Callable[[], None]


def stream(rows: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, d))
    return X, X @ rng.normal(size=d) + rng.normal(size=rows)


def replays(X: np.ndarray, y: np.ndarray) -> dict[str, Contender]:
    """Return every learner replaying the stream, inside its domain."""
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

    def contender(name: str) -> Contender:
        positive = name == "EGU"
        rows, labels = (np.abs(X), np.abs(y)) if positive else (X, y)
        kind: Any = ol.LEARNERS[name]
        params = settings.get(name, {})

        def run() -> None:
            ol.replay(kind(**params), rows, labels)

        return run

    linear = [name for name in ol.LEARNERS if not name.startswith("Kernel")]  # whose rounds grow
    return {f"onlinear {name}, replay": contender(name) for name in linear}


def row_by_row(model: ol.Learner, X: np.ndarray, y: np.ndarray) -> None:
    predict, learn = model.predict_one, model.learn_one
    for x, label in zip(X, y.tolist(), strict=True):
        predict(x)
        learn(x, label)


def numpy_loop(X: np.ndarray, y: np.ndarray) -> None:
    """Recursive least squares as one would write it with NumPy."""
    d = X.shape[1]
    w, S = np.zeros(d), np.eye(d)
    for x, label in zip(X, y, strict=True):
        v = S @ x
        error = label - w @ x
        v_scaled = v / (1.0 + x @ v)
        w += error * v_scaled
        S -= np.outer(v_scaled, v)


def river(kind: str, X: np.ndarray, y: np.ndarray) -> Contender:
    from river import linear_model

    rows = [dict(enumerate(x)) for x in X.tolist()]
    labels = y.tolist()

    def run() -> None:
        model = getattr(linear_model, kind)()
        for x, label in zip(rows, labels, strict=True):
            model.predict_one(x)
            model.learn_one(x, label)

    return run


def padasip(kind: str, X: np.ndarray, y: np.ndarray) -> Contender:
    from padasip import filters

    def run() -> None:
        model = getattr(filters, kind)(X.shape[1], mu=0.99 if kind == "FilterRLS" else 0.5)
        for x, label in zip(X, y, strict=True):
            model.predict(x)
            model.adapt(label, x)

    return run


def sklearn(X: np.ndarray, y: np.ndarray) -> Contender:
    from sklearn.linear_model import SGDRegressor

    def run() -> None:
        model = SGDRegressor().partial_fit(X[:1], y[:1])
        for i in range(len(X)):
            model.predict(X[i : i + 1])
            model.partial_fit(X[i : i + 1], y[i : i + 1])

    return run


def contenders(rows: int, d: int) -> dict[str, tuple[int, Contender]]:
    """Return name → (rows it runs over, what to time); slow ones get fewer rows."""
    X, y = stream(rows, d)
    few = max(200, rows // 20)
    table = {name: (rows, run) for name, run in replays(X, y).items()}
    some = X[: rows // 4], y[: rows // 4]
    table["onlinear LASER, one by one"] = (len(some[0]), lambda: row_by_row(ol.LASER(), *some))
    table["NumPy loop, rank one"] = (len(some[0]), lambda: numpy_loop(*some))
    peers: list[tuple[str, str, int, Callable[[np.ndarray, np.ndarray], Contender]]] = [
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


def measure(table: dict[str, tuple[int, Contender]], repeats: int) -> dict[str, float]:
    """Return µs a row: the least over repeats, interleaved; the first round only warms up."""
    best = dict.fromkeys(table, np.inf)
    for repeat in range(repeats + 1):
        for name, (size, run) in table.items():
            began = time.perf_counter()
            run()
            if repeat:
                best[name] = min(best[name], (time.perf_counter() - began) / size * 1e6)
    return best


def seconds(programs: dict[str, str], repeats: int) -> dict[str, float]:
    """Return the least time of a new process for each program, interleaved.

    Bytecode is kept, as it is in an ordinary installation.
    """
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    best = dict.fromkeys(programs, np.inf)
    for _ in range(repeats + 1):
        for name, code in programs.items():
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, env=environment)
            best[name] = min(best[name], time.perf_counter() - began)
    return best


def first_call(repeats: int) -> float:
    """Return the least time of the first cached call in a new process."""
    code = (
        "import time, onlinear as ol; m = ol.LASER(); t = time.perf_counter();"
        "m.learn_one([1.0] * 20, 1.0); print(time.perf_counter() - t)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        for _ in range(repeats + 1)
    ]
    return min(float(run.stdout) for run in runs[1:])


def projections(n: int) -> dict[str, tuple[int, Contender]]:
    """Return EG's projection of n weights, and the same by sorting them with NumPy."""
    w = np.random.default_rng(0).dirichlet(np.ones(n))
    floor = 0.5 / n

    def by_sorting() -> None:
        rising = np.sort(w)
        below = np.concatenate([[0.0], np.cumsum(rising)[:-1]])
        factor = (1.0 - np.arange(n) * floor) / (1.0 - below)
        np.maximum(w * factor[np.argmax(rising * factor >= floor)], floor)

    def by_passes() -> None:
        lift_simplex(w.copy(), 0.5)  # what a round of EG calls

    return {"passes": (n, by_passes), "sort": (n, by_sorting)}


def report(best: dict[str, float]) -> None:
    """Print a row each, with the ratio to LASER's replay, then the ratios that matter."""
    laser, single = best["onlinear LASER, replay"], best["onlinear LASER, one by one"]
    print(f"\n{'':40}{'µs/row':>10}{'× LASER replay':>16}")
    for name, value in sorted(best.items(), key=lambda item: item[1]):
        print(f"{name:40}{value:10.3f}{value / laser:16.1f}")
    print()
    for name, base, words in [
        ("river BayesianLinearRegression", laser, "LASER replay"),
        ("padasip FilterRLS", laser, "LASER replay"),
        ("NumPy loop, rank one", laser, "LASER replay"),
        ("river BayesianLinearRegression", single, "LASER one by one"),
        ("river LinearRegression", single, "LASER one by one"),
    ]:
        if name in best:
            print(f"{words} is {best[name] / base:.1f} times faster than {name}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--d", type=int, default=20)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    print(f"d = {args.d}, {args.rows} rows, one thread, least of {args.repeats} repeats")
    report(measure(contenders(args.rows, args.d), args.repeats))
    for n in (100, 1_000_000):
        times = measure(projections(n), args.repeats)
        ratio = times["sort"] / times["passes"]
        print(f"projecting {n} weights on the simplex is {ratio:.1f} times faster than by a sort")
    start = seconds(
        {"nothing": "pass", "numba": "import numba", "onlinear": "import onlinear"}, args.repeats
    )
    ratio = (start["onlinear"] - start["nothing"]) / (start["numba"] - start["nothing"])
    print(f"import onlinear takes {ratio:.2f} times as long as import numba")
    print(f"the first cached call in a new process takes {first_call(args.repeats):.2f} s")
