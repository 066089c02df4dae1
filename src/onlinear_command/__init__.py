"""The entry point of the ``onlinear`` command.

This package imports almost nothing, so that Ctrl-C during the slow imports prints one line instead
of a traceback.
"""

import os
import signal
from types import FrameType

__all__ = ["main"]


def _stop(signum: int, frame: FrameType | None) -> None:
    os.write(2, b"onlinear: stopped at once\n")
    os._exit(128 + signum)


def main() -> None:
    """Import the ``onlinear`` command and run it."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.SIG_IGN:  # the shell may tell commands to ignore Ctrl-C
        signal.signal(signal.SIGINT, _stop)
    from onlinear._cli.app import entry
    from onlinear._cli.console import around

    def handle(with_it: object) -> None:
        if usual is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, with_it)  # type: ignore[arg-type]

    around(lambda: handle(usual), lambda: handle(_stop))  # commands handle KeyboardInterrupt
    entry()
