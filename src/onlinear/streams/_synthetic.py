"""Synthetic streams with drift; details that a paper leaves open are parameters."""

from typing import Literal

import numpy as np

from onlinear._validation.checks import asked, choice, number, whole

__all__ = ["friedman", "paired", "rotating", "shifting"]


def rotating(
    rows: int = 5000, d: int = 10, degrees: float = 0.5, noise: float = 0.1, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return X and y of a stream whose true weights rotate at a constant rate.

    x is standard normal, and y is uᵀx plus normal noise with standard deviation ``noise``. The true
    weights u have length 1 and rotate in the planes of columns (0, 1), (2, 3), … by ``degrees`` per
    round. If d is odd, the last weight does not change.

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
    rate: float = 1.0,
    unit: Literal["degrees", "radians"] = "degrees",
    decay: float = 0.0,
    switch_every: int | None = None,
    pairs: int = 5,
    normal: Literal["variance", "deviation"] = "variance",
    noise: float = 0.05,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return X and y of a stream as in Moroshko (2013, ch. 7) and Vaits & Crammer (2011).

    X has 20 columns. Columns 0–9 are five pairs of normal variables with standard deviations 10 and
    1, rotated by 45°; the other columns are N(0, 2). The true weights u have length 1, lie in one
    pair of columns and rotate in its plane; y = uᵀx + N(0, noise).

    Parameters
    ----------
    rows : int, default 2000
        Number of rows (T in the papers).
    rate : float, default 1.0
        How far the true weights u rotate in the first round, which the papers do not say. The
        default, 1° per round, reproduces most of what the papers report. At 1 radian per round no
        learner can follow the weights.
    unit : {"degrees", "radians"}, default "degrees"
        Unit of ``rate``. The papers speak of a "rate of t⁻¹" without a unit.
    decay : float, default 0.0
        In round t, u rotates by rate·t^−decay. Moroshko's thesis uses 0 (linear drift) in its data
        sets 1 and 3, and 1 in its sets 2 and 4; Vaits & Crammer use .01 and .5.
    switch_every : int, optional
        How many rounds u stays in a pair of columns before it moves to the next pair (50 in both
        papers); None means that it never moves.
    pairs : int, default 5
        Number of pairs that u cycles through: the papers say "1, 2, then 3, 4, and so on". With up
        to 5 pairs, u stays in the rotated pairs; with 6 to 10, it also visits the columns of
        N(0, 2).
    normal : {"variance", "deviation"}, default "variance"
        Whether the second number of N(0, 2), and ``noise``, are variances or standard deviations.
    noise : float, default 0.05
        Variance or deviation (see ``normal``) of the labels' noise: .05 in Moroshko's sets 3 and 4
        (0 in sets 1 and 2), 2 in Vaits & Crammer.
    seed : int, default 0
        Seed of the random numbers.

    Examples
    --------
    >>> X, y = paired(rows=100, switch_every=50)
    >>> X.shape, y.shape
    ((100, 20), (100,))
    """
    given = asked(
        "paired",
        rows=rows,
        rate=rate,
        unit=unit,
        decay=decay,
        switch_every=rows if switch_every is None else switch_every,
        pairs=pairs,
        normal=normal,
        noise=noise,
    )
    whole(given, "rows", least=1)
    stay = whole(given, "switch_every", least=1)
    whole(given, "pairs", least=1, most=10)
    spread = choice(given, "normal", ("variance", "deviation"))
    in_radians = choice(given, "unit", ("degrees", "radians")) == "radians"
    first = number(given, "rate") if in_radians else np.deg2rad(number(given, "rate"))
    wide, loud = 2.0, number(given, "noise", least=0)
    if spread == "variance":
        wide, loud = np.sqrt(wide), np.sqrt(loud)
    rng = np.random.default_rng(seed)
    long, short = 10 * rng.normal(size=(rows, 5)), rng.normal(size=(rows, 5))
    X = np.empty((rows, 20))
    X[:, 0:10:2], X[:, 1:10:2] = (long - short) / np.sqrt(2), (long + short) / np.sqrt(2)
    X[:, 10:] = wide * rng.normal(size=(rows, 10))
    t = np.arange(rows)
    angle = first * np.cumsum((t + 1.0) ** -number(given, "decay"))
    pair = 2 * (t // stay % pairs)
    truth = np.zeros((rows, 20))
    truth[t, pair], truth[t, pair + 1] = np.cos(angle), np.sin(angle)
    return X, np.sum(truth * X, axis=1) + loud * rng.normal(size=rows)


def shifting(
    rows: int = 2000,
    d: int = 20,
    shifts: int = 9,
    spacing: Literal["even", "random"] = "even",
    truth: Literal["simplex", "sphere"] = "simplex",
    active: int | None = None,
    floor: float = 0.0,
    inputs: Literal["uniform", "signs", "sphere"] = "uniform",
    noise: float = 0.1,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X, y and the true weights u, one row per round; u is constant between shifts.

    y = u_tᵀx + noise. Shifting weights are the setting of Herbster & Warmuth (2001), who report no
    experiments; so every detail is a parameter.

    Parameters
    ----------
    rows, d : int, default 2000 and 20
        Number of rounds and number of columns.
    shifts : int, default 9
        How many times u shifts.
    spacing : {"even", "random"}, default "even"
        When u shifts: at equal intervals, or in rounds drawn at random.
    truth : {"simplex", "sphere"}, default "simplex"
        The set from which u is drawn uniformly: non-negative weights that sum to one, or weights of
        length 1.
    active : int, optional
        Number of nonzero weights in u; by default, all are nonzero. If d ≥ 2·active, every shift
        moves the nonzero weights to other columns.
    floor : float, default 0.0
        The lower limit on the weights in u is floor/d, if u is in the simplex; 0 ≤ floor ≤ 1. To
        keep the limit, u is multiplied by 1 − floor, and floor/d is added to each weight. Herbster
        & Warmuth have such a constraint set, [α/n, 1]ⁿ.
    inputs : {"uniform", "signs", "sphere"}, default "uniform"
        How X is drawn: entries uniform on [0, 1], entries −1 or 1, or rows of length 1 in any
        direction.
    noise : float, default 0.1
        Standard deviation of the normal noise.
    seed : int, default 0
        Seed of the random numbers.

    Examples
    --------
    >>> X, y, u = shifting(rows=100, d=5, shifts=1, active=1)
    >>> u[[0, 49, 50, 99]].round()
    array([[0., 0., 0., 0., 1.],
           [0., 0., 0., 0., 1.],
           [0., 0., 1., 0., 0.],
           [0., 0., 1., 0., 0.]])
    """
    given = asked(
        "shifting",
        rows=rows,
        d=d,
        shifts=shifts,
        spacing=spacing,
        truth=truth,
        active=d if active is None else active,
        floor=floor,
        inputs=inputs,
        noise=noise,
    )
    whole(given, "rows", least=1)
    whole(given, "d", least=1)
    whole(given, "shifts", least=0, most=rows - 1)
    count = whole(given, "active", least=1, most=d)
    number(given, "noise", least=0)
    convex = choice(given, "truth", ("simplex", "sphere")) == "simplex"
    share = number(given, "floor", least=0, most=1 if convex else 0)
    rng = np.random.default_rng(seed)
    if choice(given, "spacing", ("even", "random")) == "even":
        starts = rows * np.arange(1, shifts + 1) // (shifts + 1)
    else:
        starts = 1 + np.sort(rng.choice(rows - 1, shifts, replace=False))
    segments, chosen = np.zeros((shifts + 1, d)), np.arange(0)
    for u in segments:
        others = np.setdiff1d(np.arange(d), chosen) if 2 * count <= d else np.arange(d)
        chosen = rng.choice(others, count, replace=False)
        weights = rng.exponential(size=count) if convex else rng.normal(size=count)
        u[chosen] = (1 - share) * weights / np.linalg.norm(weights, 1 if convex else 2)
    segments += share / d
    path = segments[np.searchsorted(starts, np.arange(rows), side="right")]
    kind = choice(given, "inputs", ("uniform", "signs", "sphere"))
    X = rng.normal(size=(rows, d)) if kind == "sphere" else rng.uniform(size=(rows, d))
    if kind == "signs":
        X = np.where(X < 0.5, -1.0, 1.0)
    elif kind == "sphere":
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, np.sum(path * X, axis=1) + noise * rng.normal(size=rows), path


def friedman(
    rows: int = 40_768, noise: float = 1.0, digits: int | None = None, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return X and y of Friedman's function, as Jamil & Bouchachia (eq. 35) use it.

    X has ten columns, uniform on [0, 1]; y = 10 sin(π x₁x₂) + 20 (x₃ − ½)² + 10 x₄ + 5 x₅ + noise.

    Parameters
    ----------
    rows : int, default 40768
        Number of rows; the default is that of Jamil & Bouchachia.
    noise : float, default 1.0
        Standard deviation of the normal noise.
    digits : int, optional
        Decimals to which X and y are rounded; by default they are not rounded. The file that
        Jamil & Bouchachia used (OpenML 564) has 3 decimals; its labels were computed before X was
        rounded.
    seed : int, default 0
        Seed of the random numbers.

    Examples
    --------
    >>> X, y = friedman(rows=100)
    >>> X.shape, y.shape
    ((100, 10), (100,))
    """
    given = asked("friedman", rows=rows, noise=noise, digits=digits)
    whole(given, "rows", least=1)
    number(given, "noise", least=0)
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(rows, 10))
    curved = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    y = curved + 10 * X[:, 3] + 5 * X[:, 4] + noise * rng.normal(size=rows)
    if digits is None:
        return X, y
    whole(given, "digits", least=0, most=15)
    return X.round(digits), y.round(digits)
