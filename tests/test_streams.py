"""The generated streams: what each parameter means, and that nothing else changes with it."""

import numpy as np
import pytest

from onlinear.streams import friedman, paired, rotating

ROWS = 40_000


def truth(X, y):
    """Return the weights that least squares finds."""
    return np.linalg.lstsq(X, y, rcond=None)[0]


def test_pairs_are_turned_normals_and_the_others_have_variance_2():
    X, _ = paired(ROWS)
    covariance = np.cov(X.T)
    along, across = (100 + 1) / 2, (100 - 1) / 2  # deviations 10 and 1, turned by 45°
    for i in range(0, 10, 2):
        block = covariance[i : i + 2, i : i + 2]
        np.testing.assert_allclose(block, [[along, across], [across, along]], rtol=0.03)
    np.testing.assert_allclose(covariance[10:, 10:], 2 * np.eye(10), atol=0.06)
    np.testing.assert_allclose(covariance[:10, 10:], 0, atol=0.3)


def test_a_deviation_of_2_is_a_variance_of_4():
    X, _ = paired(ROWS, normal="deviation")
    np.testing.assert_allclose(np.diag(np.cov(X.T))[10:], 4, rtol=0.03)
    same, _ = paired(ROWS)
    np.testing.assert_array_equal(X[:, :10], same[:, :10])


@pytest.mark.parametrize(("normal", "variance"), [("variance", 2.0), ("deviation", 4.0)])
def test_noise_is_read_as_the_normals_are(normal, variance):
    X, y = paired(ROWS, rate=0.0, noise=2.0, normal=normal)
    assert np.var(y - X @ truth(X, y)) == pytest.approx(variance, rel=0.03)


@pytest.mark.parametrize(("rate", "unit"), [(10.0, "degrees"), (np.pi / 18, "radians")])
def test_the_truth_turns_by_the_rate_each_round(rate, unit):
    X, y = paired(36, rate, unit, noise=0.0)
    for t in range(36):
        angle = (t + 1) * np.pi / 18
        assert y[t] == pytest.approx(np.cos(angle) * X[t, 0] + np.sin(angle) * X[t, 1])


def test_the_rate_decays_as_a_power_of_the_round():
    X, y = paired(50, 1.0, "radians", decay=0.5, noise=0.0)
    angle = sum(s**-0.5 for s in range(1, 51))
    assert y[-1] == pytest.approx(np.cos(angle) * X[-1, 0] + np.sin(angle) * X[-1, 1])


@pytest.mark.parametrize("pairs", [1, 3, 5, 10])
def test_the_truth_goes_round_in_so_many_pairs(pairs):
    rows = 40 * pairs * 2
    X, y = paired(rows, rate=0.0, switch_every=40, pairs=pairs, noise=0.0)
    for k in range(2 * pairs):
        part = slice(40 * k, 40 * (k + 1))
        expected = np.zeros(20)
        expected[2 * (k % pairs)] = 1
        np.testing.assert_allclose(truth(X[part], y[part]), expected, atol=1e-12)


def test_labels_alone_depend_on_how_the_truth_moves():
    X, y = paired(100, seed=3)
    turned, other = paired(100, rate=5.0, switch_every=10, seed=3)
    np.testing.assert_array_equal(X, turned)
    assert not np.array_equal(y, other)


def test_friedman_is_its_function():
    X, y = friedman(1000, noise=0.0)
    assert X.shape == (1000, 10)
    assert (X >= 0).all()
    assert (X <= 1).all()
    x = X[17]
    by_hand = 10 * np.sin(np.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]
    assert y[17] == pytest.approx(by_hand)


def test_friedman_has_noise_of_deviation_1_and_may_be_rounded():
    noisy, clean = friedman(ROWS)[1], friedman(ROWS, noise=0.0)[1]
    assert np.std(noisy - clean) == pytest.approx(1, rel=0.02)
    X, y = friedman(50, digits=3)
    exact, labels = friedman(50)
    np.testing.assert_array_equal(X, exact.round(3))
    np.testing.assert_array_equal(y, labels.round(3))


@pytest.mark.parametrize(
    ("generator", "wrong", "message"),
    [
        (paired, {"rows": 0}, "whole number 1 ≤ rows ≤ 2⁵³, got rows=0"),
        (paired, {"unit": "turns"}, "unit to be 'degrees' or 'radians', got unit='turns'"),
        (paired, {"normal": "sd"}, "normal to be 'variance' or 'deviation', got normal='sd'"),
        (paired, {"pairs": 11}, "whole number 1 ≤ pairs ≤ 10, got pairs=11"),
        (paired, {"switch_every": 0}, "whole number 1 ≤ switch_every"),
        (paired, {"noise": -1.0}, "0 ≤ noise, got noise=-1.0"),
        (paired, {"rate": np.nan}, "finite number rate, got rate=nan"),
        (friedman, {"digits": 2.5}, "whole number 0 ≤ digits ≤ 15, got digits=2.5"),
        (friedman, {"noise": np.inf}, "finite number 0 ≤ noise, got noise=inf"),
        (rotating, {"rows": 0}, "rows ≥ 1"),
    ],
)
def test_what_makes_no_stream_is_refused(generator, wrong, message):
    with pytest.raises(ValueError, match=message):
        generator(**wrong)
