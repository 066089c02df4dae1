"""What the divergences and projections refuse, and that they leave their arguments alone."""

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from onlinear import bregman


@pytest.mark.parametrize("divergence", [bregman.squared, bregman.relative_entropy])
def test_divergences_refuse_vectors_of_two_lengths(divergence):
    with pytest.raises(ValueError, match="the same length"):
        divergence([0.5, 0.5], [1.0])


@pytest.mark.parametrize("bad", [[], [[1.0]], 1.0, [math.nan, 1.0], [math.inf, 1.0]])
def test_what_is_not_a_finite_vector_is_refused(bad):
    with pytest.raises(ValueError, match="needs"):
        bregman.squared(bad, bad)
    with pytest.raises(ValueError, match="needs"):
        bregman.project_ball(bad, 1.0)
    with pytest.raises(ValueError, match="needs"):
        bregman.project_simplex(bad, 0.5)


def test_entropies_and_their_projections_refuse_negative_weights():
    with pytest.raises(ValueError, match="not negative"):
        bregman.relative_entropy([1.5, -0.5], [0.5, 0.5])
    with pytest.raises(ValueError, match="not negative"):
        bregman.unnormalised_entropy([0.5, 0.5], [1.5, -0.5])
    with pytest.raises(ValueError, match="not negative"):
        bregman.project_box([1.5, -0.5], 0.5)
    with pytest.raises(ValueError, match="not negative"):
        bregman.project_simplex([1.5, -0.5], 0.5)


@pytest.mark.parametrize("alpha", [-0.1, 1.1, math.nan])
def test_alpha_outside_the_unit_interval_is_refused(alpha):
    with pytest.raises(ValueError, match="alpha"):
        bregman.project_simplex([0.5, 0.5], alpha)
    with pytest.raises(ValueError, match="alpha"):
        bregman.project_box([0.5, 0.5], alpha)


def test_the_simplex_projection_refuses_weights_that_do_not_sum_to_one():
    with pytest.raises(ValueError, match="sum to 1"):
        bregman.project_simplex([0.5, 0.4], 0.5)


@pytest.mark.parametrize("project", [bregman.project_ball, bregman.project_box])
def test_projections_leave_their_argument_alone(project):
    w = np.array([30.0, 0.001])
    kept = w.copy()
    assert project(w, 0.5) is not w
    assert_array_equal(w, kept)


@pytest.mark.parametrize("radius", [-1.0, math.nan])
def test_a_radius_that_is_no_radius_is_refused(radius):
    with pytest.raises(ValueError, match="radius"):
        bregman.project_ball([3.0, 4.0], radius)
