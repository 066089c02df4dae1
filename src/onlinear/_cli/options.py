"""The options of the commands that read a stream, each declared once.

A command's options are the fields of a dataclass, in the order in which the help lists them.
:func:`taking` turns a function whose argument is such a dataclass into a command. This module
imports nothing that is slow to load.
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from onlinear import LEARNERS
from onlinear._cli.formats import Format

if TYPE_CHECKING:
    from onlinear._cli.source import Source

__all__ = ["CompareOptions", "OnBad", "RunOptions", "Task", "source_of", "taking"]

Options = TypeVar("Options")


class OnBad(StrEnum):
    """What to do with a bad row."""

    stop = "stop"
    skip = "skip"


class Task(StrEnum):
    """What to predict: numbers or classes."""

    regress = "regress"
    classify = "classify"


Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="CSV, Parquet, Arrow or JSON lines: one file, several (read as one stream), or - for "
        "standard input.",
        show_default=False,
    ),
]
Target = Annotated[
    str, typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict.")
]
Tasked = Annotated[
    Task | None,
    typer.Option(
        "--task",
        help="Predict a number, or classes (text, true and false, or numbers). Default: classify "
        "if the learner is a classifier, or with --classes.",
        show_default=False,
    ),
]
ClassList = Annotated[
    str | None,
    typer.Option(
        "--classes",
        metavar="LIST",
        help="The classes of the target, such as ham,spam; default: those that a first pass over "
        "the files finds, sorted.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "--models",
        "-m",
        metavar="NAME",
        help=f"A learner: {', '.join(name.lower() for name in LEARNERS)}; default: auto. The "
        "predictions of laser are not shrunk towards 0 unless you say laser:shrink=true. Or a "
        "state file, to continue with its model.",
    ),
]
Param = Annotated[
    list[str],
    typer.Option(
        "--param",
        "-p",
        metavar="NAME=VALUE",
        help="A parameter of the learner, such as c=100; repeatable.",
    ),
]
Standardize = Annotated[
    bool | None,
    typer.Option(
        "--standardize/--raw",
        help="Standardize the features and add an intercept, or use the features as they are. "
        "Default: standardize for learners that keep a covariance matrix.",
        metavar="",
        show_default=False,
    ),
]
Models = Annotated[
    list[str],
    typer.Option(
        "--models",
        "--model",
        "-m",
        metavar="LIST",
        help="Learners, such as auto,laser:c=10,ridge:lags=2 (with the last two labels as columns);"
        " default: a selection of ten, or of seven with --task classify.",
        show_default=False,
    ),
]
Drop = Annotated[
    list[str],
    typer.Option(metavar="COLUMN", help="A column to leave out, or several: a,b; repeatable."),
]
OneHot = Annotated[
    list[str],
    typer.Option(
        metavar="COLUMN",
        help="A text column to encode as 0/1 columns, one per category (found in a first pass, or "
        "given: COLUMN=a,b,c); repeatable.",
    ),
]
Bad = Annotated[
    OnBad,
    typer.Option(help="At a missing or malformed value: stop, or skip the row and count it."),
]
Out = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="Write predictions here, as CSV (row, prediction, label); - is standard output, "
        "the default when rows come from standard input.",
    ),
]
Report = Annotated[Path | None, typer.Option(metavar="FILE", help="Write an HTML report here.")]
Page = Annotated[Path, typer.Option(metavar="FILE", help="Write the HTML page here.")]
State = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Save the state here, at regular intervals.")
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Continue from the state if it exists, and append predictions."),
]
Force = Annotated[bool, typer.Option("--force", help="Start over even if the state exists.")]
SnapshotRows = Annotated[int, typer.Option(min=1, metavar="N", help="Save the state every N rows.")]
SnapshotSeconds = Annotated[
    float, typer.Option(min=0, metavar="S", help="Save the state every S seconds.")
]
AnyFormat = Annotated[
    Format | None, typer.Option(help="The file format, if the file name does not imply it.")
]
Delimiter = Annotated[str | None, typer.Option(metavar="CHARACTER", help="The delimiter of a CSV.")]
Decimal = Annotated[str, typer.Option(metavar="CHARACTER", help="The decimal mark of a CSV.")]
Names = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="Column names a,b,c for a CSV without a header."),
]


@dataclass(frozen=True)
class RunOptions:
    """The options of ``onlinear run``."""

    data: Data
    target: Target
    task: Tasked = None
    classes: ClassList = None
    model: Model = None
    param: Param = field(default_factory=list)
    standardize: Standardize = None
    drop: Drop = field(default_factory=list)
    one_hot: OneHot = field(default_factory=list)
    on_bad: Bad = OnBad.stop
    out: Out = None
    report: Report = None
    state: State = None
    resume: Resume = False
    force: Force = False
    snapshot_rows: SnapshotRows = 10_000_000
    snapshot_seconds: SnapshotSeconds = 30.0
    format: AnyFormat = None
    delimiter: Delimiter = None
    decimal: Decimal = "."
    names: Names = None


@dataclass(frozen=True)
class CompareOptions:
    """The options of ``onlinear compare``."""

    data: Data
    target: Target
    task: Tasked = None
    classes: ClassList = None
    models: Models = field(default_factory=list)
    standardize: Standardize = None
    drop: Drop = field(default_factory=list)
    one_hot: OneHot = field(default_factory=list)
    on_bad: Bad = OnBad.stop
    report: Page = Path("onlinear-compare.html")
    format: AnyFormat = None
    delimiter: Delimiter = None
    decimal: Decimal = "."
    names: Names = None


def source_of(options: RunOptions | CompareOptions) -> "Source":
    """Return the source of rows that the options describe."""
    from onlinear._cli.source import Source

    return Source(
        tuple(options.data),
        options.format,
        options.delimiter,
        options.decimal,
        None if options.names is None else tuple(options.names.split(",")),
    )


def taking(
    options: type[Options],
) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """Return a decorator that turns a function of one ``options`` object into a command.

    The fields of the dataclass ``options`` become the options of the command.
    """
    hints = get_type_hints(options, include_extras=True)

    def command_of(function: Callable[[Options], None]) -> Callable[..., None]:
        @functools.wraps(function)
        def command(**given: Any) -> None:
            function(options(**given))

        fields = dataclasses.fields(options)  # type: ignore[arg-type]
        parameters = [
            inspect.Parameter(
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=_default(each),
                annotation=hints[each.name],
            )
            for each in fields
        ]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = hints
        return command

    return command_of


def _default(each: "dataclasses.Field[Any]") -> Any:
    if each.default is not dataclasses.MISSING:
        return each.default
    if each.default_factory is not dataclasses.MISSING:
        return each.default_factory()
    return inspect.Parameter.empty
