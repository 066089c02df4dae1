"""``onlinear compare``: several learners on one stream, in constant memory."""

from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from onlinear._cli.columns import Columns, LabelledRows, choose, read
from onlinear._cli.contest_table import show
from onlinear._cli.errors import DataError, UsageError, printable
from onlinear._cli.model_names import learner
from onlinear._cli.options import CompareOptions, OnBad, source_of
from onlinear._cli.output_paths import check_outputs
from onlinear._cli.progress import meter
from onlinear._cli.read_ahead import ahead
from onlinear._cli.run_figures import RunFigures
from onlinear._cli.signals import Stop
from onlinear._cli.source import Source, SourceBlock
from onlinear._evaluation.report.comparison import Contest, Entry, comparison
from onlinear._evaluation.report.downsampling import Curves
from onlinear._evaluation.report.recorder import COMPARED
from onlinear._evaluation.report.running_sums import Sums, best_fixed
from onlinear._learner.base import Learner
from onlinear._learner.bounds.ledger import Ledger
from onlinear._learner.replay_result import Replay
from onlinear.algorithms import Auto
from onlinear.hindsight import BestFixed
from onlinear.scaling import Standardized

__all__ = ["compare_learners", "models_of"]

DEFAULT = (
    "auto,laser:c=10:shrink=false,laser:c=1000:shrink=false,laser:c=1e5:shrink=false,"
    "rls:forgetting=0.99,rls:forgetting=0.999,ridge,nlms"
)


def models_of(text: str, *, raw: bool) -> list[Learner]:
    """Return the learners of a list such as ``auto,laser:c=10``.

    Those that can get standardized inputs and an intercept, unless ``raw``.
    """
    made = []
    for spec in text.split(","):
        name, *params = spec.strip().split(":")
        model = learner(name, params)
        if not raw and not isinstance(model, Auto):
            with suppress(UsageError):  # of learners that cannot be standardized
                model = learner(name, params, standardized=True)
        made.append(model)
    return made


def compare_learners(options: CompareOptions) -> None:
    """Replay a stream with several learners; print a table and write a page."""
    source, report = source_of(options), options.report
    models = models_of(options.models or DEFAULT, raw=options.raw)
    check_outputs([("the data", path) for path in source.paths], {"--report": report})
    columns = choose(source, options.target, options.drop, options.one_hot)
    race = Race(source, columns, models, skip=options.on_bad is OnBad.skip)
    race.run()
    contest = race.contest()
    show(contest)
    for runner in race.runners:
        if runner.out:
            print(printable(f"{runner.name} stopped: {runner.out}"))
    names = ", ".join(source.paths)
    comparison("Learners compared", f"On {names}.", [contest]).write(report)
    print(printable(f"report: {report}"))


@dataclass
class Runner:
    """A learner in the comparison, its loss so far, and the error that stopped it, if any."""

    model: Learner
    sums: Sums = field(default_factory=Sums)
    out: str = ""

    @property
    def name(self) -> str:
        """The name in tables: learners are standardized unless the name says "raw"."""
        if isinstance(self.model, Standardized):
            return repr(self.model.learner)
        return repr(self.model) if isinstance(self.model, Auto) else f"{self.model!r}, raw"

    def replay(self, X: np.ndarray, y: np.ndarray, names: list[str], first: int) -> np.ndarray:
        """Predict and learn rows; return the loss so far after each, NaN once it has stopped."""
        if not self.out:
            try:
                predictions, _ = self.model._run_table(X, names, y, learn=True, first=first)
            except ValueError as error:
                self.out = str(error).removesuffix("; the model is unchanged")
            else:
                self.sums, loss, _ = self.sums.with_rows(_all(predictions, y), _every(y))
                return loss
        return np.full(y.size, np.nan)


def _every(y: np.ndarray) -> np.ndarray:
    return np.ones(y.size, dtype=bool)


def _all(predictions: np.ndarray, y: np.ndarray) -> Replay:
    return Replay(predictions, y, np.zeros(0, dtype=np.intp))


class Race:
    """Runs several learners over the labelled rows of a source."""

    def __init__(
        self, source: Source, columns: Columns, models: list[Learner], *, skip: bool
    ) -> None:
        self.source, self.columns, self.skip = source, columns, skip
        self.runners = [Runner(model) for model in models]
        self.tally = RunFigures()
        self._curves = Curves.none(len(models) + 1)
        few = len(columns.names) <= COMPARED
        self._accounts = Ledger(BestFixed().account) if few else None

    def run(self) -> None:
        """Run over all rows."""
        stop = Stop()
        with stop.listening(), meter(self.source, loss=False) as progress:
            for block, rows in ahead(read(self.source, self.columns), stop.check):
                self._take(block, rows)
                progress(block.after, self.tally)
                stop.check()
            stop.check()
        if not self.tally.learnt:
            raise DataError(f"no row of {', '.join(self.source.paths)} has a label")

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
            self._accounts, fixed = best_fixed(self._accounts, X, y, _every(y), intercept=True)
            numbers = first + np.arange(y.size, dtype=float)
            self._curves = self._curves.with_rows(0, numbers, np.column_stack([*losses, fixed]))
            self.tally.learn(_all(np.zeros(y.size), y))

    def contest(self) -> Contest:
        """Return the results."""
        *losses, fixed = self._curves.table.T
        words = f"{self.tally.learnt:,} rows, {len(self.columns.names)} inputs"
        if self.tally.skipped:
            words += f", {self.tally.skipped:,} bad rows left out"
        entries = [
            Entry(runner.name, loss) for runner, loss in zip(self.runners, losses, strict=True)
        ]
        words += ". Learners get standardized inputs and an intercept, unless marked raw."
        return Contest(
            f"Predicting {self.columns.target}",
            words,
            self._curves.rows + 1,
            entries,
            {"best fixed": fixed} if self._accounts is not None else {},
            self.tally.sums.mean_lost,
        )
