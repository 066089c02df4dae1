"""Begin runs of the command in milliseconds, as copies of a process that has loaded the package.

A line of standard input describes a run to begin and to interrupt; a line of standard output then
has its exit code, negative if a signal ended it.
"""

import json
import os
import sys
import time

from onlinear._cli import app, run_request  # noqa: F401 (what a run loads)


def size_of(path):
    return os.stat(path).st_size if os.path.exists(path) else None  # noqa: PTH110, PTH116


def interrupted(args, signum, out, wait):
    """Return the exit code of a run that gets a signal ``wait`` seconds after its first output."""
    before = size_of(out)
    pid = os.fork()
    if pid == 0:
        for number, path in enumerate(("/dev/null", "stdout.txt", "stderr.txt")):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC), number)
        sys.argv = ["onlinear", "run", *args]
        app.entry()
    ended = 0, 0
    while ended == (0, 0) and size_of(out) == before:
        time.sleep(0.001)
        ended = os.waitpid(pid, os.WNOHANG)
    if ended == (0, 0):
        time.sleep(wait)
        os.kill(pid, signum)
        ended = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(ended[1])


if __name__ == "__main__":
    for line in sys.stdin:
        print(interrupted(**json.loads(line)), flush=True)
