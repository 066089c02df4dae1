"""Wide learners put the update of Σ off to the next round's pass: nothing of it is ever seen."""

import copy

import numpy as np
import pytest
from table import state, stream

import onlinear as ol

sparse = pytest.importorskip("scipy.sparse")

LEARNERS = {
    "AAR": {},
    "AROWR": {"r": 0.3},
    "LASER": {"c": 3.0},
    "Ridge": {"b": 0.2},
    "WEMM": {"b": 1.5},
}


@pytest.mark.parametrize("d", [95, 96, 98, 100])
@pytest.mark.parametrize("name", LEARNERS)
def test_every_way_of_running_has_the_same_bits(name, d):
    X, y = stream(rows=60, d=d)
    X[20] = np.nan
    X[30] *= 40.0  # WEMM refuses it
    X[40] = 0.0
    kind, params = ol.LEARNERS[name], {**LEARNERS[name], "on_bad": "skip"}
    one, chunk, parts, spread = (kind(**params) for _ in range(4))
    singly = []
    for x, label in zip(X, y, strict=True):
        singly.append(one.predict_one(x))
        one.learn_one(x, label)
    run = ol.replay(chunk, X, y, engine="rank-one").predictions
    assert np.array_equal(run, singly, equal_nan=True)
    for part in (slice(0, 1), slice(1, 31), slice(31, 60)):
        ol.replay(parts, X[part], y[part], engine="rank-one")
        parts = copy.deepcopy(parts)
    ol.replay(spread, sparse.csr_array(X), y)
    bank = ol.Bank([kind(**params), ol.NLMS(on_bad="skip")])
    ol.replay(bank, X, y, engine="rank-one")
    assert {state(m) for m in (one, chunk, parts, spread, bank[0])} == {state(one)}
    assert np.array_equal(one.covariance_, one.covariance_.T)


@pytest.mark.parametrize("name", LEARNERS)
def test_the_covariance_is_that_of_the_rows_learnt(name):
    X, y = stream(rows=30, d=100)
    model = ol.LEARNERS[name](**LEARNERS[name])
    ol.replay(model, X, y, engine="rank-one")
    prior = LEARNERS[name].get("b", 1.0)
    S = np.eye(100) / prior
    for t, x in enumerate(X):
        if name == "LASER" and t:
            S += np.eye(100) / 3.0
        v = S @ x
        r = {"AROWR": 0.3, "WEMM": 1.0 - x @ v}.get(name, 1.0)
        S -= np.outer(v, v) / (r + x @ v)
    np.testing.assert_allclose(model.covariance_, S, atol=1e-13)
