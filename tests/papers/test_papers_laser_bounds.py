"""The thesis' Figure 3.1, Table 4.1 and section 6.1: their mathematics, and small runs of them."""

import math

import numpy as np
import pytest
from minmax_oracles import last_step_minmax
from numpy.testing import assert_allclose

import onlinear as ol
from onlinear.papers import Study, script
from onlinear.papers.thesis import drift_bounds as drift
from onlinear.papers.thesis import drift_streams as drifting
from onlinear.papers.thesis import last_step
from onlinear.papers.thesis import stationary_bounds as stationary
from onlinear.papers.thesis import stationary_streams as streams


def small(name):
    return script(name).run(Study(repeats=2, quick=True))


def held(outcome):
    return {claim.name: claim.holds for claim in outcome.claims}


# --- Figure 3.1 ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def given():
    return last_step.prefix(1)


def test_the_game_has_the_factors_of_3_11(given):
    """α = (1 + aχ − a)/(1 + aχ), β = a·bᵀA_T⁻¹x − ŷ, by plain linear algebra."""
    A = last_step.B * np.eye(3) + (given.X.T * given.weights) @ given.X
    target = given.X.T @ (given.weights * given.y)
    chi = given.x @ np.linalg.solve(A, given.x)
    assert given.chi == pytest.approx(chi)
    a = 3 / (1 - chi)
    this = last_step.game(given, given.weights, a, last_step.FREE)
    alpha = (1 + a * chi - a) / (1 + a * chi)
    slope = a * target @ np.linalg.solve(A + a * np.outer(given.x, given.x), given.x)
    for y, said in ((0.3, -2.0), (-7.0, 4.0), (50.0, 1.0)):
        printed = alpha * y**2 + 2 * (slope - said) * y + said**2
        assert this.value(y, said) == pytest.approx(printed, rel=1e-9)


def test_wemm_weights_are_those_that_make_its_loss_the_least_weighted_cost(given):
    root = np.sqrt(given.weights)
    cost = ol.hindsight.best_fixed(root[:, None] * given.X, root * given.y, b=last_step.B)
    run = ol.replay(ol.WEMM(b=last_step.B), given.X, given.y)
    assert_allclose(run.cumulative_loss, cost, rtol=1e-9)


def test_the_search_finds_forsters_prediction_as_another_search_does(given):
    rows = np.vstack([given.X, given.x])
    other = last_step_minmax(rows, given.y, last_step.B, math.inf, last_step.Y)
    found, _ = last_step.solve(last_step.games(given)["Forster"])
    assert found == pytest.approx(other, abs=1e-5)


def test_figure_3_1_is_reproduced():
    outcome = small("laser-fig-3-1")
    assert outcome.verdict == "reproduced"
    assert all(value < 1e-5 for name, value in outcome.numbers.items() if name != "cut")


# --- Table 4.1 ----------------------------------------------------------------------------------


@pytest.mark.parametrize("b", [1.05, 1.1, 1.4, 1.45, 2.0, 4.0])
def test_the_last_row_fails_on_one_example_for_b_below_one_over_ln_2(b):
    regret, seen = streams.one_row(b)
    assert regret == pytest.approx(1 - (1 - 1 / b) ** 2)  # WEMM says 0, and loses 1
    assert (regret > stationary.printed(seen, b)) == (b < 1 / math.log(2))
    assert regret <= stationary.printed(seen, b, one=1.0)
    assert regret <= stationary.bounds(seen, b)["Theorem 6, proved"]


def test_the_last_row_is_what_is_proved_or_more_for_b_of_3_or_more():
    rng = np.random.default_rng(0)
    for _ in range(500):
        losses = rng.uniform(size=rng.integers(1, 30)) ** rng.integers(1, 20)
        d, b = int(rng.integers(1, 6)), 3 + rng.exponential()
        of = stationary.bounds(stationary.Seen(losses, 1.0, d, 1.0, 1.0), b)
        assert of["Theorem 6, proved"] <= of["Theorem 6, as in the table"] * (1 + 1e-12)


def test_a_row_of_the_table_is_at_least_the_certificate_and_that_the_regret():
    for kind in streams.KINDS:
        seen = streams.look(1000, (kind, 7))
        for name in ("AAR", "WEMM"):
            row, proof = seen[streams.LEARNERS[name]], seen[f"{name}: certificate"]
            assert np.all(seen[f"{name}: regret"] <= proof + 1e-9)
            assert np.all(proof <= row + 1e-9)


def test_streams_of_the_table_have_rows_of_length_one_and_the_noise_they_say():
    for kind in streams.KINDS.values():
        X, y, u = streams.stream(kind, 500, 3)
        assert_allclose(np.linalg.norm(X, axis=1), 1.0)
        assert np.linalg.norm(u) == pytest.approx(kind.length)
        size = kind.noise * np.arange(1.0, 501) ** -kind.fades
        assert np.all(np.abs(y - X @ u) <= size + 1e-12)


def test_table_4_1_holds_in_part():
    outcome = small("laser-table-4-1")
    claims = held(outcome)
    assert not claims.pop("last row")
    assert not claims.pop("Crammer")
    assert all(claims.values()), claims
    last = outcome.claim("last row").found
    assert "0.9917" in last
    assert "0.9721" in last


# --- section 6.1 --------------------------------------------------------------------------------


def test_logarithms_of_closed_forms_are_those_of_the_closed_forms():
    for T in (10, 1000, 10**6):
        for kappa in (0.25, 0.999, 1.001, 2.0):
            _, mended = drift.closed_form(T + 1, kappa)
            assert drift.log_closed_form(math.log(T), kappa) == pytest.approx(math.log(mended))
        assert drift.log_closed_form(math.log(T), 1.0) == pytest.approx(math.log(1 + math.log(T)))
    assert drift.log_closed_form(1e6, 0.5) == pytest.approx(5e5 + math.log(2))


def test_the_crossover_is_where_the_orders_are_equal_and_tends_to_two_thirds():
    for power in (9.0, 12.0, 15.0):
        T, kappa = 10.0**power, drift.crossover(power * math.log(10))
        V, total = (1 + (T ** (1 - k) - 1) / (1 - k) for k in (2 * kappa, kappa))
        assert pytest.approx(math.sqrt(T * total) * math.log(T)) == T ** (2 / 3) * V ** (1 / 3)
    ends = [drift.crossover(10.0**k) for k in (3, 4, 5, 6)]
    assert ends == sorted(ends, reverse=True)
    assert ends[-1] == pytest.approx(2 / 3, abs=1e-4)


def test_before_ten_million_rounds_the_order_of_laser_is_the_smaller_for_every_decay():
    power = drift.only_laser()
    T = 10**power
    assert pytest.approx(math.log(T), rel=1e-4) == T ** (1 / 6)  # one step: V = V′ = 1
    assert math.isinf(drift.crossover((power - 0.01) * math.log(10)))
    assert math.isfinite(drift.crossover((power + 0.01) * math.log(10)))


def test_the_truth_takes_the_steps_it_is_said_to_take():
    for each in drifting.DRIFTS:
        _, _, u = drifting.stream(each, 200, 0)
        steps = np.linalg.norm(np.diff(u, axis=0), axis=1)
        assert_allclose(steps, each.size * np.arange(1.0, 200) ** -each.decay, rtol=1e-9)
        assert_allclose(np.linalg.norm(u, axis=1), 1.0)


def test_the_bound_of_laser_is_at_most_the_corollary():
    for each in drifting.DRIFTS:
        seen = drifting.look((each, 400, 5))
        assert seen.laser_regret <= seen.laser <= seen.corollary
        assert seen.arcor_regret <= seen.arcor


def test_section_6_1_holds_in_part():
    claims = held(small("laser-sec-6-1"))
    assert [name for name, holds in claims.items() if not holds] == [
        "closed form",
        "(6.8)",
    ]
