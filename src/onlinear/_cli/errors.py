"""What can be wrong with what the command is given, each with its exit code."""

__all__ = ["CommandError", "DataError", "UsageError", "printable"]


def printable(text: str) -> str:
    """Return text that a terminal shows as it is, whatever names and values are in it."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


class CommandError(Exception):
    """Something to say in one line, and to end with."""

    code = 1

    def add(self, words: str) -> None:
        """Say one thing more."""
        self.args = (f"{self}; {words}",)


class DataError(CommandError):
    """Data, a state file or the disk is not as it must be."""


class UsageError(CommandError):
    """The command was not asked for something it can do."""

    code = 2
