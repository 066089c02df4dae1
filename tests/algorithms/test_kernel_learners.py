"""The learners in dual form: against the linear ones, explicit features, and the printed sums."""

import math
import sys

import golden
import kernel_oracles as slow
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_cases import each_kernel
from numpy.testing import assert_allclose
from small_streams import STREAMS, within_unit_ball
from table import manhattan, state, stream

import onlinear as ol
from onlinear.kernels import RBF, Linear, Polynomial

LINEAR = {  # the learner in dual form, the linear one, and parameters of both
    "KernelAAR": ("AAR", [{}, {"b": 0.1, "clip": 0.3}]),
    "KernelARCOR": ("ARCOR", [{}, {"r": 0.2, "radius": 0.5, "q": 1.3}, {"q": math.inf}]),
    "KernelCRRLS": ("CRRLS", [{}, {"forgetting": 0.9, "reset_every": 7}]),
    "KernelGD": ("GD", [{"eta": 0.25}, {"eta": 0.9, "radius": 0.3}]),
    "KernelLASER": ("LASER", [{}, {"b": 0.3, "c": 2.0, "shrink": False}, {"c": math.inf}]),
    "KernelWEMM": ("WEMM", [{}, {"b": 1.2}]),
}
PAIRS = [(name, linear, params) for name, (linear, both) in LINEAR.items() for params in both]


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize(("name", "linear", "params"), PAIRS)
def test_with_the_linear_kernel_they_are_the_linear_learners(name, linear, params, stream):
    X, y = within_unit_ball(*STREAMS[stream](np.random.default_rng(1)))
    model, other = ol.LEARNERS[name](Linear(), **params), ol.LEARNERS[linear](**params)
    wanted = ol.replay(other, X, y).predictions
    scale = np.abs(y).max()
    assert_allclose(ol.replay(model, X, y).predictions, wanted, rtol=1e-9, atol=1e-11 * scale)
    weights = model.dual_coef_ @ model.examples_
    assert_allclose(weights, other.coef_, rtol=1e-9, atol=1e-10 * np.abs(other.coef_).max())


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 60),
    d=st.integers(1, 6),
    seed=st.integers(0, 2**32),
    size=st.floats(-2, 2),
    pair=st.sampled_from(PAIRS),
)
def test_with_the_linear_kernel_on_random_streams(rows, d, seed, size, pair):
    name, linear, params = pair
    rng = np.random.default_rng(seed)
    X, y = within_unit_ball(rng.normal(size=(rows, d)), 10.0**size * rng.normal(size=rows))
    wanted = ol.replay(ol.LEARNERS[linear](**params), X, y).predictions
    got = ol.replay(ol.LEARNERS[name](Linear(), **params), X, y).predictions
    assert_allclose(got, wanted, rtol=1e-9, atol=1e-10 * np.abs(y).max())


@each_kernel
def test_kernel_wemm_is_the_sums_of_figure_3_3(kernel):
    rng = np.random.default_rng(0)
    X, y = within_unit_ball(rng.normal(size=(12, 3)), rng.normal(size=12))
    b = 1.1 * max(kernel(x[None], x)[0] for x in X)
    predictions, alpha = slow.figure_3_3(X, y, kernel, b)
    model = ol.KernelWEMM(kernel, b=b)
    assert_allclose(ol.replay(model, X, y).predictions, predictions, rtol=1e-10, atol=1e-13)
    assert_allclose(model.dual_coef_, alpha, rtol=1e-10, atol=1e-13)


@each_kernel
@pytest.mark.parametrize("budget", [1, 2, 5, 6, 7, 8, 30])
@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("KernelAAR", {"b": 0.4}),
        ("KernelLASER", {"b": 0.4, "c": 3.0}),
        ("KernelLASER", {"b": 4.0, "c": 0.5, "shrink": False}),
        ("KernelWEMM", {"b": 40.0}),
    ],
)
def test_with_a_budget_they_are_the_normal_equations_of_what_is_kept(name, params, kernel, budget):
    rng = np.random.default_rng(2)
    X, y = within_unit_ball(rng.normal(size=(50, 3)), rng.normal(size=50))
    b, c = params["b"], params.get("c", math.inf)
    m, chi = slow.normal_equations(X, y, kernel, b, budget, c, weighted=name == "KernelWEMM")
    shrunk = name == "KernelAAR" or (name == "KernelLASER" and params.get("shrink", True))
    model = ol.LEARNERS[name](kernel, **params, budget=budget)
    got = ol.replay(model, X, y).predictions
    assert_allclose(got, m / (1 + chi) if shrunk else m, rtol=1e-9, atol=1e-11)
    assert_allclose(model.examples_, X[-budget:])
    assert model.rounds_ == 50


@each_kernel
@pytest.mark.parametrize("budget", [1, 3, 20, 100])
@pytest.mark.parametrize(("eta", "radius"), [(0.02, None), (0.3, 0.2)])
def test_kernel_gd_keeps_the_length_of_its_weights(kernel, budget, eta, radius):
    rng = np.random.default_rng(3)
    X, y = within_unit_ball(rng.normal(size=(60, 3)), rng.normal(size=60))
    model = ol.KernelGD(kernel, eta=eta, radius=radius, budget=budget)
    wanted = slow.descent_with_a_budget(X, y, kernel, eta, radius, budget)
    assert_allclose(ol.replay(model, X, y).predictions, wanted, rtol=1e-9, atol=1e-12)
    length = model.dual_coef_ @ slow.gram(kernel, model.examples_) @ model.dual_coef_
    assert_allclose(model._state.square[0], length, rtol=1e-9)


def test_constrained_kernel_gd_predicts_the_reference_numbers():
    """The kernel (1 + xᵀz)², to twelve digits, in the first ten and the last five rounds."""
    X, y = golden.STREAMS["signed"]()
    run = ol.replay(ol.KernelGD(Polynomial(2), eta=0.01, radius=0.08), X, y)
    wanted = (
        0.0,
        0.00247240084223,
        0.000888687090314,
        -0.0140305035585,
        -0.0711428200386,
        0.00966348742676,
        0.0182731476067,
        0.0322584518439,
        -0.0818930623711,
        -0.0406526570479,
        0.0177018327507,
        0.0351509012669,
        -0.0673714834813,
        -0.0324743242852,
        -0.0213953458075,
    )
    assert_allclose(run.predictions[[*range(10), *range(35, 40)]], wanted, rtol=1e-9, atol=1e-12)
    assert_allclose(run.cumulative_loss[-1], 4.3237613274, rtol=1e-10)


@each_kernel
def test_what_is_predicted_is_the_sum_over_the_examples(kernel):
    X, y = stream(40)
    for name in ("KernelGD", "KernelWEMM"):
        params = {"eta": 0.01} if name == "KernelGD" else {"b": 100.0}
        model = ol.LEARNERS[name](kernel, **params).fit(X, y)
        sums = [model.dual_coef_ @ kernel(model.examples_, x) for x in X]
        assert_allclose(model.predict(X), sums, rtol=1e-9)


def test_a_kernel_of_ones_own_is_as_good_as_a_compiled_one():
    X, y = stream(60)
    for name in LINEAR:
        params = {"budget": 25, **({"reset_every": 9} if name == "KernelCRRLS" else {})}
        own = ol.LEARNERS[name](lambda Z, x: np.exp(-0.2 * ((Z - x) ** 2).sum(axis=1)), **params)
        compiled = ol.LEARNERS[name](RBF(), **params)
        assert_allclose(
            ol.replay(own, X, y).predictions, ol.replay(compiled, X, y).predictions, rtol=1e-11
        )


def test_two_learners_of_a_class_may_have_different_kernels():
    X, y = stream(20)
    models = [ol.KernelAAR(k).fit(X, y) for k in (manhattan, RBF(), lambda Z, x: Z @ x)]
    expected = [model.predict(X).tolist() for model in models]
    assert [[m.predict_one(x) for x in X] for m in models] == expected


@each_kernel
def test_with_a_budget_kernel_aar_is_as_if_it_had_never_seen_the_oldest(kernel):
    X, y = stream(90)
    model, fresh = ol.KernelAAR(kernel, budget=20).fit(X, y), ol.KernelAAR(kernel)
    fresh.fit(X[-20:], y[-20:])
    assert_allclose(model.predict(X), fresh.predict(X), rtol=1e-9, atol=1e-12)


# --- growing ---------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(LINEAR))
def test_room_grows_by_a_share_and_a_round_copies_nothing(name, monkeypatch):
    X, y = stream(1000)
    model, grown = ol.LEARNERS[name](), []
    make_room = type(model)._make_room
    monkeypatch.setattr(
        type(model), "_make_room", lambda self: (grown.append(self._room), make_room(self))[1]
    )
    for x, label in zip(X, y, strict=True):
        model.learn_one(x, label)
    assert len(grown) < 20
    assert model._room < 1300
    whole = ol.LEARNERS[name]().fit(X, y)
    assert state(whole) == state(model)


def test_an_error_while_growing_leaves_the_learner_as_it_was(monkeypatch):
    X, y = stream(200)
    model = ol.KernelAAR().fit(X[:30], y[:30])
    before, room = state(model), model._room
    y[150] = math.nan
    with pytest.raises(ValueError, match="row 150"):
        model.partial_fit(X, y)
    assert state(model) == before
    assert model._room == room
    monkeypatch.setattr(ol.KernelAAR, "_with_room", _no_memory)
    with pytest.raises(MemoryError):
        model.partial_fit(X[:100], y[:100])
    assert state(model) == before


def _no_memory(*args):
    raise MemoryError


@pytest.mark.parametrize("name", sorted(LINEAR))
def test_more_examples_than_half_the_memory_are_refused_in_words(name, monkeypatch):
    X, y = stream(200)
    model = ol.LEARNERS[name]().fit(X[:90], y[:90])
    before = state(model)
    monkeypatch.setattr(
        "onlinear._validation.memory.physical_memory", lambda: 2.0 * 8 * model._record.size
    )
    with pytest.raises(ValueError, match=rf"{name} would keep \d+ examples, .* set a budget, or"):
        model.partial_fit(X[90:], y[90:])
    assert state(model) == before


def test_a_budget_bounds_the_room():
    X, y = stream(300)
    model = ol.KernelAAR(budget=40).fit(X, y)
    assert model._room <= 56
    model.set_params(budget=60).partial_fit(X, y)
    assert len(model.examples_) == 60
    with pytest.raises(ValueError, match="budget ≥ 60, the number of examples it keeps, got"):
        model.set_params(budget=5).learn_one(X[0], y[0])


# --- what is refused ---------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(LINEAR))
def test_a_kernel_that_is_no_inner_product_is_refused(name):
    X, y = stream(20)
    with pytest.raises(ValueError, match=r"needs a kernel that is an inner product"):
        ol.LEARNERS[name](lambda Z, x: -(Z @ x)).fit(X, y)
    if name != "KernelGD":
        params = {"KernelARCOR": {"r": 50.0}, "KernelCRRLS": {}}.get(name, {"b": 50.0})
        far = ol.LEARNERS[name](lambda Z, x: 1.0 + ((Z - x) ** 2).sum(axis=1), **params)
        with pytest.raises(ValueError, match=r"positive semi-definite"):
            far.fit(np.vstack([X, 30 * X]), np.append(y, y))


def test_a_prior_too_weak_for_the_digits_is_refused():
    X, y = stream(20)
    with pytest.raises(ValueError, match=r"needs ρ·K\(x, x\) ≤ 1e10.* got 1e\+12 in row 0"):
        ol.KernelAAR(RBF(), b=1e-12).fit(X, y)


def test_an_error_of_the_kernel_itself_comes_through_and_changes_nothing():
    X, y = stream(30)
    calls = []

    def moody(Z, x):
        calls.append(1)
        if len(calls) > 45:
            raise RuntimeError("not today")
        return Z @ x

    model = ol.KernelAAR(moody).fit(X, y)
    before = state(model)
    with pytest.raises(RuntimeError, match="not today"):
        model.partial_fit(X, y)
    assert state(model) == before


def test_the_kernel_cannot_change_once_examples_were_compared():
    X, y = stream(20)
    model = ol.KernelAAR(RBF(gamma=1.0)).fit(X, y)
    with pytest.raises(ValueError, match=r"needs the kernel it began with, RBF\(gamma=1.0\), got"):
        model.set_params(kernel=RBF(gamma=2.0)).predict(X)
    model.set_params(kernel=RBF(gamma=1.0)).predict(X)
    own = ol.KernelAAR(manhattan).fit(X, y)
    with pytest.raises(ValueError, match=r"needs the kernel it began with"):
        own.set_params(kernel=lambda Z, x: Z @ x).predict(X)


def test_there_is_no_weight_a_column():
    model = ol.KernelAAR().fit(*stream(5))
    assert not hasattr(model, "coef_")
    with pytest.raises(AttributeError, match="see dual_coef_"):
        _ = model.coef_


def test_threads_may_predict_with_a_kernel_of_ones_own():
    from concurrent.futures import ThreadPoolExecutor

    X, y = stream(200)
    model = ol.KernelAAR(manhattan).fit(X[:40], y[:40])
    expected = model.predict(X).tolist()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(model.predict_one, X)) == expected
    finally:
        sys.setswitchinterval(interval)


def test_a_kernel_that_spoils_its_arguments_spoils_nothing():
    X, y = stream(30)

    def rude(Z, x):
        values = Z @ x
        Z -= 1.0
        return values

    for name in sorted(LINEAR):
        params = {"KernelGD": {"eta": 0.1}, "KernelARCOR": {"r": 3.0}}.get(name, {"b": 3.0})
        params = {"reset_every": 4} if name == "KernelCRRLS" else params
        model = ol.LEARNERS[name](rude, budget=9, **params).fit(X, y)
        np.testing.assert_array_equal(model.examples_, X[-9:])


def test_a_budget_does_not_wear_out():
    """Time counts from about the oldest example kept, or the prior would come to say nothing."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(12_000, 2))
    truth = np.sin(3 * X[:, 0]) * X[:, 1]
    y = truth + 0.3 * rng.normal(size=len(X))
    model = ol.KernelLASER(RBF(gamma=1.0), c=1.0, shrink=False, budget=40)
    errors = (ol.replay(model, X, y).predictions - truth) ** 2
    assert errors[-2000:].mean() < 1.1 * errors[1000:3000].mean()
    big = ol.KernelLASER(Linear(), c=1.0, budget=5)
    ol.replay(big, 100 * rng.normal(size=(70_000, 2)), rng.normal(size=70_000))
