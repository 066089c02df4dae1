"""Run the command as ``python -m onlinear``."""

from onlinear.cli import app

if __name__ == "__main__":
    app(prog_name="onlinear")
