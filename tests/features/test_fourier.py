"""Random Fourier features: their formula, and how far from the kernel they are."""

import math

import numpy as np
import pytest
from mapped_learners import X, gram
from numpy.testing import assert_allclose, assert_array_equal

from onlinear.features import RandomFourier
from onlinear.kernels import RBF


def test_random_fourier_features_are_their_formula():
    features = RandomFourier(width=6, gamma=0.3, seed=4).fit(X)
    W = math.sqrt(2 * 0.3) * np.random.default_rng(4).standard_normal((3, 5))
    waves = np.stack([np.cos(X @ W.T), np.sin(X @ W.T)], axis=2).reshape(len(X), 6)
    assert_allclose(features.transform(X), math.sqrt(2 / 6) * waves, rtol=1e-12, atol=1e-15)
    assert_array_equal(features.frequencies_, W)
    default = RandomFourier(width=6, seed=4).fit(X)
    assert_allclose(default.frequencies_, W * math.sqrt(0.2 / 0.3), rtol=1e-14)  # gamma = 1/5


@pytest.mark.parametrize("width", [40, 160, 640])
def test_their_error_has_the_variance_of_the_theory(width):
    """(1 + K⁴ − 2K²)/width, which is less than (1 + K⁴/2 − K²)/width of cosines with phases."""
    gamma, A = 0.4, np.array([[0.0, 0.0], [1.0, 0.0], [0.3, 0.4], [2.0, -2.0]])
    K = gram(RBF(gamma=gamma), A, A)
    drawn = [RandomFourier(width, gamma, seed=s).fit_transform(A) for s in range(600)]
    errors = np.array([P @ P.T for P in drawn]) - K
    wanted = (1 + K**4 - 2 * K**2) / width
    off = ~np.eye(4, dtype=bool)
    assert np.all(np.abs(errors.mean(axis=0)) < 4 * np.sqrt(wanted / 600) + 1e-14)
    assert_allclose(errors.var(axis=0)[off], wanted[off], rtol=0.25)  # 4 standard errors
    assert_allclose([np.diag(P @ P.T) for P in drawn], 1.0, rtol=1e-13)


def test_a_seed_is_a_map():
    same = [RandomFourier(seed=7).fit_transform(X).tobytes() for _ in range(2)]
    assert same[0] == same[1] != RandomFourier(seed=8).fit_transform(X).tobytes()
