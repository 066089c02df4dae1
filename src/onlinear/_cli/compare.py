"""``onlinear compare``: run several learners on one stream, in constant memory."""

from collections.abc import Iterable

import numpy as np

from onlinear._cli.answers import Answers, ClassAnswers, NumberAnswers, answers_of
from onlinear._cli.class_figures import class_figures
from onlinear._cli.classifiers import take_classes
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
from onlinear._learner.class_replay import ClassReplay
from onlinear._learner.replay_result import Replay
from onlinear.hindsight import BestFixed

__all__ = ["compare_learners"]

DEFAULT = (
    "auto,laser:c=10,laser:c=1000,laser:c=1e5,laser:c=1000:lags=2,"
    "rls:forgetting=0.99,rls:forgetting=0.999,ridge,ridge:lags=2,nlms"
)
CLASSIFIERS = (
    "logisticlaser,logisticlaser:c=inf,logisticlaser:c=1e4,logisticlaser:c=100,"
    "logisticlaser:lags=1,arow,arow:margin=0"
)


def compare_learners(options: CompareOptions) -> None:
    """Replay a stream with several learners; print a table of losses and write an HTML page."""
    check_data(options.data, options.models, several=True)
    source, report = source_of(options), options.report
    runners = [runner_of(spec, options.standardize) for spec in specs(options.models)]
    classify = classifies(options, [runner.model for runner in runners])
    if not runners:
        default = specs([CLASSIFIERS if classify else DEFAULT])
        runners = [runner_of(spec, options.standardize) for spec in default]
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
        take_classes(runner.model, columns.classes)
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
        names = columns.classes.names
        self.plain: Answers = NumberAnswers()  # those of a predictor that knows nothing
        self.tally = RunFigures()
        if names:
            self.plain = ClassAnswers(names, True)
            self.tally = class_figures(self.plain)
        # a runner has two losses of classes, one of numbers; after the runners' curves come the
        # counts of the classes, or the best fixed predictor's loss
        self._width = (2 if names else 1) * len(runners)
        self._curves = Curves.none(self._width + (len(names) or 1))
        few = len(columns.names) <= COMPARED and not names
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
            self.tally.learn(self._of_nothing(y))

    def _of_nothing(self, y: np.ndarray) -> Replay | ClassReplay:
        """Return the replay of a predictor that knows nothing."""
        predictions = self.plain.unknown(y.size)
        if not isinstance(self.plain, ClassAnswers):
            return exact(predictions, y)
        classes, none = np.array(self.plain.names), np.zeros(0, dtype=np.intp)
        return ClassReplay(predictions, y, none, classes, self.plain.probable)

    def _fixed(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the best fixed predictor's total loss, or the number of rows of each class."""
        if names := self.columns.classes.names:
            before = self._curves.table[-1, self._width :] if self._curves.rows.size else 0.0
            return np.asarray(before + np.cumsum(y[:, None] == np.arange(len(names)), axis=0))
        self._accounts, fixed = best_fixed(self._accounts, X, y, every(y), intercept=True)
        return fixed

    def contests(self) -> list[Contest]:
        """Return, for the report, the losses of all learners and of the best in hindsight.

        For classes there are two contests, by mistakes and by log loss.
        """
        losses, fixed = np.split(self._curves.table.T, [self._width])
        if not self.columns.classes.names:
            best = {"best fixed": fixed[0]} if self._accounts is not None else {}
            return [self._contest("", SQUARED_LOSS, losses, best)]
        most = int(fixed[:, -1].argmax())
        best = {"most frequent class": self._curves.rows + 1 - fixed[most]}
        contests = [self._contest(", by mistakes", MISTAKES, losses[::2], best)]
        if np.isfinite(losses[1::2, -1]).any():
            contests.append(self._contest(", by log loss", LOG_LOSS, losses[1::2], {}))
        return contests

    def _contest(
        self,
        title: str,
        measure: Measure,
        losses: Iterable[np.ndarray],
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
