"""Run the ``onlinear`` command as ``python -m onlinear``."""

from onlinear._cli.app import entry

if __name__ == "__main__":
    entry()
