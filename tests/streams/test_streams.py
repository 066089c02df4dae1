"""The generated streams: what each parameter means, and that nothing else changes with it."""

import numpy as np
import pytest

from onlinear.streams import friedman, paired, rotating, shifting

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


@pytest.mark.parametrize("spacing", ["even", "random"])
def test_the_truth_shifts_so_many_times_and_stays_between(spacing):
    _, _, u = shifting(1003, 6, shifts=7, spacing=spacing)
    moved = np.flatnonzero(np.any(u[1:] != u[:-1], axis=1)) + 1
    assert moved.size == 7
    even = [1003 * k // 8 for k in range(1, 8)]
    assert (moved.tolist() == even) == (spacing == "even")


@pytest.mark.parametrize(("floor", "least"), [(0.0, 0.0), (0.3, 0.03), (1.0, 0.1)])
def test_a_truth_in_the_simplex_sums_to_one_above_its_floor(floor, least):
    _, _, u = shifting(100, 10, active=2, floor=floor)
    np.testing.assert_allclose(u.sum(axis=1), 1)
    assert u.min() == pytest.approx(least)
    np.testing.assert_array_equal((u > least + 1e-12).sum(axis=1), 2 if floor < 1 else 0)


def test_a_truth_on_the_sphere_has_length_1_in_any_direction():
    _, _, u = shifting(2000, 3, shifts=1999, truth="sphere")
    np.testing.assert_allclose(np.linalg.norm(u, axis=1), 1)
    np.testing.assert_allclose(u.mean(axis=0), 0, atol=0.05)


def test_after_a_shift_others_are_active_if_there_are_enough():
    _, _, u = shifting(50, 7, shifts=49, active=3)
    np.testing.assert_array_equal((u > 0).sum(axis=1), 3)
    assert not np.any((u[1:] > 0) & (u[:-1] > 0))
    _, _, u = shifting(50, 5, shifts=49, active=3)
    assert np.any((u[1:] > 0) & (u[:-1] > 0), axis=1).all()


def test_inputs_are_uniform_signs_or_of_length_1():
    X = {kind: shifting(ROWS, 4, inputs=kind)[0] for kind in ("uniform", "signs", "sphere")}
    for kind, mean, variance in (("uniform", 0.5, 1 / 12), ("signs", 0, 1), ("sphere", 0, 1 / 4)):
        np.testing.assert_allclose(X[kind].mean(axis=0), mean, atol=0.02)
        np.testing.assert_allclose(np.cov(X[kind].T), variance * np.eye(4), atol=0.02)
    assert np.ptp(X["uniform"]) < 1
    assert set(np.unique(X["signs"])) == {-1, 1}
    np.testing.assert_allclose(np.linalg.norm(X["sphere"], axis=1), 1)


def test_labels_of_a_shifting_truth_are_its_own_with_noise():
    X, y, u = shifting(ROWS, 5, noise=0.2)
    assert np.std(y - np.sum(u * X, axis=1)) == pytest.approx(0.2, rel=0.02)
    same, exact, _ = shifting(ROWS, 5, noise=0.0)
    np.testing.assert_array_equal(X, same)
    np.testing.assert_array_equal(exact, np.sum(u * X, axis=1))


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
        (shifting, {"rows": 9}, "whole number 0 ≤ shifts ≤ 8, got shifts=9"),
        (shifting, {"active": 21}, "whole number 1 ≤ active ≤ 20, got active=21"),
        (shifting, {"truth": "ball"}, "truth to be 'simplex' or 'sphere', got truth='ball'"),
        (shifting, {"truth": "sphere", "floor": 0.1}, "0 ≤ floor ≤ 0, got floor=0.1"),
        (shifting, {"spacing": "odd"}, "spacing to be 'even' or 'random', got spacing='odd'"),
        (
            shifting,
            {"inputs": "normal"},
            "inputs to be 'uniform' or 'signs' or 'sphere', got inputs='normal'",
        ),
    ],
)
def test_what_makes_no_stream_is_refused(generator, wrong, message):
    with pytest.raises(ValueError, match=message):
        generator(**wrong)
