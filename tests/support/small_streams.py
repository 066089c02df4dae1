"""Small streams, benign and hostile, and ways to scale them into a learner's domain."""

import numpy as np


def gaussian(rng):
    X = rng.normal(size=(60, 4))
    return X, X @ rng.normal(size=4) + 0.1 * rng.normal(size=60)


def rotating_truth(rng):
    X, angle = rng.normal(size=(120, 2)), np.radians(3 * np.arange(120))
    return X, np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1]


def switching_truth(rng):
    X = rng.normal(size=(90, 3))
    truth = np.repeat(rng.normal(size=(3, 3)), 30, axis=0)
    return X, np.sum(truth * X, axis=1) + 0.05 * rng.normal(size=90)


def collinear_columns(rng):
    X = rng.normal(size=(60, 2)) @ np.array([[1.0, 2.0, 0.0, 1.0], [0.0, 0.0, 1.0, -1.0]])
    return X, X[:, 0] - X[:, 3] + 0.1 * rng.normal(size=60)


def duplicated_rows(rng):
    X = np.repeat(rng.normal(size=(8, 3)), 8, axis=0)
    return X, rng.normal(size=64)


def zero_rows(rng):
    X, y = gaussian(rng)
    X[::3] = 0.0  # the first row too
    return X, y


def heavy_tails(rng):
    X = rng.standard_t(1.5, size=(60, 3))
    return X, rng.standard_t(1.5, size=60)


def mixed_scales(rng):
    X = rng.normal(size=(60, 4)) * np.array([1e-3, 1e-1, 1e1, 1e3])
    return X, X @ np.array([1e3, 1e1, 1e-1, 1e-3]) + 0.1 * rng.normal(size=60)


def fewer_rows_than_columns(rng):
    return rng.normal(size=(6, 10)), rng.normal(size=6)


def one_column(rng):
    X = rng.normal(size=(50, 1))
    return X, X[:, 0] ** 3


def one_hot_rows(rng):
    X = np.eye(4)[rng.integers(4, size=60)]
    return X, X @ np.array([1.0, -2.0, 0.0, 3.0])


def alternating_labels(rng):
    X = np.abs(rng.normal(size=(60, 3)))
    return X, np.where(np.arange(60) % 2, 5.0, -5.0)


STREAMS = {
    stream.__name__: stream
    for stream in (
        gaussian,
        rotating_truth,
        switching_truth,
        collinear_columns,
        duplicated_rows,
        zero_rows,
        heavy_tails,
        mixed_scales,
        fewer_rows_than_columns,
        one_column,
        one_hot_rows,
        alternating_labels,
    )
}


def of_two_classes(X, y):
    """Labels 0 and 1: whether y is positive; rows of different lengths, so that no margin is 0."""
    return X * np.linspace(1.0, 1.3, len(X))[:, None], (y > 0).astype(float)


def of_probabilities(X, y):
    """Labels from 0 to 1."""
    return X, np.clip(0.5 + y, 0.0, 1.0)


def as_given(X, y):
    return X, y


def within_unit_ball(X, y):
    """‖x‖ ≤ 1: what WEMM, GD and OGD need of their default parameters."""
    return X / np.linalg.norm(X, axis=1).max(), y


def within_unit_box(X, y):
    """|x_i| ≤ ½ and |y| ≤ 1: for EG and EG±, whose rows have a range of at most 1."""
    return 0.5 * X / np.abs(X).max(), y / np.abs(y).max()


def positive(X, y):
    """0 ≤ x_i, y ≤ 1, for EGU."""
    return np.abs(X) / np.abs(X).max(), np.abs(y) / np.abs(y).max()
