"""Print each error of the command as one line on standard error, and set the exit code."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator

import typer

__all__ = ["around", "busy", "ending"]

_before: Callable[[], object] = bool  # does nothing
_after: Callable[[], object] = bool


def around(before: Callable[[], object], after: Callable[[], object]) -> None:
    """Have :func:`ending` call two functions, before and after its block."""
    global _before, _after
    _before, _after = before, after


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """If the ``with`` block raises an error, print one line and exit with the error's exit code."""
    from onlinear._cli.errors import CommandError

    try:
        _before()
        yield
    except BrokenPipeError:  # the process that reads our output has closed the pipe
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
    finally:
        _after()


@contextlib.contextmanager
def busy(text: str) -> Iterator[None]:
    """Show ``text`` and a spinner on a terminal while the ``with`` block runs."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


def _say(text: str) -> None:
    from onlinear._cli.errors import printable

    typer.echo("onlinear: " + printable(" ".join(text.split())), err=True)
