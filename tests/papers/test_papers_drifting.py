"""Thesis Fig 7.1 and ARCOR's Fig 2: how learners are tuned and compared, and what comes out."""

import numpy as np
import pytest

import onlinear as ol
from onlinear.papers import Study, script
from onlinear.papers._harness import drifting as _drifting
from onlinear.papers._harness.drifting import LossCurves, below, compared, powers

STREAM = {"rows": 250, "rate": 1.0}


def curves(**totals):
    """Return curves of two points whose last is given, repeat by repeat."""
    losses = {name: np.column_stack([np.zeros(len(of)), of]) for name, of in totals.items()}
    return LossCurves(dict.fromkeys(totals, ""), losses, np.array([1, 2]))


def test_powers_of_ten_are_round_and_include_both_ends():
    assert powers(-1, 1) == [0.1, 0.316, 1.0, 3.16, 10.0]
    assert powers(0, 2, 1) == [1.0, 10.0, 100.0]


def test_less_means_beyond_chance_and_than_all():
    far = curves(a=[1.0, 2.0, 3.0], b=[2.0, 3.1, 4.0], c=[9.0, 9.0, 9.0])
    assert below(far, "a", "b", "c")  # stream by stream a is always less
    assert not below(far, "b", "a")
    assert not below(far, "b", "a", "c")
    assert not below(curves(a=[1.0, 5.0, 3.0], b=[2.0, 3.0, 4.5]), "a", "b")
    assert far.total("a") == pytest.approx(2)


def test_each_family_is_tuned_on_its_own_stream_and_run_on_the_others():
    study = Study(repeats=3, seed=5)
    etas = (0.01, 0.9, 1.9)
    families = {"NLMS": [ol.NLMS(eta=eta) for eta in etas], "AAR": [ol.AAR(b=3.0)]}
    (found,) = compared(study, [STREAM], families)
    X, y = ol.streams.paired(**STREAM, seed=study.tuning_seed)
    losses = [ol.replay(ol.NLMS(eta=eta), X, y).cumulative_loss[-1] for eta in etas]
    best = etas[int(np.argmin(losses))]
    assert best == 0.9
    assert found.tuned == {"NLMS": f"eta = {best:g}", "AAR": ""}
    assert found.rounds[-1] == 250
    for seed, loss in zip((5, 6, 7), found.losses["NLMS"], strict=True):
        run = ol.replay(ol.NLMS(eta=best), *ol.streams.paired(**STREAM, seed=seed))
        np.testing.assert_array_equal(loss, run.cumulative_loss[found.rounds - 1])


def test_an_end_of_the_grid_is_marked_and_the_grid_is_shown():
    families = {"NLMS": [ol.NLMS(eta=eta) for eta in (0.01, 0.02)], "AAR": [ol.AAR(b=3.0)]}
    (found,) = compared(Study(repeats=2), [STREAM], families)
    assert found.tuned["NLMS"] == "eta = 0.02*"
    assert list(_drifting.grid(families).rows) == [("NLMS", "eta", "0.01, 0.02")]


def test_it_is_said_where_the_draw_decides():
    near = curves(a=[1.0, 5.0, 3.0], b=[2.0, 3.0, 4.5], c=[9.0, 9.0, 9.0])
    assert _drifting.undecided(near, "a", "b", "c") == " (a against b: too few streams to tell)"
    assert _drifting.undecided(near, "c", "a") == ""


def test_other_readings_are_few_repeats_and_only_those_that_change_something(monkeypatch):
    asked = []

    def fake(study, streams, families, repeats):
        asked.extend(streams)
        assert repeats == _drifting.FEW
        return [curves(NLMS=[float(k)]) for k in range(len(streams))]

    monkeypatch.setattr(_drifting, "compared", fake)
    streams = {"one": STREAM, "two": {**STREAM, "switch_every": 50}}
    readings = {"fast": {"rate": 3.0}, "ten": {"pairs": 10}}
    one, two = _drifting.readings(Study(repeats=4), streams, readings, {"NLMS": []})
    assert [row[0] for row in one.rows] == ["fast"]
    assert [row[0] for row in two.rows] == ["fast", "ten"]
    assert len(asked) == 3
    assert two.rows[-1][1] == "2"
    assert "4 streams" in two.caption


# --- the figures, in short ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def laser():
    return script("laser-fig-7-1").run(Study(repeats=5, quick=True))


@pytest.fixture(scope="module")
def arcor():
    return script("arcor-fig-2").run(Study(repeats=5, quick=True))


def test_laser_is_best_on_a_turning_truth_only_if_not_shrunk(laser):
    assert laser.verdict == "in part"
    assert laser.claim("arowr-worst").holds
    assert not laser.claim("laser-best").holds
    assert laser.claim("laser-best-not-shrunk").holds
    for k in (1, 3):
        loss = {name: laser.numbers[f"set {k}, {name}"] for name in ("NLMS", "LASER", "AROWR")}
        plain = laser.numbers[f"set {k}, LASER, not shrunk"]
        assert 1.5 * plain < loss["NLMS"] < loss["LASER"] / 4 < loss["AROWR"] / 8


def test_arcor_is_ahead_of_laser_where_the_truth_jumps(laser):
    for k in (2, 4):
        assert laser.numbers[f"set {k}, ARCOR"] < laser.numbers[f"set {k}, LASER, not shrunk"]


def test_arcor_is_ahead_of_nlms_and_arowr_last(arcor):
    for panel in ("drifting", "drifting and switching"):
        slug = panel.replace(" ", "-")
        assert arcor.claim(f"{slug}-arowr-worst").holds
        assert arcor.claim(f"{slug}-arcor-best").holds
        assert arcor.claim(f"{slug}-gap-grows").holds
    assert not arcor.claim("drifting-arcor-best-any-q").holds  # q = 3 resets too seldom
    assert arcor.numbers["drifting, ARCOR, q = 3"] > 1.15 * arcor.numbers["drifting, NLMS"]


def test_aa_and_ridge_regression_are_close_to_arowr(arcor):
    assert arcor.claim("ridge-close").holds
    assert arcor.claim("aa-close").holds
    for panel in ("drifting", "drifting and switching"):
        same = arcor.numbers[f"{panel}, ridge regression / AROWR"]
        assert same == pytest.approx(1, rel=1e-9)  # b = r: the same learner
        assert arcor.numbers[f"{panel}, AAR / AROWR"] == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("name", ["laser", "arcor"])
def test_every_panel_has_a_curve_for_each_learner(request, name):
    outcome = request.getfixturevalue(name)
    (picture,) = outcome.pictures
    panels = 4 if name == "laser" else 2
    assert all(len(axes.lines) == 6 for axes in picture.figure.axes[:panels])
