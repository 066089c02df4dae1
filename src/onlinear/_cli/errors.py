"""The errors of the ``onlinear`` command, each with its exit code."""

__all__ = ["CommandError", "DataError", "UsageError", "printable"]


def printable(text: str) -> str:
    """Return the text with control characters escaped, so that a terminal shows it literally."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


class CommandError(Exception):
    """An error that ends the command with a one-line message and an exit code."""

    code = 1

    def add(self, words: str) -> None:
        """Append ``words`` to the error message."""
        self.args = (f"{self}; {words}",)


class DataError(CommandError):
    """Something is wrong with the data, a state file or the disk."""


class UsageError(CommandError):
    """The options are wrong, or do not fit together."""

    code = 2
