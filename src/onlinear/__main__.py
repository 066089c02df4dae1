"""Run the command as ``python -m onlinear``."""

from onlinear.cli import entry

if __name__ == "__main__":
    entry()
