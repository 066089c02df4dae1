"""Nyström features: their formula, and which rows become landmarks."""

import math

import numpy as np
import pandas as pd
import pytest
from kernel_cases import KERNELS, each_kernel
from mapped_learners import X, gram
from numpy.testing import assert_allclose, assert_array_equal
from small_streams import within_unit_ball

import onlinear as ol
from onlinear.features import Mapped, Nystroem
from onlinear.kernels import RBF, Linear, Polynomial


@each_kernel
def test_nystroem_features_are_a_cholesky_factor_and_solves_with_it(kernel):
    A = np.random.default_rng(0).normal(size=(5, 5))
    features = Nystroem(kernel, landmarks=5, novelty=1e-4).fit(A)
    assert_array_equal(features.landmarks_, A)
    L = np.linalg.cholesky(gram(kernel, A, A))
    assert_allclose(features.transform(X), np.linalg.solve(L, gram(kernel, A, X)).T, rtol=1e-9)


@each_kernel
def test_their_inner_products_with_landmarks_are_the_kernel(kernel):
    rows = np.random.default_rng(1).normal(size=(300, 3))
    features = Nystroem(kernel, landmarks=40).fit(rows)
    chosen, P = features.landmarks_, features.transform(rows)
    assert len(chosen) == {"Linear()": 3, repr(KERNELS[1]): 20}.get(repr(kernel), 40)
    scale = np.sqrt(np.outer(*[[kernel(r[None], r)[0] for r in S] for S in (rows, chosen)]))
    error = np.abs(P @ features.transform(chosen).T - gram(kernel, rows, chosen))
    assert (error / scale).max() < 1e-12


@each_kernel
@pytest.mark.parametrize(
    ("name", "linear", "params"),
    [
        ("KernelAAR", "AAR", {"b": 0.3}),
        ("KernelLASER", "LASER", {"b": 0.5, "c": 3.0}),
        ("KernelWEMM", "WEMM", {"b": 40.0}),
        ("KernelGD", "GD", {"eta": 0.02}),
    ],
)
def test_while_every_row_is_a_landmark_it_is_the_kernel_learner(kernel, name, linear, params):
    rng = np.random.default_rng(2)  # as many columns as rows, or those of Linear() are not new
    rows, labels = within_unit_ball(1.0 + rng.normal(size=(40, 40)), 1.0 + rng.normal(size=40))
    model = Mapped(Nystroem(kernel, landmarks=50), ol.LEARNERS[linear](**params))
    got = ol.replay(model, rows, labels).predictions
    wanted = ol.replay(ol.LEARNERS[name](kernel, **params), rows, labels).predictions
    assert len(model.features.landmarks_) == 40
    assert np.abs(wanted).max() > 0.01
    assert_allclose(got, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


def test_a_new_row_has_a_coordinate_of_its_own_already_before_it_is_taken():
    features = Nystroem(RBF(gamma=1.0), landmarks=30)
    for i, x in enumerate(X[:30]):
        before = features.transform_one(x)
        assert before[i] > 0 == np.abs(before[i + 1 :]).sum()
        assert before @ before == pytest.approx(1.0)  # K(x, x)
        others = features.transform(X)[:, :i] if i else np.zeros((60, 0))
        features.learn_one(x)
        assert_allclose(features.transform_one(x), before, rtol=0, atol=1e-9)
        assert features.transform(X)[:, :i].tobytes() == others.tobytes()


def test_a_row_is_taken_if_its_residual_is_more_than_the_share_asked_for():
    z, x = np.zeros(1), np.array([0.5])
    rest = 1 - math.exp(-0.25) ** 2  # of K(x, x) = 1, after z
    for novelty, taken in [(rest * 1.001, 1), (rest * 0.999, 2)]:
        features = Nystroem(RBF(gamma=1.0), landmarks=5, novelty=novelty)
        features.fit([z, z, x, x])
        assert len(features.landmarks_) == taken
    for novelty, taken in [(1.001 / 101, 1), (0.999 / 101, 2)]:  # K(x, x) = 101, residual 1
        features = Nystroem(Linear(), landmarks=5, novelty=novelty).fit([[10.0, 0.0], [10.0, 1.0]])
        assert len(features.landmarks_) == taken
    full = Nystroem(RBF(gamma=1.0), landmarks=1).fit([z, x])
    assert full.landmarks_.tolist() == [[0.0]]
    assert full.transform_one(x).tolist() == [math.exp(-0.25)]


@pytest.mark.parametrize("novelty", [0.0, 1e-14, 1e-9])
@pytest.mark.parametrize(
    ("kernel", "rank", "size"),
    [
        (Linear(), 3, 1.0),
        (Linear(), 3, np.array([1e-3, 1.0, 1e3])),
        (Polynomial(2), 10, 1.0),
        (Polynomial(3), 20, 3.0),
    ],
)
def test_rounding_is_not_taken_for_news(kernel, rank, size, novelty):
    rows = np.random.default_rng(3).normal(size=(500, 3)) * size
    features = Nystroem(kernel, landmarks=60, novelty=novelty).fit(rows)
    assert len(features.landmarks_) == rank


@pytest.mark.parametrize("novelty", [0.0, 1e-6])
def test_a_smooth_kernel_with_many_landmarks_keeps_its_digits(novelty):
    rows = np.random.default_rng(4).uniform(-3, 3, size=(800, 1))
    features = Nystroem(RBF(gamma=0.5), landmarks=200, novelty=novelty).fit(rows)
    assert 10 < len(features.landmarks_) < 40  # the numerical rank
    P = features.transform(rows)
    assert np.abs(P @ P.T - gram(RBF(gamma=0.5), rows, rows)).max() < 1e-5


def test_landmarks_may_be_given_and_those_that_are_not_new_leave_their_place():
    given = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    features = Nystroem(RBF(gamma=1.0), landmarks=given)
    assert features.transform_one([0.0, 0.0]).tolist() == [1.0, 0.0, 0.0, 0.0]
    features.learn_one([0.0, 0.0])
    assert_array_equal(features.landmarks_, given[[0, 1, 3]])
    features.partial_fit([[5.0, 5.0], [6.0, 6.0]])
    assert_array_equal(features.landmarks_, [*given[[0, 1, 3]], [5.0, 5.0]])
    frame = Nystroem(RBF(gamma=1.0), landmarks=pd.DataFrame(given)).fit(given)
    assert_array_equal(frame.landmarks_, given[[0, 1, 3]])


def test_a_kernel_that_is_no_inner_product_is_refused():
    with pytest.raises(ValueError, match=r"needs a kernel that is an inner product.*row 0"):
        Nystroem(lambda Z, x: -(Z @ x)).fit(X)
    far = Nystroem(lambda Z, x: 1.0 + ((Z - x) ** 2).sum(axis=1))
    with pytest.raises(ValueError, match=r"residual K\(x, x\) − ‖φ‖² = -.*the map is unchanged"):
        far.fit(30 * X)
    assert not hasattr(far, "n_features_in_")
