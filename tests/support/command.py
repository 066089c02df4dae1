"""Run ``onlinear run`` in this process or in another, and make data for it."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from onlinear._cli.app import app

COMMAND = [sys.executable, "-m", "onlinear"]
D = 3


def stream(rows, d=D, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, d))
    w = np.cumsum(rng.standard_normal((rows, d)) * 0.02, axis=0)
    return X, (X * w).sum(axis=1) + 0.1 * rng.standard_normal(rows)


def lines_of(X, y):
    header = ",".join([*(f"x{j}" for j in range(X.shape[1])), "y"])
    rows = (",".join(map(repr, row)) for row in np.column_stack([X, y]).tolist())
    return "\n".join([header, *rows, ""])


def run(*args, stdin=None, code=0):
    """Run the command in this process; return its output."""
    result = CliRunner().invoke(app, ["run", *map(str, args)], input=stdin)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    if code:
        assert len(result.stderr.splitlines()) == 1, result.stderr
    return result.output


def spawn(*args, **options):
    return subprocess.Popen(
        [*COMMAND, "run", *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def pipe(text, *args, code=0):
    """Run the command on standard input; return its output."""
    done = subprocess.run(
        [*COMMAND, "run", "-", *map(str, args)], input=text.encode(), capture_output=True
    )
    assert done.returncode == code, done.stderr
    return done.stdout.decode()


class Runs:
    """Runs in the present folder that are interrupted, one after the other."""

    def __enter__(self):
        command = [sys.executable, Path(__file__).with_name("run_server.py")]
        self._server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, *_):
        self._server.communicate()

    def interrupted(self, *args, signum, out, wait):
        """Send a run a signal ``wait`` seconds after it begins to write the file ``out``.

        Return its exit code, negative if the signal ended it, and what is on standard error.
        """
        asked = {"args": list(map(str, args)), "signum": signum, "out": str(out), "wait": wait}
        print(json.dumps(asked), file=self._server.stdin, flush=True)
        return int(self._server.stdout.readline()), Path("stderr.txt").read_text()
