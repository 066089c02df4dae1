"""Faults seen in other packages, each with a test that we do not have it."""

import numpy as np
import pytest
from table import state, stream, stream_of

import onlinear as ol

SECOND_ORDER = sorted(n for n, c in ol.LEARNERS.items() if hasattr(c, "covariance_"))


@pytest.mark.parametrize("name", sorted(ol.LEARNERS))
def test_many_rows_at_once_are_the_rows_one_by_one(name):
    """river's BayesianLinearRegression: learn_one and learn_many give different models."""
    X, y = stream_of((name, {}), 50)
    singly, at_once = ol.LEARNERS[name](), ol.LEARNERS[name]()
    for row, label in zip(X, y, strict=True):
        singly.learn_one(row, label)
    assert state(at_once.partial_fit(X, y)) == state(singly)


@pytest.mark.parametrize("name", sorted(set(ol.LEARNERS) - {"EGU", "AROW", "LogisticLASER"}))
def test_one_wild_label_does_not_kill_the_learner(name):
    """river's EWARegressor never recovers from one label of 100 among labels near 1."""
    X, y = stream(1500 if name.startswith("Kernel") else 4000)  # O(n²) a round
    X, truth = X / 2, np.array([0.9, 0.1, 0.5, 0.3, 0.7])
    y = X @ truth / truth.sum()
    calm = ol.LEARNERS[name]()
    wild = ol.LEARNERS[name]()
    y_wild = y.copy()
    y_wild[50] = 100.0
    expected = ol.replay(calm, X, y).losses
    losses = ol.replay(wild, X, y_wild).losses
    assert np.isfinite(losses).all()
    assert losses[-100:].mean() < 0.05 * losses[51:151].mean() + 4 * expected[-100:].mean() + 1e-4


@pytest.mark.parametrize("name", SECOND_ORDER)
def test_a_feature_that_is_never_excited_does_no_harm(name):
    """Other packages: variance NaN or 1e178 when a column stays 0 under forgetting."""
    X, y = stream_of((name, {}), 5000)
    X[:, 2] = 0.0
    params = {"forgetting": 0.9} if name in ("RLS", "CRRLS") else {}
    model = ol.LEARNERS[name](**params).fit(X, y)
    S = model.covariance_
    assert np.isfinite(S).all()
    assert S[2, 2] <= 1e9
    assert np.linalg.eigvalsh(S)[0] > 0


@pytest.mark.parametrize("name", SECOND_ORDER)
def test_twenty_thousand_zero_rows_do_not_wind_up(name):
    """padasip's FilterRLS reaches 3e178 and then NaN."""
    X, y = stream_of((name, {}), 200)
    if name == "AROW":
        y = (X[:, 0] > X[:, 1]).astype(float)  # a plane separates the classes
    params = {"forgetting": 0.98} if name in ("RLS", "CRRLS") else {}
    model = ol.LEARNERS[name](**params).fit(X, y)
    model.partial_fit(np.zeros((20_000, 5)), np.zeros(20_000))
    assert np.max(model.covariance_) < 2e9  # 1e9 over the largest x_i²
    run = ol.replay(model, X, y)
    assert np.isfinite(run.predictions).all()
    nothing = np.full(200, 0.5 if name == "LogisticLASER" else 0.0)
    unlearnt = ol.Replay(nothing, run.labels, loss=run.loss)  # what a new learner predicts
    assert run.losses[100:].mean() < 0.5 * unlearnt.losses[100:].mean()


@pytest.mark.parametrize("forgetting", [0.1, 0.01, 1e-9])
@pytest.mark.parametrize("kind", [ol.RLS, lambda **more: ol.CRRLS(reset_every=1000, **more)])
def test_fast_forgetting_does_not_wind_up_a_column_that_has_ended(kind, forgetting):
    X = np.random.default_rng(0).normal(size=(2000, 2))
    X[:, 1] = 0.0
    X[0] = 1.0
    model = kind(forgetting=forgetting)
    run = ol.replay(model, X, 2.0 * X[:, 0])
    assert np.abs(run.predictions[100:] - 2.0 * X[100:, 0]).max() < 1e-6
    assert model.n_skipped_ == 0


def test_the_guard_against_wind_up_changes_nothing_while_every_direction_is_excited():
    """RLS against weighted least squares, in units from 1e-6 to 1e6, with rare dummies."""
    rng = np.random.default_rng(0)
    r, rows = 0.97, 600
    X = rng.normal(size=(rows, 4)) * np.array([1e-6, 1.0, 1e6, 1.0])
    X[:, 3] = rng.uniform(size=rows) < 0.05  # one row in twenty
    y = X @ np.array([1e6, 1.0, 1e-6, 1.0]) + rng.normal(size=rows)
    model = ol.RLS(forgetting=r, b=1e-3).fit(X, y)
    weight = r ** np.arange(rows)[::-1]
    A = (X * weight[:, None]).T @ X + 1e-3 * r**rows * np.eye(4)
    units = np.sqrt(np.diag(A))
    exact = np.linalg.solve(A / units[:, None] / units, X.T @ (weight * y) / units) / units
    np.testing.assert_allclose(model.coef_, exact, rtol=1e-8)


@pytest.mark.parametrize(
    ("forgetting", "columns"),
    [
        (0.9, lambda z, e: np.column_stack([z, z + 1e-4 * e])),  # nearly the same
        (
            0.9,
            lambda z, e: np.where(np.arange(z.size) == 0, 1.0, 1e-4 * z)[:, None],
        ),  # a falling scale
        (0.9, lambda z, e: np.column_stack([z, np.arange(z.size) % 150 == 0])),  # a rare dummy
    ],
)
def test_the_guard_changes_nothing_on_weakly_excited_directions(forgetting, columns):
    rng = np.random.default_rng(0)
    X = columns(*rng.normal(size=(2, 600)))
    y = X @ np.array([3.0, -2.0])[: X.shape[1]] + 1e-4 * rng.normal(size=600)
    weight = np.sqrt(forgetting ** np.arange(600)[::-1])
    rows = np.vstack([X * weight[:, None], np.sqrt(forgetting**600) * np.eye(X.shape[1])])
    labels = np.concatenate([y * weight, np.zeros(X.shape[1])])
    exact = np.linalg.lstsq(rows, labels, rcond=None)[0]
    np.testing.assert_allclose(ol.RLS(forgetting).fit(X, y).coef_, exact, rtol=1e-5)


def test_the_guard_lowers_a_wound_up_coordinate_fourfold_and_leaves_the_weights():
    model = ol.RLS(forgetting=0.5)
    model.learn_one([0.1], 1.0)
    model.learn_one([0.01], 1.0)  # the largest x² seen stays 0.01, below b = 1
    weights = model.coef_
    seen = []
    for _ in range(200):
        model.learn_one([0.0], 0.0)
        seen.append(model.covariance_[0, 0])
    ratio = np.array(seen[1:]) / np.array(seen[:-1])
    falls = ratio < 1
    assert falls.any()
    np.testing.assert_allclose(ratio[falls], 0.5, rtol=1e-6)  # doubled by forgetting, then a fourth
    assert 1e11 / 4 < max(seen) <= 1e11
    assert np.array_equal(model.coef_, weights)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e2, 1e4])
def test_the_guard_keeps_equal_columns_right_in_any_units(scale):
    """Two equal columns must predict as one of them does."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=8000)
    y = z + rng.normal(size=8000)
    one = ol.replay(ol.RLS(), z[:, None], y).predictions
    two = ol.replay(ol.RLS(), scale * np.column_stack([z, z]), y).predictions
    assert np.sqrt(np.mean((one - two)[2000:] ** 2)) < 1e-3


def test_the_guard_keeps_forgetting_alive_in_the_directions_that_are_excited():
    """Two equal columns leave e₁ − e₂ unexcited for ever; the sum must still be tracked."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=20_000)
    truth = np.where(np.arange(z.size) < 15_000, 1.0, -1.0)
    run = ol.replay(ol.RLS(forgetting=0.98), np.column_stack([z, z]), truth * z)
    assert run.losses[15_500:].max() < 1e-6


@pytest.mark.parametrize("name", sorted(set(ol.LEARNERS) - {"EG", "EGPM", "EGU"}))
def test_features_of_any_scale_do_not_blow_up_the_weights(name):
    """river's LinearRegression reaches weights of 1e12 on features of standard deviation 100."""
    rng = np.random.default_rng(0)
    X = 100 * rng.normal(size=(2000, 5))
    y = X @ np.ones(5) / 100
    if name in ("AROW", "LogisticLASER"):
        y = (y > 0).astype(float)
    model = ol.LEARNERS[name](**({"b": 1e6} if name == "WEMM" else {}))
    if name in ("GD", "OGD", "PNorm"):  # a step that overshoots is refused instead of taken
        with pytest.raises(ValueError, match="overshoots"):
            model.fit(X, y)
        model.set_params(eta=1e-6)
    model.fit(X, y)
    if hasattr(model, "coef_"):
        assert np.max(np.abs(model.coef_)) < 1.0
    else:  # one an example: each is at most what its label is
        assert np.max(np.abs(model.dual_coef_)) < np.max(np.abs(y))


@pytest.mark.parametrize("name", sorted(ol.LEARNERS))
def test_one_bad_row_does_not_poison_the_learner(name):
    """In river and padasip one NaN turns the model to NaN for good, without a word."""
    X, y = stream_of((name, {}), 100)
    model = ol.LEARNERS[name](on_bad="skip")
    model.learn_one(np.full(5, np.nan), 1.0)
    model.learn_one(X[0], np.nan)
    model.learn_one(X[0], np.inf)
    assert model.n_skipped_ == 3
    clean = ol.LEARNERS[name]()
    assert state(model.partial_fit(X, y)) == state(clean.fit(X, y))


def test_predictions_are_not_clipped_unless_asked():
    """Vowpal Wabbit clips to the labels seen so far: 300 becomes 9.5."""
    X = np.linspace(0.0, 1.0, 50)[:, None]
    assert ol.Ridge(b=1e-6).fit(X, 10 * X[:, 0]).predict_one([30.0]) == pytest.approx(300, rel=1e-4)
    assert ol.AAR(b=1e-6, clip=9.5).fit(X, 10 * X[:, 0]).predict_one([5.0]) == 9.5


@pytest.mark.parametrize("name", sorted(ol.LEARNERS))
def test_there_is_no_hidden_randomness(name):
    """SOLMA starts from a random regularisation."""
    X, y = stream_of((name, {}), 100)
    assert state(ol.LEARNERS[name]().fit(X, y)) == state(ol.LEARNERS[name]().fit(X, y))


def test_the_learning_rate_stays_alive():
    """A truth that changes after 100,000 quiet rounds is found again by the learners for drift."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(102_000, 3)) / 3
    truth = np.where(np.arange(len(X))[:, None] < 100_000, [1.0, 0.0, -1.0], [-1.0, 1.0, 1.0])
    y = np.sum(X * truth, axis=1)
    for model in (
        ol.LASER(c=10.0, shrink=False),
        ol.RLS(),
        ol.CRRLS(),
        ol.NLMS(),
        ol.GD(eta=0.2),
        ol.ARCOR(r=0.1, q=1.0),
    ):
        losses = ol.replay(model, X, y).losses
        assert losses[-100:].mean() < 1e-3 * losses[100_000:100_010].mean(), model
