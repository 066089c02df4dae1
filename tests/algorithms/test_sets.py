"""Learners whose weights stay in a constraint set: oracles, golden numbers, bounds, refusals."""

import math

import hostile
import hostile_values
import numpy as np
import pytest
import slow_sets
from mutants import Interpreted, rebound
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from table import WITH_SET, below, make, state, stream

import onlinear as ol
from onlinear import extend, losses
from onlinear._updates import constrained_step, projections
from onlinear._updates.projections import EUCLIDEAN
from onlinear.sets import (
    Ball,
    Box,
    Capped,
    Custom,
    HalfSpace,
    HyperPlane,
    Intersection,
    L1Ball,
    Simplex,
    _combined,
    register,
)

CONSTRAINED = {name: case for name, case in WITH_SET.items() if "within" in case[1]}
every_set = pytest.mark.parametrize("case", CONSTRAINED.values(), ids=list(CONSTRAINED))


@every_set
def test_learners_with_a_set_agree_with_their_oracles(case):
    X, y = stream(60)
    model = make(case)
    run = ol.replay(model, X, y)
    name, params = case
    if name in ("EG", "EGU", "EGPM") and params.get("eta") is None:
        params = {**params, "eta": model._params().eta}
    wanted = slow_sets.run(name, params, X, y)
    rtol = 1e-7 if "exact" in repr(model) else 1e-9  # Dykstra's algorithm ends sooner or later
    assert_allclose(run.predictions, wanted.predictions, rtol=rtol, atol=1e-10)
    assert_allclose(model.coef_, wanted.w, rtol=rtol, atol=1e-10)


ROWS = np.arange(1, 6)[:, None]
GOLDEN = [  # x_ti = cos(t·i), y_t = sin(2t)
    (
        ol.GD(eta=0.3, within=L1Ball(0.5)),
        [0, -0.357507143252, 0.337388394487, -0.15628384433, -0.193298547834],
    ),
    (
        ol.GD(eta=0.3, within=Box(-0.1, 0.3)),
        [0, -0.153323306569, -0.0746523031637, -0.188740385014, -0.185676165972],
    ),
    (  # starts at 1/n
        ol.GD(eta=0.3, within=Simplex()),
        [-0.288612342426, -0.453262375288, -0.643048768554, -0.455138227763, -0.748442329567],
    ),
    (  # starts at the projection of 0
        ol.GD(eta=0.3, within=HalfSpace([1, 1, 0], -0.1)),
        [-0.00620777346605, -0.406268719231, 0.217382753491, -0.628650963051, 0.297368845845],
    ),
    (
        ol.GD(eta=0.3, within=Intersection(HalfSpace([1, 1, 0], 0.1), Ball(0.4))),
        [0, -0.300590390355, 0.187034878732, -0.242660132386, -0.094725222453],
    ),
    (  # the radius comes last
        ol.GD(eta=0.3, radius=0.4, within=HalfSpace([1, 1, 0], 0.1)),
        [0, -0.300590390355, 0.187034878732, -0.242660132386, -0.094725222453],
    ),
    (
        ol.OGD(eta=0.5, schedule="sqrt", radius=0.6),
        [0, -0.450885585533, 0.166557340489, -0.491347844586, 0.0344578851843],
    ),
]


@pytest.mark.parametrize(("model", "wanted"), GOLDEN, ids=lambda value: f"{value!r:.60}")
def test_predictions_are_the_golden_ones(model, wanted):
    X, y = np.cos(ROWS * np.arange(1, 4)), np.sin(2 * ROWS[:, 0])
    assert_allclose(ol.replay(model, X, y).predictions, wanted, rtol=1e-9, atol=1e-11)


# --- identities ---------------------------------------------------------------------------------


def close_runs(one, other, rtol=1e-12):
    X, y = stream(80)
    first, second = ol.replay(one, X, y).predictions, ol.replay(other, X, y).predictions
    assert_allclose(first, second, rtol=rtol, atol=1e-14)


def test_a_ball_is_a_radius():
    close_runs(ol.GD(eta=0.3, radius=0.5), ol.GD(eta=0.3, within=Ball(0.5)))
    params = {"p": 3.0, "eta": 0.2}
    close_runs(ol.PNorm(**params, radius=0.5), ol.PNorm(**params, within=Ball(0.5)))


def test_egu_in_its_box_is_c_egu():
    close_runs(ol.EGU(eta=0.3, alpha=0.4), ol.EGU(eta=0.3, within=Box(0.4 / 5, 5 / 0.4)))


def test_sets_that_are_never_left_change_nothing():
    wide = {
        "GD": Intersection(L1Ball(1e6), Box(-1e6, 1e6), exact=True),
        "PNorm": HalfSpace(np.ones(5), 1e6),
        "EG": Intersection(Capped(1.0), HalfSpace(np.ones(5), 2.0), exact=True),
        "EGPM": Capped(1.0),
        "EGU": Box(0.0, 1e6),
    }
    for name, given in wide.items():
        close_runs(ol.LEARNERS[name](eta=0.2), ol.LEARNERS[name](eta=0.2, within=given), 1e-11)


def test_pnorm_with_p_2_is_gd_in_a_half_space():
    line = HalfSpace([1.0, -1.0, 0.5, 0.0, 0.2], 0.1)
    close_runs(ol.GD(eta=0.2, within=line), ol.PNorm(p=2.0, eta=0.2, within=line), 1e-9)


@every_set
def test_the_weights_stay_in_the_last_set(case):
    X, y = stream(40)
    model = make(case)
    for x, label in zip(X, y, strict=True):
        model.learn_one(x, label)
        w = model.coef_
        params = model.get_params()
        if params.get("radius"):
            p = params.get("p", 2.0)
            assert np.linalg.norm(w, ord=p / (p - 1)) <= params["radius"] * (1 + 1e-12)
        elif isinstance(params["within"], Intersection) and params["within"].exact:
            (all_of := [holds(each, model) for each in params["within"].sets])
            assert max(all_of) < 1e-7
        elif params.get("alpha") is None:
            assert holds(params["within"], model) < 1e-12


def holds(given, model):
    """Return by how much the learner's weights miss a set."""
    w = model.coef_
    if isinstance(given, HyperPlane):
        return abs(np.array(given.a) @ w - given.c)
    if isinstance(given, HalfSpace):
        return np.array(given.a) @ w - given.c
    if isinstance(given, Capped):
        return model._state.w.max() - given.cap
    if isinstance(given, Ball):
        return np.linalg.norm(w) - given.radius
    if isinstance(given, L1Ball):
        return np.abs(w).sum() - given.radius
    if isinstance(given, Simplex):
        return max(abs(w.sum() - given.total), -w.min())
    if isinstance(given, Custom):
        return w.max() - 0.5
    low, high = given.limits()
    return max(np.max(low - w), np.max(w - high))


def test_it_begins_in_the_set_and_says_so_before_the_first_row():
    model = ol.GD(within=Box(0.2, 0.4))
    assert model.predict_one([1.0, 1.0]) == pytest.approx(0.4)
    assert ol.EG(within=HalfSpace([1.0, 0.0], 0.3)).predict_one([1.0, 0.0]) == pytest.approx(0.3)


# --- bounds -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("name", hostile.WITH_SET)
def test_certificates_with_sets_hold_on_hostile_streams(name, seed):
    assert hostile.broken_bounds(name, seed) == []


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("exact", [False, True])
def test_the_price_of_a_path_is_the_papers(seed, exact):
    """½‖u_1 − w_1‖² + ½‖u_T‖² − ½‖u_1‖² + Σ h(u_t − u_{t+1}), with w_1 the projection of 0."""
    rng = np.random.default_rng(seed)
    X, y = stream(30, d=3, seed=seed)
    low, high = np.array([0.1, -0.2, 0.05]), np.array([0.5, 0.3, 0.6])
    u = rng.uniform(low, high, size=(3, 3))[np.sort(rng.integers(3, size=30))]
    line = HalfSpace(np.ones(3), 2.0)  # never reached
    model = ol.GD(eta=0.3, within=Intersection(line, Box(low, high), exact=exact))
    proof = ol.certificate(model, X, y, comparator=u)
    w_1, moves = np.clip(0.0, low, high), u[:-1] - u[1:]
    h = np.cumsum(np.maximum(low * moves, high * moves).sum(axis=1))
    price = 0.5 * np.sum((u[0] - w_1) ** 2) + 0.5 * np.sum(u**2, axis=1) - 0.5 * u[0] @ u[0]
    price = (price + np.append(0.0, h)) / 0.3
    L = np.cumsum((y - np.sum(u * X, axis=1)) ** 2)
    room = 1 - 0.3 * np.maximum.accumulate(np.sum(X * X, axis=1))
    wanted = (L + room * price + np.sqrt(L * L + 2 * room * price * L)) / (2 * room**2)
    assert_allclose(proof.ceiling, wanted, rtol=1e-10)
    assert proof.holds.all()


@pytest.mark.parametrize(
    ("model", "u"),
    [
        (ol.GD(eta=0.3, within=Box(0.0)), [-0.1, 0.1, 0.1]),
        (ol.GD(eta=0.3, within=Intersection(Box(0.0), Ball(0.5))), [0.5, 0.5, 0.0]),
        (ol.EG(within=Capped(0.5)), [0.6, 0.2, 0.2]),
        (ol.EGPM(within=HalfSpace([1.0, 0.0, 0.0], 0.2)), [0.5, 0.2, 0.2]),
        (ol.EGU(within=Simplex(0.5)), [0.2, 0.2, 0.2]),
        (ol.PNorm(p=3.0, within=HyperPlane([1.0, 1.0, 0.0], 0.2)), [0.0, 0.0, 0.5]),
    ],
    ids=repr,
)
def test_a_comparator_outside_of_the_set_is_named(model, u):
    X, y = stream(20, d=3)
    proof = ol.certificate(model, X, y, comparator=u)
    assert proof.failed_from == 0
    assert f"u_t in {model.within!r}" in proof.failed


def test_against_weights_that_change_the_last_set_needs_to_be_bounded():
    X, y = stream(20, d=3)
    u = np.full((20, 3), 0.1)
    u[7:] = 0.0
    free = ol.certificate(ol.GD(eta=0.3, within=Box(0.0)), X, y, comparator=u)
    assert free.failed_from == 7
    upward = ol.certificate(ol.GD(eta=0.3, within=Box(0.0)), X, y, comparator=0.1 - u)
    assert upward.failed is None  # wᵀ(u_t − u_{t+1}) ≤ 0 for w ≥ 0
    both = Intersection(Box(0.0), Ball(1.0))
    assert ol.certificate(ol.GD(eta=0.3, within=both), X, y, comparator=u).failed is None
    radius = ol.GD(eta=0.3, within=Box(0.0), radius=1.0)
    assert ol.certificate(radius, X, y, comparator=u).failed is None


@every_set
def test_the_comparator_that_is_found_is_in_the_set_and_not_far_from_the_best(case):
    """The bounds against other points of the set are not much lower."""
    X, y = stream(60)
    proof = ol.certificate(make(case), X, y)
    assert proof.failed is None
    model = make(case)
    ol.replay(model, X, y)
    rng = np.random.default_rng(0)
    for _ in range(20):  # the learner's weights, and the weights of learners with other labels
        other = make(case)
        ol.replay(other, X, np.clip(y + rng.normal(size=60) * 0.3, 0, 1))
        for u in (model.coef_, other.coef_):
            given = ol.certificate(make(case), X, y, comparator=u)
            if given.failed is None:
                assert proof.ceiling[-1] <= 1.4 * given.ceiling[-1]


def test_sets_without_a_common_point_have_no_certificate():
    X, y = stream(20, d=2)
    apart = Intersection(HalfSpace([-1.0, 0.0], -1.0), below)  # w_1 ≥ 1, and all w_i ≤ ½
    proof = ol.certificate(ol.GD(eta=0.1, within=apart), X, y)
    assert "with a point in common" in proof.failed
    assert np.isnan(proof.ceiling).all()


# --- wrong projections break bounds -------------------------------------------------------------


def with_projection(model, wrong):
    """Return the learner with another projection, run as plain Python."""
    own = model._step
    given = rebound(constrained_step.into, project=wrong)
    step = Interpreted(rebound(own.function, into=given), own.scratch)
    kind = type("Wrong" + type(model).__name__, (type(model),), {"_step": step})
    return kind(**model.get_params())


def too_far(geometry, p, form, start, theta, w):
    """Project, and then go on to a third of the weights."""
    projections.project.py_func(geometry, p, form, start, theta, w)
    if geometry == EUCLIDEAN:
        theta *= 1 / 3
    else:
        theta += np.linspace(-1, 1, theta.size)


TRUTH = np.array([0.5, 0.3, 0.2])
WITH_WRONG = [
    ol.GD(eta=0.2, within=Box(0.0, 1.0)),
    ol.GD(eta=0.2, radius=1.0, within=HalfSpace(np.ones(3), 1.0)),
    ol.PNorm(p=3.0, eta=0.1, within=HalfSpace(np.ones(3), 1.0)),
    ol.EG(within=Capped(0.5)),
    ol.EGPM(U=1.5, within=Capped(0.5)),
    ol.EGU(within=Box(0.01, 0.9)),
]


@pytest.mark.parametrize("given", [None, TRUTH], ids=["found", "given"])
@pytest.mark.parametrize("model", WITH_WRONG, ids=repr)
def test_a_wrong_projection_breaks_the_certificate(model, given):
    X = np.random.default_rng(0).uniform(size=(2000, 3)) / 2
    y = X @ TRUTH
    sound = ol.certificate(type(model)(**model.get_params()), X, y, comparator=given)
    assert sound.failed is None
    assert sound.holds.all()
    wrong = ol.certificate(with_projection(model, too_far), X, y, comparator=given)
    assert wrong.failed is None
    assert not wrong.holds.all()


# --- custom sets --------------------------------------------------------------------------------


@extend.kernel
def to_the_first_corner(w):
    """A projection on nothing: it forgets all that was learnt."""
    for i in range(w.size):
        w[i] = 1.0 if i == 0 else 0.0


@extend.kernel
def to_nothing(w):
    for i in range(w.size):
        w[i] = np.nan


def largest(v):
    """The support function of the box [−9, ½]ⁿ."""
    return float(np.sum(np.maximum(0.5 * v, -9.0 * v)))


def test_a_custom_set_does_as_the_same_set_of_the_library():
    close_runs(ol.GD(eta=0.3, within=below), ol.GD(eta=0.3, within=Box(high=0.5)))
    close_runs(ol.EGU(eta=0.3, within=below), ol.EGU(eta=0.3, within=Box(0.0, 0.5)), 1e-11)
    pair = Intersection(Box(0.0), below, exact=True)
    close_runs(ol.GD(eta=0.3, within=pair), ol.GD(eta=0.3, within=Box(0.0, 0.5)), 1e-9)


def test_a_projection_that_leads_away_from_the_comparator_is_named():
    X, y = stream(30, d=3)
    u = np.array([0.2, 0.3, 0.1])
    honest = ol.certificate(ol.GD(eta=0.3, within=below), X, y, comparator=u)
    assert honest.failed is None
    assert honest.holds.all()
    model = ol.GD(eta=0.3, within=Custom(to_the_first_corner))
    proof = ol.certificate(model, X, y, comparator=[1.0, 0.0, 0.0])
    assert proof.failed is None  # of its only point, it is the projection
    X, y = np.abs(X), np.abs(y)
    mixed = ol.certificate(ol.GD(eta=0.3, within=Custom(shrunk)), X, y, comparator=u)
    assert mixed.failed_from is not None
    assert "no projection leads the weights away" in mixed.failed


@extend.kernel
def shrunk(w):
    """Not a projection on a set: points above 0.15 go to 0.05, all others stay."""
    for i in range(w.size):
        if w[i] > 0.31:
            w[i] = 0.05


def test_the_support_function_allows_weights_that_change():
    X, y = stream(20, d=3)
    u = np.zeros((20, 3))
    u[7:] = 0.1
    still = ol.certificate(ol.GD(eta=0.3, within=below), X, y, comparator=u)
    assert still.failed_from == 7
    free = Custom(below.project, largest)
    moving = ol.certificate(ol.GD(eta=0.3, within=free), X, y, comparator=u)
    box = ol.certificate(ol.GD(eta=0.3, within=Box(-9.0, 0.5)), X, y, comparator=u)
    assert_allclose(moving.ceiling, box.ceiling, rtol=1e-12)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            ol.GD(within=Box(low=0.0)),
            "since the set Box(low=0.0, high=inf) is not bounded: add a radius",
        ),
        (
            ol.GD(within=Intersection(Ball(3.0), Box(low=0.0))),
            "since the last set, Box(low=0.0, high=inf), is not bounded: add a radius",
        ),
        (ol.PNorm(within=HalfSpace([1.0, 1.0, 1.0], 9.0)), "is not a ball: add a radius"),
        (ol.EG(X=9.0, within=Capped(0.9)), "has no least weight above 0: add an alpha"),
        (ol.EGU(X=9.0, Y=9.0, within=Box(low=0.0)), "has no least weight above 0: add an alpha"),
        (ol.GD(within=below), "has no function support: give it one"),
    ],
    ids=repr,
)
def test_weights_that_change_in_a_set_without_a_limit_are_refused_with_the_reason(model, words):
    X, y = stream(20, d=3)
    u = np.full((20, 3), [0.5, 0.3, 0.2])
    u[7:] = [0.4, 0.4, 0.2]
    proof = ol.certificate(model, np.abs(X), np.abs(y), comparator=u)
    assert proof.failed_from == 7
    assert proof.failed.startswith("the bound holds against weights that stay the same, since the ")
    assert words in proof.failed
    assert proof.failed.endswith("; row 7 has another u, [0.4 0.4 0.2]")
    u[5] = [30.0, 9.0, -9.0]
    outside = ol.certificate(type(model)(**model.get_params()), np.abs(X), np.abs(y), comparator=u)
    assert outside.failed_from == 5
    assert outside.failed.endswith("; row 5 has u = [30.  9. -9.]")


@extend.kernel
def clipped_copy(w):
    return np.minimum(w, 0.5)


@pytest.mark.parametrize("learner", [ol.GD, ol.EG])
def test_a_projection_that_does_not_compile_is_refused_in_one_line(learner):
    model = learner(within=Custom(clipped_copy))
    words = (
        r"^Custom\(clipped_copy\) does not compile: [^\n]+; a projection changes w in place, see"
    )
    with pytest.raises(ValueError, match=words) as refused:
        model.learn_one([0.5, 0.25], 1.0)
    assert "\n" not in str(refused.value)
    assert "Failed in nopython" not in str(refused.value)
    assert type(refused.value.__cause__).__name__ == "TypingError"


def test_a_custom_projection_that_is_not_finite_changes_nothing():
    model = ol.GD(eta=0.3)
    model.learn_one([0.5, 0.25], 1.0)
    before = state(model)
    model.set_params(within=Custom(to_nothing))
    with pytest.raises(ValueError, match="needs a projection"):
        model.learn_one([0.5, 0.25], 1.0)
    assert state(model) == before
    with pytest.raises(ValueError, match="needs a projection"):
        ol.GD(eta=0.3, within=Custom(to_nothing)).learn_one([0.5, 0.25], 1.0)


def test_custom_sets_are_saved_if_they_are_registered(tmp_path):
    model = ol.GD(eta=0.3, within=below)
    model.learn_one([1.0, 0.5], 1.0)
    model.save(tmp_path / "model.onl")
    assert ol.load(tmp_path / "model.onl").within is below
    with pytest.raises(ValueError, match=r"onlinear\.sets\.register"):
        ol.GD(within=Custom(shrunk)).save(tmp_path / "other.onl")


def test_only_custom_sets_are_registered():
    with pytest.raises(ValueError, match=r"needs a Custom set \(.*\), got Box\(low=-inf"):
        register(Box())


# --- parameters ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ol.GD(within=0.5), "needs within=None or a set such as"),
        (lambda: ol.GD(within=Capped(0.5)), "GD needs within to be Ball, L1Ball, Box, Simplex"),
        (lambda: ol.EG(within=Ball(1.0)), "EG needs within to be Capped, HalfSpace"),
        (lambda: ol.EGU(within=L1Ball(1.0)), "EGU needs within to be Box, Simplex"),
        (lambda: ol.PNorm(within=Box(0.0)), "PNorm needs within to be Ball, HalfSpace"),
        (lambda: ol.GD(within=Ball(0.0)), r"Ball needs a .* 1e-100 ≤ radius ≤ 1e\+100, got .*=0.0"),
        (
            lambda: ol.GD(within=Ball(1e300)),
            r"Ball needs a .* 1e-100 ≤ radius ≤ 1e\+100, got .*=1e",
        ),
        (lambda: ol.GD(within=L1Ball(1e-300)), "L1Ball needs a finite number 1e-100 ≤ radius ≤"),
        (lambda: ol.GD(within=Simplex(1e120)), "Simplex needs a finite number 1e-100 ≤ total ≤"),
        (
            lambda: ol.GD(within=Box([0.0, -1e300])),
            r"limits from -1e\+100 to 1e\+100, .*got -1e\+300",
        ),
        (lambda: ol.GD(within=Box(high=1e101)), r"infinite ones, got 1e\+101"),
        (
            lambda: ol.GD(within=HalfSpace([0.6, 0.8], 1e200)),
            r"\|c\| ≤ 1e\+100·‖a‖, got c=1e\+200 and",
        ),
        (lambda: ol.GD(within=Box(1.0, 0.0)), "Box needs numbers low ≤ high"),
        (lambda: ol.GD(within=Box([0.0, 1.0, 2.0])), "needs a set for 2 weights"),
        (lambda: ol.GD(within=HalfSpace([0.0, 0.0])), "not all 0"),
        (lambda: ol.GD(within=HalfSpace([1.0], 1.0)), "needs a set for 2 weights"),
        (lambda: ol.GD(within=HyperPlane([1.0, 1.0], math.nan)), "HyperPlane needs a finite"),
        (lambda: ol.EG(within=HalfSpace([1.0, 2.0], 0.5)), "aᵀw is between 1 and 2"),
        (lambda: ol.EG(within=Capped(0.4)), "needs cap·2 ≥ 1"),
        (lambda: ol.EGU(within=HalfSpace([1.0, 1.0], -1.0)), "aᵀw is between 0 and inf"),
        (lambda: ol.EGU(within=Box(-1.0, 1.0)), "limits low ≥ 0 and high > 0"),
        (lambda: ol.GD(within=Intersection()), "one set or more"),
        (lambda: ol.GD(within=Intersection(Ball(), exact=5)), "exact to be True or False, got .*5"),
        (lambda: ol.GD(within=Intersection(Intersection(Ball()), Ball())), "none of which is an"),
        (lambda: ol.GD(within=Custom(largest)), r"decorated with onlinear\.extend\.kernel"),
        (lambda: ol.GD(within=Intersection(below, Custom(shrunk))), "one Custom set at most"),
    ],
)
def test_a_wrong_set_is_refused_in_words(make, words):
    with pytest.raises(ValueError, match=words):
        make().learn_one([0.5, 0.25], 0.5)


@every_set
def test_a_learner_with_a_set_is_saved_and_loaded(case, tmp_path):
    X, y = stream(20)
    model = make(case).fit(X, y)
    model.save(tmp_path / "model.onl")
    again = ol.load(tmp_path / "model.onl")
    assert again.within == model.within
    assert repr(again) == repr(model)
    assert again.predict(X).tobytes() == model.predict(X).tobytes()


def test_banks_keyed_models_and_sparse_rows_give_the_same_bits():
    X, y = stream(60)
    X[X < 0.2] = 0.0
    models = [make(case) for case in CONSTRAINED.values()]
    alone = [ol.replay(make(case), X, y).predictions for case in CONSTRAINED.values()]
    bank = ol.replay(ol.Bank([*models, ol.GD(eta=0.3)]), X, y).predictions
    assert bank[:, :-1].tobytes() == np.column_stack(alone).tobytes()
    for case, wanted in zip(CONSTRAINED.values(), alone, strict=True):
        keyed = ol.Keyed(make(case)).replay(["a"] * 60, X, y)
        assert keyed.predictions.tobytes() == wanted.tobytes()
        assert ol.replay(make(case), csr_array(X), y).predictions.tobytes() == wanted.tobytes()


def test_the_set_of_a_learner_can_change():
    X, y = stream(40)
    model = ol.GD(eta=0.3).fit(X, y)
    free = ol.GD(eta=0.3).fit(X, y)
    model.set_params(within=Box(high=0.1))
    model.learn_one(X[0], y[0])
    assert model.coef_.max() <= 0.1
    free.learn_one(X[0], y[0])  # a learner without a set, of the same class
    assert free.coef_.max() > 0.1
    model.set_params(within=None)
    assert model.partial_fit(X, y).coef_.max() > 0.1
    with pytest.raises(ValueError, match="needs a set for 5 weights"):
        model.set_params(within=HalfSpace([1.0, 1.0])).learn_one(X[0], y[0])


EXTREME = {
    "GD": lambda size: (L1Ball(size), Simplex(size), Box(-size, size), HalfSpace(np.ones(4), size)),
    "PNorm": lambda size: (Ball(size), HalfSpace(np.ones(4), -size)),
    "EG": lambda size: (Capped(0.3), HalfSpace([size, 0.0, 0.0, 0.0], 0.4 * size)),
    "EGPM": lambda size: (Capped(0.2), HyperPlane([size, -size, 0.0, 0.0], 0.3 * size)),
    "EGU": lambda size: (Simplex(size), Box(0.0, size), HalfSpace(np.ones(4), size)),
}


@pytest.mark.parametrize("kind", hostile_values.INPUTS)
@pytest.mark.parametrize("name", EXTREME)
def test_rows_of_any_size_are_learnt_or_refused(name, kind):
    rng = np.random.default_rng(0)
    any_size = (1e-140, 1e140, 1e299) if name in ("EG", "EGPM") else ()
    for size in (1e-100, 1e-40, 1.0, 1e40, 1e99, *any_size):
        for given in EXTREME[name](size):
            for within in (given, Intersection(given, given, exact=True)):
                X = np.ascontiguousarray(hostile_values.INPUTS[kind](rng, (12, 4)))
                y = hostile_values.labels(rng, X)
                X = np.abs(X) if name == "EGU" else X
                limits = {} if name in ("GD", "PNorm") else {"X": 1e200}
                model = ol.LEARNERS[name](eta=0.1, within=within, on_bad="skip", **limits)
                model.fit(np.zeros((1, 4)), [0.0])
                run = ol.replay(model, X, np.abs(y) if name == "EGU" else y)
                assert np.isfinite(model._record).all()
                assert np.isfinite(np.delete(run.predictions, run.bad_rows)).all()
                model._check_state()


def test_sets_are_values():
    assert HalfSpace(np.array([1, 2]), 1) == HalfSpace([1.0, 2.0], 1.0)
    assert hash(Box([0.0, 1.0], 2.0)) == hash(Box((0.0, 1.0), 2.0))
    assert repr(Intersection(Ball(2.0), Box(0.0), exact=True)) == (
        "Intersection(Ball(radius=2.0), Box(low=0.0, high=inf), exact=True)"
    )
    assert _combined.rebuilt(
        _combined.plain(Intersection(Ball(), Box([0.0, -math.inf])))
    ) == Intersection(Ball(), Box([0.0, -math.inf]))


# with Simplex(1e300) and Box(1e299, 1e300), every loss would be infinite
@pytest.mark.parametrize("given", [Simplex(1e100), Box(1e99, 1e100), Ball(1e-100)], ids=repr)
def test_losses_are_finite_with_sets_of_the_largest_and_smallest_size(given):
    X, y = stream(40)
    run = ol.replay(ol.GD(eta=1e90, within=given), X, y)
    assert np.isfinite(run.losses).all()
    assert np.isfinite(run.cumulative_loss).all()


def test_a_bounded_set_lets_gd_learn_rows_that_overshoot():
    long, loss = [[3.0, 0.0]], losses.Square()
    ol.GD(eta=0.5, loss=loss, within=L1Ball(1.0)).fit(long, [1.0])
    with pytest.raises(ValueError, match="overshoots"):
        ol.GD(eta=0.5, loss=loss, within=Box(0.0)).fit(long, [1.0])
