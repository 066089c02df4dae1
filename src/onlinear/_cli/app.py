"""The command line."""

import contextlib
import io
import os
import sys
import time
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onlinear import LEARNERS, __version__

if TYPE_CHECKING:
    from onlinear._cli.source import Source

__all__ = ["app", "entry"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


class OnBad(StrEnum):
    """What becomes of bad rows."""

    stop = "stop"
    skip = "skip"


class Format(StrEnum):
    """How rows are written."""

    csv = "csv"
    jsonl = "jsonl"
    parquet = "parquet"
    arrow = "arrow"


Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="CSV, Parquet, Arrow or JSON lines: a file, several (one stream), or - for standard "
        "input.",
        show_default=False,
    ),
]
Target = Annotated[
    str, typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict.")
]
Drop = Annotated[
    list[str], typer.Option(metavar="COLUMN", help="A column to leave out; may be said again.")
]
OneHot = Annotated[
    list[str],
    typer.Option(
        metavar="COLUMN",
        help="A column of text to make 0/1 columns of, one for each category (found in a first "
        "pass, or given: COLUMN=a,b,c); may be said again.",
    ),
]
Bad = Annotated[
    OnBad,
    typer.Option(
        help="A row with a missing or malformed value ends the run, or is left out and counted."
    ),
]
AnyFormat = Annotated[Format | None, typer.Option(help="Instead of what the file's name says.")]
Delimiter = Annotated[
    str | None, typer.Option(metavar="CHARACTER", help="What is between values of a CSV.")
]
Decimal = Annotated[
    str, typer.Option(metavar="CHARACTER", help="What is before the decimals in a CSV.")
]
Names = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="The names a,b,c of the columns, if a CSV has no header."),
]


def _source(
    data: list[str],
    format: Format | None,
    delimiter: str | None,
    decimal: str,
    names: str | None,
) -> "Source":
    from onlinear._cli.source import Source

    return Source(
        tuple(data),
        None if format is None else format.value,
        delimiter,
        decimal,
        None if names is None else tuple(names.split(",")),
    )


@contextlib.contextmanager
def _ending() -> Iterator[None]:
    """Let errors be one line, and exit codes be right."""
    from onlinear._cli.errors import CommandError

    try:
        yield
    except BrokenPipeError:  # who read our output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(141) from None
    except KeyboardInterrupt:
        _say("stopped at once")
        raise typer.Exit(130) from None
    except CommandError as error:
        _say(str(error))
        raise typer.Exit(error.code) from None
    except OSError as error:
        _say(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        raise typer.Exit(1) from None
    except ValueError as error:
        _say(str(error))
        raise typer.Exit(1) from None


@contextlib.contextmanager
def _busy(words: str) -> Iterator[None]:
    """Show on a terminal that something is going on."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(words):
        yield


def _say(text: str) -> None:
    from onlinear._cli.errors import printable

    typer.echo("onlinear: " + printable(" ".join(text.split())), err=True)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"onlinear {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    """Learn linear predictors from streams whose truth drifts: predict, see the label, learn.

    A first look: `onlinear demo`. Your own data: `onlinear run data.csv --target y --report
    report.html`. Tab completes commands after `onlinear --install-completion`.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode still gets an answer


@app.command()
def demo(
    rows: Annotated[int, typer.Option(min=100, help="Rows of the generated stream.")] = 20_000,
    degrees: Annotated[float, typer.Option(help="How far its truth turns each row.")] = 0.5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the generated stream.")] = 0,
    report: Annotated[Path, typer.Option(metavar="FILE", help="Where the HTML page goes.")] = Path(
        "onlinear-demo.html"
    ),
) -> None:
    """Replay two drifting streams with several learners, beside the best predictors in hindsight.

    One stream is generated; the other is a recording of a brain that comes with matplotlib. Needs
    no network. The first time learners are compiled.
    """
    began = time.perf_counter()
    with _ending(), _busy("compiling (the first time) and replaying"):
        from onlinear._cli import demo as _demo

        _demo.run(rows, degrees, seed, report)
    typer.echo(f"report: {report}  ({time.perf_counter() - began:.1f} s)")


@app.command()
def run(
    data: Data,
    target: Target,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            metavar="NAME",
            help=f"{', '.join(name.lower() for name in LEARNERS)}; auto if not said. Or a state "
            "file, to go on with its model.",
        ),
    ] = None,
    param: Annotated[
        list[str],
        typer.Option(
            "--param",
            "-p",
            metavar="NAME=VALUE",
            help="A parameter of the learner, c=100; may be said again.",
        ),
    ] = [],  # noqa: B006
    standardize: Annotated[
        bool,
        typer.Option("--standardize", help="Give the learner standardised inputs, an intercept."),
    ] = False,
    drop: Drop = [],  # noqa: B006
    one_hot: OneHot = [],  # noqa: B006
    on_bad: Bad = OnBad.stop,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where predictions go, as CSV (row, prediction, label); - is standard output, "
            "the default when rows come from standard input.",
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where an HTML report goes.")
    ] = None,
    state: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the state is saved, again and again.")
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on from the state, if there is one: predictions too."),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Begin anew although there is a state.")
    ] = False,
    snapshot_rows: Annotated[
        int, typer.Option(min=1, metavar="N", help="Save the state every so many rows.")
    ] = 10_000_000,
    snapshot_seconds: Annotated[
        float, typer.Option(min=0, metavar="S", help="Save the state every so many seconds.")
    ] = 30.0,
    format: AnyFormat = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    names: Names = None,
) -> None:
    """Predict every row of a stream, then learn its label.

    Rows are predicted before their labels are learnt. A row with an empty label is predicted only.
    Rows are numbered from 0. Memory does not grow with the stream.

    With --state, the state is saved in one step, with the predictions it goes with; after a crash
    the same command with --resume goes on from there, and the predictions are byte for byte those
    of a run that was never interrupted.

    Inputs are all columns but the target. Text and times are refused, unless they are left out
    (--drop) or, for text, made 0/1 columns (--one-hot). A missing value is a bad row (--on-bad).
    """
    with _ending():
        from onlinear._cli.run_request import Asked, run_asked

        run_asked(
            Asked(
                source=_source(data, format, delimiter, decimal, names),
                target=target,
                model=model,
                params=tuple(param),
                standardize=standardize,
                drop=tuple(drop),
                one_hot=tuple(one_hot),
                skip=on_bad is OnBad.skip,
                out=out,
                report=report,
                state=None if state is None else str(state),
                resume=resume,
                force=force,
                rows=snapshot_rows,
                seconds=snapshot_seconds,
            )
        )


@app.command()
def compare(
    data: Data,
    target: Target,
    models: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Learners, auto,laser:c=10:shrink=false,…; a well-chosen eight if not said.",
        ),
    ] = None,
    raw: Annotated[
        bool,
        typer.Option("--raw", help="Inputs as they are: not standardised, and no intercept."),
    ] = False,
    drop: Drop = [],  # noqa: B006
    one_hot: OneHot = [],  # noqa: B006
    on_bad: Bad = OnBad.stop,
    report: Annotated[Path, typer.Option(metavar="FILE", help="Where the HTML page goes.")] = Path(
        "onlinear-compare.html"
    ),
    format: AnyFormat = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    names: Names = None,
) -> None:
    """Put several learners side by side on one stream: a table, and a page with pictures.

    Every learner predicts each row before its label is learnt. Rows without a label are left out.
    """
    with _ending():
        from onlinear._cli.compare import DEFAULT, models_of
        from onlinear._cli.compare import compare as compared

        compared(
            _source(data, format, delimiter, decimal, names),
            target,
            drop,
            one_hot,
            models_of(models or DEFAULT, raw=raw),
            report,
            skip=on_bad is OnBad.skip,
        )


@app.command()
def inspect(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A state file.", show_default=False)],
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Say what is in a state file; nothing in it is executed."""
    with _ending():
        from onlinear._cli.inspect import show

        show(str(file), as_json=json)


@app.command()
def paper(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Figures or tables, such as laser-fig-7-1; without one there is a list.",
            show_default=False,
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every figure and table.")] = False,
    repeats: Annotated[
        int, typer.Option(min=2, help="How many random streams are averaged over.")
    ] = 100,
    seed: Annotated[int, typer.Option(min=0, help="The first of their seeds.")] = 0,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Where the pages go.")
    ] = Path("onlinear-papers"),
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where real data sets are, if you have them."),
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Fetch no data set from its public source.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="A look in a minute: less data, so figures differ.")
    ] = False,
) -> None:
    """Run the figures and tables of the five papers again, and say what holds.

    Writes for each a page with the paper's claims, what was run, the numbers, the pictures (SVG and
    PDF beside it) and the verdict, and an index of all. Real data sets are taken from --data, the
    cache, or their public source; what cannot be had is named, and left out of --all.
    """
    with _ending():
        from onlinear._cli.paper import chosen, listed
        from onlinear._cli.paper import run as run_papers
        from onlinear.papers import Study

        if not names and not everything:
            typer.echo(listed())
            return
        study = Study(repeats, seed, quick, data, not offline)
        run_papers(chosen(names or (), everything=everything), study, out)


def entry() -> None:
    """Run the command and end at once: nobody waits for a thread that reads ahead."""
    code: object = 0
    _open_closed_streams()
    try:
        app(prog_name="onlinear")
    except SystemExit as end:
        code = end.code
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


def _open_closed_streams() -> None:
    """Let nothing be there where a stream is closed, lest a file takes its place."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))
