"""Streams of any length kept as a few points: the same however they are cut, and no peak lost."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onlinear._evaluation.report.downsampling import (
    MOST_BUCKETS,
    Curves,
    Extremes,
    Last,
    Regular,
    spaced,
)

settings_of_a_few = settings(max_examples=25)


def cuts(rows: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Return a stream of so many rows as pieces."""
    where = np.unique(np.concatenate([[0, rows], rng.integers(0, rows + 1, 7)]))
    return list(itertools.pairwise(where.tolist()))


def gaps(rows: int, rng: np.random.Generator) -> np.ndarray:
    """Return the numbers of rows, some of which are missing."""
    return 17.0 + np.cumsum(rng.integers(1, 4, rows))


@settings_of_a_few
@given(st.integers(1, 30_000), st.integers(0, 2**32))
def test_extremes_are_the_same_however_the_stream_is_cut(rows, seed):
    rng = np.random.default_rng(seed)
    at, values = gaps(rows, rng), rng.normal(size=rows).round(1)  # with ties
    values[rng.uniform(size=rows) < 0.05] = np.nan
    whole = Extremes.none().with_rows(18, at, values)
    parts = Extremes.none()
    for a, b in cuts(rows, rng):
        parts = parts.with_rows(18, at[a:b], values[a:b])
    np.testing.assert_array_equal(parts.rows, whole.rows)
    np.testing.assert_array_equal(parts.values, whole.values)
    assert whole.rows.size <= 2 * MOST_BUCKETS


@settings_of_a_few
@given(st.integers(2, 30_000), st.integers(0, 2**32))
def test_the_extremes_of_every_stretch_are_kept(rows, seed):
    rng = np.random.default_rng(seed)
    values = rng.standard_t(2.0, size=rows)
    kept = Extremes.none().with_rows(0, np.arange(rows, dtype=float), values)
    np.testing.assert_array_equal(values[kept.rows.astype(int)], kept.values)
    width = 1
    while rows > width * MOST_BUCKETS:
        width *= 2
    for start in (0, rows // 2 // width * width):
        stretch = slice(start, start + width)
        assert {values[stretch].min(), values[stretch].max()} <= set(kept.values)
    assert {values.min(), values.max()} <= set(kept.values)


def test_a_short_stream_is_kept_whole():
    values = np.random.default_rng(0).normal(size=MOST_BUCKETS)
    kept = Extremes.none().with_rows(0, np.arange(MOST_BUCKETS, dtype=float), values)
    np.testing.assert_array_equal(kept.values, values)


@settings_of_a_few
@given(st.integers(1, 20_000), st.integers(0, 2**32))
def test_curves_are_the_same_however_the_stream_is_cut_and_end_with_the_last_row(rows, seed):
    rng = np.random.default_rng(seed)
    at = gaps(rows, rng)
    table = np.cumsum(rng.uniform(size=(rows, 2)), axis=0)
    whole = Curves.none(2).with_rows(18, at, table)
    parts = Curves.none(2)
    for a, b in cuts(rows, rng):
        parts = parts.with_rows(18, at[a:b], table[a:b])
    np.testing.assert_array_equal(parts.described(), whole.described())
    assert whole.rows[-1] == at[-1]
    assert whole.rows.size <= MOST_BUCKETS + 16 * 17
    where = np.searchsorted(at, whole.rows)
    np.testing.assert_array_equal(whole.table, table[where])


def test_curves_have_points_for_a_logarithmic_axis():
    rows = 200_000
    kept = Curves.none(1).with_rows(0, np.arange(rows, dtype=float), np.ones((rows, 1)))
    seen = kept.rows + 1
    np.testing.assert_array_equal(seen[:20], np.arange(1, 21))
    ratios = seen[1:] / seen[:-1]
    assert ratios[seen[:-1] >= 32].max() < 1.07


@settings_of_a_few
@given(st.integers(1, 5000), st.integers(1, 60), st.integers(0, 2**32))
def test_every_kth_is_the_same_however_the_sequence_is_cut(rows, most, seed):
    rng = np.random.default_rng(seed)
    values, parts = rng.normal(size=(rows, 1)), Regular.none(most, 1)
    for _, b in cuts(rows, rng):
        places = parts.places_until(b)
        at = np.array(places, dtype=int) - 1
        parts = parts.with_places(b, places, at.astype(float), values[at])
    k = parts.stride
    assert rows // k <= most < 2 * most + 1
    assert k == 1 or rows // (k // 2) > most
    np.testing.assert_array_equal(parts.places, np.arange(k, rows + 1, k))
    np.testing.assert_array_equal(parts.table, values[k - 1 :: k])


def test_the_last_rows_are_as_they_were():
    table, kept = np.arange(40.0).reshape(20, 2), Last.none(5, 2)
    for a, b in ((0, 3), (3, 4), (4, 20)):
        kept = kept.with_rows(table[a:b])
    np.testing.assert_array_equal(kept.table, table[-5:])


@pytest.mark.parametrize("size", [1, 2, 999, 1000, 1001, 123_456])
def test_spaced_entries_have_the_first_and_the_last(size):
    chosen = spaced(size)
    assert chosen[0] == 0
    assert chosen[-1] == size - 1
    assert chosen.size <= 1000
    assert np.all(np.diff(chosen) > 0)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([3.0, 2.0], "in order"),
        ([0.5, 1.0], "not from 0 to 9"),
        ([1.0, 12.0], "not from 0 to 9"),
        ([np.nan, 1.0], "not from 0 to 9"),
    ],
)
def test_rows_that_cannot_be_are_refused(rows, words):
    with pytest.raises(ValueError, match=words):
        Extremes.restored(np.array([rows, [1.0, 2.0]]), 0, 9)


def test_places_off_the_stride_are_refused():
    kept = Regular.none(2, 1).with_places(8, [4, 8], np.array([3.0, 7.0]), np.ones((2, 1)))
    table = kept.described()
    assert Regular.restored(table, 0, 9, 2, 1, 8).stride == 4
    table[0, 0] = 5.0
    with pytest.raises(ValueError, match="no multiples of 4"):
        Regular.restored(table, 0, 9, 2, 1, 8)
