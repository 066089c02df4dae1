"""Downsample a stream of any length to a few thousand points, incrementally.

Rows are grouped into buckets of equally many consecutive rows, or every k-th row is kept. The width
of a bucket (its number of rows) and k are powers of two that double when there would be too many
points. The kept points depend only on the rows, not on how the rows are split into calls:
downsampling the points kept so far together with new rows gives the same points as downsampling all
rows. The objects of this module are immutable, so a caller that keeps the old object can go back to
it.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from onlinear._state_files.model_codec import count

__all__ = ["MOST_BUCKETS", "Curves", "Extremes", "Last", "Regular", "ends_of_windows", "spaced"]

MOST_BUCKETS = 2000
OCTAVE = 32  # buckets per unit of mantissa; as ½ ≤ mantissa < 1, 16 each time the row doubles


def _width(rows: int) -> int:
    """Return the smallest bucket width, a power of two, that needs at most MOST_BUCKETS buckets."""
    return 1 << max(0, (-(-rows // MOST_BUCKETS) - 1).bit_length())


def _begins(buckets: np.ndarray) -> np.ndarray:
    """Return a mask of the entries that begin a new bucket, given sorted bucket numbers."""
    return np.concatenate([[True], buckets[1:] != buckets[:-1]])


def _lasts(buckets: np.ndarray) -> np.ndarray:
    return np.concatenate([buckets[1:] != buckets[:-1], [True]])


def _checked(rows: np.ndarray, first: int, last: int, most: int) -> None:
    """Refuse ``rows`` unless it has at most ``most`` rising row numbers in ``first`` … ``last``."""
    whole = rows.ndim == 1 and np.isfinite(rows).all() and np.all(rows % 1 == 0)
    if not (whole and np.all(np.diff(rows) > 0) and np.all((rows >= first) & (rows <= last))):
        raise ValueError(f"it keeps rows that are not from {first} to {last}, in order")
    if rows.size > most:
        raise ValueError(f"it keeps {rows.size} rows where there are at most {most}")


@dataclass(frozen=True, eq=False)
class Extremes:
    """The smallest and largest value in each bucket of rows, and the rows where they occur.

    If a stream has at most MOST_BUCKETS rows, every row is kept. The smallest and the largest value
    of the stream are always kept.
    """

    rows: np.ndarray
    values: np.ndarray

    @classmethod
    def none(cls) -> Self:
        """Return the state to start from, in which no values are kept yet."""
        return cls(np.zeros(0), np.zeros(0))

    def with_rows(self, first: int, rows: np.ndarray, values: np.ndarray) -> "Extremes":
        """Return the extremes after adding later rows; the stream begins with row ``first``."""
        known = np.isfinite(values)
        rows = np.concatenate([self.rows, rows[known]])
        values = np.concatenate([self.values, values[known]])
        if rows.size == 0:
            return self
        buckets = (rows - first) // _width(int(rows[-1]) - first + 1)
        begins = _begins(buckets)
        starts, group = np.flatnonzero(begins), np.cumsum(begins) - 1
        kept = np.zeros(rows.size, dtype=bool)
        for extreme in (np.minimum, np.maximum):
            where = np.flatnonzero(values == extreme.reduceat(values, starts)[group])
            kept[where[_begins(group[where])]] = True  # if several are equal, the first
        return Extremes(rows[kept], values[kept])

    def described(self) -> np.ndarray:
        """Return the extremes as one array, for a state file."""
        return np.array([self.rows, self.values])

    @classmethod
    def restored(cls, kept: np.ndarray, first: int, last: int) -> Self:
        """Return the extremes that an array describes; refuse an invalid array."""
        rows, values = kept
        _checked(rows, first, last, 2 * MOST_BUCKETS)
        if not np.isfinite(values).all():
            raise ValueError("it has an extreme that is not finite")
        return cls(rows, values)


@dataclass(frozen=True, eq=False)
class Curves:
    """Cumulative numbers, such as losses, kept for the last row of each bucket of rows.

    There are buckets of equal width and, for logarithmic axes, buckets of growing width: sixteen
    buckets each time the row number doubles.
    """

    rows: np.ndarray
    table: np.ndarray

    @classmethod
    def none(cls, columns: int) -> Self:
        """Return the state to start from, in which no rows are kept yet."""
        return cls(np.zeros(0), np.zeros((0, columns)))

    def with_rows(self, first: int, rows: np.ndarray, table: np.ndarray) -> "Curves":
        """Return the curves after adding later rows; the stream begins with row ``first``."""
        if rows.size == 0:
            return self
        width = _width(int(rows[-1]) - first + 1)
        new = _last_of_buckets(rows - first, width)
        rows = np.concatenate([self.rows, rows[new]])
        kept = _last_of_buckets(rows - first, width)
        return Curves(rows[kept], np.concatenate([self.table, table[new]])[kept])

    def described(self) -> np.ndarray:
        """Return the curves as one array, for a state file."""
        return np.column_stack([self.rows, self.table])

    @classmethod
    def restored(cls, kept: np.ndarray, first: int, last: int, columns: int) -> Self:
        """Return the curves that an array describes; refuse an invalid array."""
        if kept.ndim != 2 or kept.shape[1] != 1 + columns:
            raise ValueError(f"it needs {columns} curves, got an array of shape {kept.shape}")
        _checked(kept[:, 0], first, last, MOST_BUCKETS + 64 * OCTAVE)
        return cls(kept[:, 0].copy(), kept[:, 1:].copy())


def _last_of_buckets(rows: np.ndarray, width: int) -> np.ndarray:
    mantissa, exponent = np.frexp(rows + 1.0)
    wider = exponent * OCTAVE + np.floor(mantissa * OCTAVE)
    return np.asarray(_lasts(rows // width) | _lasts(wider))


@dataclass(frozen=True, eq=False)
class Regular:
    """Every k-th item of a sequence; k doubles when more than ``most`` items would be kept."""

    most: int
    seen: int
    places: np.ndarray  # positions of the kept items in the sequence, from 1
    rows: np.ndarray
    table: np.ndarray

    @classmethod
    def none(cls, most: int, columns: int) -> Self:
        """Return the state to start from, in which no items are kept yet."""
        return cls(most, 0, np.zeros(0), np.zeros(0), np.zeros((0, columns)))

    @property
    def stride(self) -> int:
        """The present number k; every k-th item of the sequence is kept."""
        return self.stride_after(self.seen)

    def stride_after(self, seen: int) -> int:
        """Return the smallest power of two k with at most ``most`` multiples up to ``seen``."""
        return 1 << (seen // (self.most + 1)).bit_length()

    def places_until(self, seen: int) -> range:
        """Return the positions of the next items to keep, up to position ``seen``."""
        stride = self.stride_after(seen)
        return range(self.seen // stride * stride + stride, seen + 1, stride)

    def with_places(self, seen: int, places: Any, rows: np.ndarray, table: np.ndarray) -> "Regular":
        """Return the items that are kept once the sequence has ``seen`` items.

        ``places``, ``rows`` and ``table`` have the positions, the row numbers and the values of the
        items to add.
        """
        if len(places) == 0 and self.stride_after(seen) == self.stride:
            return replace(self, seen=seen)
        all_places = np.concatenate([self.places, np.asarray(places, dtype=float)])
        kept = all_places % self.stride_after(seen) == 0
        return Regular(
            self.most,
            seen,
            all_places[kept],
            np.concatenate([self.rows, rows])[kept],
            np.concatenate([self.table, table])[kept],
        )

    def described(self) -> np.ndarray:
        """Return the kept items as one array, for a state file."""
        return np.column_stack([self.places, self.rows, self.table])

    @classmethod
    def restored(
        cls, kept: np.ndarray, first: int, last: int, most: int, columns: int, seen: Any
    ) -> Self:
        """Return the kept items that an array describes; refuse an invalid array."""
        if kept.ndim != 2 or kept.shape[1] != 2 + columns:
            raise ValueError(f"it needs records of {columns} numbers, got shape {kept.shape}")
        it = cls(most, count(seen), kept[:, 0].copy(), kept[:, 1].copy(), kept[:, 2:].copy())
        _checked(it.rows, first, last, most)
        _checked(it.places, 1, it.seen, most)
        if np.any(it.places % it.stride != 0):
            raise ValueError(f"it keeps places that are no multiples of {it.stride}")
        return it


@dataclass(frozen=True, eq=False)
class Last:
    """The last ``most`` rows of a stream."""

    most: int
    table: np.ndarray

    @classmethod
    def none(cls, most: int, columns: int) -> Self:
        """Return the state to start from, in which no rows are kept yet."""
        return cls(most, np.zeros((0, columns)))

    def with_rows(self, table: np.ndarray) -> "Last":
        """Return the last rows after adding more rows."""
        return Last(self.most, np.concatenate([self.table, table[-self.most :]])[-self.most :])

    @classmethod
    def restored(cls, kept: np.ndarray, first: int, last: int, most: int, columns: int) -> Self:
        """Return the last rows that an array describes; refuse an invalid array."""
        if kept.ndim != 2 or kept.shape[1] != columns:
            raise ValueError(f"it needs last rows of {columns} numbers, got shape {kept.shape}")
        _checked(kept[:, 0], first, last, most)
        return cls(most, kept)


def ends_of_windows(rows: np.ndarray, before: int, windows: int) -> np.ndarray:
    """Return the indices, in the sorted row numbers ``rows``, where windows of equal length end.

    The first window begins after the row ``before``, and the last window ends with the last row.

    >>> ends_of_windows(np.array([0, 1, 2, 3, 4, 5]), -1, 3)
    array([1, 3, 5])
    """
    return np.unique(np.searchsorted(rows, np.linspace(before, rows[-1], windows + 1)[1:]))


def spaced(size: int, most: int = 1000) -> np.ndarray:
    """Return the indices of the points of a long curve to draw, at most ``most`` of them.

    Half of the points are spaced evenly, half logarithmically; the last point is always drawn.

    >>> spaced(5)
    array([0, 1, 2, 3, 4])
    >>> chosen = spaced(1_000_000)
    >>> bool(chosen.size <= 1000 and chosen[-1] == 999_999)
    True
    """
    if size <= most:
        return np.arange(size)
    even = np.linspace(0, size - 1, most // 2)
    return np.unique(
        np.concatenate([even, np.geomspace(1, size, most // 2) - 1]).round().astype(int)
    )
