"""The command line."""

import io
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from onlinear import __version__

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    help="Learn linear predictors from streams whose truth drifts.",
)


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
    """Learn linear predictors from streams whose truth drifts."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode still gets an answer


@app.command()
def demo(
    rows: Annotated[int, typer.Option(min=100, help="Rounds of the stream.")] = 20_000,
    degrees: Annotated[float, typer.Option(help="How far the truth turns each round.")] = 0.5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the stream.")] = 0,
    picture: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path(
        "onlinear-demo.png"
    ),
) -> None:
    """Replay a drifting stream with several learners, beside the best predictors in hindsight."""
    from onlinear import _demo

    began = time.perf_counter()
    try:
        _demo.run(rows, degrees, seed, picture)
    except OSError as error:
        typer.echo(f"cannot write {picture}: {error.strerror or error}", err=True)
        raise typer.Exit(1) from None
    except ValueError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    typer.echo(f"picture: {picture}  ({time.perf_counter() - began:.1f} s)")
