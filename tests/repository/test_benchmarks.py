"""What the benchmarks compare with does the same work."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest
from places import ROOT

import onlinear as ol

FOLDER = ROOT / "benchmarks"


@pytest.fixture(scope="module")
def loops():
    spec = importlib.util.spec_from_file_location("loops", FOLDER / "loops.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 12)), rng.normal(size=60)
    return X, y, ol.replay(ol.Ridge(), X, y, engine="rank-one").predictions


@pytest.mark.parametrize("name", ["as_written", "careful", "compiled"])
def test_a_loop_of_the_benchmarks_predicts_as_ridge(loops, case, name):
    X, y, expected = case
    np.testing.assert_allclose(getattr(loops, name)(X, y), expected, rtol=1e-10, atol=1e-12)


def test_the_loop_with_a_drift_predicts_as_laser(loops, case):
    X, y, _ = case
    expected = ol.replay(ol.LASER(c=100.0, shrink=False), X, y, engine="rank-one").predictions
    np.testing.assert_allclose(loops.as_written(X, y, drift=0.01), expected, rtol=1e-9, atol=1e-11)


def test_the_fused_loop_has_the_bits_of_the_rank_one_engine(loops, case):
    X, y, expected = case
    np.testing.assert_array_equal(loops.fused(X, y), expected)


# its ridge as plain Python: on 150 rows, that is sooner done than compiled
ACCURACY = """
import peers
peers._weighted_ridge = peers._weighted_ridge.py_func
import accuracy
accuracy.main()
"""


def accuracy(*options):
    command = [sys.executable, "-c", ACCURACY, "--quick", "--data", *options]
    environment = {**os.environ, "PYTHONPATH": f"{FOLDER}{os.pathsep}{ROOT / 'src'}"}
    return subprocess.run(command, capture_output=True, encoding="utf-8", env=environment)


def test_accuracy_compares_on_files_of_ones_own_and_draws(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        data = rng.normal(size=(150, 4))
        data[:, -1] += data[:, 0]
        np.savetxt(tmp_path / f"{name}.csv", data, delimiter=",", header="a,b,c,y", comments="")
    done = accuracy(tmp_path, "--picture", tmp_path / "errors.png")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # no progress in a pipe
    header, auto, ridge = (
        next(line.split() for line in done.stdout.splitlines() if line.startswith(f"| {first}"))
        for first in ("relative", "Auto()", "weighted ridge 1,")
    )
    assert header[-4:] == ["one", "|", "two", "|"]
    assert float(auto[-2]) < 1.0
    assert float(ridge[-2]) < 1.0
    assert (tmp_path / "errors.png").stat().st_size


def test_accuracy_says_which_data_are_missing(tmp_path):
    done = accuracy(tmp_path)
    assert done.returncode != 0
    assert "kin8nm (OpenML 189)" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def classification(*options):
    command = [sys.executable, str(FOLDER / "classification.py"), "--quick", "--data", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(command, capture_output=True, encoding="utf-8", env=environment)


def test_classification_compares_on_streams_without_a_look_ahead(tmp_path):
    rng = np.random.default_rng(0)
    names = "Temperature,Humidity,Occupancy,CO2"
    data = rng.normal(size=(200, 4))
    data[:, 2] = data[:, 0] > 0
    np.savetxt(tmp_path / "occupancy_co2.csv", data, "%.6f", ",", header=names, comments="")
    prices = np.column_stack([np.arange(248), np.cumsum(rng.normal(size=248))])
    np.savetxt(tmp_path / "elec2_logprice.csv", prices, "%.6f", ",", header="x,y", comments="")
    done = classification(tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"missing in {tmp_path}, and left out: steel_energy (UCI 851)")
    lines = done.stdout.splitlines()
    right, wrong = (
        [line.split("|")[2:4] for line in lines if line.startswith(f"| {name} ")]
        for name in ("Standardized(LogisticLASER())", "the shares so far")
    )
    assert float(right[0][1]) > 85 > float(wrong[0][1])
    assert float(right[1][1]) < 0.5 < float(wrong[1][1])


def test_the_label_of_a_price_is_known_from_it_and_the_day_before(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    streams = pytest.importorskip("classification_streams")
    rng = np.random.default_rng(0)
    table = rng.normal(size=(150, 3)).round(6)
    path = tmp_path / "elec2_logprice.csv"
    np.savetxt(path, table, "%.6f", ",", header="a,b,log_price", comments="")
    stream = streams.elec2(path)
    np.testing.assert_array_equal(stream.X, table[48:, :2])
    expected = [table[t, 2] > table[t - 48 : t, 2].mean() for t in range(48, 150)]
    np.testing.assert_array_equal(stream.y, expected)
