"""What the benchmarks compare with does the same work."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import onlinear as ol

FILE = Path(__file__).parent.parent / "benchmarks" / "loops.py"


@pytest.fixture(scope="module")
def loops():
    spec = importlib.util.spec_from_file_location("loops", FILE)
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
