"""Error messages about parameters: the rule and the value, without contradicting themselves."""

import numpy as np
import pandas as pd
import pytest

import onlinear as ol


@pytest.mark.parametrize("value", [1e-300, 1e-150])
def test_a_number_that_counts_as_0_is_not_said_to_be_above_0(value):
    with pytest.raises(ValueError, match=rf"GD needs a .* 1e-150 < eta, got eta={value!r}"):
        ol.GD(eta=value).learn_one([1.0], 1.0)
    with pytest.raises(ValueError, match=r"GD needs a finite number 0 < eta, got eta=0.0"):
        ol.GD(eta=0.0).learn_one([1.0], 1.0)


X = np.random.default_rng(0).normal(size=(1000, 3))
TABLES = {"array": X, "frame": pd.DataFrame(X), "list": X.tolist(), "small": X[:2, :2]}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("learner", [ol.GD, ol.PNorm, ol.EG, ol.EGPM, ol.EGU])
def test_a_table_in_place_of_a_number_is_named_by_its_shape(learner, kind):
    more = {ol.EGU: {"Y": 1.0}, ol.PNorm: {"p": 3.0}}.get(learner, {})
    shape = r"\(2, 2\)" if kind == "small" else r"\(1000, 3\)"
    with pytest.raises(ValueError, match=rf"needs a finite number 0 < X, got X of shape {shape}$"):
        learner.from_range(TABLES[kind], **more)


def test_other_long_values_are_cut_short():
    with pytest.raises(ValueError, match=r"got eta='aaaa.*…$") as caught:
        ol.GD(eta="a" * 1000).learn_one([1.0], 1.0)
    assert len(str(caught.value)) < 200
    with pytest.raises(ValueError, match=r"got shrink of shape \(1000, 3\)$"):
        ol.LASER(shrink=X).learn_one([1.0], 1.0)
    with pytest.raises(ValueError, match=r"got T of shape \(1000, 3\)$"):
        ol.EG.from_drift(T=X, V=1.0, X=1.0, n=2)
