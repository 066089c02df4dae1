"""``onlinear.losses``: formulas, slopes, constants of the bounds, parabolas, refusals, files."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from slow_losses import LOSSES, SIGNS, labels_for, link, textbook

import onlinear as ol
from onlinear import losses
from onlinear._learner.bounds import any_loss
from onlinear.losses import _formulas

ACTIVATIONS = np.array([-30.0, -4.0, -1.0, -0.3, 0.0, 0.29, 1.0, 1.31, 5.0, 30.0])
LABELS = {
    **dict.fromkeys(SIGNS, (-1.0, 1.0)),
    "Logistic": (0.0, 0.2, 0.5, 1.0),
    "Poisson": (0.0, 0.5, 1.0, 4.0),
}
NAMES = list(LOSSES)
CURVED = [name for name in NAMES if name not in ("Mistakes",)]


def pairs(name):
    return [(a, y) for a in ACTIVATIONS for y in LABELS.get(name, (-2.0, 0.0, 0.3, 1.0))]


@pytest.mark.parametrize("name", NAMES)
def test_losses_and_slopes_are_those_of_the_textbook(name):
    loss, (value, slope) = LOSSES[name], textbook(LOSSES[name])
    for a, y in pairs(name):
        if name == "Logistic" and abs(a) == 30.0:
            continue  # the textbook's 1 − p has no digits left
        assert_allclose(loss(a, y), value(a, y), rtol=1e-12, atol=1e-14)
        assert _formulas.slope(*loss.numbers(), a, y) == pytest.approx(slope(a, y), rel=1e-13)


@pytest.mark.parametrize("name", [n for n in CURVED if n not in ("Mistakes",)])
def test_the_slope_is_the_derivative_where_there_is_one(name):
    loss, h = LOSSES[name], 1e-6
    for a, y in pairs(name):
        if abs(a) == 30.0:
            continue
        left, right = loss(a - h, y), loss(a + h, y)
        middle = loss(a, y)
        if abs((right - middle) - (middle - left)) < 1e-7 * h**0.5:  # no kink
            slope = _formulas.slope(*loss.numbers(), a, y)
            assert_allclose((right - left) / (2 * h), slope, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_prediction_has_the_loss_of_its_activation(name):
    loss = LOSSES[name]
    for a, y in pairs(name):
        assert_allclose(loss.link(a), link(loss, a), rtol=1e-13)
        prediction = loss.link(a)
        assert_allclose(loss.of_predictions(prediction, y), loss(a, y), rtol=1e-3, atol=1e-12)
        if abs(a) < 10:
            assert_allclose(loss.of_predictions(prediction, y), loss(a, y), rtol=1e-10, atol=1e-14)


def test_probabilities_never_reach_0_or_1_so_that_every_loss_is_finite():
    loss = losses.Logistic()
    p = loss.link([-1e300, -800.0, 800.0, 1e300])
    assert (p > 0).all()
    assert (p < 1).all()
    assert np.isfinite(loss.of_predictions(p, [1.0, 1.0, 0.0, 0.0])).all()
    assert_allclose(loss([-800.0, 800.0], [1.0, 0.0]), 800.0)  # of an activation, exactly


def test_the_rounding_of_a_probability_costs_at_most_2_to_the_minus_52():
    a, loss = np.linspace(-60.0, 60.0, 100_001), losses.Logistic()
    p = loss.link(a)
    for y in (0.0, 1.0):
        excess = loss.of_predictions(p, y) - loss(a, y)
        assert (
            excess.max() <= _formulas.rounding(loss.kind, y) * 1.01 + 1e-14 * loss(a, y).max() / 60
        )


@pytest.mark.parametrize("y", [0.0, 1e-200, 1e-9, 0.3, 1.0, 17.0, 1e6, 1e200])
def test_the_rounding_of_a_mean_costs_little(y):
    """Near ln y, where the loss is far below y, and elsewhere."""
    loss, off = losses.Poisson(), np.geomspace(1e-17, 200.0, 2000)
    a = (math.log(y) if y else 0.0) + np.concatenate([-off, off])
    before = loss(a, y)
    excess = loss.of_predictions(loss.link(a), y) - before
    assert (excess <= _formulas.rounding(loss.kind, y) + 1e-12 * before).all()
    assert _formulas.rounding(loss.kind, y) <= 1e-12 * y or y == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_the_constants_of_the_bounds_hold(name):
    loss = LOSSES[name]
    kind, p = loss.numbers()
    G, top = any_loss.limits(kind, p), float(ACTIVATIONS.max())
    for a, y in pairs(name):
        g, value = _formulas.slope(kind, p, a, y), _formulas.value(kind, p, a, y)
        assert abs(g) <= G
        kappa = any_loss.bend(kind, top, y)
        if math.isfinite(kappa):
            assert g * g <= kappa * value * (1 + 1e-12) + 1e-300


def test_the_constants_are_the_least():
    """With slightly smaller ones, the inequalities above fail somewhere."""
    hard = losses.Logistic()
    a = np.linspace(-5, 5, 100_001)
    g, value = 1 / (1 + np.exp(-a)), hard(a, 0.0)
    assert np.max(g * g / value) == pytest.approx(any_loss.HARD, rel=1e-4)
    for name, kappa in (("Square", 4), ("SquaredHinge", 4), ("Huber", 2)):
        loss = LOSSES[name]
        kind, p = loss.numbers()
        ratios = [
            _formulas.slope(kind, p, a, y) ** 2 / value
            for a, y in pairs(name)
            if (value := _formulas.value(kind, p, a, y)) > 0
        ]
        assert max(ratios) == pytest.approx(kappa)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("miss", [0.0, 0.5, 3.0])
def test_parabolas_are_nowhere_below_the_loss(name, miss):
    loss = LOSSES["Hinge" if name == "Mistakes" else name]
    kind, p = LOSSES[name].numbers()
    top = 8.0
    b = np.linspace(-40.0, top if name == "Poisson" else 40.0, 4001)
    for a, y in pairs(name):
        if name == "Poisson" and a > top:
            continue
        h, z, k = any_loss.parabola(kind, p, a, y, top, miss)
        below = h * (b - z) ** 2 + k - loss(b, y)
        assert below.min() >= -1e-9 * max(1.0, h * 1600)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("SquaredHinge",)])
def test_parabolas_touch_the_loss_where_the_error_is_not_small(name):
    loss = LOSSES["Hinge" if name == "Mistakes" else name]
    kind, p = LOSSES[name].numbers()
    for a, y in pairs(name):
        if name == "Insensitive" and abs(a - y) > 2 * p:
            continue  # there the parabola of |a − y| is used
        error = 1 - y * a if name in ("Hinge", "Mistakes") else a - y
        if abs(error) < 0.5 or abs(a) == 30.0:
            continue
        h, z, k = any_loss.parabola(kind, p, a, y, 5.0, 0.1)
        assert_allclose(h * (a - z) ** 2 + k, loss(a, y), rtol=1e-9, atol=1e-9)


# --- the best k of the square loss --------------------------------------------------------------


def test_the_ceiling_of_the_square_loss_is_the_least_over_k():
    rng = np.random.default_rng(0)
    for _ in range(200):
        q, L, price = rng.uniform(0, 0.99), rng.exponential(), rng.exponential()
        k = np.linspace(1e-6, 2 - 2 * q - 1e-6, 200_001)
        least = np.min((L + k * price) / (k * (2 - k - 2 * q)))
        assert any_loss.ceiling(_formulas.SQUARE, q, 0.0, L, price) == pytest.approx(
            least, rel=1e-5
        )


def test_the_new_bounds_are_never_above_those_with_fixed_k():
    """Herbster & Warmuth's k is 1/2 for GD; Kivinen & Warmuth's 2/3 for EG and 1/3 for EG±."""
    rng = np.random.default_rng(1)
    for _ in range(500):
        L, price = rng.exponential(), rng.exponential()
        for k, most in ((1 / 2, 3 / 4), (2 / 3, 2 / 3), (1 / 3, 5 / 6)):
            q = rng.uniform(0, most * 0.999)
            fixed = (L + k * price) / (k * (2 - k - 2 * q))
            assert any_loss.ceiling(_formulas.SQUARE, q, 0.0, L, price) <= fixed * (1 + 1e-12)


# --- rates --------------------------------------------------------------------------------------


def unit_stream(rows, d, rng):
    X = rng.normal(size=(rows, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    u = rng.normal(size=d)
    return X, X @ (u / np.linalg.norm(u)) + 0.1 * rng.normal(size=rows), u / np.linalg.norm(u)


@pytest.mark.parametrize("seed", range(5))
def test_from_loss_has_the_promised_bound(seed):
    """L ≤ K + 2√(αK) + α, with α = X²·radius² for GD and (p − 1)X²·radius² for PNorm."""
    X, y, u = unit_stream(400, 5, np.random.default_rng(seed))
    K = float(np.sum((y - X @ u) ** 2))
    model = ol.GD.from_loss(X=1.0, radius=1.0, K=K)
    assert ol.replay(model, X, y).cumulative_loss[-1] <= K + 2 * math.sqrt(K) + 1
    promised = ol.certificate(ol.GD.from_loss(X=1.0, radius=1.0, K=K), X, y, u).ceiling[-1]
    assert promised == pytest.approx(K + 2 * math.sqrt(K) + 1, rel=1e-9)


@pytest.mark.parametrize("name", ["Logistic", "SquaredHinge", "Huber"])
def test_from_loss_has_the_promised_bound_for_other_losses(name):
    """L ≤ K + 2β + 2√(β² + Kβ), with β = ½κR²P."""
    X, y, u = unit_stream(400, 5, np.random.default_rng(7))
    y, loss = labels_for(name, y), LOSSES[name]
    K = float(loss(X @ u, y).sum())
    kappa = any_loss.bend(loss.kind, 0.0, 0.5)
    beta = 0.25 * kappa
    promised = K + 2 * beta + 2 * math.sqrt(beta**2 + K * beta)
    model = ol.GD.from_loss(X=1.0, radius=1.0, K=K, loss=loss)
    assert ol.replay(model, X, y).cumulative_loss[-1] <= promised
    eta = model.eta
    assert (K + 0.5 / eta) / (1 - 0.5 * kappa * eta) == pytest.approx(promised, rel=1e-9)


@pytest.mark.parametrize("name", ["Absolute", "Hinge", "Quantile", "Insensitive", "Huber"])
def test_from_horizon_has_the_promised_regret(name):
    X, y, u = unit_stream(400, 5, np.random.default_rng(8))
    y, loss = labels_for(name, y), LOSSES[name]
    G = any_loss.limits(*loss.numbers())
    model = ol.GD.from_horizon(T=400, X=1.0, radius=1.0, loss=loss)
    regret = ol.replay(model, X, y).cumulative_loss[-1] - float(loss(X @ u, y).sum())
    assert regret <= G * math.sqrt(400)
    assert 0.5 / model.eta + 0.5 * model.eta * G * G * 400 == pytest.approx(G * 20, rel=1e-9)


def test_from_drift_minimises_the_price_of_a_sparse_path():
    T, V, n = 300, 12.0, 6
    best = ol.EG.from_drift(T=T, V=V, X=1.0, n=n).alpha

    def price(alpha):
        return 0.5 * math.log(n / alpha) * V - (T - 1) * math.log1p(-alpha * (1 - 1 / n))

    assert price(best) <= min(price(best * 1.01), price(best / 1.01))
    twice = ol.EGPM.from_drift(T=T, V=V, X=1.0, n=n // 2).alpha
    assert twice == best  # EG± has two weights per input
    assert ol.EG.from_drift(T=T, V=0.0, X=1.0, n=n).alpha is None


# --- refusals, parameters, files ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "y", "words"),
    [
        (losses.Logistic(), 1.5, "labels from 0 to 1"),
        (losses.Hinge(), 0.0, "labels −1 and 1"),
        (losses.SquaredHinge(), 2.0, "labels −1 and 1"),
        (losses.Mistakes(), 0.5, "labels −1 and 1"),
        (losses.Poisson(), -1.0, "labels y ≥ 0"),
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    "learner", [ol.GD, ol.EG, ol.EGPM, ol.PNorm], ids=lambda kind: kind.__name__
)
def test_a_label_that_the_loss_does_not_allow_changes_nothing(learner, loss, y, words):
    model = learner(eta=0.1, loss=loss)
    model.learn_one([0.5, 0.25], 1.0)
    before = model._record.tobytes()
    with pytest.raises(ValueError, match=words):
        model.learn_one([0.5, 0.25], y)
    assert model._record.tobytes() == before


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ol.GD(loss="hinge"), "needs a loss such as"),
        (lambda: ol.GD(loss=losses.Huber(0.0)), "Huber needs a finite number 0 < delta"),
        (lambda: ol.GD(loss=losses.Quantile(1.0)), "Quantile needs a finite number 0 < tau < 1"),
        (lambda: ol.GD(loss=losses.Insensitive(-1)), "Insensitive needs a finite number 0 ≤"),
        (lambda: ol.EGU(eta=0.1, loss=losses.Logistic()), "EGU needs loss=Square"),
        (lambda: ol.PNorm(p=1.5), "PNorm needs a finite number 2 ≤ p"),
        (lambda: ol.EG(loss=losses.Absolute()), "or give an eta"),
    ],
)
def test_a_wrong_loss_is_refused_in_words(make, words):
    with pytest.raises(ValueError, match=words):
        make().learn_one([0.5, 0.25], 1.0)


def test_rates_are_refused_where_there_is_no_bound():
    with pytest.raises(ValueError, match="use from_horizon"):
        ol.GD.from_range(X=1.0, loss=losses.Hinge())
    with pytest.raises(ValueError, match="bounded slope"):
        ol.GD.from_horizon(T=10, X=1.0, radius=1.0, loss=losses.Square())


@pytest.mark.parametrize(
    "make",
    [
        lambda loss: ol.GD.from_range(X=2.0, loss=loss),
        lambda loss: ol.PNorm.from_range(X=2.0, p=3.0, loss=loss),
        lambda loss: ol.EG.from_range(X=2.0, loss=loss),
        lambda loss: ol.EG.from_drift(T=9, V=1.0, X=2.0, n=3, loss=loss),
        lambda loss: ol.EGPM.from_range(X=2.0, loss=loss),
        lambda loss: ol.EGPM.from_drift(T=9, V=1.0, X=2.0, n=3, loss=loss),
        lambda loss: ol.GD.from_loss(X=2.0, radius=1.0, K=1.0, loss=loss),
        lambda loss: ol.EG.from_loss(X=2.0, K=1.0, n=3, loss=loss),
        lambda loss: ol.GD.from_horizon(T=9, X=2.0, radius=1.0, loss=loss),
        lambda loss: ol.EGPM.from_horizon(T=9, X=2.0, n=3, loss=loss),
    ],
)
@pytest.mark.parametrize("loss", [losses.Logistic, "logistic"])
def test_rates_need_a_loss_too(make, loss):
    with pytest.raises(
        ValueError, match=r"needs a loss such as onlinear\.losses\.Logistic\(\), got"
    ):
        make(loss)


def test_text_as_labels_names_the_learners_of_classes():
    X, y = np.eye(2), np.array(["ham", "spam"])
    for labels in (y, y.astype(object), y.tolist()):
        with pytest.raises(ValueError, match=r"numbers first.*LogisticLASER and AROW take classes"):
            ol.GD(loss=losses.Logistic()).fit(X, labels)
        with pytest.raises(ValueError, match=r"numbers first$"):
            ol.GD(loss=losses.Absolute()).fit(X, labels)


@pytest.mark.parametrize("name", NAMES)
def test_a_learner_with_a_loss_is_saved_and_loaded(name, tmp_path):
    model = ol.GD(eta=0.1, radius=1.0, loss=LOSSES[name])
    model.learn_one([0.5, 0.25], 1.0)
    model.save(tmp_path / "model.onl")
    again = ol.load(tmp_path / "model.onl")
    assert again.loss == model.loss
    assert repr(again) == repr(model)
    assert again.predict_one([1.0, 1.0]) == model.predict_one([1.0, 1.0])


def test_without_a_radius_the_rows_that_overshoot_are_refused():
    for loss, y in ((losses.Square(), 1.0), (losses.SquaredHinge(), 1.0), (losses.Poisson(), 5.0)):
        with pytest.raises(ValueError, match="overshoots"):
            ol.GD(eta=0.5, loss=loss).learn_one([2.0, 0.0], y)
        ol.GD(eta=0.5, radius=1.0, loss=loss).learn_one([2.0, 0.0], y)
    ol.GD(eta=0.5, loss=losses.Logistic()).learn_one([20.0, 0.0], 1.0)


# --- replays and activations --------------------------------------------------------------------


def test_the_losses_of_a_replay_are_the_learners():
    X, y, _ = unit_stream(100, 3, np.random.default_rng(3))
    run = ol.replay(ol.GD(eta=0.5, loss=losses.Logistic()), X, labels_for("Logistic", y))
    value = textbook(losses.Logistic())[0]
    wanted = [
        value(math.log(p / (1 - p)), label)
        for p, label in zip(run.predictions, run.labels, strict=True)
    ]
    assert_allclose(run.losses, wanted, rtol=1e-10)
    assert run.mean_loss == pytest.approx(np.mean(wanted))
    assert run[50:].mean_loss == pytest.approx(np.mean(wanted[50:]))
    assert f"log loss {run.mean_loss:.6g}" in repr(run)


def test_the_decision_function_is_the_activation():
    X, y, _ = unit_stream(100, 3, np.random.default_rng(4))
    model = ol.GD(eta=0.5, loss=losses.Logistic()).fit(X, labels_for("Logistic", y))
    assert_allclose(model.decision_function(X), X @ model.coef_, rtol=1e-13)
    assert_allclose(model.predict(X), 1 / (1 + np.exp(-X @ model.coef_)), rtol=1e-13)
    assert_allclose(model.decision_function(1e3 * X), 1e3 * X @ model.coef_, rtol=1e-13)
    with pytest.raises(AttributeError, match="use predict"):
        _ = ol.GD(loss=losses.Huber()).decision_function


def test_learners_of_a_bank_keep_their_losses():
    X, y, _ = unit_stream(60, 3, np.random.default_rng(5))
    y = labels_for("Logistic", y)
    bank = ol.Bank([ol.GD(eta=0.1), ol.GD(eta=0.1, loss=losses.Logistic())])
    run = ol.replay(bank, X, y)
    assert run[:, 0].loss == losses.Square()
    assert run[:, 1:][:, 0].loss == losses.Logistic()
    alone = ol.replay(ol.GD(eta=0.1, loss=losses.Logistic()), X, y)
    assert run.losses[:, 1].tobytes() == alone.losses.tobytes()


# --- smaller constants would be broken ----------------------------------------------------------


def ceiling_with(loss, eta, R2, L, price, y=1.0):
    """Return the bound of one round with R² = ``R2`` against a comparator of loss L."""
    one = np.ones(1)
    return any_loss.ceilings(loss, eta, R2 * one, one, y * one, L * one, price * one / eta)[0]


@pytest.mark.parametrize("eta", [0.05, 0.5])
def test_with_a_smaller_R2_one_round_of_the_absolute_loss_breaks_the_bounds(eta):
    """x = (1, −1), y = 2: the learner loses 2; u is the best point of the learner's class."""
    loss = losses.Absolute()
    b = np.linspace(0.0, 0.99, 2001)  # the activation of u
    p = (1 + b) / 2
    entropy = math.log(2) + p * np.log(p) + (1 - p) * np.log(1 - p)
    for prices, R2 in ((b * b / 4, 2.0), (entropy, 1.0)):  # GD, EG
        least = min(ceiling_with(loss, eta, R2, 2 - a, c) for a, c in zip(b, prices, strict=True))
        wrong = min(
            ceiling_with(loss, eta, 0.8 * R2, 2 - a, c) for a, c in zip(b, prices, strict=True)
        )
        assert wrong < 2.0 <= least * (1 + 1e-12)


def test_with_a_smaller_kappa_one_round_of_hubers_loss_breaks_the_bound():
    """x = 1, y = .1: the learner loses .005, and u has ½(.1 − u)² and ½u²."""
    eta = 0.1  # delta > .1
    u = np.linspace(0, 0.1, 10_001)
    L, price = 0.5 * (0.1 - u) ** 2, 0.5 * u * u / eta
    assert np.min((L + price) / (1 - eta)) >= 0.005
    assert np.min((L + price) / (1 - 0.8 * eta)) < 0.005


def test_without_its_sparse_term_a_target_with_zeros_breaks_the_bound_of_eg():
    """u = (1, 0) loses nothing; the learner's weights can only come within α/2 of it."""
    X, y, alpha, eta = np.tile([1.0, 0.0], (200, 1)), np.ones(200), 0.5, 0.1
    proof = ol.certificate(ol.EG(eta=eta, alpha=alpha, loss=losses.Absolute()), X, y, [1.0, 0.0])
    assert proof.holds.all()
    without = math.log(2) / eta + 0.5 * eta * 200 / 4  # L(u) + p + ½ηΣG²R²
    assert proof.loss[-1] > without
    assert proof.ceiling[-1] == pytest.approx(without - 199 * math.log1p(-alpha / 2) / eta)
