"""Generated streams; what a paper leaves open is a parameter, with the likely as its default."""

from typing import Literal

import numpy as np

from onlinear._validation.checks import asked, choice, number, whole

__all__ = ["friedman", "paired", "rotating", "shifting"]


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
    rate: float = 1.0,
    unit: Literal["degrees", "radians"] = "degrees",
    decay: float = 0.0,
    switch_every: int | None = None,
    pairs: int = 5,
    normal: Literal["variance", "deviation"] = "variance",
    noise: float = 0.05,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return X and y of the streams of Moroshko (2013, ch. 7), and of Vaits & Crammer (2011).

    20 columns: 0–9 are five pairs of normals with deviations 10 and 1, turned by 45°; the others
    are N(0, 2). The truth has length 1, lies in one pair and turns in it; y = uᵀx + N(0, noise).

    Parameters
    ----------
    rows : int, default 2000
        How many rows, T of the papers.
    rate : float, default 1.0
        How far the truth turns in the first round. The papers do not say; the default, 1° a round,
        reproduces most of what they report, and at 1 radian a round nothing can follow.
    unit : {"degrees", "radians"}, default "degrees"
        Of the rate. The papers' "rate of t⁻¹" has none.
    decay : float, default 0.0
        The truth turns by rate·t^−decay in round t: 0 is the thesis' linear drift (its data sets 1
        and 3), 1 that of its sets 2 and 4; .01 and .5 are Vaits & Crammer's.
    switch_every : int, optional
        Rounds after which the truth moves on to the next pair (50 in both papers), or never.
    pairs : int, default 5
        How many pairs of columns it goes round in: the papers say "1, 2, then 3, 4, and so on".
        With 5 it stays in the turned pairs; up to 10 it also visits the columns of N(0, 2).
    normal : {"variance", "deviation"}, default "variance"
        What the second number of N(0, 2) is, and ``noise``.
    noise : float, default 0.05
        Of the labels: .05 in the thesis' sets 3 and 4 (0 in 1 and 2), 2 in Vaits & Crammer.
    seed : int, default 0
        Of the random numbers.

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
    """Return X, y and u, one row a round, of a truth that stays for a while and then shifts.

    y = u_tᵀx + noise. It is the setting of Herbster & Warmuth (2001), who have no experiment: how
    the truth shifts, and everything else, is a parameter.

    Parameters
    ----------
    rows, d : int, default 2000 and 20
        How many rounds and columns.
    shifts : int, default 9
        How often the truth shifts.
    spacing : {"even", "random"}, default "even"
        When it does: after equal times, or in rounds drawn at random.
    truth : {"simplex", "sphere"}, default "simplex"
        Weights that are not negative and sum to one, or of length 1; drawn uniformly from these.
    active : int, optional
        How many weights of the truth are not zero, all if not given. After a shift they are others,
        as long as there are twice as many columns.
    floor : float, default 0.0
        Of a truth in the simplex: 1 − floor times that, and floor/d more in each weight, 0 ≤ floor
        ≤ 1. No weight is below floor/d, as the paper's constraint set [α/n, 1]ⁿ has it.
    inputs : {"uniform", "signs", "sphere"}, default "uniform"
        Each column of X uniform on [0, 1]; −1 or 1; or rows of length 1 in any direction.
    noise : float, default 0.1
        The deviation of the normal noise.
    seed : int, default 0
        Of the random numbers.

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

    Ten columns, uniform on [0, 1]; y = 10 sin(π x₁x₂) + 20 (x₃ − ½)² + 10 x₄ + 5 x₅ + noise.

    Parameters
    ----------
    rows : int, default 40768
        How many rows; as many as the paper has.
    noise : float, default 1.0
        The deviation of the normal noise.
    digits : int, optional
        Decimals that X and y are rounded to: 3 in the file the paper used (OpenML 564), whose
        labels were made before the rounding. As they come if not given.
    seed : int, default 0
        Of the random numbers.

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
