"""The pages on lower bounds: what is computed in closed form, and what comes out."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import onlinear as ol
from onlinear.papers import Study, script
from onlinear.papers.filtering import lower_bound
from onlinear.papers.thesis import lower_drift, lower_log
from onlinear.papers.tracking import lower_sparse


def failed(outcome):
    return [claim.name for claim in outcome.claims if not claim.holds]


# --- drift --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("T", "V"), [(1000, 1.0), (1000, 10.0), (20_000, 3.0)])
def test_the_streams_have_the_drift_that_is_asked_for(T, V):
    y, u, _ = lower_drift.stream(T, V, seed=0)
    assert 0.9 * T < y.size <= T
    assert ol.hindsight.squared_drift(u[:, None]) == pytest.approx(V)
    assert np.abs(u).max() < lower_drift.TOP
    assert set(y) == {-1.0, 1.0}


def test_the_best_predictions_are_the_means_of_all_coins():
    """In one block: the mean of u_t over both signs, each weighted with its likelihood."""
    y, u, best = lower_drift.stream(300, 1.0, seed=3)
    m = 2 * round(1.6 * 300 ** (1 / 3))
    for start in (0, m):
        level = np.abs(u[start : start + m])
        labels = y[start : start + m]
        for t in range(m):
            odds = [np.prod(0.5 * (1 + sign * level * labels)[:t]) for sign in (1, -1)]
            mean = level[t] * (odds[0] - odds[1]) / (odds[0] + odds[1])
            assert best[start + t] == pytest.approx(mean, abs=1e-12)


def test_no_learner_has_a_smaller_order_of_regret_than_laser():
    outcome = script("laser-lower-bound").run(Study(repeats=6, quick=True))
    assert failed(outcome) == []
    for V in ("1", "10"):
        least = outcome.numbers[f"least of any learner, T = 10000, V = {V}"]
        assert 0.3 < least < 0.45
        assert least < outcome.numbers[f"LASER, T = 10000, V = {V}"] < 0.8


# --- AAR's logarithm ----------------------------------------------------------------------------


def test_with_b_2a_minus_1_aar_predicts_the_mean_label_given_the_labels_so_far():
    a = 5.0
    y = np.random.default_rng(0).choice([-1.0, 1.0], size=50)
    said = ol.replay(ol.AAR(b=2 * a - 1), np.ones((50, 1)), y).predictions
    ones = np.concatenate([[0], np.cumsum(y > 0)[:-1]])
    p = (a + ones) / (2 * a + np.arange(50))  # the mean of the posterior, a Beta distribution
    assert_allclose(said, 2 * p - 1, rtol=1e-12, atol=1e-15)


def test_the_least_regret_is_the_mean_posterior_variance_and_that_of_the_labels():
    """By summing over all numbers of ones, for few rounds."""
    a, T = 3.0, 6
    total = 0.0
    for n in range(T):
        for ones in range(n + 1):
            chance = math.comb(n, ones) * math.exp(
                sum(math.lgamma(v) for v in (a + ones, a + n - ones, 2 * a))
                - sum(math.lgamma(v) for v in (a, a, 2 * a + n))
            )
            p = (a + ones) / (2 * a + n)
            total += chance * 4 * p * (1 - p) / (2 * a + n + 1)  # of u = 2p − 1
    spread = 2 * a / (2 * a + 1)  # of a label, given p, in the mean
    wanted = lower_log.least(lower_log.PriorSetting(a, 1), np.array([T]))[0]
    assert wanted == pytest.approx(total + spread)


def test_no_learner_can_improve_on_aars_logarithm():
    outcome = script("aar-lower-bound").run(Study(repeats=20, quick=True))
    assert failed(outcome) == []
    for setting in lower_log.SETTINGS:
        least, seen = (outcome.numbers[f"{name}, {setting.name}"] for name in ("least", "AAR"))
        assert seen == pytest.approx(least, rel=0.35)


def test_the_page_on_aar_says_how_far_a_mean_over_few_streams_can_be_off():
    study = Study(repeats=3, quick=True)
    outcome = script("aar-lower-bound").run(study)
    for setting, row in zip(lower_log.SETTINGS, outcome.tables[0].rows, strict=True):
        trials = [lower_log.PriorTrial(setting, 10_000, seed) for seed in study.seeds]
        scale = setting.d * math.log(10_000 / setting.d)
        regrets = np.array([lower_log.watch(trial)[0, -1] for trial in trials]) / scale
        error = np.sqrt(np.sum((regrets - regrets.mean()) ** 2) / 2 / 3)
        assert row[4] == f"{regrets.mean():.3f} ± {error:.3f}"
    assert "mean over 3 streams, which varies" in outcome.remarks[0]
    assert "means over 3 streams, ± the standard error" in outcome.tables[0].caption


# --- Hadamard rows ------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 8, 32])
def test_the_rows_are_orthogonal_signs(n):
    H = lower_sparse.hadamard(n)
    np.testing.assert_array_equal(H @ H.T, n * np.eye(n))
    np.testing.assert_array_equal(np.abs(H), 1.0)


def test_learners_that_combine_rows_lose_n_and_eg_a_logarithm():
    outcome = script("tracking-lower-bound").run(Study(repeats=3, quick=True))
    assert failed(outcome) == []
    for n in (8, 16, 32):
        assert outcome.numbers[f"AAR, n = {n}"] == pytest.approx(n)
        assert outcome.numbers[f"EG, n = {n}"] < 6 * math.log(n)
    assert outcome.numbers["EG, n = 32"] < 13


# --- filters ------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", lower_bound.PARAMETERS)
@pytest.mark.parametrize("delta", [-0.2, 0.1])
def test_the_rounds_are_those_in_which_the_filter_forwards(c, delta):
    rng = np.random.default_rng(1)
    n = 3000
    relevant = rng.random(n) < 0.5 + delta
    rounds = lower_bound.forwarded(c, relevant, n)
    model, labels = ol.filtering.SimpleFilter(c=c), iter(relevant)
    decided = []
    for t in range(1, n + 1):
        if model.decide([1.0]):
            decided.append(t)
            model.feedback([1.0], 1 if next(labels) else -1)
    assert rounds.tolist() == decided


def test_simple_fil_is_a_constant_above_the_least_regret():
    outcome = script("filtering-lower-bound").run(Study(repeats=20, quick=True))
    assert failed(outcome) == []
    n = 10_000
    p = 0.4
    bits = p * math.log(2 * p) + (1 - p) * math.log(2 * (1 - p))
    assert outcome.numbers["least, δ = -0.1"] == pytest.approx(0.2 * math.log(n) / bits)
    assert 6 < outcome.numbers["c = 4, δ = -0.1"] / outcome.numbers["least, δ = -0.1"] < 9
