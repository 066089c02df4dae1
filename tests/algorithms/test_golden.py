"""The learners, projections and divergences against numbers worked out once, to twelve digits."""

import golden
import numpy as np
import oracles
import pytest
from numpy.testing import assert_allclose

import onlinear as ol
from onlinear._updates.ball_projection import SCRATCH, project_ellipsoid

RTOL = 1e-9
CASES = [pytest.param(case, id=name) for name, case in golden.CASES.items()]


def played(case):
    """Return the model after its stream, and the replay."""
    model = getattr(ol, case.learner)(**case.params)
    return model, ol.replay(model, *golden.STREAMS[case.stream]())


@pytest.mark.parametrize("case", CASES)
def test_predictions_are_the_golden_ones(case):
    _, run = played(case)
    assert_allclose(run.predictions[case.rounds,], case.predictions, rtol=RTOL)


@pytest.mark.parametrize("case", CASES)
def test_the_total_loss_is_the_golden_one(case):
    _, run = played(case)
    assert_allclose(run.cumulative_loss[-1], case.loss, rtol=RTOL)


@pytest.mark.parametrize("case", CASES)
def test_the_final_weights_are_the_golden_ones(case):
    model, _ = played(case)
    assert_allclose(model.coef_, case.w, rtol=RTOL)


@pytest.mark.parametrize("case", [c for c in CASES if c.values[0].diagonal])
def test_the_final_covariance_is_the_golden_one(case):
    model, _ = played(case)
    assert_allclose(np.diag(model.covariance_), case.diagonal, rtol=RTOL)
    assert_allclose(model.covariance_[0, 1], case.corner, rtol=RTOL)
    assert_allclose(model.covariance_[1, 0], case.corner, rtol=RTOL)


@pytest.mark.parametrize("case", [c for c in CASES if c.values[0].resets is not None])
def test_arcor_resets_in_the_golden_rounds(case):
    model = ol.ARCOR(**case.params)
    resets, seen = [], 0
    for t, (x, label) in enumerate(zip(*golden.STREAMS[case.stream](), strict=True), 1):
        model.learn_one(x, label)
        if model.resets_ > seen:
            resets.append(t)
        seen = model.resets_
    assert tuple(resets) == case.resets


@pytest.mark.parametrize(("w", "alpha", "v", "divergence"), golden.SIMPLEX)
def test_simplex_projections_are_the_golden_ones(w, alpha, v, divergence):
    projected = ol.bregman.project_simplex(w, alpha)
    assert_allclose(projected, v, rtol=RTOL)
    assert_allclose(ol.bregman.relative_entropy(projected, w), divergence, rtol=RTOL, atol=1e-12)


def test_the_projection_in_a_metric_is_the_golden_one():
    S, w = np.linalg.inv(golden.BALL_METRIC["A"]), np.array(golden.BALL_METRIC["w"])
    assert_allclose(oracles.project_ellipsoid(S, w, 1.0), golden.BALL_METRIC["v"], rtol=RTOL)
    project_ellipsoid(S, w, 1.0, np.empty((3 + SCRATCH, 3)))
    assert_allclose(w, golden.BALL_METRIC["v"], rtol=RTOL)


def test_divergences_are_the_golden_ones():
    u, w = np.array(golden.DIVERGENCES["u"]), np.array(golden.DIVERGENCES["w"])
    bregman = ol.bregman
    assert_allclose(bregman.squared(u, w), golden.DIVERGENCES["squared"], rtol=RTOL)
    assert_allclose(bregman.relative_entropy(u, w), golden.DIVERGENCES["relative"], rtol=RTOL)
    assert_allclose(
        bregman.unnormalised_entropy(u, 2 * w),
        golden.DIVERGENCES["unnormalised, from 2w"],
        rtol=RTOL,
    )
