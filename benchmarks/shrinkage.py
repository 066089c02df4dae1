"""Time CIRR and OSLOG against a textbook factorisation of the whole matrix in every round.

    python benchmarks/shrinkage.py [--rows 600] [--repeats 3] [N ...]

Everything runs in one thread of one process, and times are typical of interleaved repeats. The rows
are Gaussian; all n true weights are nonzero (dense), or ten of them (sparse). Four implementations
of the same step are compared:

- ``textbook``: aI + √D (S + xxᵀ) √D factorised row by row, as in onlinear up to version 0.3;
- ``LAPACK``: the same matrix, by NumPy and LAPACK's blocked factorisation (dpotrf, dpotrs);
- ``whole``: the current step, with all weights treated as large: the whole matrix is factorised;
- ``fast``: the current step.

``difference`` is the largest difference between the predictions of textbook and fast, relative to
the largest prediction. The penalty is chosen so that the textbook step itself is reproducible:
``moved`` is the difference in the textbook's predictions when the labels change by a relative
2e-16. ``one round`` is the largest difference of the weights after one round from the same state,
relative to the largest weight. ``one round`` is measured with the penalty a = 1, where some rounds
are chaotic.
"""

import math
from functools import partial
from types import FunctionType
from typing import Any

from timing import microseconds, parser, table, targets

# isort: split

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

import onlinear as ol
from onlinear._engine.step import FINE, Step
from onlinear._numerics.linalg import add_square, axpy, clipped, dot, kernel

SPARSE = 10
PENALTIES = {"dense": 50.0, "sparse": 20.0}
WAYS = ("textbook", "LAPACK", "whole", "fast")
TARGETS = {"dense": "≥ 4", "sparse": "≥ 15"}
NOISE = 0.1


# --- the textbook ---------------------------------------------------------------------------


@kernel
def factorise(w: Any, A: Any, x: Any, a: float, floor: float, root: Any, U: Any) -> None:
    """Write √D to ``root``, and the Cholesky factor of aI + √D (S + xxᵀ) √D to U."""
    n = w.size
    for i in range(n):
        root[i] = math.sqrt(max(abs(w[i]), floor))
    for i in range(n):
        for j in range(i, n):
            U[i, j] = root[i] * root[j] * (A[i, j] + x[i] * x[j])
        U[i, i] += a
    for k in range(n):
        for i in range(k):
            c = U[i, k]
            for j in range(k, n):
                U[k, j] -= c * U[i, j]
        pivot = math.sqrt(max(U[k, k], a))
        U[k, k] = pivot
        for j in range(k + 1, n):
            U[k, j] /= pivot


@kernel
def halve(root: Any, U: Any, b: Any, out: Any) -> None:
    """Write U⁻ᵀ√D b to ``out``."""
    n = b.size
    for k in range(n):
        out[k] = root[k] * b[k]
    for k in range(n):
        out[k] /= U[k, k]
        c = out[k]
        for j in range(k + 1, n):
            out[j] -= c * U[k, j]


@kernel
def learn(state: Any, root: Any, U: Any, x: Any, y: float, z: Any) -> None:
    """Learn a row: S ← S + xxᵀ, b ← b + yx, w ← Mb."""
    t, w, A, b = state
    n = x.size
    add_square(x, A)
    axpy(y, x, b)
    halve(root, U, b, z)
    for k in range(n - 1, -1, -1):
        s = z[k]
        for j in range(k + 1, n):
            s -= U[k, j] * z[j]
        z[k] = s / U[k, k]
    for i in range(n):
        w[i] = root[i] * z[i]
    t[0] += 1


def textbook_cirr(state: Any, params: Any, x: Any, y: float, work: Any) -> tuple[float, int]:
    """Run one round of CIRR: predict the label of x, then learn y unless y is NaN."""
    _, w, A, b = state
    a, floor, _ = params
    root, p, z, U = work[0], work[1], work[2], work[3:]
    factorise(w, A, x, a, floor, root, U)
    halve(root, U, b, p)
    halve(root, U, x, z)
    prediction = dot(p, z)
    if not math.isnan(y):
        learn(state, root, U, x, y, z)
    return prediction, FINE


def textbook_oslog(state: Any, params: Any, x: Any, y: float, work: Any) -> tuple[float, int]:
    """Run one round of OSLOG: predict the label of x, then learn y unless y is NaN."""
    t, w, A, _ = state
    a, floor, eager, _, clip = params
    root, z, U = work[0], work[1], work[2:]
    prediction = clipped(dot(w, x) if eager or t[0] > 0.0 else 0.0, clip)
    if not math.isnan(y):
        factorise(w, A, x, a, floor, root, U)
        learn(state, root, U, x, y, z)
    return prediction, FINE


def by_lapack(name: str, model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the predictions of a learner whose rounds are computed with NumPy and LAPACK."""
    n, out = X.shape[1], np.empty(len(X))
    w, S, b, first = np.ones(n), np.zeros((n, n)), np.zeros(n), True
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        root = np.sqrt(np.maximum(np.abs(w), model.floor))
        S += np.outer(x, x)
        B = S * root * root[:, None]
        B.flat[:: n + 1] += model.a
        factor, _ = dpotrf(B.T, overwrite_a=True, clean=False)
        if name == "CIRR":
            out[t] = dpotrs(factor, root * b)[0] @ (root * x)
        else:
            out[t] = 0.0 if first else w @ x
        b += label * x
        w, first = root * dpotrs(factor, root * b)[0], False
    return out


TEXTBOOK = {"CIRR": textbook_cirr, "OSLOG": textbook_oslog}


# --- the comparison -------------------------------------------------------------------------


def steps(name: str) -> dict[str, Step]:
    """Return three compiled implementations of a learner's step, by name."""
    fast: Step = ol.LEARNERS[name].algorithm.step
    whole = FunctionType(
        fast.function.__code__, {**fast.function.__globals__, "SMALL": -1.0}, "whole"
    )
    return {
        "textbook": Step(TEXTBOOK[name], lambda d: d + 3),
        "whole": Step(whole, fast.scratch),
        "fast": fast,
    }


def stream(kind: str, n: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, n))
    truth = rng.normal(size=n)
    if kind == "sparse":
        truth[SPARSE:] = 0.0
    return X, X @ truth + NOISE * rng.normal(size=rows)


def replay(step: Step, model: ol.Learner, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the predictions of a new learner with this step."""
    d, out = X.shape[1], np.empty(len(X))
    state: Any = model.algorithm.init(model._params(), d)
    row, rule, _ = step.chunk(
        tuple(state), model._numbers(), X, y, step.work(d), True, out, 0, len(X)
    )
    if rule != FINE:
        raise ArithmeticError(f"row {row} was refused")
    return out


def one_round(name: str, X: np.ndarray, y: np.ndarray) -> float:
    """Return the largest difference of the learner's weights from the textbook's after a round."""
    learner: Any = ol.LEARNERS[name]
    model, worst = learner(a=1.0), 0.0
    model._begin(X.shape[1])
    numbers, textbook = model._numbers(), steps(name)["textbook"]
    work = textbook.work(X.shape[1])
    for x, label in zip(X, y, strict=True):
        state = tuple(array.copy() for array in model._state)
        textbook.one(state, numbers, x, label, work, True, 0)
        model.learn_one(x, label)
        worst = max(worst, difference(model.coef_, state[1]))
    return worst


def difference(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.max(np.abs(one - other)) / np.max(np.abs(other)))


def main() -> None:
    options = parser(__doc__, repeats=3)
    options.add_argument("sizes", nargs="*", type=int, default=[20, 50, 100, 200, 400])
    options.add_argument("--rows", type=int, default=600)
    arguments = options.parse_args()
    lines = []
    figures: list[tuple[str, float, str]] = []
    for kind in ("dense", "sparse"):
        for n in arguments.sizes:
            X, y = stream(kind, n, arguments.rows)
            for name in TEXTBOOK:
                learner: Any = ol.LEARNERS[name]
                model = learner(a=PENALTIES[kind])
                made = steps(name)
                found = {way: replay(step, model, X, y) for way, step in made.items()}
                moved = replay(made["textbook"], model, X, y * (1.0 + 2e-16))
                runs = {
                    way: (len(X), partial(replay, step, model, X, y)) for way, step in made.items()
                }
                runs["LAPACK"] = len(X), partial(by_lapack, name, model, X, y)
                each = microseconds(runs, arguments.repeats)
                apart = difference(found["fast"], found["textbook"])
                if difference(by_lapack(name, model, X, y), found["textbook"]) > 1e-9:
                    raise ArithmeticError(f"LAPACK's {name} is not the textbook's")
                lines.append(
                    (
                        f"{name}, {kind} target, n = {n}",
                        *(f"{each[way]:.1f}" for way in WAYS),
                        *(f"{each[way] / each['fast']:.1f}" for way in WAYS[:-1]),
                        f"{apart:.1e}",
                        f"{difference(moved, found['textbook']):.1e}",
                        f"{one_round(name, X[:300], y[:300]):.1e}",
                    )
                )
                if (name, n) == ("CIRR", 200):
                    words = f"CIRR, {kind} target, n = 200"
                    for way, target in (("textbook", TARGETS[kind]), ("LAPACK", ""), ("whole", "")):
                        figures.append((f"{words}: × {way}", each[way] / each["fast"], target))
                    figures.append((f"{words}: difference / 1e-12", apart / 1e-12, "≤ 1"))
    times = [f"{way}, µs" for way in WAYS]
    ratios = [f"× {way}" for way in WAYS[:-1]]
    table((f"{arguments.rows} rows", *times, *ratios, "difference", "moved", "one round"), lines)
    if figures:
        targets(figures)


if __name__ == "__main__":
    main()
