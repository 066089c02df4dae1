"""``onlinear compare``: run several learners on one stream, in constant memory."""

import numpy as np

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
from onlinear._evaluation.report.comparison import Contest, Entry, comparison
from onlinear._evaluation.report.downsampling import Curves
from onlinear._evaluation.report.recorder import COMPARED
from onlinear._evaluation.report.running_sums import best_fixed
from onlinear._learner.bounds.ledger import Ledger
from onlinear.hindsight import BestFixed

__all__ = ["compare_learners"]

DEFAULT = (
    "auto,laser:c=10,laser:c=1000,laser:c=1e5,laser:c=1000:lags=2,"
    "rls:forgetting=0.99,rls:forgetting=0.999,ridge,ridge:lags=2,nlms"
)


def compare_learners(options: CompareOptions) -> None:
    """Replay a stream with several learners; print a table of losses and write an HTML page."""
    check_data(options.data, options.models, several=True)
    source, report = source_of(options), options.report
    runners = [runner_of(spec, options.standardize) for spec in specs(options.models or [DEFAULT])]
    check_outputs([("the data", path) for path in source.paths], {"--report": report})
    columns = choose(source, options.target, options.drop, options.one_hot)
    race = Race(source, columns, runners, skip=options.on_bad is OnBad.skip)
    race.run()
    contest = race.contest()
    show(contest)
    for runner in race.runners:
        if runner.out:
            print(printable(f"{runner.name} stopped: {runner.out}"))
    names = ", ".join(source.paths)
    comparison("Learners compared", f"On {names}.", [contest]).write(report)
    print(printable(f"report: {report}"))


class Race:
    """Runs several learners over the labelled rows of the given files or pipe (the source)."""

    def __init__(
        self, source: Source, columns: Columns, runners: list[Runner], *, skip: bool
    ) -> None:
        self.source, self.columns, self.skip = source, columns, skip
        self.runners = runners
        self.tally = RunFigures()
        self._curves = Curves.none(len(runners) + 1)
        few = len(columns.names) <= COMPARED
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
            self._accounts, fixed = best_fixed(self._accounts, X, y, every(y), intercept=True)
            numbers = first + np.arange(y.size, dtype=float)
            self._curves = self._curves.with_rows(0, numbers, np.column_stack([*losses, fixed]))
            self.tally.learn(exact(np.zeros(y.size), y))

    def contest(self) -> Contest:
        """Return, for the report, the losses of all learners and of the best fixed predictor."""
        *losses, fixed = self._curves.table.T
        words = f"{self.tally.learnt:,} rows, {len(self.columns.names)} inputs"
        if self.tally.skipped:
            words += f", {self.tally.skipped:,} bad rows left out"
        entries = [
            Entry(runner.name, loss) for runner, loss in zip(self.runners, losses, strict=True)
        ]
        words += ". Learners get standardized inputs and an intercept, unless marked raw."
        if any(runner.sees_labels for runner in self.runners):
            words += (
                " Auto also uses the last labels and its last errors (auto:lags=0 does not); other "
                "learners use the last labels if marked with lags. The best fixed predictor has "
                "only the inputs."
            )
        return Contest(
            f"Predicting {self.columns.target}",
            words,
            self._curves.rows + 1,
            entries,
            {"best fixed": fixed} if self._accounts is not None else {},
            self.tally.sums.mean_lost,
        )
