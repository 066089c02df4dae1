"""The loop of ``onlinear run``: predict and learn blocks of rows, write predictions and state."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from onlinear._cli.answers import Answers
from onlinear._cli.columns import Columns, LabelledRows, read
from onlinear._cli.errors import DataError
from onlinear._cli.model_names import named, words_of
from onlinear._cli.moved_weights import WeightSamples
from onlinear._cli.predictions_file import Output
from onlinear._cli.read_ahead import ahead
from onlinear._cli.recording import Telling, replayed
from onlinear._cli.row_faults import Fault
from onlinear._cli.run_figures import RunFigures
from onlinear._cli.signals import Stop
from onlinear._cli.snapshot import Snapshot
from onlinear._cli.source import Place, Source, SourceBlock
from onlinear._learner.base import Learner
from onlinear._learner.class_replay import ClassReplay
from onlinear._learner.replay_result import Replay

__all__ = ["StreamRun"]


@dataclass
class StreamRun:
    """A run of a model over the rows of a source (files, or standard input).

    ``whole`` is true while the model, the written predictions, the counts and the place in the
    source agree on how many rows are done: only then may the run be saved.
    """

    source: Source
    columns: Columns
    model: Learner
    telling: Telling
    output: Output
    snapshot: Snapshot
    tally: RunFigures
    place: Place
    samples: WeightSamples
    answers: Answers
    whole: bool = True

    @property
    def skips(self) -> bool:
        """Whether bad rows are skipped; otherwise they end the run."""
        return self.model.on_bad == "skip"

    def go(self, progress: Callable[[Place, RunFigures], None]) -> None:
        """Run through all rows; if a bad row or a signal ends the run, save the state first."""
        stop, blocks = Stop(), read(self.source, self.columns, self.place)
        # rows from a pipe cannot be read again, so those already read are learnt before the end
        last = stop.heard if self.source.piped else lambda: False
        with stop.listening():
            self.save()  # a state file that cannot be written fails now rather than after hours
            with self._saved_at_the_end():
                for block, rows in ahead(blocks, lambda: self._idle(stop), last):
                    self._take(block, rows)
                    progress(self.place, self.tally)
                    if not self.source.piped:
                        stop.check()
                stop.check()  # the signal may also have ended the process that feeds the pipe

    def _idle(self, stop: Stop) -> None:
        stop.check()
        if self.snapshot.due(self.tally.rows):
            self.save()

    @contextlib.contextmanager
    def _saved_at_the_end(self) -> Iterator[None]:
        """Save the run after the ``with`` block, or after an error if ``whole`` is true.

        If a program that reads the predictions from a pipe closes this pipe, the run is saved only
        if its rows come from standard input, since these cannot be read again.
        """
        try:
            yield
        except BrokenPipeError:
            if self.source.piped:  # rows from standard input cannot be read again
                self.save()
            raise
        except Exception:
            if self.whole:
                self.save()
            raise
        self.save()

    def save(self) -> None:
        """Write a snapshot of the run, if it has a state file."""
        self.snapshot.write(
            self.model,
            self.columns,
            self.source,
            self.place,
            self.tally,
            self.output,
            self.telling,
            self.samples,
        )

    # --- the rows of a block ------------------------------------------------------------------

    def _take(self, block: SourceBlock, rows: LabelledRows) -> None:
        """Predict and learn a block's rows, up to the first bad row if bad rows end the run."""
        end = len(rows.y)
        if rows.faults and not self.skips:
            end = min(rows.faults)
        bad = np.zeros(len(rows.y), dtype=bool)
        bad[list(rows.faults)] = True
        rows.X[bad] = np.nan  # so that the learner skips them too
        learns = bad | ~np.isnan(rows.y)
        turns = (np.flatnonzero(np.diff(learns[:end])) + 1).tolist()
        for start, stop in zip([0, *turns], [*turns, end], strict=True):
            while start < stop:
                middle = min(stop, start + self.snapshot.ahead(self.tally.rows))
                self._piece(block, rows, slice(start, middle), bool(learns[start]))
                start = middle
                if self.snapshot.due(self.tally.rows):
                    self.save()
        if end < len(rows.y):
            rows.refuse_first(self.source, block)
        self.place = block.after

    def _piece(self, block: SourceBlock, rows: LabelledRows, piece: slice, learns: bool) -> None:
        """Predict the rows of ``piece``, learn them if ``learns``, and write the predictions.

        If the learner refuses a row, the rows before it are processed, then its error is raised.
        """
        first = block.before.plus(piece.start)
        size = piece.stop - piece.start
        try:
            run = self._predicted(rows, piece, first.number, learns)
        except ValueError as error:
            if size == 1:
                classify = bool(self.columns.classes.names)
                raise DataError(words_of(error, self.model, classify=classify)) from None
            middle = piece.start + size // 2
            self._piece(block, rows, slice(piece.start, middle), learns)
            self._piece(block, rows, slice(middle, piece.stop), learns)
            return
        self.whole = False
        self.output.write(first.number, run.predictions, rows.y[piece])
        if learns:
            self.tally.learn(run)
            for row in run.bad_rows.tolist():
                fault = rows.faults.get(piece.start + row, self._strange)
                self.tally.skip(first.number + row, fault.kind)
        else:
            self.tally.unlabelled += size
        self.place = block.before.plus(piece.stop)
        self.whole = True

    @property
    def _strange(self) -> Fault:
        """The reason for skipping a complete row that this learner does not accept."""
        return Fault(f"values {named(self.model)} does not take")

    def _predicted(
        self, rows: LabelledRows, piece: slice, first: int, learns: bool
    ) -> Replay | ClassReplay:
        """Predict rows, and learn them if they have labels."""
        X, y = rows.X[piece], self.answers.labels(rows.y[piece])
        if learns:
            run = self.telling.replay(X, y, first)
            return replace(run, predictions=self.answers.finished(run.predictions))
        names = self.columns.names
        predictions, _ = self.model._run_table(X, names, y, learn=False, first=first)
        predictions = self.answers.finished(predictions)
        return replayed(self.model, predictions, y, np.zeros(0, dtype=np.intp))
