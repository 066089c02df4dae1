"""The certificate: its figures, however it is made; where there is no bound; given comparators."""

import copy
import math
import pickle

import numpy as np
import pytest
from table import CASES, IDS, make, same_bits, state, stream, stream_of

import onlinear as ol
from onlinear.sets import Ball, Box, HalfSpace, Intersection

FIGURES = ("loss", "comparator", "ceiling", "bound", "slack", "holds")


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_row_by_row_in_bulk_in_parts_and_resumed_give_the_same_bits(case, tmp_path):
    X, y = stream_of(case, 60)
    bulk = ol.certificate(make(case), X, y)
    single = ol.Certified(make(case))
    for t in range(20):
        single.learn_one(X[t], float(y[t]))
        for name in FIGURES:
            assert same_bits(getattr(single, name), getattr(bulk, name)[t])
    single.save(tmp_path / "watched.onl")
    resumed = [ol.Certified.load(tmp_path / "watched.onl"), copy.deepcopy(single)]
    resumed.append(pickle.loads(pickle.dumps(single)))
    for watched in [single, *resumed]:
        rest = watched.replay(X[20:], y[20:])
        for name in FIGURES:
            assert same_bits(getattr(rest, name), getattr(bulk, name)[20:])
        assert watched.failed == bulk.failed
        assert watched.rounds_ == 60


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_watching_a_learner_does_not_change_what_it_does(case):
    X, y = stream_of(case, 60)
    alone, watched = make(case), make(case)
    run, proof = ol.replay(alone, X, y), ol.certificate(watched, X, y)
    assert state(alone) == state(watched)
    assert same_bits(run.predictions, proof.run.predictions)
    assert same_bits(run.cumulative_loss, proof.loss)


def test_the_figures_belong_together():
    X, y = stream(100)
    proof = ol.certificate(ol.LASER(), X, y)
    np.testing.assert_array_equal(proof.bound, proof.ceiling - proof.comparator)
    np.testing.assert_array_equal(proof.slack, proof.ceiling - proof.loss)
    np.testing.assert_array_equal(proof.regret, proof.loss - proof.comparator)
    assert proof.holds.dtype == bool
    assert proof.holds.all()
    assert proof.failed is None
    assert "holds" in repr(proof)
    assert "Theorem 12" in proof.theorem
    best = ol.hindsight.best_drifting(X, y, 1.0, 100.0)
    np.testing.assert_allclose(proof.comparator, best, rtol=1e-14)


def test_the_comparator_of_aar_is_the_best_fixed_predictor():
    X, y = stream(100)
    proof = ol.certificate(ol.AAR(b=0.3), X, y)
    np.testing.assert_allclose(proof.comparator, ol.hindsight.best_fixed(X, y, 0.3), rtol=1e-12)


@pytest.mark.parametrize("kind", [ol.EG, ol.EGPM, ol.EGU, ol.GD])
def test_the_comparator_of_a_first_order_learner_is_nearly_the_best_of_its_class(kind):
    """Any u of the class will do for the ceiling; this one is to be worth showing."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2000, 4)) / 2
    truth = np.array([0.1, 0.6, 0.3, 0.0])
    y = X @ truth + 0.01 * rng.normal(size=2000).clip(-1, 1)
    y = y.clip(0, 1)
    proof = ol.certificate(kind(**({"eta": 0.2} if kind is ol.GD else {})), X, y)
    given = ol.certificate(kind(**({"eta": 0.2} if kind is ol.GD else {})), X, y, comparator=truth)
    assert proof.ceiling[-1] <= 1.1 * given.ceiling[-1]


# --- where there is no bound ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (ol.ONS(), "ONS without a radius"),
        (ol.ARCOR(), "ARCOR with resets and without a finite radius"),
        (ol.OGD(schedule="sqrt"), "falling rate"),
        (ol.OSLOG(first="w0"), "w0"),
    ],
    ids=repr,
)
def test_a_learner_without_a_theorem_has_its_regret_and_says_so(model, words):
    X, y = stream(50)
    proof = ol.certificate(model, X, y)
    assert proof.failed.startswith("no bound is known for")
    assert words in proof.failed
    assert proof.failed_from == 0
    assert np.isfinite(proof.regret).all()
    assert np.isnan(proof.ceiling).all()
    assert not proof.holds.any()
    assert "no bound is known" in repr(proof)
    watched = ol.Certified(type(model)(**model.get_params()))
    assert "no bound" in watched.failed
    assert math.isnan(watched.ceiling)


UNLIMITED = {"eta": 1e-4, "loss": ol.losses.Poisson()}


@pytest.mark.parametrize(
    "model",
    [
        ol.GD(**UNLIMITED),
        ol.PNorm(**UNLIMITED),
        ol.GD(**UNLIMITED, within=Box(low=0.0)),
        ol.GD(**UNLIMITED, within=Intersection(Ball(1.0), Box(low=0.0))),
        ol.GD(**UNLIMITED, within=HalfSpace(np.ones(5))),
    ],
    ids=repr,
)
@pytest.mark.parametrize("u", [None, np.full(5, -0.1)], ids=["in hindsight", "given"])
def test_poisson_has_a_bound_only_with_a_limit_and_says_so(model, u):
    X, y = stream(50)
    model = type(model)(**model.get_params())
    watched = ol.Certified(type(model)(**model.get_params()))
    assert "only with a radius, or in a bounded set" in watched.failed
    proof = ol.certificate(model, X, np.abs(y), comparator=u)
    assert proof.failed.startswith(f"no bound is known for {type(model).__name__} with Poisson()")
    assert proof.failed.endswith("needs a largest activation a")
    assert proof.failed_from == 0
    assert np.isnan(proof.ceiling).all()


@pytest.mark.parametrize(
    ("model", "sign"),
    [
        (ol.GD(**UNLIMITED, radius=1.0), None),
        (ol.PNorm(**UNLIMITED, radius=1.0), None),
        (ol.GD(**UNLIMITED, radius=1.0, within=Box(low=0.0)), None),
        (ol.GD(**UNLIMITED, within=Box(-1.0, 1.0)), None),
        (ol.GD(**UNLIMITED, within=Intersection(Box(low=0.0), Ball(1.0))), None),
        (ol.GD(**UNLIMITED, within=Box(high=0.0)), "rows ≥ 0"),  # activations are at most 0
        (ol.EG(**UNLIMITED, X=10.0, within=HalfSpace([1.0, -1.0, 0.0, 0.0, 0.0])), None),
    ],
    ids=repr,
)
def test_poisson_has_a_bound_with_a_limit(model, sign):
    X, y = stream(50)
    proof = ol.certificate(model, X if sign is None else np.abs(X), np.abs(y))
    assert proof.failed is None
    assert proof.holds.all()


@pytest.mark.parametrize(
    ("model", "spoil", "rule", "value"),
    [
        (ol.LASER(clip=1.0), {"y": 3.0}, "|y| ≤ clip", "3"),
        (ol.AAR(clip=1.0), {"y": -2.0}, "|y| ≤ clip", "2"),
        (ol.Ridge(clip=1.0), {"y": 3.0}, "|y| ≤ clip", "3"),
        (ol.OSLOG(clip=1.0), {"y": 3.0}, "|y| ≤ clip", "3"),
        (ol.GD(eta=0.25, radius=9.0), {"x": 2.2}, "η·‖x‖² < 1", "1.21"),
        (ol.EG(eta=2.0, X=5.0), {"x": 2.0}, "η·range²/4 < 1", "2"),
        (ol.EGPM(eta=0.5, X=5.0), {"x": 2.0}, "η·(U·max|x_i|)² < 1", "2"),
        (
            ol.GD(eta=0.4, radius=9.0, loss=ol.losses.SquaredHinge()),
            {"x": 1.2},
            "½κη·‖x‖² < 1",
            "1.152",
        ),
        (ol.EGU(eta=0.3, X=5.0), {"x": 2.0}, "3η·x_i·Y ≤ 1", "1.8"),
        (ol.ONS(gamma=0.1, radius=1.0), {"y": 3.0}, "2γ(radius·‖x‖ + |y|)² ≤ 1", "3.2"),
    ],
    ids=repr,
)
def test_a_hypothesis_that_fails_is_named_with_its_row_and_value(model, spoil, rule, value):
    X, y = np.eye(3)[np.arange(30) % 3], np.full(30, 0.5)
    X[17, 17 % 3] = spoil.get("x", 1.0)
    y[17] = spoil.get("y", 0.5)
    if model._loss == ol.losses.SquaredHinge():
        y = np.sign(y)
    proof = ol.certificate(model, X, y)
    assert rule in proof.failed
    assert f"row 17 has {value}," in proof.failed
    assert proof.failed_from == 17
    assert proof.holds[:17].all()
    assert not proof.holds[17:].any()
    assert np.isnan(proof.ceiling[17:]).all()
    assert np.isfinite(proof.comparator).all()


# --- given comparators ----------------------------------------------------------------------


def test_a_given_path_is_priced_as_the_theorem_prices_it():
    X, y = stream(40)
    b, c = 2.0, 7.0
    u = np.cumsum(0.1 * np.random.default_rng(0).normal(size=(40, 5)), axis=0)
    proof = ol.certificate(ol.LASER(b, c), X, y, comparator=u)
    best = ol.certificate(ol.LASER(b, c), X, y)
    for t in (1, 2, 40):
        loss = np.sum((y[:t] - np.sum(X[:t] * u[:t], axis=1)) ** 2)
        penalty = b * u[0] @ u[0] + c * ol.hindsight.squared_drift(u[:t])
        assert proof.comparator[t - 1] == pytest.approx(loss, rel=1e-12)
        assert proof.bound[t - 1] == pytest.approx(penalty + best.bound[t - 1], rel=1e-9)
    assert np.all(proof.ceiling >= best.ceiling)
    along = ol.hindsight.drifting_path(X, y, b, c)
    there = ol.certificate(ol.LASER(b, c), X, y, comparator=along)
    assert there.ceiling[-1] == pytest.approx(best.ceiling[-1], rel=1e-12)
    assert there.against == "loss of the given u"
    assert "2·‖u_1‖² + 7·Σ‖u_t+1 − u_t‖²" in there.theorem


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_one_vector_is_the_path_that_repeats_it(case):
    X, y = stream_of(case, 40)
    u = np.array([0.2, 0.1, 0.3, 0.2, 0.2])
    repeated = np.tile(u, (40, 1))
    if make(case)._guarantee().kernel is not None:  # a function u_1 K(v_1, ·) + …
        u, repeated = (X[:5], u), (X[:5], repeated)
    one = ol.certificate(make(case), X, y, comparator=u)
    many = ol.certificate(make(case), X, y, comparator=repeated)
    np.testing.assert_allclose(one.comparator, many.comparator, rtol=1e-12)
    np.testing.assert_allclose(one.ceiling, many.ceiling, rtol=1e-12)
    assert one.failed == many.failed


@pytest.mark.parametrize(
    ("model", "u", "words"),
    [
        (ol.AAR(), "moves", "one u for all rounds"),
        (ol.GD(eta=0.1), "moves", "one u for all rounds"),
        (ol.GD(eta=0.1, radius=0.1), "moves", "‖u_t‖ ≤ radius"),
        (ol.ARCOR(radius=0.1), "moves", "‖u_t‖ ≤ radius"),
        (ol.EG(), "moves", "simplex"),
        (ol.EGPM(U=0.5, alpha=0.1), "moves", "‖u_t‖₁ ≤ U"),
        (ol.EGU(), "moves", "one u ≥ 0 for all rounds"),
    ],
    ids=repr,
)
def test_a_path_outside_the_class_ends_the_bound_where_it_leaves(model, u, words):
    X, y = stream(30)
    u = np.tile([0.05, 0.05, 0.0, 0.0, 0.0], (30, 1))
    if type(model) is ol.EG:
        u = np.tile([1.0, 0.0, 0.0, 0.0, 0.0], (30, 1))
    u[12:] = [0.0, 0.0, 0.9, 0.3, -0.1]
    proof = ol.certificate(model, X, y, comparator=u)
    assert words in proof.failed
    assert "row 12 has u = [" in proof.failed
    assert proof.failed_from == 12
    assert proof.holds[:12].all()
    assert np.isnan(proof.ceiling[12:]).all()
    losses = (y - np.sum(X * u, axis=1)) ** 2
    np.testing.assert_allclose(proof.comparator, np.cumsum(losses), rtol=1e-12)


@pytest.mark.parametrize(
    ("u", "rule"),
    [
        (np.ones(4), "each of 5 inputs"),
        (np.ones((9, 5)), "each of 10 rounds"),
        ([np.nan] * 5, "finite"),
    ],
)
def test_a_comparator_of_the_wrong_shape_is_refused_before_anything_is_learnt(u, rule):
    X, y = stream(10)
    model = ol.AAR()
    with pytest.raises(ValueError, match=rule):
        ol.certificate(model, X, y, comparator=u)
    assert model._state is None


@pytest.mark.parametrize("model", [ol.Ridge(), ol.GD(), ol.LASER(c=9.0), ol.ARCOR()], ids=repr)
@pytest.mark.parametrize("pair", [tuple, list])
def test_a_function_of_a_kernels_space_is_refused_by_a_learner_without_a_kernel(model, pair):
    X, y = stream(10)
    words = "needs weights as comparator.*V, beta. is a function of a kernel's space, for kernel"
    for beta in (np.ones(2), np.ones((10, 2))):
        for V in (X[:2], X[:2].tolist()):
            with pytest.raises(ValueError, match=f"{type(model).__name__} {words}"):
                ol.certificate(model, X, y, comparator=pair((V, beta)))
    assert model._state is None
    assert ol.certificate(ol.Ridge(), X[:2], y[:2], comparator=pair((X[0], X[1]))).failed_from == 1
