"""Streams to try a learner on."""

import numpy as np

__all__ = ["rotating"]


def rotating(
    rows: int = 5000, d: int = 10, degrees: float = 0.5, noise: float = 0.1, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return X and y of a stream whose truth turns at a steady pace.

    x is standard normal, y = uᵀx + noise; u has length 1 and turns in the planes of columns (0, 1),
    (2, 3), … by ``degrees`` a round (the last column of an odd number stays).

    >>> X, y = rotating(rows=100, d=4)
    >>> X.shape, y.shape
    ((100, 4), (100,))
    """
    if rows < 1 or d < 1 or not np.isfinite([degrees, noise]).all():
        raise ValueError(
            "rotating needs rows ≥ 1, d ≥ 1 and finite degrees and noise, got "
            f"rows={rows}, d={d}, degrees={degrees}, noise={noise}"
        )
    rng = np.random.default_rng(seed)
    start = rng.normal(size=d)
    start /= np.linalg.norm(start)
    X = rng.normal(size=(rows, d))
    angle = np.deg2rad(degrees) * np.arange(rows)
    cos, sin = np.cos(angle), np.sin(angle)
    truth = np.tile(start, (rows, 1))
    for i in range(0, d - 1, 2):
        truth[:, i] = start[i] * cos - start[i + 1] * sin
        truth[:, i + 1] = start[i] * sin + start[i + 1] * cos
    return X, np.sum(truth * X, axis=1) + noise * rng.normal(size=rows)
