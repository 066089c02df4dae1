"""Rounds in bulk are the rounds one by one, to rounding: predictions, state, errors, accounts."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table import stream

import onlinear as ol
from onlinear._engine import step as _engine
from onlinear.algorithms import aar

AGREE = 1e-10
SETTINGS: dict[str, list[dict]] = {
    "AAR": [{}, {"b": 0.1, "clip": 0.5}],
    "ARCOR": [
        {},
        {"r": 0.3, "radius": 0.6, "thresholds": [0.4, 0.2, 0.1]},
        {"r": 0.1, "q": 1.5, "radius": 1.5},
        {"q": np.inf},
    ],
    "AROW": [{}, {"r": 0.3, "b": 2.0, "margin": 0.0}],
    "AROWR": [{}, {"r": 0.3, "b": 2.0}],
    "CRRLS": [{}, {"forgetting": 0.9, "reset_every": 7}, {"forgetting": 1.0, "reset_every": 2}],
    "LASER": [{}, {"b": 3.0, "c": 2.0, "shrink": False, "clip": 0.7}, {"c": np.inf}],
    "LogisticLASER": [{}, {"b": 3.0, "c": 2.0, "reach": 9.0}],
    "ONS": [{}, {"gamma": 0.2, "epsilon": 3.0, "radius": 0.5}, {"radius": 0.9}],
    "RLS": [{}, {"forgetting": 0.9, "b": 0.2}, {"forgetting": 1.0}, {"forgetting": 0.3}],
    "Ridge": [{}, {"b": 0.05, "clip": 0.8}],
    "WEMM": [{}, {"b": 1.3}],
}
CASES = [(name, params) for name, several in SETTINGS.items() for params in several]
IDS = [f"{name}-{n}" for name, several in SETTINGS.items() for n in range(len(several))]
every_case = pytest.mark.parametrize("case", CASES, ids=IDS)


def make(case: tuple[str, dict], **more: object) -> ol.Learner:
    name, params = case
    if name == "AROW":
        params = {**params, "classes": (0, 1)}
    return ol.LEARNERS[name](**{**params, **more})


def labels_of(case, X, y):
    """Return labels that the learner of a case takes, and that differ from row to row."""
    if case[0] not in ("AROW", "LogisticLASER"):
        return y
    return (X[:, 0] > np.median(X[:, 0])).astype(float)


def both(case, X, y, **more):
    """Return the model and run of each engine."""
    one, bulk = make(case, **more), make(case, **more)
    return (
        (one, ol.replay(one, X, y, engine="rank-one")),
        (bulk, ol.replay(bulk, X, y, engine="bulk")),
    )


def far(a: np.ndarray, b: np.ndarray) -> float:
    """Return the largest difference, relative to the largest number."""
    assert np.array_equal(np.isnan(a), np.isnan(b))
    if not np.isfinite(a).any():
        return 0.0
    return float(np.nanmax(np.abs(a - b)) / max(np.nanmax(np.abs(a)), 1e-300))


def figures(model, run) -> tuple[np.ndarray, ...]:
    return run.predictions, model.coef_, model.covariance_


def nudged(case, X, y, **more):
    """Return the figures row by row, every entry of X moved by its last bit, up or down."""
    last_bit = np.random.default_rng(0).choice([-1.0, 1.0], size=X.shape) * 2.0**-52
    model = make(case, **more)
    run = ol.replay(model, X * (1.0 + last_bit), y, engine="rank-one")
    return figures(model, run)


def assert_agree(case, X, y, **more):
    """Agree to 1e-10, or where the last bits of the rows do more than that, to ten times as much.

    (With a memory of few rows, or columns that are alike.) Return model and run of each engine.
    """
    one, bulk = both(case, X, y, **more)
    (model, run), (other, again) = one, bulk
    away = [far(*pair) for pair in zip(figures(*one), figures(*bulk), strict=True)]
    if max(away) > AGREE:
        moved = zip(figures(*one), nudged(case, X, y, **more), strict=True)
        allowed = [min(10 * far(*pair), 1e-5) for pair in moved]
        assert np.all(np.array(away) <= np.maximum(allowed, AGREE)), (away, allowed)
    assert np.array_equal(other.covariance_, other.covariance_.T)
    assert model.rounds_ == other.rounds_
    assert model.n_skipped_ == other.n_skipped_
    assert np.array_equal(run.bad_rows, again.bad_rows)
    if isinstance(model, ol.ARCOR):
        assert model.resets_ == other.resets_
    return one, bulk


def test_every_learner_that_takes_rounds_in_bulk_is_tested_here():
    covered = {n for n, kind in ol.LEARNERS.items() if kind.algorithm.step.in_bulk is not None}
    assert covered == set(SETTINGS)


@every_case
@pytest.mark.parametrize("d", [1, 5, 64, 130])
def test_bulk_agrees_with_rank_one(case, d):
    X, y = stream(rows=700 if d < 100 else 400, d=d, seed=d)
    y = labels_of(case, X, y)
    one, bulk = assert_agree(case, X, y)
    if d == 64 and not case[1]:  # else blocks have not been tested
        assert not np.array_equal(one[1].predictions, bulk[1].predictions)


@given(
    case=st.sampled_from([c for c in CASES if c[0] != "AROW"]),  # labels ±1 may cancel exactly
    d=st.integers(1, 40),
    rows=st.integers(1, 150),
    seed=st.integers(0, 2**32 - 1),
    zeros=st.booleans(),
    constant=st.booleans(),
    repeat=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_on_drawn_streams(case, d, rows, seed, zeros, constant, repeat):
    X, y = stream(rows=rows, d=d, seed=seed)
    y = labels_of(case, X, y)
    rng = np.random.default_rng(seed)
    if zeros:
        X[rng.uniform(size=rows) < 0.2] = 0.0
        X[:, rng.uniform(size=d) < 0.3] = 0.0
    if constant:
        X[:, 0] = 0.1
    if repeat:
        X = X[rng.integers(0, max(rows // 4, 1), size=rows)]
    assert_agree(case, X, y)


@pytest.mark.parametrize("size", [1.0, 100.0])
@pytest.mark.parametrize("b", [1e-6, 1e-3, 1.0])
@pytest.mark.parametrize("name", ["AAR", "LASER", "Ridge", "AROWR"])
def test_on_vague_priors_and_large_rows(name, b, size):
    rng = np.random.default_rng(0)
    X = size * rng.normal(size=(400, 96))
    y = X @ rng.normal(size=96) + rng.normal(size=400)
    assert_agree((name, {"b": b}), X, y)


def test_on_columns_of_very_different_sizes_and_on_columns_nearly_alike():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 64)) * 10.0 ** rng.uniform(-4, 4, size=64)
    y = X @ (rng.normal(size=64) / np.abs(X).max(axis=0)) + 0.1 * rng.normal(size=500)
    assert_agree(("AAR", {"b": 1e-3}), X, y)
    X = rng.normal(size=(500, 1)) + 1e-3 * rng.normal(size=(500, 64))
    assert_agree(("AAR", {}), X, X[:, 0])


def test_a_direction_that_is_not_excited_does_not_wind_up_in_bulk_either():
    X, y = stream(rows=4000, d=64)
    X[500:, 3] = 0.0
    X[:, 5] = 0.0
    _, bulk = assert_agree(("RLS", {"forgetting": 0.98}), X, y)
    assert np.diag(bulk[0].covariance_).max() < 1e12  # 0.98^−3500 is 1e30


@every_case
def test_a_bad_row_is_refused_at_the_same_place_and_undone(case):
    X, y = stream(rows=200, d=50)
    y = labels_of(case, X, y)
    model = make(case)
    ol.replay(model, X[:70], y[:70], engine="bulk")
    before = model._record.copy()
    for row, (spoilt, column), value in itertools.product(
        (0, 1, 37, 63, 64, 199), ((X, (7,)), (y, ())), (np.nan, np.inf, -np.inf)
    ):
        place = (row, *column)
        kept = spoilt[place]
        spoilt[place] = value
        with pytest.raises(ValueError, match=f"row {row}") as bulk:
            ol.replay(model, X, y, engine="bulk")
        assert np.array_equal(model._record, before)
        with pytest.raises(ValueError, match=f"row {row}") as one:
            ol.replay(model, X, y, engine="rank-one")
        assert str(bulk.value) == str(one.value)
        spoilt[place] = kept


@every_case
def test_rows_left_out_are_the_same(case):
    X, y = stream(rows=300, d=50)
    y = labels_of(case, X, y)
    X[[3, 64, 65, 130, 299], 0] = np.nan
    y[[10, 128]] = np.inf
    X[200] = 1e200
    assert_agree(case, X, y, on_bad="skip")


def test_a_rule_of_the_learner_speaks_at_the_same_row():
    X, y = stream(rows=300, d=50)
    X[111] *= 9.0
    messages = []
    for engine in ("rank-one", "bulk"):
        model = ol.WEMM(b=1.5)
        with pytest.raises(ValueError, match="row 111") as error:
            ol.replay(model, X, y, engine=engine)
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    assert_agree(("WEMM", {"b": 1.5}), X, y, on_bad="skip")


@every_case
def test_where_the_engine_stops_for_breath_changes_no_bit(case, monkeypatch):
    X, y = stream(rows=700, d=50)
    y = labels_of(case, X, y)
    X[[5, 400]] *= 30.0  # refused by some, projected by others
    runs = []
    for seconds in (0.0, 1e9):
        monkeypatch.setattr(_engine, "BLOCK_SECONDS", seconds)
        model = make(case, on_bad="skip")
        run = ol.replay(model, X, y, engine="bulk")
        runs.append((run.predictions.tobytes(), model._record.tobytes()))
    assert runs[0] == runs[1]


@every_case
def test_bulk_goes_on_from_any_state_and_after_a_file(case, tmp_path):
    X, y = stream(rows=400, d=60)
    y = labels_of(case, X, y)
    whole, parts = make(case), make(case)
    run = ol.replay(whole, X, y, engine="rank-one")
    first = ol.replay(parts, X[:111], y[:111], engine="bulk")
    parts.save(tmp_path / "model.onl")
    parts = ol.load(tmp_path / "model.onl")
    parts.learn_one(X[111], y[111])
    second = ol.replay(parts, X[112:], y[112:], engine="bulk")
    together = np.concatenate([first.predictions, run.predictions[111:112], second.predictions])
    predictions, weights, _ = nudged(case, X, y)
    assert far(run.predictions, together) <= max(AGREE, 10 * far(run.predictions, predictions))
    assert far(whole.coef_, parts.coef_) <= max(AGREE, 10 * far(whole.coef_, weights))


@pytest.mark.parametrize("forgetting", [0.99, 0.97])
@pytest.mark.parametrize("start", [2063, 2071, 1038, 1045])
def test_a_column_that_begins_small_within_a_block_is_guarded_as_row_by_row(forgetting, start):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(start + 290, 64)), rng.normal(size=start + 290)
    X[:start, 0] = 0.0
    X[start:, 0] *= 1e-3
    assert_agree(("RLS", {"forgetting": forgetting}), X, y)


def test_what_overflows_row_by_row_is_refused_in_bulk_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 64))
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = rng.normal(size=80)
    X[20] *= 200
    y[20] = 1e305
    for name in ("AAR", "LASER", "Ridge", "AROWR", "RLS", "CRRLS"):
        assert_agree((name, {"on_bad": "skip"}), X, y)
    X[20] *= 1e8
    y[20] = 1e150
    one, bulk = both(("ONS", {"on_bad": "skip"}), X, y)
    assert one[1].bad_rows.tolist() == bulk[1].bad_rows.tolist() == [20]
    X = np.concatenate([2e153 * np.eye(64), 1e153 * rng.normal(size=(20, 64))])
    X[70] *= 10
    one, bulk = both(("RLS", {"forgetting": 0.999, "on_bad": "skip"}), X, np.ones(84))
    assert one[1].bad_rows.tolist() == bulk[1].bad_rows.tolist()


def test_on_constant_rows_and_a_vague_prior():
    y = np.random.default_rng(0).normal(size=200)
    model = ol.Ridge(b=0.001)
    ol.replay(model, np.full((32, 1), 4.56), y[:32], engine="bulk")
    assert model.covariance_[0, 0] == pytest.approx(1 / (0.001 + 32 * 4.56**2), rel=1e-12)
    for d, b in ((512, 0.0057), (200, 0.0021), (64, 0.001), (128, 1.0)):
        X, seen = np.ones((200, d)), np.arange(200)
        sums = np.concatenate([[0.0], np.cumsum(y)[:-1]])
        exact = d * sums / (b + (seen + 1) * d)  # of AAR, whose weights are all alike
        one, bulk = (far(exact, run.predictions) for _, run in both(("AAR", {"b": b}), X, y))
        assert bulk <= max(AGREE, 10 * one)  # Σx cancels, however it is summed
        assert max(one, bulk) <= 1e-8


def test_numbers_too_small_for_all_their_digits_are_taken_row_by_row():
    rng = np.random.default_rng(0)
    for size in (1e100, 1e140, 1e150):
        X = rng.normal(size=(200, 1)) * 10.0 ** rng.uniform(-6, 6, size=(200, 1))
        y = size * rng.normal(size=200)
        one, bulk = both(("ONS", {"gamma": 0.02, "epsilon": 1.0}), X, y)
        assert far(one[1].predictions, bulk[1].predictions) <= AGREE


def test_rows_that_repeat_and_little_noise():
    rng = np.random.default_rng(0)
    for b, r, d in ((3.7, 3.3e-8, 200), (3.5e-6, 4.4e-4, 130), (1e-5, 1e-6, 64)):
        X = rng.choice([-1.0, 1.0], size=(2, d))[rng.integers(0, 2, size=150)]
        assert_agree(("AROWR", {"b": b, "r": r}), X, rng.normal(size=150))


def test_a_bank_in_bulk_names_the_earliest_row():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 64)) / 30, rng.normal(size=200)
    X[90] *= 1.2 / np.linalg.norm(X[90])
    X[150] *= 2 / np.linalg.norm(X[150])
    messages = set()
    for engine in ("rank-one", "bulk"):
        with pytest.raises(ValueError, match="row 90") as error:
            ol.replay(ol.Bank([ol.WEMM(b=1.5), ol.WEMM(b=0.9)]), X, y, engine=engine)
        messages.add(str(error.value))
    assert len(messages) == 1


def test_bulk_is_chosen_where_it_pays():
    wide, narrow = np.zeros((1000, 256)), np.zeros((1000, 8))
    assert aar.step.takes_bulk(wide, "auto", "AAR")
    assert not aar.step.takes_bulk(narrow, "auto", "AAR")
    assert aar.step.takes_bulk(narrow, "bulk", "AAR")
    assert not aar.step.takes_bulk(wide, "rank-one", "AAR")
    assert not aar.step.takes_bulk(wide[:3], "auto", "AAR")
    assert not ol.NLMS.algorithm.step.takes_bulk(wide, "auto", "NLMS")
    assert aar.step.in_bulk.crossover <= 64
    X, y = stream(rows=300, d=256)
    auto, bulk = ol.LASER(), ol.LASER()
    assert np.array_equal(
        ol.replay(auto, X, y).predictions, ol.replay(bulk, X, y, engine="bulk").predictions
    )
    fitted, learnt = ol.LASER().fit(X, y), ol.LASER()
    for x, label in zip(X, y, strict=True):
        learnt.learn_one(x, label)
    assert np.array_equal(fitted._record, learnt._record)  # fit is row by row


def test_words_for_an_engine_that_is_not_there():
    X, y = stream(rows=20, d=4)
    with pytest.raises(ValueError, match=r"one of .*'rank-one'.*got 'fast'"):
        ol.replay(ol.AAR(), X, y, engine="fast")
    with pytest.raises(ValueError, match="NLMS cannot learn rows in bulk"):
        ol.replay(ol.NLMS(), X, y, engine="bulk")
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(ValueError, match="AAR cannot learn sparse rows in bulk"):
        ol.replay(ol.AAR(), sparse.csr_array(X), y, engine="bulk")
    mapped = ol.features.Mapped(ol.features.RandomFourier(8), ol.AAR())
    with pytest.raises(ValueError, match="Mapped cannot learn rows in bulk"):
        ol.replay(mapped, X, y, engine="bulk")
    assert ol.replay(mapped, X, y).predictions.shape == (20,)


@every_case
def test_accounts_in_bulk_are_those_row_by_row(case):
    X, y = stream(rows=500, d=64)
    y = labels_of(case, X, y)
    X[300] *= 2.0
    one = ol.certificate(make(case, on_bad="skip"), X, y, engine="rank-one")
    bulk = ol.certificate(make(case, on_bad="skip"), X, y, engine="bulk")
    for figure in ("loss", "comparator", "ceiling"):
        assert far(getattr(one, figure), getattr(bulk, figure)) <= AGREE
    assert np.array_equal(one.holds, bulk.holds)
    assert one.failed == bulk.failed
    blocks = make(case)._guarantee().account.step.in_bulk is not None
    if blocks and case[1].get("r", 1.0) > 0.2:  # else there are too many resets for blocks
        assert not np.array_equal(one.comparator, bulk.comparator)


def test_two_halves_of_a_certificate_in_bulk():
    X, y = stream(rows=400, d=64)
    whole = ol.certificate(ol.LASER(c=10.0), X, y, engine="rank-one")
    watched = ol.Certified(ol.LASER(c=10.0))
    watched.replay(X[:123], y[:123], engine="bulk")
    rest = watched.replay(X[123:], y[123:], engine="bulk")
    assert far(whole.ceiling[123:], rest.ceiling) <= AGREE
