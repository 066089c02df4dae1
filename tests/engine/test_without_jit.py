"""NUMBA_DISABLE_JIT=1 runs everything as plain Python, for a debugger: the numbers are the same."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from table import CASES, IDS, make, stream, stream_of

import onlinear as ol

ROWS = 25


def figures():
    """Return what a few rows give, every way of running them: replay, bank, keyed, bulk."""
    X, y = (part[:ROWS] for part in stream(200))
    runs = {
        f"replay {name}": ol.replay(make(case), *(part[:ROWS] for part in stream_of(case, 200)))
        for name, case in zip(IDS, CASES, strict=True)
    }
    few = [ol.LASER(), ol.LASER(c=2.0), ol.NLMS(), ol.Auto()]
    runs["bank"] = ol.replay(ol.Bank(few), X, y)
    runs["mapped"] = ol.replay(
        ol.features.Mapped(ol.features.Nystroem(landmarks=8), ol.Ridge()), X, y
    )
    keys = [f"sensor {i % 3}" for i in range(ROWS)]
    runs["keyed"] = ol.Keyed(ol.LASER()).replay(keys, X, y)
    for model in (ol.LASER(), ol.Ridge(), ol.ARCOR(r=0.3, radius=0.6)):
        runs[f"bulk {model}"] = ol.replay(model, X, y, engine="bulk")
    predictions = {name: np.asarray(run.predictions) for name, run in runs.items()}
    bank, singly = ol.Bank(few), []
    for x, label in zip(X, y, strict=True):
        singly.append(bank.predict_one(x))
        bank.learn_one(x, label)
    predictions["bank, row by row"] = np.array(singly)
    return predictions


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The figures of a process in which nothing is compiled; warnings are errors there, too."""
    path = tmp_path_factory.mktemp("plain") / "figures.npz"
    paths = [str(Path(ol.__file__).parents[1]), *sys.path]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(paths)}
    subprocess.run(
        [sys.executable, "-W", "error", __file__, str(path)], env=environment, check=True
    )
    return np.load(path)


def test_without_a_compiler_the_numbers_are_the_same(plain):
    compiled = figures()
    assert set(plain.files) == set(compiled)
    for name, predictions in compiled.items():
        if name.startswith("bulk"):  # its inner products are summed in the compiler's order
            np.testing.assert_allclose(plain[name], predictions, rtol=1e-12, atol=1e-12)
        else:
            assert plain[name].tobytes() == predictions.tobytes(), name


if __name__ == "__main__":
    from numba import config

    assert config.DISABLE_JIT
    np.savez(sys.argv[1], **figures())
