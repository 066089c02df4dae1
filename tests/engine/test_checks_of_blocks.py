"""Tables whose state is checked once per block of rows: the results are those of single rounds."""

import contextlib

import numpy as np
import pytest
from table import CASES, IDS, make, number, of_classes, same_bits, state, stream

import onlinear as ol
from onlinear._engine.loops import BLOCK, WORTH_A_COPY

ROWS = 2 * BLOCK + 50


def large_rows(X, y, at):
    """Rows and labels far from the size 1, and back."""
    X[at] *= 1e60
    y[at] *= 1e60


def growing_weights(X, y, at):
    """Rows and labels of usual size whose weights are not."""
    X[at] = 0.0
    X[at, 0] = 1e-30
    y[at] = 1e45
    X[at + 1, 0] = 1e20


def bad_rows(X, y, at):
    X[at[::2], 1] = np.nan
    y[at[1::2]] = np.inf


def largest_labels(X, y, at):
    y[at] = 1.7e308


def tiny_rows(X, y, at):
    X[at] *= 1e-200


FAMILIES = (large_rows, growing_weights, bad_rows, largest_labels, tiny_rows)


def row_by_row(model, X, y):
    """Return the predictions of single rounds; the model counts the rows that it refuses."""
    predictions = np.full(len(X), np.nan)
    for i, x in enumerate(X):
        with contextlib.suppress(ValueError):
            predictions[i] = number(model, x)
        with contextlib.suppress(ValueError):
            model.learn_one(x, y[i])
    return predictions


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_a_table_with_extreme_rows_gives_the_bits_of_single_rounds(case, family):
    case, X, y = of_classes(case, *stream(ROWS))
    rng = np.random.default_rng(1)
    at = np.sort(rng.choice(ROWS - 2, size=5, replace=False))
    at[:2] = BLOCK - 1, BLOCK + WORTH_A_COPY  # the last row of a block; within the next one
    family(X, y, at)
    single, together, parts = (make(case, on_bad="skip") for _ in range(3))
    expected = row_by_row(single, X, y)
    run = ol.replay(together, X, y, engine="rank-one")
    assert same_bits(run.predictions, expected)
    assert state(together) == state(single)
    for first in range(0, ROWS, 100):
        some = slice(first, first + 100)
        own = ol.replay(parts, X[some], y[some], engine="rank-one")
        assert same_bits(own.predictions, expected[some])
    assert state(parts) == state(single)


@pytest.mark.parametrize("d", [1, 2])
def test_a_column_that_is_forgotten_fast_does_not_overflow_before_a_reset(d):
    """Without the guard, Σ would grow beyond 1e300 in 14 rounds; it is reset after 15."""
    model = ol.CRRLS(forgetting=10.0 ** (-304 / 14) / 4, reset_every=15, on_bad="skip")
    X, y = np.zeros((32, d)), np.zeros(32)
    X[:, 1:] = 1.0
    single, together = ol.CRRLS(**model.get_params()), ol.CRRLS(**model.get_params())
    row_by_row(single, X, y)
    ol.replay(together, X, y, engine="rank-one")
    assert single.n_skipped_ == 0
    assert state(together) == state(single)


def test_a_weight_that_overflows_between_two_checks_is_refused_in_tables_too():
    """A prediction cut to Y does not show it, and the next row shrinks the weight again."""
    settings = {"eta": 3.475e-41, "Y": 1e40, "X": 1000.0, "on_bad": "skip"}
    X, y = np.full((9, 1), 1000.0), np.array([1e40, 1e40, 0.0] * 3)
    one, table = ol.EGU(**settings), ol.EGU(**settings)
    for x, label in zip(X, y, strict=True):
        one.learn_one(x, label)
    ol.replay(table, X, y)
    assert one.n_skipped_ == table.n_skipped_ > 0
    assert one._record.tobytes() == table._record.tobytes()
