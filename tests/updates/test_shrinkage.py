"""The fast rounds of CIRR and OSLOG against a factorisation of the whole matrix, and at its limits.

Other tests have few inputs, where no weight is left out of the factorisation; here there are many.
"""

import copy
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutants import rebound
from numpy.testing import assert_allclose
from plain_python import python
from table import state

import onlinear as ol
from onlinear._engine import step as _engine
from onlinear._learner.bounds.ledger import Ledger
from onlinear._updates import reweighted_ridge

N = 40
BOTH = pytest.mark.parametrize("learner", [ol.CIRR, ol.OSLOG])


def sparse_stream(rows, n=N, seed=0, few=5, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, n))
    truth = np.zeros(n)
    truth[rng.permutation(n)[:few]] = rng.normal(size=few)
    return X, X @ truth + noise * rng.normal(size=rows)


def step_of(model, x, y, **names):
    """Return the prediction and the weights after one round from here, with names of the step's
    meaning something else; the model stays as it was."""
    twin = copy.deepcopy(model)
    step = rebound(twin._step.function, **names)
    value, rule = step(tuple(twin._state), twin._numbers(), x, y, twin._work)
    assert rule == _engine.FINE
    return value, twin.coef_


def whole(model, x, y):
    """Return the same with no weight taken to be small."""
    return step_of(model, x, y, SMALL=-1.0)


def counted(model, x):
    """Return how many weights the next round factorises, and how many once it is solved."""
    _, w, A, b = model._state
    n = x.size
    root, order, U, v, scratch = (
        np.zeros(n),
        np.zeros(n),
        np.zeros((n, n)),
        np.zeros(n),
        np.zeros((3, n)),
    )
    reweighted_ridge.weigh(w, model.floor, root)
    system = root, A, x, model.a, order, U
    k = reweighted_ridge.factorise(system, reweighted_ridge.SMALL)
    return k, reweighted_ridge.solve(system, k, b, reweighted_ridge.ROUNDING, v, scratch)


def residual(model, x, v, b):
    """Return the residual of aD^{−½}v + √D S v = √D b with x in S, beside √D b."""
    _, w, A, _ = model._state
    D = np.maximum(np.abs(w), model.floor)
    S = A + np.outer(x, x)
    off = model.a * v / np.sqrt(D) + np.sqrt(D) * (S @ v) - np.sqrt(D) * b
    return np.linalg.norm(off) / np.linalg.norm(np.sqrt(D) * b)


# --- the same numbers -------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("n", [31, 40, 85])
@pytest.mark.parametrize("few", [0, 3, 10])
def test_predictions_are_those_of_the_whole_factorisation(learner, n, few):
    X, y = sparse_stream(250, n, few=few)
    model, other = learner(a=20.0), learner(a=20.0)
    fast = ol.replay(model, X, y).predictions
    other._begin(n)
    step = rebound(other._step.function, SMALL=-1.0)
    slow = np.array(
        [
            step(tuple(other._state), other._numbers(), x, float(label), other._work)[0]
            for x, label in zip(X, y, strict=True)
        ]
    )
    assert counted(model, X[0])[0] < n / 2
    assert np.abs(fast - slow).max() <= 1e-12 * np.abs(slow).max()
    assert_allclose(model.coef_, other.coef_, rtol=1e-9, atol=1e-13)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 60),
    few=st.integers(0, 60),
    rows=st.integers(1, 120),
    a=st.sampled_from([0.1, 1.0, 10.0, 100.0]),
    floor=st.sampled_from([0.0, 1e-12, 1e-6, 1e-3]),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_round_is_that_of_the_whole_factorisation_from_any_state(n, few, rows, a, floor, seed):
    X, y = sparse_stream(rows + 1, n, seed, min(few, n))
    for learner in (ol.CIRR, ol.OSLOG):
        model = learner(a=a, floor=floor).fit(X[:-1], y[:-1])
        value, w = step_of(model, X[-1], float(y[-1]))
        expected, wanted = whole(model, X[-1], float(y[-1]))
        assert abs(value - expected) <= 1e-12 * np.abs(y).max()
        assert_allclose(w, wanted, rtol=1e-9, atol=1e-12 * np.abs(wanted).max())
        b = model._state.b + y[-1] * X[-1]
        if floor > 0:
            assert residual(model, X[-1], w, b) < 1e-12


def exact(model, x, b):
    """Return M b, x being in S, with the digits of long double."""
    _, w, A, _ = model._state
    D = np.maximum(np.abs(w), model.floor).astype(np.longdouble)
    x = x.astype(np.longdouble)
    root, S = np.sqrt(D), A.astype(np.longdouble) + np.outer(x, x)
    B = root[:, None] * S * root
    B[np.diag_indices_from(B)] += model.a
    rest = root * b.astype(np.longdouble)
    for k in range(len(B)):  # Gauss
        factors = B[k + 1 :, k] / B[k, k]
        B[k + 1 :] -= np.outer(factors, B[k])
        rest[k + 1 :] -= factors * rest[k]
    for k in range(len(B) - 1, -1, -1):
        rest[k] = (rest[k] - B[k, k + 1 :] @ rest[k + 1 :]) / B[k, k]
    return root * rest


def scaled(X):
    """Columns of scales 1e-8 to 1e8."""
    return X * 10.0 ** np.linspace(-8, 8, X.shape[1])


def doubled(X):
    """Half of the columns are copies, some of them nearly."""
    half = X.shape[1] // 2
    near = 1e-9 * np.random.default_rng(1).normal(size=X[:, half:].shape)
    return np.hstack([X[:, :half], X[:, : X.shape[1] - half] + near * (np.arange(half) % 2)])


def alike(X):
    """Columns that nearly are one."""
    return X[:, :1] + 1e-3 * X


@BOTH
@pytest.mark.parametrize("hostile", [scaled, doubled, alike])
@pytest.mark.parametrize("floor", [0.0, 1e-12, 1e-4])
@pytest.mark.parametrize("rows", [30, 150])
def test_a_round_on_hostile_columns_is_as_right_as_the_whole_factorisation(
    learner, hostile, floor, rows
):
    X, y = sparse_stream(rows + 1)
    X = hostile(X)
    y = y + X[:, -1] / np.abs(X[:, -1]).max()
    w0 = np.where(np.arange(N) % 3 == 0, 1.0, 1e-9) / np.sqrt(np.mean(X * X, axis=0))
    model = learner(a=2.0, floor=floor, w0=w0).fit(X[:-1], y[:-1])
    b = model._state.b + y[-1] * X[-1]
    right = exact(model, X[-1], b)
    size = np.abs(X[:-1]).mean(axis=0)  # errors count as they show in predictions
    off = [
        np.sum(np.abs(w - right) * size)
        for _, w in (step_of(model, X[-1], float(y[-1])), whole(model, X[-1], float(y[-1])))
    ]
    assert off[0] <= 10 * off[1] + 1e-14 * np.sum(np.abs(right) * size)


def test_with_floor_0_weights_on_their_way_to_zero_have_their_digits_too():
    X, y = sparse_stream(120)
    model, x, label = ol.OSLOG(a=30.0, floor=0.0).fit(X[:-1], y[:-1]), X[-1], float(y[-1])
    w, wanted = step_of(model, x, label)[1], whole(model, x, label)[1]
    assert counted(model, x)[0] < 12
    assert np.count_nonzero(np.abs(wanted) < 1e-30) > 20
    assert_allclose(w, wanted, rtol=1e-9)


def test_with_floor_0_zeros_stay():
    X, y = sparse_stream(60)
    w0 = np.where(np.arange(N) < 5, 1.0, 0.0)
    model = ol.CIRR(floor=0.0, w0=w0).fit(X, y)
    assert counted(model, X[0]) == (5, 5)
    assert np.all(model.coef_[5:] == 0.0)
    few = ol.CIRR(floor=0.0).fit(X[:, :5], y)
    assert_allclose(model.coef_[:5], few.coef_, rtol=1e-12)


# --- which way is taken -----------------------------------------------------------------------


def test_where_few_inputs_matter_only_they_are_factorised():
    X, y = sparse_stream(300, 100, few=10)
    k, after = counted(ol.CIRR(a=20.0).fit(X, y), X[0])
    assert 5 <= k <= 15
    assert after == k


@pytest.mark.parametrize(("n", "matter"), [(7, 0), (31, 24), (40, 31)])
def test_few_small_weights_are_factorised_with_the_others(n, matter):
    X, _ = sparse_stream(30, n)
    w0 = np.where(np.arange(n) < matter, 1.0, 1e-14)
    model = ol.CIRR(w0=w0, floor=1e-14)
    model._begin(n)
    assert counted(model, X[0]) == (n, n)


def test_if_the_turns_do_not_come_to_rest_everything_is_factorised():
    X, y = sparse_stream(200)
    model, x = ol.CIRR(a=20.0).fit(X, y), X[0].copy()
    _, w, A, b = model._state
    root, order, U, v, scratch = (
        np.zeros(N),
        np.zeros(N),
        np.zeros((N, N)),
        np.zeros(N),
        np.zeros((3, N)),
    )
    reweighted_ridge.weigh(w, model.floor, root)
    system = root, A, x, model.a, order, U
    k = reweighted_ridge.factorise(system, reweighted_ridge.SMALL)
    assert k < N
    v_fast = v.copy()
    assert reweighted_ridge.solve(system, k, b, reweighted_ridge.ROUNDING, v_fast, scratch) == k
    assert reweighted_ridge.solve(system, k, b, math.nan, v, scratch) == N
    assert_allclose(v_fast, v, rtol=1e-9, atol=1e-14)
    assert step_of(model, x, 1.0, ROUNDING=math.nan)[0] == whole(model, x, 1.0)[0]


# --- the promises of every learner, where weights are small -------------------------------------


@BOTH
@pytest.mark.parametrize("cut", [1, 50, 99])
def test_a_resumed_stream_has_the_same_bits(learner, cut, tmp_path):
    X, y = sparse_stream(100)
    model, other = learner(a=10.0), learner(a=10.0)
    expected = ol.replay(model, X, y).predictions
    assert counted(model, X[0])[0] < N
    first = ol.replay(other, X[:cut], y[:cut]).predictions
    other.save(tmp_path / "model.onl")
    other = ol.load(tmp_path / "model.onl")
    second = []
    for x, label in zip(X[cut:], y[cut:], strict=True):
        second.append(other.predict_one(x))
        other.learn_one(x, label)
    assert np.append(first, second).tobytes() == expected.tobytes()
    assert state(other) == state(model)


@BOTH
def test_compiled_and_plain_python_have_the_same_bits(learner):
    X, y = sparse_stream(12, 24)
    w0 = np.where(np.arange(24) < 4, 1.0, 1e-12)
    model, plain = learner(a=5.0, w0=w0), learner(a=5.0, w0=w0)
    expected = ol.replay(model, X, y).predictions
    assert counted(model, X[0])[0] < 24
    plain._begin(24)
    step = python(plain._step.function, {})
    for x, label, value in zip(X, y, expected, strict=True):
        got = step(tuple(plain._state), plain._numbers(), x, float(label), plain._work)
        assert got == (value, _engine.FINE)
    assert state(plain) == state(model)
    account = model._guarantee().account
    ledger = Ledger(account)
    ledger.add(X, y)
    kept, work = account.init(24), account.step.work(24)
    bound = python(account.step.function, {})
    for x, label in zip(X, y, strict=True):
        assert bound(tuple(kept), account.params, x, float(label), work)[1] == _engine.FINE
    assert [a.tobytes() for a in kept] == [a.tobytes() for a in ledger.state]


@BOTH
def test_a_row_too_large_is_refused_and_changes_nothing(learner):
    X, y = sparse_stream(100)
    model = learner(a=10.0).fit(X, y)
    before = state(model)
    for size in (1e155, 1e200, 1e300):
        with pytest.raises(ValueError, match="overflow"):
            model.learn_one(X[0] * size, 1.0)
        assert state(model) == before
    with pytest.raises(ValueError, match="overflow"):
        model.learn_one(X[0], 1e300)
    assert state(model) == before


# --- the bounds -------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [ol.CIRR(a=20.0), ol.OSLOG(a=20.0), ol.OSLOG(a=20.0, clip=20.0)])
def test_certificates_hold_and_are_those_of_the_whole_factorisation(model):
    X, y = sparse_stream(200)
    account = model._guarantee().account
    proof = ol.certificate(model, X, y)
    assert counted(model, X[0])[0] < N
    assert proof.holds.all()
    kept, work = account.init(N), account.step.work(N)
    bound = rebound(account.step.function, SMALL=-1.0)
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        bound(tuple(kept), account.params, x, float(label), work)
        comparator, factor, extra = kept[0][:3]
        assert_allclose(proof.comparator[i], comparator, rtol=1e-8, atol=1e-8)
        assert_allclose(proof.ceiling[i], factor * comparator + extra, rtol=1e-8)


@BOTH
def test_the_account_walks_the_path_of_the_learner(learner):
    X, y = sparse_stream(150)
    model = learner(a=3.0)
    watched = ol.Certified(model)
    watched.replay(X, y)
    assert watched._accounts.ledger.state[3].tobytes() == model.coef_.tobytes()
