"""Hostile numbers: rows and labels near the limits of floating point, and parameters at theirs.

A *stream* is a model with parameters, a wrapper around it, and a few rows of one family, all drawn
from a seed. :func:`faults` runs it and says what went wrong: nothing, if every row was learnt or
refused in words, and the state is finite throughout and survives a file.
"""

import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import onlinear as ol

ROWS = 24
MOST = np.finfo(float).max
MODERATE = 1e3  # times the standard deviation
WRAPPERS = ("alone", "table", "Standardized", "Bank", "Keyed", "Late", "Certified", "Mapped")
WRAPPERS += ("River", "filter")
SIZES = [1e-149, 1e-100, 1e-60, 1e-20, 1e-8, 0.5, 1.0, 3.0, 1e8, 1e20, 1e60, 1e100, 1e150, 1e300]
COUNTS = {"C": (1, 3), "reset_every": (1, 9), "budget": (1, 9), "lags": (0, 3)}
FILTERS = (
    "AppleTasting",
    "LaserFilter",
    "PRidgeFilter",
    "Perceptron",
    "RidgeFilter",
    "SimpleFilter",
)
SLOW = 100.0  # times its usual time: no round takes that long,
BRIEF = 2e-5  # where a round usually takes this many seconds, or more


# --- rows ---------------------------------------------------------------------------------------


def _signs(rng, shape):
    return rng.choice([-1.0, 1.0], size=shape)


def subnormal(rng, shape):
    return 5e-324 * rng.integers(0, 1 << 20, size=shape) * _signs(rng, shape)


def root_of_the_range(rng, shape):
    return 10.0 ** (rng.choice([-154, 154], size=shape) + rng.uniform(-1, 0.3, size=shape))


def edge_of_the_range(rng, shape):
    return 10.0 ** (rng.choice([-300, 300], size=shape) + rng.uniform(-8, 8, size=shape))


def likelihoods(rng, shape):
    return np.exp(-rng.uniform(0, 800, size=shape)) * (rng.random(shape) > 0.1)


def waking(rng, shape):
    """Columns that are constant or tiny at first."""
    X = rng.normal(size=shape)
    first = shape[0] // 2
    X[:first] *= rng.choice([0.0, 1e-300, 1e-160, 1e-60, 1e-8])
    return X + rng.choice([0.0, 1e-60, 1.0])


def sentinels(rng, shape):
    X = rng.normal(size=shape)
    X[rng.random(shape) < 0.2] = rng.choice([1e308, -1.7e308, -999.0, 9999.0, 1e99, 1e38])
    return X


def alternating(rng, shape):
    scale = 10.0 ** rng.uniform(0, 155)
    X = rng.normal(size=shape) * scale
    X[::2] /= scale * scale
    return X


def any_size(rng, shape):
    return 10.0 ** rng.uniform(-320, 308, size=shape) * _signs(rng, shape)


def usual(rng, shape):
    return rng.normal(size=shape)


def below_one(rng, shape):
    """Rows in the domain of every learner."""
    return rng.uniform(size=shape) / shape[1]


INPUTS: dict[str, Callable[..., np.ndarray]] = {
    "subnormal": subnormal,
    "1e±154": root_of_the_range,
    "1e±300": edge_of_the_range,
    "likelihoods": likelihoods,
    "waking": waking,
    "sentinels": sentinels,
    "alternating": alternating,
    "any size": any_size,
    "hostile labels": usual,
    "small rows": below_one,
}


def labels(rng, X):
    """Labels of one of several kinds: ordinary, tiny, huge, of any size, or the largest float."""
    rows = len(X)
    kind = rng.integers(6)
    y = rng.normal(size=rows)
    if kind == 1:
        y *= 1e-160
    elif kind == 2:
        y = np.clip(y, -1.0, 1.0) * 10.0 ** rng.uniform(100, 308)
    elif kind == 3:
        y = any_size(rng, rows)
    elif kind == 4:
        y[rng.random(rows) < 0.2] = rng.choice([1.0, -1.0]) * MOST
    elif kind == 5:
        y = np.abs(y) / 10
    return np.clip(y, -MOST, MOST)


# --- models -------------------------------------------------------------------------------------


def learner(rng, name: str) -> Any:
    """Return a learner with parameters of any size that it admits."""
    model = getattr(ol, name)()
    for key, value in model.get_params(deep=False).items():
        if key in ("classes", "within") or rng.random() < 0.5:
            continue
        if key in COUNTS:
            new: Any = int(rng.integers(*COUNTS[key]))
        elif isinstance(value, bool):
            new = not value
        elif value is None or isinstance(value, float):
            new = float(rng.choice(SIZES))
        else:
            continue
        model.set_params(**{key: new})
        try:
            model._numbers()
        except (ValueError, OverflowError):
            model.set_params(**{key: value})
    return model


SECOND_ORDER = [name for name, kind in ol.LEARNERS.items() if kind.algorithm.follows is not None]


def model(rng, name: str, wrapper: str) -> Any:
    """Return a wrapped learner, or None if there is no such thing."""
    if wrapper == "filter":
        return getattr(ol, str(rng.choice(FILTERS)))()
    inside = learner(rng, name)
    if wrapper in ("alone", "table"):
        return inside
    if wrapper in ("Bank", "Keyed") and name.startswith("Kernel"):
        return None  # their state grows
    intercept = bool(rng.random() < 0.5)
    wrapped: dict[str, Callable[[], Any]] = {
        "Standardized": lambda: ol.Standardized(inside, intercept=intercept),
        "Bank": lambda: ol.Bank([inside, learner(rng, name)]),
        "Keyed": lambda: ol.Keyed(inside),
        "Late": lambda: ol.Late(inside),
        "Certified": lambda: ol.Certified(inside),
        "Mapped": lambda: ol.features.Mapped(ol.features.RandomFourier(width=4), inside),
        "River": lambda: _river(inside),
    }
    return wrapped[wrapper]()


def _river(inside: Any) -> Any:
    try:
        from onlinear.river import River
    except ImportError:
        return None
    return River(inside)


def learn(wrapper: str, model: Any, x: np.ndarray, y: float, i: int) -> None:
    """Give a wrapped learner one row."""
    if wrapper == "Keyed":
        model.learn_one(f"key {i % 2}", x, y)
    elif wrapper == "Late":
        model.predict_one(x, id=i)
        model.learn_one(id=i, y=y)
    elif wrapper == "River":
        model.learn_one(dict(enumerate(x.tolist())), y)
    elif wrapper == "filter":
        if model.decide(x):
            model.feedback(x, 1 if y > 0 else -1)
    else:
        model.learn_one(x, y)


def inside(model: Any) -> Iterator[Any]:
    """Yield the learners in a wrapper that have a record."""
    if isinstance(model, ol.Keyed):
        yield from (model[key] for key in model)
        return
    for name in ("learner", "model", "_model"):
        part = getattr(model, name, None)
        if getattr(part, "_record", None) is not None:
            yield part
    if getattr(model, "_record", None) is not None:
        yield model


# --- what may go wrong --------------------------------------------------------------------------


def unsound(model: Any, part: int, peaks: dict[tuple[int, int], np.ndarray]) -> str | None:
    """Say what is wrong with a learner's numbers: not finite, or Σ not positive definite.

    ``peaks`` has the largest variances that Σ of this part of a wrapper has had: rounding errors
    are a share of those.
    """
    if not np.isfinite(model._record).all():
        return "the state is not finite"
    S = getattr(model._state, "S", None)
    if S is None:
        return None
    for k, each in enumerate(S.reshape(-1, *S.shape[-2:])):
        diagonal = np.diag(each)
        if not np.all(diagonal > 0):
            return f"Σ has the diagonal {diagonal}"
        peaks[part, k] = np.maximum(diagonal, peaks.get((part, k), diagonal))
        root = np.sqrt(peaks[part, k])
        scaled = each / root[:, None] / root
        if not np.array_equal(each, each.T) or np.linalg.eigvalsh(scaled)[0] < -1e-13 * len(each):
            return f"Σ is not positive definite: {each.tolist()}"
    return None


def unlike_its_file(model: Any, folder: Path) -> str | None:
    """Say whether what a file gives back differs from what was saved."""
    if not hasattr(model, "save"):
        return None
    first, second = folder / "first.onl", folder / "second.onl"
    model.save(first)
    again = getattr(type(model), "load", ol.load)(first)
    records = [[part._record.tobytes() for part in inside(each)] for each in (model, again)]
    if not records[0]:
        again.save(second)
        records = [path.read_bytes() for path in (first, second)]
    return None if records[0] == records[1] else "the file gives back another model"


def case(seed: int) -> tuple[str, str, str, Any, np.ndarray, np.ndarray]:
    """Return the names of learner, wrapper and family, the model, the rows and the labels."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(sorted(ol.LEARNERS)))
    wrapper = str(rng.choice(WRAPPERS, p=[0.4, 0.1, 0.2, *[0.3 / 7] * 7]))
    if wrapper == "Standardized":
        name = str(rng.choice(SECOND_ORDER))
    family = str(rng.choice(list(INPUTS)))
    shape = ROWS, int(rng.integers(1, 5))
    X = np.clip(INPUTS[family](rng, shape), -MOST, MOST)
    if rng.random() < 0.3:
        X = np.abs(X)
    return name, wrapper, family, model(rng, name, wrapper), X, labels(rng, X)


def faults(seed: int, folder: Path) -> tuple[str, str, str, list[str], int]:
    """Run a stream; return its names, what went wrong, and how many rows were refused."""
    name, wrapper, family, model, X, y = case(seed)
    if model is None:
        return name, wrapper, family, [], 0
    if wrapper == "table":
        model.set_params(on_bad="skip")
        run = ol.replay(model, X, y, engine="bulk" if model.algorithm.step.in_bulk else "auto")
        finite = all(np.isfinite(part._record).all() for part in inside(model))
        wrong, refused = [] if finite else ["the state is not finite"], run.bad_rows.size
    else:
        wrong, refused, slow = row_by_row(wrapper, model, X, y)
        for _ in range(3 if slow else 0):  # it may have been compiled
            model = case(seed)[3]
            wrong, refused, slow = row_by_row(wrapper, model, X, y)
            if not slow:
                break
        wrong += [slow] if slow else []
    if not wrong and (said := unlike_its_file(model, folder)):
        wrong.append(said)
    return name, wrapper, family, wrong, refused


def row_by_row(
    wrapper: str, model: Any, X: np.ndarray, y: np.ndarray
) -> tuple[list[str], int, str]:
    """Learn every row; return what went wrong, how many were refused, and what was slow."""
    refused, times, peaks = 0, [], {}
    for i, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        began = time.process_time()
        try:
            learn(wrapper, model, x, label, i)
        except ValueError as error:
            refused += 1
            if "needs" not in str(error):
                return [f"row {i}: {error}"], refused, ""
        times.append(time.process_time() - began)
        for k, part in enumerate(inside(model)):
            if said := unsound(part, k, peaks):
                return [f"row {i}: {said}"], refused, ""
    slow = max(times) > SLOW * max(float(np.median(times)), BRIEF)
    return [], refused, f"a round took {max(times):.3f} s" if slow else ""


# --- Auto ---------------------------------------------------------------------------------------


def error_after(seed: int) -> tuple[str, float, float]:
    """Return a family, and Auto's mean squared error after a hostile row, and without that row.

    The row has its true label if it is of moderate size: nobody can tell that it is not genuine.
    Hostile labels are a hundred standard deviations of the noise or more.
    """
    rng = np.random.default_rng(seed)
    family = str(rng.choice(list(INPUTS)))
    rows, d = 300, int(rng.integers(1, 4))
    X = rng.normal(size=(rows, d))
    w = rng.normal(size=d)
    y = X @ w + 0.3 * rng.normal(size=rows)
    at = int(rng.integers(20, 150))
    x, label = X[at], float(y[at])
    if family == "hostile labels":
        label = float(_signs(rng, 1)[0] * 10.0 ** rng.uniform(1.5, rng.choice([5, 308])))
    else:
        x = np.clip(INPUTS[family](rng, (ROWS, d)), -MOST, MOST)[-1]
        label = float(x @ w) if np.abs(x).max() < MODERATE else label
    clean, hostile = ol.Auto(), ol.Auto(on_bad="skip")
    ol.replay(clean, X[:at], y[:at])
    ol.replay(hostile, X[:at], y[:at])
    hostile.learn_one(x, label)
    later = X[at + 1 :], y[at + 1 :]
    errors = [np.mean(ol.replay(m, *later).losses) for m in (hostile, clean)]
    return family, *(float(e) if math.isfinite(e) else math.nan for e in errors)
