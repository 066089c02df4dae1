"""``Story``: records a learner's run on a stream, to save and resume it, and to write a report."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from onlinear._evaluation.certified import Certified
from onlinear._evaluation.html.page import Page
from onlinear._evaluation.report.data_problems import Skipped
from onlinear._evaluation.report.downsampling import Curves, Extremes, Last, Regular
from onlinear._evaluation.report.recorder import (
    BINS,
    CEILING,
    CURVES,
    MOST_RECORDS,
    PREDICTIONS,
    RECENT,
    Recorder,
    has_intercept,
)
from onlinear._evaluation.report.running_sums import Sums
from onlinear._learner.base import Learner
from onlinear._state_files import model_codec

__all__ = ["Found", "Story"]

VERSION = 3
# version of the record: how many curves it has
COLUMNS = {1: CEILING + 1, 2: PREDICTIONS + 1, 3: len(CURVES)}
Found = tuple[str, int, Sequence[int]]  # a problem, how many rows have it, the first such rows


class Story(Recorder):
    """The record of a learner's predictions, losses and weights on a stream, for a report.

    Call :meth:`replay` with the rows as they arrive, then write the report with :meth:`write`.

    Parameters
    ----------
    model : Learner
        A learner that has not learnt any row yet; from now on it must learn through this object.
    names : list of str
        The names of the columns.
    target : str
        The name of the label.

    Examples
    --------
    >>> import onlinear as ol
    >>> X, y = ol.streams.rotating(rows=1000, d=2)
    >>> story = Story(ol.Ridge(), ["left", "right"], "y")
    >>> for start in range(0, 1000, 100):  # in pieces, as the rows arrive
    ...     run = story.replay(X[start : start + 100], y[start : start + 100], start)
    >>> story.write("report.html")
    """

    def page(self, problems: Sequence[Found] | None = None) -> Page:
        """Return the report as a page; ``problems``, if given, say why rows were skipped."""
        from onlinear._evaluation.report.report import page

        return page(self, problems)

    def write(
        self,
        path: str | os.PathLike[str],
        problems: Sequence[Found] | None = None,
    ) -> None:
        """Write the report to a file, atomically."""
        self.page(problems).write(path)

    def described(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the record, without the learner, as a JSON header and arrays for a state file."""
        header = {
            "story": VERSION,
            "names": self.names,
            "target": self.target,
            "first": self.first,
            "last": self.last,
            "seen": self.seen,
            "compared": self._fixed is not None,
            "skipped": self.skipped.described(),
        }
        arrays = {
            "truth": self.truth.described(),
            "predicted": self.predicted.described(),
            "recent": self.recent.table,
            "curves": self.curves.described(),
            "records": self.records.described(),
            "sample": self.sample.described(),
            "range": self.range,
            "sums": np.array(self.sums),
            "bins": self.bins,
        }
        if self._fixed is not None:
            arrays["fixed"] = self._fixed.record
        if self.certified is not None:
            arrays |= self.certified._described()
        return header, arrays

    @classmethod
    def restored(
        cls, model: Learner, header: dict[str, Any], arrays: dict[str, np.ndarray]
    ) -> "Story":
        """Return the record that was saved with a learner; refuse invalid data."""
        try:
            return cls._restored(model, header, arrays)
        except (KeyError, TypeError, AttributeError, OverflowError, IndexError) as error:
            raise ValueError(f"it does not describe the record of a run: {error!r}") from None

    @classmethod
    def _restored(
        cls, model: Learner, header: dict[str, Any], arrays: dict[str, np.ndarray]
    ) -> "Story":
        names, target = header["names"], header["target"]
        if type(names) is not list or not all(type(n) is str for n in [*names, target]):
            raise ValueError(f"it names its columns {names!r:.60} and its label {target!r:.60}")
        if (version := header["story"]) not in COLUMNS:
            raise ValueError(
                f"it has version {version!r:.20}, this onlinear reads versions 1 to {VERSION}"
            )
        fresh = type(model)(**model.get_params(deep=False))
        self = cls(fresh, names, target)
        self.model = model
        first, last, seen = header["first"], header["last"], model_codec.count(header["seen"])
        if type(first) is not int or type(last) is not int or not seen <= last - first + 1 < 2**53:
            raise ValueError(f"it says it saw {seen} rows, {first!r} to {last!r}")
        self.first, self.last, self.seen = first, last, seen
        self.truth = Extremes.restored(arrays["truth"], first, last)
        self.predicted = Extremes.restored(arrays["predicted"], first, last)
        self.recent = Last.restored(arrays["recent"], first, last, RECENT, 3)
        curves = Curves.restored(arrays["curves"], first, last, COLUMNS[version])
        missing = np.full((curves.rows.size, len(CURVES) - COLUMNS[version]), np.nan)
        self.curves = Curves(curves.rows, np.column_stack([curves.table, missing]))
        size = self._record_size()
        at = seen if size else 0
        self.records = Regular.restored(arrays["records"], first, last, MOST_RECORDS, size, at)
        self.sample = Regular.restored(
            arrays["sample"], first, last, self._sampled(), len(names) + 1, seen
        )
        self.range, self.sums = arrays["range"], Sums(*arrays["sums"].tolist())
        self.bins = arrays.get("bins", self.bins)  # releases before 0.15 did not record them
        self.skipped = Skipped.restored(header["skipped"])
        self._check_sums()
        if not (header["compared"] is True or "fixed" not in arrays):
            raise ValueError("it has totals of the best fixed predictor, but says that it has none")
        self._take_accounts(arrays)
        return self

    def _check_sums(self) -> None:
        """Refuse sums that no stream can lead to, or that belong to another learner."""
        model, d, learnt = self.model, len(self.names), self.sums.learnt
        self.sums.check(self.seen)
        if self.range.shape != (2, d + 1) or np.isnan(self.range).any():
            raise ValueError(f"it has no range for {d} columns")
        if not (self.bins.shape == (BINS, 3) and (self.bins >= 0).all()):
            raise ValueError("its bins of predicted probabilities are not possible")
        if not np.isfinite(self.sample.table).all():
            raise ValueError("its sample has numbers that are not finite")
        rounds = 0 if model._state is None else model.rounds_
        if rounds != learnt or (rounds and model.n_features_in_ != d):
            raise ValueError(
                f"it records {learnt:g} rows of {d} columns, but the learner has learnt {rounds}"
            )

    def _take_accounts(self, arrays: dict[str, np.ndarray]) -> None:
        if self.certified is not None:
            self.certified = Certified._restored(self.model, arrays)
        if "fixed" not in arrays:
            self._fixed = None
        elif self._fixed is not None and arrays["fixed"].size:
            if not (np.isfinite(arrays["fixed"]).all() and arrays["fixed"][0] >= 0):
                raise ValueError("its totals of the best fixed predictor are not possible")
            self._fixed.begin(len(self.names) + has_intercept(self.model))
            self._fixed.record = arrays["fixed"]
            self._fixed.check(intact=True)
