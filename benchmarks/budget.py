"""Measure what a budget costs: the losses of kernel learners that keep n examples, or all.

    python benchmarks/budget.py

The learners run on two streams of 4,000 rounds, y = f(x) + noise with x uniform on a square. In one
stream, the function f is fixed; in the other stream, f drifts. Beyond the budget, the oldest
example is dropped. For comparison, a linear learner runs on Nyström features with as many landmarks
as the budget has examples: the linear learner costs the same per round, and uses all rows, but only
in as many directions as there are landmarks.
"""

import numpy as np
from rich.console import Console
from rich.table import Table

import onlinear as ol
from onlinear.features import Mapped, Nystroem
from onlinear.kernels import RBF

ROWS, NOISE = 4000, 0.1
BUDGETS = (50, 100, 200, 400, 800, 1600)
KERNEL = RBF(gamma=1.0)


def stream(turns: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(ROWS, 2))
    phase = 2 * np.pi * turns * np.arange(ROWS) / ROWS
    f = np.sin(2 * X[:, 0] + phase) * np.cos(X[:, 1])
    return X, f + NOISE * rng.normal(size=ROWS)


def loss(model: ol.Learner | Mapped, X: np.ndarray, y: np.ndarray) -> float:
    return float(ol.replay(model, X, y).cumulative_loss[-1]) / ROWS


def main() -> None:
    console = Console()
    for title, turns in (("a fixed function", 0.0), ("a function that drifts", 3.0)):
        X, y = stream(turns)
        c = 10.0 if turns else np.inf
        table = Table(title=f"{title}: mean squared error (noise {NOISE**2:g})")
        for column in ("examples kept", "KernelAAR", "KernelLASER", "KernelGD", "Nyström + LASER"):
            table.add_column(column, justify="right")
        for budget in (*BUDGETS, None):
            models = [
                ol.KernelAAR(KERNEL, b=0.1, budget=budget),
                ol.KernelLASER(KERNEL, b=0.1, c=c, shrink=False, budget=budget),
                ol.KernelGD(KERNEL, eta=0.25, budget=budget),
            ]
            cells = [f"{loss(model, X, y):.4f}" for model in models]
            if budget is not None:
                linear = ol.LASER(b=0.1, c=c, shrink=False)
                cells.append(f"{loss(Mapped(Nystroem(KERNEL, budget), linear), X, y):.4f}")
            table.add_row("all" if budget is None else f"{budget:,}", *cells)
        console.print(table)


if __name__ == "__main__":
    main()
