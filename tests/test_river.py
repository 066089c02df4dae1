"""The river face."""

import gc
import pickle

import numpy as np
import pytest
from river import checks, datasets, evaluate, metrics, preprocessing
from table import CASES, make, stream_of

import onlinear as ol
from onlinear import river
from onlinear.kernels import RBF
from onlinear.river import River
from onlinear.sets import Box, HalfSpace, HyperPlane, Intersection, Simplex

# The checks run on raw data with inputs near 7e5 and labels near 40: parameters that admit them.
DOMAIN = {
    "EG": {"X": 1e7},
    "EGPM": {"X": 1e7},
    "EGU": {"X": 1e7, "Y": 1e3},
    "GD": {"eta": 1e-13},
    "KernelARCOR": {"budget": 300},  # else its memory grows when resets become rare
    "OGD": {"eta": 1e-13},
    "PNorm": {"eta": 1e-13},
    "WEMM": {"b": 1e13},
}


@pytest.fixture(scope="module")
def _little_garbage():
    """Let the checks, which collect garbage, not look through all that other tests have left."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("_little_garbage")
@pytest.mark.parametrize("name", sorted(ol.LEARNERS))
def test_every_learner_passes_rivers_own_checks(name):
    checks.check_estimator(River(ol.LEARNERS[name](**DOMAIN.get(name, {}))))


def test_it_works_in_rivers_evaluation_after_a_scaler():
    model = preprocessing.StandardScaler() | River(ol.LASER(c=100.0, shrink=False))
    metric = evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    assert 0 < metric.get() < 5


# a list of starting weights has one length, as have most sets; on the simplex, in an RBF kernel's
# default, and in the default p of PNorm, the number of inputs is part of the algorithm
FOR_A_NUMBER = (Box, HalfSpace, HyperPlane, Intersection, Simplex)
GROWING = [
    c
    for c in CASES
    if "w0" not in c[1]
    and not isinstance(c[1].get("within"), FOR_A_NUMBER)
    and c[0] not in ("EG", "EGPM", "EGU")
    and (not c[0].startswith("Kernel") or "kernel" in c[1])
    and (c[0] != "PNorm" or "p" in c[1])
] + [("KernelAAR", {"kernel": RBF(gamma=0.7)})]


@pytest.mark.parametrize("case", GROWING, ids=lambda c: c[0])
def test_a_late_feature_is_as_if_it_had_been_zero_all_along(case):
    """Dicts with features that come and go against rows with zeros."""
    X, y = stream_of(case, 60, d=4)
    rng = np.random.default_rng(3)
    X[rng.uniform(size=X.shape) < 0.4] = 0.0
    X[:20, 2] = 0.0
    X[:40, 3] = 0.0
    dense = make(case)
    padded = np.column_stack([X, np.zeros(60)])
    expected = ol.replay(dense, padded, y).predictions
    model = River(make(case))
    for row, label, prediction in zip(X, y, expected, strict=True):
        x = {f"x{i}": value for i, value in enumerate(row.tolist()) if value}
        learner, columns = model._with(x)
        predicted = learner._number_one(river._row(x, columns))
        np.testing.assert_allclose(predicted, prediction, rtol=1e-9, atol=1e-12)
        model.learn_one(x, float(label))


@pytest.mark.parametrize("name", ["EG", "EGPM", "EGU"])
def test_on_the_simplex_new_features_share_the_weight(name):
    model = River(ol.LEARNERS[name]())
    for _ in range(3):
        model.learn_one({"a": 0.5}, 0.4)
    for i in range(4):
        model.learn_one({"a": 0.5, f"new{i}": 0.5}, 0.3)
        w = model.learner._state.w
        assert np.all(w > 0)
        if name != "EGU":
            assert np.sum(w) == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["EG", "Ridge"])
def test_a_skipped_row_adds_no_features(name):
    model = River(ol.LEARNERS[name](on_bad="skip"))
    model.learn_one({"zz": float("nan")}, 0.1)
    for _ in range(5):
        model.learn_one({"a": 0.5, "b": 0.2}, 0.4)
    before = model.predict_one({"a": 0.5, "b": 0.2})
    model.learn_one({"a": 0.5, "zz": float("nan")}, 0.1)
    assert model.predict_one({"a": 0.5, "b": 0.2}) == before
    assert model.learner.n_features_in_ == 3
    assert model.learner.n_skipped_ == 2


def test_skipped_rows_stay_counted_when_features_appear():
    model = River(ol.Ridge(on_bad="skip"))
    model.learn_one({"a": 1.0}, 1.0)
    model.learn_one({"a": float("nan")}, 1.0)
    model.learn_one({"b": 1.0}, 1.0)
    assert model.learner.n_skipped_ == 1


def test_a_learner_that_has_learnt_is_refused():
    with pytest.raises(ValueError, match="learnt nothing yet"):
        River(ol.Ridge().fit([[1.0]], [1.0]))


def test_a_bad_value_names_the_feature_and_changes_nothing():
    model = River(ol.Ridge())
    model.learn_one({"a": 1.0, "b": 2.0}, 3.0)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"NaN in this row, column 1 \('b'\)"):
        model.learn_one({"a": 1.0, "b": float("nan")}, 3.0)
    with pytest.raises(ValueError, match="infinity"):
        model.learn_one({"a": 1.0, "new": 1.0}, float("inf"))
    with pytest.raises(ValueError, match=r"feature 'a' needs numbers, got '1\.0': convert"):
        model.learn_one({"a": "1.0"}, 3.0)
    with pytest.raises(TypeError, match="as a dict, got list"):
        model.learn_one([1.0, 2.0], 3.0)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("model", [None, "LASER", ol.LASER])
def test_something_that_is_not_a_learner_is_refused(model):
    with pytest.raises(TypeError, match="River needs a learner"):
        River(model)


def test_rows_without_any_known_feature_can_be_predicted_and_learnt():
    model = River(ol.Ridge())
    assert model.predict_one({}) == 0.0
    model.learn_one({}, 1.0)
    assert model.predict_one({"a": 5.0}) == 0.0
    model.learn_one({"a": 1.0}, 1.0)
    assert model.predict_one({"a": 1.0}) == 0.5
