"""Certificates of kernel learners: comparators against least squares, files, what is refused."""

import math
import pickle

import numpy as np
import pytest
from kernel_oracles import gram
from numpy.testing import assert_allclose
from table import manhattan, same_bits, state, stream

import onlinear as ol
from onlinear.kernels import RBF, Linear, Polynomial

QUADRATIC = Polynomial(2)
LEARNERS = [
    ol.KernelAAR(b=0.3),
    ol.KernelAAR(b=0.3, clip=2.0),
    ol.KernelARCOR(r=0.5, radius=1.0, q=1.5),
    ol.KernelARCOR(r=0.5, q=math.inf),
    ol.KernelCRRLS(forgetting=0.9, reset_every=20),
    ol.KernelGD(eta=0.1),
    ol.KernelGD(eta=0.1, radius=1.0),
    ol.KernelLASER(b=0.5, c=3.0),
    ol.KernelLASER(b=0.5, c=3.0, shrink=False),
    ol.KernelLASER(b=0.5, c=3.0, shrink=False, clip=2.0),
    ol.KernelWEMM(b=6.0),
]


def quadratic_features(X):
    """Return the six features of (1 + xᵀz)² in two dimensions."""
    a, b = X.T
    two = math.sqrt(2)
    return np.column_stack([np.ones(len(X)), two * a, two * b, a * a, b * b, two * a * b])


def small_stream(seed, rows=25, d=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, d)), rng.normal(size=rows), rng


def fresh(model, **changed):
    return type(model)(**{**model.get_params(), **changed})


@pytest.mark.parametrize("seed", range(10))
def test_the_comparator_is_the_best_function_of_the_features(seed):
    X, y, rng = small_stream(seed)
    F, b = quadratic_features(X), float(10 ** rng.uniform(-1, 1))
    proof = ol.certificate(ol.KernelAAR(QUADRATIC, b=b), X, y)
    for t in (1, 2, 10, 25):
        u = np.linalg.solve(b * np.eye(6) + F[:t].T @ F[:t], F[:t].T @ y[:t])
        least = b * u @ u + np.sum((y[:t] - F[:t] @ u) ** 2)
        assert_allclose(proof.comparator[t - 1], least, rtol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_the_comparator_of_kernel_laser_is_the_best_path_by_least_squares(seed):
    X, y, rng = small_stream(seed)
    F, (rows, m) = quadratic_features(X), (25, 6)
    b, c = 10 ** rng.uniform(-1, 1), 10 ** rng.uniform(-1, 2)
    blocks = np.kron(np.eye(rows), np.eye(m))
    A = [math.sqrt(b) * blocks[:m], math.sqrt(c) * (blocks[m:] - blocks[:-m])]
    fits = np.zeros((rows, rows * m))
    for t in range(rows):
        fits[t, t * m : (t + 1) * m] = F[t]
    A, wanted = np.vstack([*A, fits]), np.concatenate([np.zeros(rows * m), y])
    u = np.linalg.lstsq(A, wanted, rcond=None)[0]
    for shrink in (True, False):
        proof = ol.certificate(ol.KernelLASER(QUADRATIC, b=b, c=c, shrink=shrink), X, y)
        assert_allclose(proof.comparator[-1], np.sum((A @ u - wanted) ** 2), rtol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_kernel_wemm_loses_exactly_the_least_weighted_loss(seed):
    X, y, _ = small_stream(seed)
    F = quadratic_features(X)
    b = 1.2 * max(np.sum(F * F, axis=1))
    A, weights = b * np.eye(6), []
    for x in F:
        weights.append(1 / (1 - x @ np.linalg.solve(A, x)))
        A += weights[-1] * np.outer(x, x)
    u = np.linalg.solve(A, F.T @ (weights * y))
    least = b * u @ u + np.sum(weights * (y - F @ u) ** 2)
    proof = ol.certificate(ol.KernelWEMM(QUADRATIC, b=b), X, y)
    assert_allclose(proof.comparator[-1], least, rtol=1e-9)
    assert_allclose(proof.loss[-1], least, rtol=1e-9)


LINEAR = [(model, getattr(ol, type(model).__name__[len("Kernel") :])) for model in LEARNERS]


@pytest.mark.parametrize(("model", "linear"), LINEAR, ids=lambda each: repr(each))
def test_with_the_linear_kernel_a_certificate_is_the_linear_learners(model, linear):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 3)) / 2
    y = X[:, 0] * np.repeat([1.0, -1.0], 35) + 0.1 * rng.normal(size=70)
    params = model.get_params()
    del params["kernel"], params["budget"]
    V, beta = X[:4], 0.2 * rng.normal(size=(3, 4))
    path = beta[np.sort(rng.integers(3, size=70))]
    for ours, theirs in ((None, None), ((V, beta[0]), beta[0] @ V), ((V, path), path @ V)):
        mine = ol.certificate(fresh(model, kernel=Linear()), X, y, comparator=ours)
        other = ol.certificate(linear(**params), X, y, comparator=theirs)
        assert_allclose(mine.comparator, other.comparator, rtol=1e-9)
        assert_allclose(mine.ceiling, other.ceiling, rtol=1e-9)
        assert mine.failed_from == other.failed_from


@pytest.mark.parametrize("model", LEARNERS, ids=repr)
def test_a_custom_kernel_has_the_certificate_of_the_compiled_one(model):
    X, y = stream(50)

    def own(Z, x):
        return np.exp(-0.2 * ((Z - x) ** 2).sum(axis=1))

    one = ol.certificate(fresh(model, kernel=own), X, y)
    other = ol.certificate(fresh(model, kernel=RBF(gamma=0.2)), X, y)
    assert one.failed is None
    assert_allclose(one.ceiling, other.ceiling, rtol=1e-11)


@pytest.mark.parametrize("kernel", [RBF(gamma=2.0), manhattan])
@pytest.mark.parametrize("model", LEARNERS, ids=repr)
def test_in_parts_and_from_files_and_pickles_it_is_the_same_to_the_bit(model, kernel, tmp_path):
    X, y = stream(90)
    whole = ol.certificate(fresh(model, kernel=kernel), X, y)
    watched = ol.Certified(fresh(model, kernel=kernel))
    for x, label in zip(X[:20], y[:20], strict=True):  # more than there is room for at first
        watched.learn_one(x, label)
    watched.save(tmp_path / "watched.onl")
    for again in (ol.Certified.load(tmp_path / "watched.onl"), pickle.loads(pickle.dumps(watched))):
        rest = again.replay(X[20:], y[20:])
        for name in ("loss", "comparator", "ceiling"):
            assert same_bits(getattr(rest, name), getattr(whole, name)[20:])
    before = pickle.dumps(watched)
    worse = X.copy()
    worse[60, 1] = math.nan
    with pytest.raises(ValueError, match="row 60"):
        watched.replay(worse, y)
    assert pickle.dumps(watched) == before


@pytest.mark.parametrize("kernel", [RBF(gamma=1.0), manhattan])
def test_the_norm_of_a_given_function_counts(kernel):
    """AAR's bound against f is loss of f + b‖f‖² + Σ y²χ/(1+χ)."""
    X, y, rng = small_stream(3)
    V, beta = rng.normal(size=(4, 2)), rng.normal(size=4)
    proof = ol.certificate(ol.KernelAAR(kernel, b=0.7), X, y, comparator=(V, beta))
    loss = np.cumsum((y - [beta @ kernel(V, x) for x in X]) ** 2)
    assert_allclose(proof.comparator, loss, rtol=1e-11)
    C = np.eye(25) + gram(kernel, X) / 0.7
    chi = np.diag(np.linalg.cholesky(C)) ** 2 - 1
    wanted = loss + 0.7 * beta @ gram(kernel, V) @ beta + np.cumsum(y**2 * chi / (1 + chi))
    assert_allclose(proof.ceiling, wanted, rtol=1e-10)


def test_functions_outside_the_ball_end_the_bound_where_they_are():
    X, y, _ = small_stream(0)
    V, beta = X[:3], np.tile([0.1, 0.1, 0.1], (25, 1))
    beta[11] = [5.0, 0.0, 0.0]
    for model in (ol.KernelARCOR(RBF(), radius=1.0), ol.KernelGD(RBF(), eta=0.1, radius=1.0)):
        proof = ol.certificate(model, X, y, comparator=(V, beta))
        assert "‖u_t‖ ≤ radius; row 11 has beta = [5. 0. 0.]" in proof.failed
        assert proof.holds[:11].all()
        assert np.isnan(proof.ceiling[11:]).all()


@pytest.mark.parametrize(
    ("comparator", "words"),
    [
        (np.zeros(2), r"needs a pair \(V, beta\): m rows V of 2 columns"),
        ((np.zeros((3, 2)), np.zeros(4)), r"got shapes \(3, 2\) and \(4,\)"),
        ((np.zeros((3, 5)), np.zeros(3)), r"got shapes \(3, 5\) and \(3,\)"),
        ((np.zeros((3, 2)), np.zeros((7, 3))), r"got shapes \(3, 2\) and \(7, 3\)"),
        ((np.zeros((0, 2)), np.zeros(0)), r"got shapes \(0, 2\)"),
        (("rows", [1.0]), r"needs a pair \(V, beta\)"),
        ((np.full((1, 2), math.inf), np.zeros(1)), "all finite"),
    ],
)
def test_a_comparator_that_is_no_function_is_refused(comparator, words):
    X, y, _ = small_stream(0)
    with pytest.raises(ValueError, match=words):
        ol.certificate(ol.KernelAAR(), X, y, comparator=comparator)


def test_with_a_budget_no_bound_is_known():
    X, y = stream(30)
    proof = ol.certificate(ol.KernelAAR(budget=10), X, y)
    assert proof.failed.startswith("no bound is known for KernelAAR with a budget, which drops")
    linear = ol.certificate(ol.KernelAAR(budget=10), X, y, comparator=np.zeros(5))
    assert_allclose(linear.comparator, np.cumsum(y**2))
    assert (
        "with resets and without a finite radius" in ol.certificate(ol.KernelARCOR(), X, y).failed
    )


@pytest.mark.parametrize("kind", [ol.KernelAAR, ol.KernelGD, ol.KernelLASER, ol.KernelWEMM])
def test_a_certificate_of_an_earlier_release_goes_on_without_a_bound(kind, monkeypatch, tmp_path):
    X, y = stream(30)
    now = kind._guarantee
    with monkeypatch.context() as before:
        before.setattr(kind, "_guarantee", lambda self, search=True: now(self).earlier[0])
        certified = ol.Certified(kind())
        certified.replay(X, y)
        certified.save(tmp_path / "early.onl")
    again = ol.Certified.load(tmp_path / "early.onl")
    assert again.loss == certified.loss
    assert "before version 0.15" in again.failed
    again.learn_one(X[0], y[0])
    assert again.rounds_ == 31


def test_a_certificate_about_another_kernel_is_refused(tmp_path):
    X, y = stream(20)
    watched = ol.Certified(ol.KernelAAR(RBF(gamma=1.0)))
    watched.replay(X, y)
    accounts = watched._accounts.described()
    other = ol.KernelAAR(RBF(gamma=2.0)).fit(X, y)
    with pytest.raises(ValueError, match="another kernel"):
        ol.Certified._restored(other, accounts)


@pytest.mark.parametrize(
    ("model", "spoil", "words"),
    [
        (ol.KernelAAR(), (8 + 1, 17.0), "17 examples are in its bound"),  # after tally and notes
        (ol.KernelAAR(), (8 + 7 + 2 * 16, -1.0), "its factor L has a diagonal"),
        (ol.KernelARCOR(radius=1.0), (13 + 2, 99.0), "99 examples are in its segment"),
        (ol.KernelARCOR(radius=1.0), (13 + 3, 7.0), "the state of the bound needs"),
        (ol.KernelARCOR(radius=1.0), (13 + 4, 0.5), "0.5 is its segment"),
        (ol.KernelCRRLS(), (8 + 4, 3.0), "the variance of the noise = 3"),
    ],
)
def test_a_bound_that_no_rows_lead_to_is_refused(model, spoil, words):
    X, y = stream(12)
    watched = ol.Certified(fresh(model))
    watched.replay(X, y)
    accounts = watched._accounts.described()
    place, value = spoil
    accounts["accounts"][place] = value
    with pytest.raises(ValueError, match=words):
        ol.Certified._restored(watched.model, accounts)


def test_a_certificate_too_large_for_the_memory_is_refused_in_words(monkeypatch):
    X, y = stream(200)
    watched = ol.Certified(ol.KernelGD(eta=0.2))  # which itself keeps O(nd) numbers
    watched.replay(X[:60], y[:60])
    before = state(watched.model)
    size = watched._accounts.ledger.record.size
    monkeypatch.setattr("onlinear._validation.memory.physical_memory", lambda: 3.0 * 8 * size)
    with pytest.raises(ValueError, match=r"the certificate of KernelGD would keep \d+ examples"):
        watched.replay(X[60:], y[60:])
    assert state(watched.model) == before
    assert watched.rounds_ == 60
