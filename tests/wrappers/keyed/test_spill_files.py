"""The files of models that are moved to disk: full disks, and processes that were killed."""

import os
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest

import onlinear as ol
from onlinear._wrappers.keyed import spill_store

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(400, 6)), RNG.normal(size=400)
LIMIT = 60_000  # bytes: some 80 models


def told(keyed):
    """All models, and the counts."""
    models = {key: (keyed[key]._record.tobytes(), keyed.statistics(key)) for key in keyed}
    return models, keyed.events_, keyed.late_


def some_act(rng, number):
    """Return a random call of a Keyed."""
    row, key = int(rng.integers(400)), int(rng.integers(250))
    rows = rng.integers(0, 400, size=int(rng.integers(1, 300)))
    keys = rng.integers(0, 250, size=rows.size)
    return (
        lambda keyed: keyed.replay(keys, X[rows], Y[rows]),
        lambda keyed: keyed.learn_one(f"name {key}", X[row], Y[row]),
        lambda keyed: keyed.learn_one(key, X[row], Y[row]),
        lambda keyed: keyed.predict_one(key, X[row], id=number),
        lambda keyed: keyed.learn_one(id=number - 1, y=1.0),
    )[int(rng.integers(5))]


def disk_is_full_for_a_while(seed):
    """Act on a Keyed whose files sometimes cannot grow; it must do what one in memory does."""
    import resource

    rng, refused = np.random.default_rng(seed), 0
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    small = ol.Keyed(ol.NLMS(), memory_limit=LIMIT, threads=1)
    whole = ol.Keyed(ol.NLMS(), threads=1)
    for number in range(80):
        act = some_act(rng, number)
        most = int(rng.integers(4096, 150_000)) if rng.random() < 0.5 else soft
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
        try:
            act(small)
            done = True
        except (sqlite3.Error, OSError):
            done = False
            refused += 1
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        if done:
            act(whole)
        if not done or number % 20 == 19:  # all models take long to read; a wrong one stays wrong
            assert told(small) == told(whole), number
    return refused


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and limits of file sizes")
def test_a_disk_that_is_full_for_a_while_changes_no_model():
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:  # the limit is for a process of its own
        signal.alarm(120)
        refused = sum(map(disk_is_full_for_a_while, range(3)))
        os.write(write, b"%d" % refused)
        os._exit(0)
    os.close(write)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert int(os.read(read, 10)) > 3


KILLED = """
import os, signal, sys
import numpy as np
import onlinear as ol
keyed = ol.Keyed(ol.NLMS(), memory_limit=20_000, spill=sys.argv[1])
keyed.replay(np.arange(500), np.ones((500, 3)), np.ones(500))
if sys.argv[2] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
print("ready", flush=True)
sys.stdin.read()
"""


def spilling(folder, end):
    """Start a process that moves models to disk."""
    return subprocess.Popen(
        [sys.executable, "-c", KILLED, str(folder), end],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_files_of_killed_processes_are_removed_and_no_others(tmp_path, monkeypatch):
    killed, alive = spilling(tmp_path, "killed"), spilling(tmp_path, "alive")
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    assert alive.stdout.readline() == "ready\n"
    assert len(list(tmp_path.iterdir())) == 2
    spill_store.remove_abandoned(str(tmp_path))
    assert len(list(tmp_path.iterdir())) == 2  # both are new: one may not be locked yet
    monkeypatch.setattr(spill_store, "FRESH", -1.0)
    own = ol.Keyed(ol.NLMS(), memory_limit=20_000, spill=tmp_path)
    own.replay(np.arange(500), np.ones((500, 3)), np.ones(500))
    assert len(list(tmp_path.iterdir())) == 2  # that of the process that is alive, and our own
    again = ol.Keyed(ol.NLMS(), memory_limit=20_000, spill=tmp_path)
    again.replay(np.arange(500), np.ones((500, 3)), np.ones(500))
    assert own.predict_one(3, [1.0, 1.0, 1.0]) == again.predict_one(3, [1.0, 1.0, 1.0])
    alive.communicate("")
    assert alive.returncode == 0
    deadline = time.monotonic() + 30
    while len(list(tmp_path.iterdir())) > 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(list(tmp_path.iterdir())) == 2
