"""Auto: what it promises of units, outliers, drift and noise, and its bound."""

import copy
import gzip
import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import DATA

import onlinear as ol
from onlinear.algorithms._auto import labels, rounds

BEST_OF_THREE = {  # relative error of the best exponentially weighted ridge, chosen in hindsight
    "elec2_logprice": 0.139,
    "air_quality_co": 0.066,
    "wind_farm_power": 0.032,
    "bike_hourly": 0.302,
    "metro_traffic": 0.077,
    "debutanizer": 0.447,
    "exchange_rate_levels": 0.011,
    "appliances_energy": 0.634,
    "kin8nm": 0.5915,
    "ccpp": 0.0717,
    "ailerons": 0.1844,
}
with_data = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"needs the data sets of the accuracy benchmark in {DATA}"
)


def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    with gzip.open(DATA / f"{name}.csv.gz", "rt") as file:
        rows = np.loadtxt(file, delimiter=",", skiprows=1)
    return np.ascontiguousarray(rows[:, :-1]), np.ascontiguousarray(rows[:, -1])


def relative_error(predictions, y, skip=100):
    mean = np.concatenate([[0.0], np.cumsum(y)[:-1] / np.arange(1, len(y))])
    return np.sum((predictions - y)[skip:] ** 2) / np.sum((mean - y)[skip:] ** 2)


def predictions(X, y, **params):
    return ol.replay(ol.Auto(**params), X, y).predictions


def stream(rows=600, d=4, seed=0):
    """Return odd columns, and labels that drift and follow each other."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, d)) * [1.0, 30.0, 0.01, 1.0] + [0.0, 500.0, 0.0, -3.0]
    X[:, 3] = rng.random(rows) < 0.05
    angle = np.arange(rows) / 100
    level = np.cumsum(rng.normal(size=rows)) / 5
    y = X[:, 0] * np.cos(angle) + (X[:, 1] - 500) / 30 * np.sin(angle) + 2 * X[:, 3] + level
    return X, y + 0.3 * rng.normal(size=rows)


# --- accuracy -------------------------------------------------------------------------------


@with_data
@pytest.mark.parametrize(("lags", "target"), [(2, 0.33), (0, 0.45)])
def test_no_worse_than_ridges_tuned_in_hindsight(lags, target):
    ratios = []
    for name, best in BEST_OF_THREE.items():
        X, y = table(name)
        ratios.append(relative_error(predictions(X, y, lags=lags), y) / best)
    assert max(ratios) <= 1.01
    assert np.exp(np.mean(np.log(ratios))) <= target


def late_loss(model, stream):
    return ol.replay(model, *stream).losses[100:].sum()


SPEEDS = 10.0 ** np.arange(-2, 9)
RIVALS = [
    *(lambda c=c: ol.LASER(c=c, shrink=False) for c in SPEEDS),
    *(lambda eta=eta: ol.NLMS(eta=eta) for eta in (0.3, 0.7, 1.0)),
    *(lambda n=n: ol.CRRLS(forgetting=1.0, reset_every=n) for n in (10, 20, 50)),
    *(lambda f=f: ol.RLS(forgetting=f) for f in (0.9, 0.99)),
    *(lambda r=r: ol.ARCOR(r=r, q=1.5) for r in (1.0, 10.0, 100.0)),
]


@pytest.mark.parametrize(
    "kind",
    [
        {"rate": 0.1},
        {"rate": 1.0},
        {"rate": 5.0},
        {"rate": 1.0, "switch_every": 50},
        {"rate": 57.3, "decay": 1.0, "switch_every": 50},
        {"rate": 0.0},
    ],
    ids=str,
)
def test_the_streams_of_the_papers(kind):
    streams = [ol.streams.paired(seed=seed, **kind) for seed in range(3)]

    def loss(make):
        return sum(late_loss(make(), each) for each in streams)

    tuned = min(loss(rival) for rival in RIVALS)
    assert loss(lambda: ol.Auto(units="given")) <= 1.25 * tuned
    standard = min(loss(lambda c=c: ol.Standardized(ol.LASER(c=c, shrink=False))) for c in SPEEDS)
    assert loss(ol.Auto) <= 1.05 * standard


def test_a_change_after_a_long_time_is_tracked():
    rng = np.random.default_rng(0)
    rows = 1_000_000
    X = rng.normal(size=(rows + 1200, 3))
    y = X @ [1.0, -1.0, 0.5] + 0.1 * rng.normal(size=rows + 1200)
    y[rows:] = X[rows:] @ [-1.0, 1.0, 2.0] + 3.0 + 0.1 * rng.normal(size=1200)
    losses = ol.replay(ol.Auto(), X, y).losses
    assert losses[rows - 1000 : rows].mean() < 0.011
    assert losses[rows + 1000 :].mean() < 0.02  # of noise .01


@pytest.mark.parametrize("lags", [0, 2])
def test_pure_noise_costs_little_over_the_mean(lags):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(5000, 20)), rng.normal(size=5000)
    assert relative_error(predictions(X, y, lags=lags), y) <= 1.02
    assert relative_error(predictions(X, y, lags=lags), y, skip=0) <= 1.02


# --- units ----------------------------------------------------------------------------------


@given(powers=st.lists(st.integers(-100, 100), min_size=5, max_size=5))
@settings(max_examples=20)
def test_powers_of_two_change_no_bit(powers):
    X, y = stream()
    *of_x, of_y = 2.0 ** np.array(powers)
    assert (predictions(X * of_x, y * of_y) / of_y).tobytes() == predictions(X, y).tobytes()


@pytest.mark.parametrize("seed", range(3))
def test_units_and_order_do_not_matter(seed):
    X, y = stream(2000, seed=seed)
    rng = np.random.default_rng(seed)
    expected, size = predictions(X, y), np.abs(y).max()
    for units in (10.0 ** rng.choice([-6, 6], size=4), 10.0 ** rng.uniform(-6, 6, size=4)):
        assert np.abs(predictions(X * units, y) - expected).max() <= 1e-6 * size
    for unit in (1e6, 1e-6):
        assert np.abs(predictions(X, y * unit) / unit - expected).max() <= 1e-6 * size
    other = rng.permutation(4)
    assert np.abs(predictions(X[:, other], y) - expected).max() <= 1e-9 * size
    moved = predictions(X + np.array([1e3, 0.0, 1.0, 5.0]), y + 1e3) - 1e3
    assert np.abs(moved - expected)[1:].max() <= 1e-6 * size  # the very first prediction is 0


# --- outliers -------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, 1, 5, 9, 10, 11, 50, 500, 1500])
@pytest.mark.parametrize("column", [None, 0, 1, 2])
def test_one_absurd_number_does_little_harm(at, column):
    X, y = stream(2000, seed=3)
    expected = (predictions(X, y) - y) ** 2
    Z, labels = X.copy(), y.copy()
    if column is None:
        labels[at] *= 1e6
    else:
        Z[at, column] *= 1e6
    others = np.arange(2000) != at
    others[:20] = False
    found = (predictions(Z, labels) - y) ** 2
    assert found[others].sum() <= 1.03 * expected[others].sum()


@with_data
@pytest.mark.parametrize("name", ["debutanizer", "ccpp", "air_quality_co"])
def test_one_absurd_number_in_real_streams(name):
    X, y = (part[:5000] for part in table(name))
    expected = (predictions(X, y) - y) ** 2
    for at in (0, 4, 9, 10, 100, 2000):
        others = np.arange(len(y)) != at
        others[:100] = False
        for column in (None, 0, X.shape[1] // 2):
            Z, labels = X.copy(), y.copy()
            if column is None:
                labels[at] *= 1e6
            else:
                Z[at, column] *= 1e6
            found = (predictions(Z, labels) - y) ** 2
            assert found[others].sum() <= 1.03 * expected[others].sum(), (at, column)


def test_a_jump_that_is_real_gets_through():
    X, y = stream(2000)
    y[1000:] += 100.0
    losses = ol.replay(ol.Auto(), X, y).losses
    assert losses[1150:1250].mean() < 3 * losses[800:1000].mean()


def test_a_stream_that_starts_late_is_learnt():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 3)), 5 + 0.01 * rng.normal(size=600)
    y[9:] = 8 + 0.3 * X[9:].sum(axis=1)
    model = ol.Auto()
    assert ol.replay(model, X, y).losses[100:].mean() < 0.02
    assert model.rounds_ == 600


@pytest.mark.parametrize(("every", "size"), [(2, 1000.0), (7, 30.0), (20, 100.0)])
def test_events_that_come_back_are_learnt(every, size):
    rng = np.random.default_rng(0)
    t = np.arange(3000)
    event = (t % every == 0) & (t >= 50)
    X = np.column_stack([event, rng.normal(size=3000)])
    y = size * event + rng.normal(size=3000)
    assert relative_error(predictions(X, y), y, skip=500) < 0.1
    spikes = np.where(event, size * rng.normal(size=3000), rng.normal(size=3000))[:, None]
    assert relative_error(predictions(spikes, spikes[:, 0]), spikes[:, 0], skip=500) < 0.05


def test_labels_that_were_all_alike_may_begin_to_move():
    X, y = stream(400)
    y[:40] = 7.0
    assert relative_error(predictions(X, y), y) < 0.5


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.random.default_rng(0).normal(size=(500, 3)), lambda X: X[:, 0]),
        (np.random.default_rng(0).normal(size=(500, 3)), lambda X: np.zeros(500)),
        (np.ones((500, 2)), lambda X: np.sin(np.arange(500))),
        (np.arange(500.0)[:, None], lambda X: 2 * X[:, 0] + 1),
        (np.random.default_rng(0).standard_t(1.1, size=(500, 2)), lambda X: X[:, 0] ** 3),
        (1e99 * np.random.default_rng(0).normal(size=(500, 2)), lambda X: 1e90 * (X[:, 0] > 0)),
        (
            1e-99 * np.random.default_rng(0).normal(size=(500, 2)),
            lambda X: 1e-90 * (X[:, 1] > 0),
        ),
    ],
    ids=["no noise", "no labels", "no inputs", "a counter", "heavy tails", "huge", "tiny"],
)
@pytest.mark.parametrize("units", ["free", "given"])
def test_numbers_stay_numbers(X, y, units):
    model = ol.Auto(units=units)
    run = ol.replay(model, X, y(X))
    assert np.isfinite(run.predictions).all()
    assert all(np.isfinite(part).all() for part in model._state)


def test_numbers_too_large_are_refused_and_nothing_is_learnt():
    X, y = stream(50)
    model = ol.Auto().fit(X, y)
    before = model._record.copy()
    with pytest.raises(ValueError, match=r"\|x_i\| ≤ 1e\+100"):
        model.learn_one([1.0, 1e101, 0.0, 0.0], 1.0)
    with pytest.raises(ValueError, match=r"\|y\| ≤ 1e\+100"):
        model.learn_one([1.0, 1.0, 0.0, 0.0], -1e200)
    assert model._record.tobytes() == before.tobytes()


# --- the bound ------------------------------------------------------------------------------


def features(X, y, **params):
    """Return what the combination saw in every round: features, y less p̄, σ²."""
    model, rows = ol.Auto(**params), []
    for x, label in zip(X, y, strict=True):
        kept = model.remember(x)
        model.learn_one(x, label)
        state = model._state
        f, numbers = kept[4 : -rounds.NUMBERS], kept[-rounds.NUMBERS :]
        noise = max(state.labels[labels.NOISE], 0.0)
        rows.append((f, label - state.labels[labels.FIRST] - numbers[rounds.MIDDLE], noise))
    return model, rows[1:]


@pytest.mark.parametrize("params", [{}, {"lags": 0}, {"units": "given"}], ids=str)
def test_the_loss_is_within_the_bound_of_the_best_fixed_combination(params):
    X, y = stream(500, seed=2)
    model, rows = features(X, y, **params)
    F = np.array([f / math.sqrt(noise) for f, _, noise in rows])
    target = np.array([left / math.sqrt(noise) for _, left, noise in rows])
    regret = model.regret_
    v = np.linalg.solve(F.T @ F + 10 * np.eye(F.shape[1]), F.T @ target)
    least = 0.5 * np.sum((target - F @ v) ** 2) + 0.5 * 10 * v @ v
    assert regret.combination == pytest.approx(least, rel=1e-6)
    assert regret.weighted <= regret.ceiling
    assert regret.ceiling < 1.2 * least + 20  # it says something
    for k in range(len(regret.experts)):  # an expert is a combination of price 5
        assert regret.combination <= 0.5 * np.sum((target - F[:, k]) ** 2) + 5


def test_realised_regret_against_the_best_expert():
    X, y = stream(1000)
    regret = ol.Auto().fit(X, y).regret_
    assert regret.loss < min(regret.experts.values())
    mean = regret.experts["the mean of y"]
    running = np.concatenate([[0.0], np.cumsum(y)[:-1] / np.arange(1, len(y))])
    assert mean == pytest.approx(np.sum((running - y)[1:] ** 2))


# --- late labels ----------------------------------------------------------------------------


def delayed(X, y, delay, learn):
    model, kept, out = ol.Auto(), [], []
    for i, x in enumerate(X):
        out.append(model.predict_one(x))
        kept.append(model.remember(x))
        if i >= delay:
            learn(model, i - delay, kept[i - delay])
    return np.mean((np.array(out) - y)[50:] ** 2), model


def test_a_ticket_used_at_once_is_an_ordinary_round():
    X, y = stream(60)
    _, model = delayed(X, y, 0, lambda model, i, kept: model.learn_late(kept, y[i]))
    assert model._record.tobytes() == ol.Auto().fit(X, y)._record.tobytes()


def test_late_labels_are_learnt_from_what_was_known_then():
    rng = np.random.default_rng(0)
    X, level = rng.normal(size=(3000, 3)), np.zeros(3000)
    for t in range(1, 3000):
        level[t] = 0.95 * level[t - 1] + 0.3 * rng.normal()
    y = level + 0.5 * X[:, 0]
    by_ticket, _ = delayed(X, y, 5, lambda model, i, kept: model.learn_late(kept, y[i]))
    as_if_now, _ = delayed(X, y, 5, lambda model, i, kept: model.learn_one(X[i], y[i]))
    assert by_ticket < 0.97 * as_if_now


def test_what_it_began_with_stays():
    model = ol.Auto().fit(*stream(30))
    for change in ({"lags": 0}, {"units": "given"}, {"guaranteed": True}):
        model.set_params(**change)
        began = f"needs the {next(iter(change))} it began with"
        for use in (lambda: model.predict_one(np.zeros(4)), model.explain, lambda: model.regret_):
            with pytest.raises(ValueError, match=began):
                use()
        model.set_params(lags=2, units="free", guaranteed=False)
    assert np.isfinite(model.predict_one(np.zeros(4)))


def test_tickets_of_others_are_refused():
    model = ol.Auto().fit(*stream(30))
    with pytest.raises(ValueError, match="the array that remember returned"):
        model.learn_late(np.zeros(5), 1.0)
    for others in (ol.Auto(lags=0).remember(np.ones(2)), ol.Auto(lags=1).remember(np.ones(6))):
        with pytest.raises(ValueError, match="the array that remember returned"):
            model.learn_late(others, 1.0)
    kept = model.remember(np.ones(4))
    kept[0] = 1e200
    with pytest.raises(ValueError, match=r"\|x_i\| ≤ 1e\+100"):
        model.learn_late(kept, 1.0)


def test_a_first_late_label_that_is_skipped_leaves_nothing_begun():
    model = ol.Auto(on_bad="skip")
    model.learn_late(model.remember([1.0, 2.0]), float("nan"))
    assert model.n_skipped_ == 1
    model.learn_late(model.remember([1.0, 2.0, 3.0]), 1.0)
    assert model.n_features_in_ == 3
    assert (model.rounds_, model.n_skipped_) == (1, 1)


def test_late_labels_of_any_learner():
    X, y = stream(30)
    late, now = ol.LASER(), ol.LASER()
    for x, label in zip(X, y, strict=True):
        late.learn_late(late.remember(x), label)
        now.learn_one(x, label)
    assert late._record.tobytes() == now._record.tobytes()


# --- tables ---------------------------------------------------------------------------------


def autocorrelated(rows=1500):
    """Return a stream whose labels are x plus a slow random walk, so that past labels help."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(rows, 3))
    return X, X @ [1.0, -1.0, 0.5] + 0.3 * np.cumsum(rng.normal(size=rows))


@pytest.mark.parametrize("units", ["free", "given"])
def test_predict_combines_the_experts_without_the_past(units):
    """ŷ = p̄ + Σ ω_i v_iᵀf with f = (p_k − p̄, 0, …, 0), each clipped to the range."""
    X, y = autocorrelated()
    model = ol.Auto(units=units).fit(X[:1000], y[:1000])
    state = model._state
    experts = state.rounds.size
    standard = (X - state.centre) / state.scale
    p = np.empty((len(X), experts + 1))
    for k in range(experts):
        p[:, k] = state.W[k, 0] + (standard if k < 4 else X) @ state.W[k, 1:]
    p[:, experts] = np.mean(y[:1000]) - y[0]
    low, high = np.min(y[:1000] - y[0]), np.max(y[:1000] - y[0])
    room = 3.0 / np.sqrt(1001.0) * (high - low)
    p[:, :experts] = np.clip(p[:, :experts], low - room, high + room)
    middle = p.mean(axis=1)
    each = middle[:, None] + (p - middle[:, None]) @ state.V[:, : experts + 1].T
    expected = y[0] + np.clip(each, low - room, high + room) @ state.trust
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-9, atol=1e-9)


def test_predict_of_a_table_does_not_depend_on_the_last_labels_and_predict_one_does():
    X, y = autocorrelated()
    model = ol.Auto().fit(X[:1000], y[:1000])
    other = copy.deepcopy(model)
    other._state.past[:] += 1e3  # other labels, in the last rows only
    np.testing.assert_array_equal(model.predict(X), other.predict(X))
    assert model.predict_one(X[0]) != other.predict_one(X[0])
    assert model.score(X[1000:], y[1000:]) == other.score(X[1000:], y[1000:])


def test_predict_of_a_bank_and_of_a_map_is_that_of_their_learners():
    X, y = autocorrelated(300)
    bank = ol.Bank([ol.Auto(), ol.Ridge()])
    ol.replay(bank, X, y)
    for k in range(2):
        np.testing.assert_array_equal(bank.predict(X)[:, k], bank[k].predict(X))
    mapped = ol.features.Mapped(ol.features.RandomFourier(width=8), ol.Auto()).fit(X, y)
    rows = mapped.features.transform(X)
    np.testing.assert_array_equal(mapped.predict(X), mapped.learner.predict(rows))


# --- what it says ---------------------------------------------------------------------------


def test_weights_and_intercept_are_those_of_the_prediction():
    X, y = stream(800)
    for params in ({}, {"lags": 0}, {"units": "given", "lags": 1}):
        model = ol.Auto(**params).fit(X, y)
        inside = X[:20]
        line = inside @ model.coef_ + model.intercept_
        predictions = [model.predict_one(x) for x in inside]
        np.testing.assert_allclose(predictions, line, rtol=1e-6, atol=1e-6)


def test_explain_knows_who_leads_and_what_was_cut():
    X, y = ol.streams.rotating(rows=2000, d=4, degrees=10.0)
    fast = ol.Auto().fit(X, y).explain()
    assert "LASER, c = 1 leads" in fast
    assert "only the last rows count" in fast
    X, y = ol.streams.rotating(rows=4000, d=4, degrees=0.0, noise=1.0)
    y[1000] = 1e6
    X = np.column_stack([X, np.ones(4000)])
    still = ol.Auto().fit(X, y).explain()
    assert "hardly changed" in still or "slowly" in still
    assert "Outliers cut: labels 1, entries of x 0" in still
    assert "1 of the columns never changed" in still
    assert "1 rows of 5" in ol.Auto().fit(X[:1], y[:1]).explain()


def random_walk(rows, move, seed):
    """Return a stream whose best memory is 1/move rows: √(R/Q) of its Kalman filter."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 3))
    w = np.cumsum(move * rng.standard_normal((rows, 3)), axis=0)
    return X, (X * w).sum(axis=1) + rng.standard_normal(rows)


@pytest.mark.parametrize("move", [0.003, 0.01, 0.05])
def test_explain_knows_the_memory_and_says_the_same_from_one_hundred_rows_to_the_next(move):
    X, y = random_walk(6000, move, seed=0)
    model, said = ol.Auto(), []
    for start in range(0, 6000, 100):
        ol.replay(model, X[start : start + 100], y[start : start + 100])
        said.append(model.explain().splitlines()[1])
    assert sum(a != b for a, b in itertools.pairwise(said[3:])) <= 3
    found = re.fullmatch(r"Over all these rows, .*: about the last (\d+) rows count\.", said[-1])
    assert 0.2 < int(found[1]) * move < 2.5  # it is rounded to a factor of 1.8


def test_explain_knows_streams_that_x_or_the_experts_do_not_help_with():
    rng = np.random.default_rng(0)
    X, noise = rng.standard_normal((1500, 3)), rng.standard_normal(1500)
    assert "x does not help" in ol.Auto().fit(X, noise).explain()
    walk = np.cumsum(np.cumsum(noise))
    assert "x added little" in ol.Auto().fit(X, walk).explain()
    units = [10.0, 1.0, 0.1]
    w = np.cumsum(0.1 * rng.standard_normal((1500, 3)), axis=0)  # as fast in every given unit
    model = ol.Auto(units="given").fit(X * units, (X * units * w).sum(axis=1))
    assert "experts in given units" in model.explain()
