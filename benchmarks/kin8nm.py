"""Compare linear learners, a kernel learner and feature maps by squared error, on kin8nm.

    python benchmarks/kin8nm.py [--data FOLDER]

The folder must have kin8nm.csv.gz: 8,192 rows of eight joint angles of a robot arm and the distance
of its hand (OpenML 189, from the Delve archive). The relationship between the angles and the
distance is fixed and not linear. Each learner predicts every row before it sees the label; .7 is
subtracted from the labels, and a column of ones is added for the linear learners.
"""

import argparse
import gzip
import sys
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import onlinear as ol
from onlinear.features import Mapped, Nystroem, RandomFourier
from onlinear.kernels import RBF

FILE = "kin8nm.csv.gz"


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare learners and kernels on kin8nm.")
    parser.add_argument("--data", type=Path, default=Path("data"))
    path = parser.parse_args().data / FILE
    if not path.exists():
        sys.exit(f"there is no {path}: the docstring of this script says what it must contain")
    with gzip.open(path, "rt") as file:
        data = np.loadtxt(file, delimiter=",", skiprows=1)
    X, y = data[:, :-1], data[:, -1] - 0.7
    ones = np.column_stack([X, np.ones(len(X))])

    linear: dict[str, ol.Learner | Mapped] = {
        "AAR(b=1)": ol.AAR(),
        "Ridge(b=1)": ol.Ridge(),
        "LASER(c=1e4, shrink=False)": ol.LASER(c=1e4, shrink=False),
        "RLS(forgetting=.999)": ol.RLS(forgetting=0.999),
        "ARCOR(r=1, q=∞)": ol.ARCOR(q=np.inf),
        "CIRR()": ol.CIRR(),
        "OSLOG()": ol.OSLOG(),
        "NLMS(eta=.01)": ol.NLMS(eta=0.01),
        "GD(eta=.003)": ol.GD(eta=0.003),
    }
    kernel = RBF(gamma=0.1)
    curved: dict[str, ol.Learner | Mapped] = {
        "KernelAAR(RBF(.1), b=.3)": ol.KernelAAR(kernel, b=0.3),
        "KernelAAR(RBF(.1), b=.3, budget=1000)": ol.KernelAAR(kernel, b=0.3, budget=1000),
        "Nystroem, 500 landmarks + AAR(b=.3)": Mapped(Nystroem(kernel, 500), ol.AAR(b=0.3)),
        "RandomFourier, width 1000 + AAR(b=.3)": Mapped(RandomFourier(1000, 0.1), ol.AAR(b=0.3)),
    }
    table = Table(title=f"kin8nm, {len(X):,} rounds")
    for column in ("", "squared error", "of the best linear", "s"):
        table.add_column(column, justify="right" if column else "left")
    best = np.inf
    for rows, models in ((ones, linear), (X, curved)):
        for name, model in models.items():
            began = time.perf_counter()
            loss = float(ol.replay(model, rows, y).cumulative_loss[-1])
            seconds = time.perf_counter() - began
            best = min(best, loss) if models is linear else best
            share = f"{loss / best:.3f}" if models is curved else ""
            table.add_row(name, f"{loss:.1f}", share, f"{seconds:.1f}")
        table.add_section()
    hindsight = float(ol.hindsight.best_fixed(ones, y)[-1])
    table.add_row("the best linear predictor in hindsight", f"{hindsight:.1f}", "", "")
    Console().print(table)


if __name__ == "__main__":
    main()
