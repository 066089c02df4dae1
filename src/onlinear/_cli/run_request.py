"""``onlinear run``: prepare a run from the options, start it, and print its summary."""

import sys
from pathlib import Path

from onlinear._cli.answers import ClassAnswers, answers_of
from onlinear._cli.class_figures import ClassFigures, figures_for
from onlinear._cli.classifiers import classes_known, take_classes
from onlinear._cli.columns import Columns, choose, encoded, split
from onlinear._cli.errors import CommandError, DataError, UsageError, printable
from onlinear._cli.model_names import check_data, is_state_file, model, named, readings
from onlinear._cli.moved_weights import WeightSamples, moved
from onlinear._cli.options import OnBad, RunOptions, source_of
from onlinear._cli.output_paths import check_outputs, is_same_file, or_standard_output
from onlinear._cli.predictions_file import Nothing, Output, Predictions
from onlinear._cli.progress import meter
from onlinear._cli.recording import Plain, Telling
from onlinear._cli.run import StreamRun
from onlinear._cli.snapshot import SavedRun, Snapshot, read
from onlinear._cli.source import START, Source
from onlinear._cli.task import classifies, named_model
from onlinear._evaluation.report.resumable_recorder import Story
from onlinear._learner.base import Learner
from onlinear._learner.class_measures import has_probabilities
from onlinear.algorithms import Auto
from onlinear.losses import SQUARED

__all__ = ["run_stream"]

MOST_SHOWN = 5  # kinds of bad rows that the summary lists


def run_stream(options: RunOptions) -> None:
    """Run a model through a stream, and print a summary."""
    run = prepared(options)
    try:
        with meter(run.source, named(run.model)) as progress:
            run.go(progress)
    except CommandError as error:
        error.add(saved_so_far(run))
        raise
    if isinstance(run.telling, Story) and options.report is not None:
        run.telling.write(options.report, run.tally.found())
    where = sys.stderr if _out(options, run.source) == "-" else sys.stdout
    print(printable(summary(options, run)), file=where)


def prepared(options: RunOptions) -> StreamRun:
    """Return the run that the options describe; check everything before anything is written."""
    check_data(options.data, [options.model or ""], several=False)
    source = source_of(options)
    out = _out(options, source)
    check_outputs(
        _inputs(options), {"--out": out, "--state": options.state, "--report": options.report}
    )
    kept = _kept(options)
    if kept is None:
        name = named_model(options)
        learner = model(name, options.param, options.standardize)
        columns = choose(
            source,
            options.target,
            options.drop,
            options.one_hot,
            classify=classifies(options, [learner]),
            classes=options.classes or list(map(str, classes_known(learner))),
        )
        take_classes(learner, columns.classes)
        _check_names(learner, columns)
        place, tally = START, figures_for(learner, answers_of(learner, columns.classes))
    else:
        _agree(options, kept)
        kept.columns.check(source)
        columns, tally, learner = kept.columns, kept.tally, kept.model
        place = kept.check(source)
    answers = answers_of(learner, columns.classes)
    if isinstance(tally, ClassFigures) and isinstance(answers, ClassAnswers):
        tally.answers = answers
    learner.on_bad = "skip" if options.on_bad is OnBad.skip else "raise"
    snapshot = Snapshot(_state(options), options.snapshot_rows, options.snapshot_seconds)
    snapshot.begin(tally.rows)
    samples = WeightSamples(len(columns.names)) if kept is None else kept.samples
    telling = _telling(options, kept, learner, columns, samples)
    output: Output = Nothing()
    if out is not None:
        output = Predictions(out, answers, 0 if kept is None else kept.bytes)
    return StreamRun(
        *(source, columns, learner, telling, output, snapshot, tally, place, samples, answers)
    )


def _state(options: RunOptions) -> str | None:
    return None if options.state is None else str(options.state)


def _out(options: RunOptions, source: Source) -> str | None:
    """Return the path to write predictions to: "-" for standard output, None for no predictions."""
    return "-" if options.out is None and source.piped else or_standard_output(options.out)


def _inputs(options: RunOptions) -> list[tuple[str, str]]:
    """Return the files that must not be overwritten, as pairs: what the run reads, and its path."""
    inputs = [("the data", path) for path in options.data]
    model, state = options.model, options.state
    if model is None or not is_state_file(model):
        return inputs
    if state is not None and is_same_file(model, state):
        return inputs  # the state of this run will replace the model file
    return [*inputs, ("the model", model)]


def _kept(options: RunOptions) -> SavedRun | None:
    """Return the saved run to resume; None if there is none, or if --force starts over."""
    if options.state is None:
        if options.resume:
            raise UsageError("--resume needs --state, the file to continue from")
        return None
    if not options.state.exists():
        return None
    if options.resume:
        return read(str(options.state))
    if not options.force:
        raise UsageError(
            f"{options.state} already exists: --resume continues it, --force starts over"
        )
    return None


def _agree(options: RunOptions, kept: SavedRun) -> None:
    """Refuse to resume a run if the options differ from those with which the run began."""
    columns, out = kept.columns, or_standard_output(options.out)
    one_hot = encoded(options.one_hot, columns.categories)
    names = list(columns.classes.names)
    task = "classify" if names else "regress"
    classes = names if options.classes is None else columns.classes.read(options.classes)
    pairs: list[tuple[str, str | list[str] | None, str | list[str] | None]] = [
        ("--target", options.target, columns.target),
        ("--task", options.task or task, task),
        ("--classes", classes, names),
        ("--drop", sorted(split(options.drop, columns.dropped)), sorted(columns.dropped)),
        ("--one-hot", sorted(one_hot), sorted(columns.categories)),
        ("--out", out, kept.out if kept.out != "-" else out),
    ]
    if options.model is not None or options.param or options.standardize is not None:
        given = readings(named_model(options), options.param, options.standardize)
        for reading in given:
            reading.on_bad = kept.model.on_bad
            take_classes(reading, columns.classes)
        began = repr(kept.model)
        known = began in map(repr, given)
        pairs.append(("--model", began if known else repr(given[0]), began))
    for option, now, then in pairs:
        if now != then:
            raise UsageError(
                f"{option} is {_shown(now)}, but was {_shown(then)} when the run began"
            )


def _shown(value: str | list[str] | None) -> str:
    if isinstance(value, list):
        value = ", ".join(value)
    return value or "nothing"


def _check_names(learner: Learner, columns: Columns) -> None:
    """Refuse a model trained on other columns; otherwise name a trained model's columns."""
    if learner._state is None:
        return
    known = learner._names
    if known is not None and known != columns.names:
        raise DataError(
            f"the model has learnt from the columns {', '.join(known)}, not from "
            f"{', '.join(columns.names)}"
        )
    if learner.n_features_in_ != len(columns.names):
        raise DataError(
            f"the model has learnt from {learner.n_features_in_} columns, not from "
            f"{len(columns.names)}"
        )
    learner._name_columns(columns.names)


def _telling(
    options: RunOptions,
    kept: SavedRun | None,
    learner: Learner,
    columns: Columns,
    samples: WeightSamples,
) -> Telling:
    if options.report is None:
        return Plain(learner, columns.names, samples)
    if learner._outputs() > 1:
        raise UsageError(
            "--report needs a target of numbers or of two classes (onlinear compare makes a page "
            "for more)"
        )
    if kept is None:
        if learner._state is not None:
            raise UsageError("--report needs a run from its first row, not a trained model")
        classes = columns.classes.names
        target = f"{columns.target} = {classes[1]}" if classes else columns.target
        return Story(learner, columns.names, target)
    if kept.story is None:
        raise UsageError("--report needs a run from its first row: --force starts over")
    return Story.restored(learner, *kept.story)


def saved_so_far(run: StreamRun) -> str:
    """Return the message that says how many rows of a run that ended early are saved, and where."""
    path = run.snapshot.path
    if path is None:
        where = f" (their predictions are in {run.output.path})" if run.output.path else ""
        return f"ended after {run.tally.rows:,} rows{where}; without --state it cannot be resumed"
    if not Path(path).exists():
        return f"nothing is saved in {path}"
    return f"{run.snapshot.saved:,} rows are saved in {path}: --resume continues from there"


def _effect_on(run: StreamRun) -> str:
    """Return what weights have an effect on: the target or, for classes, log-odds or a margin."""
    target, names = run.columns.target, run.columns.classes.names
    if not names:
        return target
    activation = "log-odds" if has_probabilities(run.model._loss) else "margin"
    return f"the {activation} of {target} = {names[1]}"


def summary(options: RunOptions, run: StreamRun) -> str:
    """Return the text that is printed after a run: rows, errors, problems, and files written."""
    tally = run.tally
    inputs = len(run.columns.names)
    lines = [
        f"{run.model!r}: {tally.rows:,} rows, {inputs} inputs, target {run.columns.target}",
        f"learnt {tally.learnt:,}, predicted only {tally.unlabelled:,}, skipped {tally.skipped:,}",
    ]
    if tally.learnt:
        lines += tally.words(run.columns.target)
        numbers = run.model._loss == SQUARED
        if numbers and tally.after_beginning[1] > 1 and not isinstance(run.model, Auto):
            without = "without --raw, or " if options.standardize is False else ""
            lines.append(f"this is worse than the running mean: try {without}--model auto")
    skipped = [problem for problem in tally.found() if problem[2]]
    for words, count, rows in skipped[:MOST_SHOWN]:
        more = ", …" if count > len(rows) else ""
        lines.append(f"{words}: {count:,} (row {', '.join(map(str, rows))}{more})")
    if others := [count for _, count, _ in skipped[MOST_SHOWN:]]:
        reasons = "1 other reason" if len(others) == 1 else f"{len(others)} other reasons"
        lines.append(f"skipped for {reasons} (listed by --report): {sum(others):,}")
    if isinstance(run.model, Auto) and tally.learnt:
        lines += run.model.explain().splitlines()[1:2]
    kept = run.telling.records if isinstance(run.telling, Story) else run.samples.kept
    lines += moved(kept, run.model, run.columns.names, _effect_on(run))
    written = {
        "predictions": None if run.output.path == "-" else run.output.path,
        "report": options.report,
        "state": options.state,
    }
    lines += [f"{what}: {path}" for what, path in written.items() if path is not None]
    return "\n".join(lines)
