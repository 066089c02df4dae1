"""The entry point of the ``onlinear`` command.

This package imports almost nothing, so that Ctrl-C during the slow imports prints one line instead
of a traceback.
"""

import os
import signal
from types import FrameType

__all__ = ["main", "ready"]

_usual = signal.getsignal(signal.SIGINT)


def _stop(signum: int, frame: FrameType | None) -> None:
    os.write(2, b"onlinear: stopped at once\n")
    os._exit(128 + signum)


def ready() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, which the command handles from now on."""
    if signal.getsignal(signal.SIGINT) is _stop:
        signal.signal(signal.SIGINT, _usual)  # this ignores Ctrl-C if the shell does


def main() -> None:
    """Import the ``onlinear`` command and run it."""
    signal.signal(signal.SIGINT, _stop)
    from onlinear._cli.app import entry

    entry()
