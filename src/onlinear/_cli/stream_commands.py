"""The commands that read a stream: ``run`` and ``compare``."""

from onlinear._cli.console import ending
from onlinear._cli.options import CompareOptions, RunOptions, taking

__all__ = ["compare", "run"]


@taking(RunOptions)
def run(options: RunOptions) -> None:
    """Predict every row of a stream, then learn its label.

    A row with an empty label is only predicted. Rows are numbered from 0. The memory needed does
    not grow with the length of the stream.

    With --state, the state of the run is saved at regular intervals, each time atomically. After a
    crash, the same command with --resume continues from the saved state; the predictions are byte
    for byte those of an uninterrupted run.

    The features are all columns but the target. Text and times are refused: leave them out (--drop)
    or encode text as 0/1 columns (--one-hot). A row with a missing value is bad; --on-bad says what
    to do with it.
    """
    with ending():
        from onlinear._cli.run_request import run_stream

        run_stream(options)


@taking(CompareOptions)
def compare(options: CompareOptions) -> None:
    """Compare several learners on one stream; print a table, and write a page with charts.

    Every learner predicts each row before it learns the label. Rows without a label are left out.
    """
    with ending():
        from onlinear._cli.compare import compare_learners

        compare_learners(options)
