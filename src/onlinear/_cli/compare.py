"""``onlinear compare``: run several learners on one stream, in constant memory."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from onlinear._cli.answers import answers_of
from onlinear._cli.columns import Columns, LabelledRows, choose, read
from onlinear._cli.contest_table import show
from onlinear._cli.errors import DataError, printable
from onlinear._cli.model_names import check_data, specs
from onlinear._cli.options import CompareOptions, OnBad, source_of
from onlinear._cli.output_paths import check_outputs
from onlinear._cli.progress import meter
from onlinear._cli.racing import Runner, every, exact, runner_of
from onlinear._cli.read_ahead import ahead
from onlinear._cli.run_figures import RunFigures
from onlinear._cli.signals import Stop
from onlinear._cli.source import Source, SourceBlock
from onlinear._cli.task import classifies
from onlinear._evaluation.report.comparison import (
    LOG_LOSS,
    MISTAKES,
    SQUARED_LOSS,
    Contest,
    Entry,
    Measure,
    comparison,
)
from onlinear._evaluation.report.downsampling import Curves
from onlinear._evaluation.report.recorder import COMPARED
from onlinear._evaluation.report.running_sums import best_fixed
from onlinear._learner.bounds.ledger import Ledger
from onlinear.hindsight import BestFixed
from onlinear.losses import Logistic

__all__ = ["compare_learners"]

DEFAULT = (
    "auto,laser:c=10,laser:c=1000,laser:c=1e5,laser:c=1000:lags=2,"
    "rls:forgetting=0.99,rls:forgetting=0.999,ridge,ridge:lags=2,nlms"
)
CLASSIFIERS = (
    "logisticlaser,logisticlaser:c=1e5,logisticlaser:c=1000,logisticlaser:c=1000:lags=1,"
    "arow,arow:margin=0"
)


def compare_learners(options: CompareOptions) -> None:
    """Replay a stream with several learners; print a table of losses and write an HTML page."""
    check_data(options.data, options.models, several=True)
    source, report = source_of(options), options.report
    given = specs(options.models)
    classify = classifies(options, given)
    given = given or specs([CLASSIFIERS if classify else DEFAULT])
    runners = [runner_of(spec, options.standardize) for spec in given]
    check_outputs([("the data", path) for path in source.paths], {"--report": report})
    columns = choose(
        source,
        options.target,
        options.drop,
        options.one_hot,
        classify=classify,
        classes=options.classes,
    )
    for runner in runners:
        runner.answers = answers_of(runner.model, columns.classes)
    race = Race(source, columns, runners, skip=options.on_bad is OnBad.skip)
    race.run()
    contests = race.contests()
    for contest in contests:
        show(contest)
    for runner in race.runners:
        if runner.out:
            print(printable(f"{runner.name} stopped: {runner.out}"))
    names = ", ".join(source.paths)
    comparison("Learners compared", f"On {names}.", contests).write(report)
    print(printable(f"report: {report}"))


class Race:
    """Runs several learners over the labelled rows of the given files or pipe (the source)."""

    def __init__(
        self, source: Source, columns: Columns, runners: list[Runner], *, skip: bool
    ) -> None:
        self.source, self.columns, self.skip = source, columns, skip
        self.runners = runners
        self.tally = RunFigures()
        self._measures = 2 if columns.classes.names else 1  # how many losses a runner has
        self._curves = Curves.none(self._measures * len(runners) + 1)
        few = len(columns.names) <= COMPARED and self._measures == 1
        self._accounts = Ledger(BestFixed().account) if few else None

    def run(self) -> None:
        """Run all learners over all rows of the source."""
        stop = Stop()
        with (
            stop.listening(),
            meter(self.source, f"{len(self.runners)} learners", loss=False) as progress,
        ):
            for block, rows in ahead(read(self.source, self.columns), stop.check):
                self._take(block, rows)
                progress(block.after, self.tally)
                stop.check()
            stop.check()
        if not self.tally.learnt:
            raise DataError(
                f"no row of {', '.join(self.source.paths)} could be learnt: each lacks its label "
                "or another value (--drop leaves out a column)"
            )

    def _take(self, block: SourceBlock, rows: LabelledRows) -> None:
        if rows.faults and not self.skip:
            rows.refuse_first(self.source, block)
        for row, fault in rows.faults.items():
            self.tally.skip(block.before.plus(row).number, fault.kind)
        good = ~np.isnan(rows.y)
        good[list(rows.faults)] = False
        X, y, first = np.ascontiguousarray(rows.X[good]), rows.y[good], self.tally.learnt
        if y.size:
            losses = [runner.replay(X, y, self.columns.names, first) for runner in self.runners]
            numbers = first + np.arange(y.size, dtype=float)
            fixed = self._fixed(X, y)
            self._curves = self._curves.with_rows(0, numbers, np.column_stack([*losses, fixed]))
            plain = exact(np.zeros(y.size), y)
            if self.columns.classes.names:  # the running mean predicts the shares of the classes
                plain = replace(plain, predictions=np.full(y.size, 0.5), loss=Logistic())
            self.tally.learn(plain)

    def _fixed(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the best fixed predictor's total loss; for classes, the number of second ones."""
        if self.columns.classes.names:
            before = self._curves.table[-1, -1] if self._curves.rows.size else 0.0
            return np.asarray(before + np.cumsum(y))
        self._accounts, fixed = best_fixed(self._accounts, X, y, every(y), intercept=True)
        return fixed

    def contests(self) -> list[Contest]:
        """Return, for the report, the losses of all learners and of the best in hindsight.

        For classes there are two contests, by mistakes and by log loss.
        """
        *losses, fixed = self._curves.table.T
        if not self.columns.classes.names:
            best = {"best fixed": fixed} if self._accounts is not None else {}
            return [self._contest("", SQUARED_LOSS, losses, best)]
        rows = self._curves.rows + 1
        usual = fixed if 2 * fixed[-1] <= rows[-1] else rows - fixed
        best = {"most frequent class": usual}
        contests = [self._contest(", by mistakes", MISTAKES, losses[::2], best)]
        if np.isfinite([loss[-1] for loss in losses[1::2]]).any():
            contests.append(self._contest(", by log loss", LOG_LOSS, losses[1::2], {}))
        return contests

    def _contest(
        self,
        title: str,
        measure: Measure,
        losses: Sequence[np.ndarray],
        best: dict[str, np.ndarray],
    ) -> Contest:
        words = f"{self.tally.learnt:,} rows, {len(self.columns.names)} inputs"
        if self.tally.skipped:
            words += f", {self.tally.skipped:,} bad rows left out"
        entries = [
            Entry(runner.name, loss)
            for runner, loss in zip(self.runners, losses, strict=True)
            if measure is not LOG_LOSS or np.isfinite(loss[-1])
        ]
        words += ". Learners get standardized inputs and an intercept, unless marked raw."
        if measure is SQUARED_LOSS and any(runner.sees_labels for runner in self.runners):
            words += (
                " Auto also uses the last labels and its last errors (auto:lags=0 does not); other "
                "learners use the last labels if marked with lags. The best fixed predictor has "
                "only the inputs."
            )
        return Contest(
            f"Predicting {self.columns.target}{title}",
            words,
            self._curves.rows + 1,
            entries,
            best,
            self.tally.sums.mean_lost,
            measure,
        )
