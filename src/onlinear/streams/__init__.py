"""Streams to try a learner on."""

import numpy as np

__all__ = ["paired", "rotating"]


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


def paired(
    rows: int = 2000,
    degrees: float = 1.0,
    decay: float = 0.0,
    switch_every: int | None = None,
    noise: float = 0.05**0.5,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return X and y of the streams of Moroshko & Crammer and of Vaits & Crammer, 20 columns.

    Columns 0–9 are five pairs of deviations 10 and 1, turned by 45°; the others are normal with
    variance 2. The truth has length 1 and lies in one pair, in which it turns by
    ``degrees``·t^−``decay`` in round t; every ``switch_every`` rounds it moves on to the next pair.
    ``noise`` is a deviation.

    >>> X, y = paired(rows=100, switch_every=50)
    >>> X.shape, y.shape
    ((100, 20), (100,))
    """
    if rows < 1 or (switch_every is not None and switch_every < 1):
        raise ValueError(
            "paired needs rows ≥ 1 and switch_every ≥ 1 or None, got "
            f"rows={rows}, switch_every={switch_every}"
        )
    if not np.isfinite([degrees, decay, noise]).all():
        raise ValueError(
            "paired needs finite degrees, decay and noise, got "
            f"degrees={degrees}, decay={decay}, noise={noise}"
        )
    rng = np.random.default_rng(seed)
    long, short = 10 * rng.normal(size=(rows, 5)), rng.normal(size=(rows, 5))
    X = np.empty((rows, 20))
    X[:, 0:10:2], X[:, 1:10:2] = (long - short) / np.sqrt(2), (long + short) / np.sqrt(2)
    X[:, 10:] = np.sqrt(2) * rng.normal(size=(rows, 10))
    t = np.arange(rows)
    angle = np.deg2rad(degrees) * np.cumsum((t + 1.0) ** -decay)
    pair = np.zeros(rows, dtype=int) if switch_every is None else 2 * (t // switch_every % 5)
    truth = np.zeros((rows, 20))
    truth[t, pair], truth[t, pair + 1] = np.cos(angle), np.sin(angle)
    return X, np.sum(truth * X, axis=1) + noise * rng.normal(size=rows)
