"""Handle Ctrl-C and SIGTERM: a run ends between two blocks of rows, after its state is saved."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from onlinear._cli.errors import CommandError

__all__ = ["Stop", "StoppedError"]


class StoppedError(CommandError):
    """A signal ended the run; the exit code is 128 plus the signal's number, as in shells."""

    def __init__(self, signum: int) -> None:
        super().__init__("stopped")
        self.code = 128 + signum


class Stop:
    """Remembers whether a signal has asked the run to end."""

    def __init__(self) -> None:
        self._signum = 0

    def heard(self) -> bool:
        """Whether a signal was received."""
        return self._signum != 0

    def check(self) -> None:
        """Raise an error that ends the run if a signal was received."""
        if self._signum:
            raise StoppedError(self._signum)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """In the ``with`` block, remember a first signal; at a second, raise KeyboardInterrupt."""

        def hear(signum: int, frame: FrameType | None) -> None:
            if self._signum:
                raise KeyboardInterrupt
            self._signum = signum

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        heard = [
            s for s in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(s) != signal.SIG_IGN
        ]
        before = {signum: signal.signal(signum, hear) for signum in heard}
        try:
            yield
        finally:
            for signum, handler in before.items():
                signal.signal(signum, handler)
