"""Time single rounds with other kinds of rows and labels than float64 arrays and floats.

    python benchmarks/row_kinds.py [--rows 2000] [--repeats 30]

A round is ``predict_one`` and ``learn_one`` of a row of 20 features. Rows and labels are made
before the time is taken. Each figure is the time of a round divided by that with a float64 array
and a float. A round of LASER takes less time than NumPy needs to convert a list, which has to be
done twice in a round: the time of these two conversions alone is given, too. river's
``BayesianLinearRegression`` gets dicts, and labels that are NumPy numbers.
"""

from typing import Any

import timing

# isort: split
import numpy as np
import pandas as pd

import onlinear as ol

D = 20
USUAL = "float64 array, float"
LIMIT = "≤ 1.3"


def kinds(X: np.ndarray, y: np.ndarray) -> dict[str, tuple[list[Any], list[Any]]]:
    """Return the same stream as lists of rows and labels of different kinds."""
    arrays, floats = list(X), y.tolist()
    frame = pd.DataFrame(X, columns=[f"feature {j}" for j in range(X.shape[1])])
    return {
        USUAL: (arrays, floats),
        "label a NumPy number": (arrays, list(y)),
        "label an int": (arrays, np.rint(y).astype(int).tolist()),
        "row a list": (X.tolist(), floats),
        "row a tuple": (list(map(tuple, X.tolist())), floats),
        "row a float32 array": (list(X.astype(np.float32)), floats),
        "row an int64 array": (list(np.rint(X).astype(np.int64)), floats),
        "row of a pandas DataFrame": ([row for _, row in frame.iterrows()], floats),
    }


def rounds(model: Any, rows: list[Any], labels: list[Any]) -> timing.Run:
    model.learn_one(rows[0], labels[0])  # the first row allocates the state

    def run() -> None:
        predict, learn = model.predict_one, model.learn_one
        for x, label in zip(rows, labels, strict=True):
            predict(x)
            learn(x, label)

    return run


def conversions(rows: list[list[float]]) -> timing.Run:
    def run() -> None:
        for x in rows:
            np.asarray(x)
            np.asarray(x)

    return run


def main() -> None:
    options = timing.parser(__doc__, 30)
    options.add_argument("--rows", type=int, default=2000)
    given = options.parse_args()
    X, y = timing.stream(given.rows, D)
    figures = []
    for make in (ol.LASER, ol.Auto):
        runs = {name: rounds(make(), *both) for name, both in kinds(X, y).items()}
        runs["NumPy's conversion of lists, twice a row"] = conversions(X.tolist())
        times = timing.typical(runs, given.repeats)
        usual = times.pop(USUAL)
        for name, took in times.items():
            limit = LIMIT if name.startswith("label") else ""
            figures.append((f"{make.__name__}: {name}", took / usual, limit))
    from river.linear_model import BayesianLinearRegression

    few = X[: max(50, given.rows // 20)]
    dicts = [dict(enumerate(x)) for x in few.tolist()]
    runs = {
        "river": rounds(BayesianLinearRegression(), dicts, list(y[: len(few)])),
        "LASER": rounds(ol.LASER(), list(few), list(y[: len(few)])),
    }
    times = timing.typical(runs, given.repeats)
    words = "river's BayesianLinearRegression over LASER, labels NumPy numbers"
    figures.append((words, times["river"] / times["LASER"], "≥ 10"))
    timing.targets(figures)


if __name__ == "__main__":
    main()
