"""The Typer application of the command line: its commands and their options."""

import contextlib
import io
import os
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from onlinear import __version__
from onlinear._cli.console import busy, ending
from onlinear._cli.stream_commands import compare, run

__all__ = ["app", "entry"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"onlinear {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Online linear regression for data whose relationships change.

    Try it: `onlinear demo`. Your own data: `onlinear run data.csv --target y --report report.html`.
    Tab completion: `onlinear --install-completion`.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # show ? on a terminal without Unicode


@app.command()
def demo(
    rows: Annotated[int, typer.Option(min=100, help="Rows of the generated stream.")] = 20_000,
    degrees: Annotated[
        float, typer.Option(help="By how many degrees the true weights turn per row.")
    ] = 0.5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the generated stream.")] = 0,
    report: Annotated[Path, typer.Option(metavar="FILE", help="Write the HTML page here.")] = Path(
        "onlinear-demo.html"
    ),
) -> None:
    """Compare several learners, and the best predictors in hindsight, on two drifting streams.

    One stream is generated, the other is an EEG recording that comes with matplotlib. No network
    is needed. The first run takes longer: it compiles the learners.
    """
    began = time.perf_counter()
    with ending(), busy("compiling (the first time) and replaying"):
        from onlinear._cli import demo as _demo
        from onlinear._cli.output_paths import check_outputs

        check_outputs([], {"--report": report})
        _demo.run(rows, degrees, seed, report)
    typer.echo(f"report: {report}  ({time.perf_counter() - began:.1f} s)")


app.command()(run)
app.command()(compare)


@app.command()
def inspect(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A state file.", show_default=False)],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what is in a state file (a saved model or run); nothing in it is executed."""
    with ending():
        from onlinear._cli.inspect import show
        from onlinear._cli.output_paths import check_outputs

        check_outputs([("the state", file)], {})
        show(str(file), as_json=json)


@app.command()
def warm(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LEARNER]...",
            help="Learners, such as auto or laser; without a name, auto.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Compile learners ahead of their first use, for example when a container image is built.

    Both ways of running a learner are compiled: one row at a time, and over a whole table, as in
    `onlinear run`. If onlinear was installed from a wheel that contains compiled code, there is
    nothing to compile.
    """
    with ending():
        from onlinear._cli.warm import compile_ahead

        typer.echo(compile_ahead(names or ["auto"]))


@app.command()
def paper(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Figures or tables, such as laser-fig-7-1; without a name, list them.",
            show_default=False,
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Reproduce every figure and table.")
    ] = False,
    repeats: Annotated[
        int, typer.Option(min=2, help="How many random streams to average over.")
    ] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first stream.")] = 0,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Write the pages here.")
    ] = Path("onlinear-papers"),
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A folder with the real data sets."),
    ] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Do not download data sets.")] = False,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Use less data: takes a minute, but gives other numbers."),
    ] = False,
) -> None:
    """Reproduce the figures and tables of the five papers behind onlinear, and check their claims.

    Writes one page for each figure or table: the paper's claims, what was run, the numbers, the
    charts (also as SVG and PDF) and the verdict. Also writes an index of all pages. Real data sets
    are taken from --data, the cache, or their public source. With --all, figures whose data cannot
    be found are skipped.
    """
    with ending():
        from onlinear._cli.paper import chosen, listed
        from onlinear._cli.paper import run as run_papers
        from onlinear.papers import Study

        if not names and not everything:
            typer.echo(listed())
            return
        study = Study(repeats, seed, quick, data, not offline)
        run_papers(chosen(names or (), everything=everything), study, out)


def entry() -> None:
    """Run the command line; exit without waiting for the thread that reads input ahead."""
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
    """Open the null device in place of each standard stream that is closed.

    Otherwise, the next file to be opened would get the descriptor of this stream (0, 1 or 2).
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))
