"""Time ARCOR's replay against AROWR's, without and with the projection in every round.

    python benchmarks/arcor.py [--rows 20000] [--repeats 7]

Everything runs in one thread, with d = 20 columns, and d = 100 with a tenth of the rows. Each
figure is a typical value over interleaved repeats. With radius = 0.1, the weights are outside the
ball in every round and have to be projected. At d = 100, the default engine "auto" takes the rows
of both learners in bulk. On the first rows, the resets are compared with those that the eigenvalues
of Σ⁻¹ require.
"""

from functools import partial

from timing import parser, stream, targets, typical

# isort: split

import numpy as np

import onlinear as ol
from onlinear._evaluation.replay import Engine

LIMITS = {20: ("≤ 2.5", "≤ 27"), 100: ("≤ 2.5", "≤ 14")}  # × AROWR's time: free, projected
CHECKED = 500  # rows whose resets are compared


def share_projected(radius: float, X: np.ndarray, y: np.ndarray) -> float:
    """Return the share of rounds after which ‖w‖ equals the radius, so that w was projected."""
    model, rounds = ol.ARCOR(radius=radius), 0
    for x, label in zip(X, y, strict=True):
        model.learn_one(x, label)
        rounds += bool(np.linalg.norm(model.coef_) > radius * (1 - 1e-12))
    return rounds / len(X)


def resets_agree(X: np.ndarray, y: np.ndarray) -> bool:
    """Return whether ARCOR resets exactly when λ_max(Σ⁻¹) > i + 1 in segment i."""
    model, P, resets = ol.ARCOR(), np.eye(X.shape[1]), 0
    for x, label in zip(X, y, strict=True):
        model.learn_one(x, label)
        P += np.outer(x, x)
        if np.linalg.eigvalsh(P)[-1] > (resets + 2) * (1 + 1e-12):
            P, resets = np.eye(X.shape[1]), resets + 1
        if model.resets_ != resets:
            return False
    return True


def ratios(X: np.ndarray, y: np.ndarray, engine: Engine, repeats: int) -> tuple[float, float]:
    """Return ARCOR's time divided by AROWR's time, without and with ARCOR's projection."""
    models = {"AROWR": ol.AROWR(), "free": ol.ARCOR(), "busy": ol.ARCOR(radius=0.1)}

    def run(name: str) -> None:
        ol.replay(type(models[name])(**models[name].get_params()), X, y, engine=engine)

    times = typical({name: partial(run, name) for name in models}, repeats)
    return times["free"] / times["AROWR"], times["busy"] / times["AROWR"]


def main() -> None:
    options = parser(__doc__, repeats=7)
    options.add_argument("--rows", type=int, default=20_000)
    arguments = options.parse_args()
    figures: list[tuple[str, float, str]] = []
    for d, rows in ((20, arguments.rows), (100, arguments.rows // 10)):
        X, y = stream(rows, d)
        engines: tuple[Engine, ...] = ("rank-one", "auto")
        for engine in engines:
            free, busy = ratios(X, y, engine, arguments.repeats)
            figures.append((f"ARCOR / AROWR, d = {d}, {engine}", free, LIMITS[d][0]))
            figures.append((f"projected every round, d = {d}, {engine}", busy, LIMITS[d][1]))
        share = share_projected(0.1, X[:CHECKED], y[:CHECKED])
        figures.append((f"share of rounds projected, d = {d}", share, ""))
        agree = float(resets_agree(X[:CHECKED], y[:CHECKED]))
        figures.append((f"resets as by eigenvalues (1 is yes), d = {d}", agree, "≥ 1"))
    targets(figures)


if __name__ == "__main__":
    main()
