"""Units: a standardised learner sees its whole history in the present ones, exactly."""

import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_units import Units, changed, reweighed, wake

import onlinear as ol

LEARNERS = {
    "AAR": ol.AAR(b=0.5),
    "ARCOR": ol.ARCOR(r=0.3, q=1.0),
    "AROWR": ol.AROWR(r=0.3, b=2.0),
    "CIRR": ol.CIRR(a=0.3),
    "CRRLS": ol.CRRLS(reset_every=30),
    "LASER": ol.LASER(b=2.0, c=5.0),
    "ONS": ol.ONS(gamma=0.2, epsilon=3.0),
    "OSLOG": ol.OSLOG(a=0.3),
    "RLS": ol.RLS(forgetting=0.95, b=0.2),
    "Ridge": ol.Ridge(b=0.5),
    "WEMM": ol.WEMM(b=500.0),
}
every_learner = pytest.mark.parametrize("name", LEARNERS)


def fresh(name: str) -> ol.Learner:
    model = LEARNERS[name]
    return type(model)(**model.get_params())


def hard_stream(rows: int = 150, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Columns that are ordinary, far from 0, a trend, constant, rare, late, and of growing size."""
    rng = np.random.default_rng(seed)
    t = np.arange(rows)
    X = np.column_stack(
        [
            rng.normal(size=rows),
            1e4 + rng.normal(size=rows),
            t + rng.normal(size=rows),
            np.full(rows, 0.1),
            t % 29 == 11,
            np.where(t < 60, 3.0, 3.0 + rng.normal(size=rows)),
            rng.normal(size=rows) * 1.05**t,
        ]
    )
    y = X[:, 0] - 0.3 * (X[:, 1] - 1e4) + X[:, 4] + 0.02 * t + 0.1 * rng.normal(size=rows)
    return X, y


def textbook(model: ol.Learner, X: np.ndarray, y: np.ndarray, intercept: bool) -> np.ndarray:
    """Return the predictions of a learner whose state is mapped by dense matrices."""
    model._begin(X.shape[1] + intercept)
    state = model._state
    gaussian = hasattr(state, "S")
    start = state.S[0, 0] if gaussian else state.w[0]
    units = Units(X[0], intercept)
    predictions = np.empty(len(y))
    for n, (x, label) in enumerate(zip(X, y, strict=True)):
        predictions[n] = model.predict_one(units.expressed(x))
        for i, change, ratio in units.moves(X[: n + 1]):
            if change is None:
                if gaussian:
                    wake(state.w, state.S, i, start)
                else:
                    state.w[i] = start
                continue
            if gaussian:
                state.w[:], state.S[:] = changed(state.w, state.S, change)
            else:
                state.w[:] = np.linalg.inv(change).T @ state.w
                A = change @ state.A @ change.T
                state.A[:], state.b[:] = (A + A.T) / 2, change @ state.b
            if ratio is None or not gaussian:
                continue
            fades = isinstance(model, (ol.RLS, ol.CRRLS, ol.ARCOR))
            if isinstance(model, ol.LASER):  # drift makes it forget a prior
                fades = n / model.c >= 0.1 / model.b
            if ratio < 1 or not fades:
                state.w[:], state.S[:] = reweighed(state.w, state.S, i, (1 - ratio) / start)
        if isinstance(model, ol.ARCOR):
            state.segment[1] = 0.0  # decide by a factorisation
        model.learn_one(units.expressed(x), label)
    return predictions


# without an intercept, a learner of each kind of state: each of them is compiled anew
@pytest.mark.parametrize(
    ("name", "intercept"),
    [*((name, True) for name in LEARNERS), ("CIRR", False), ("LASER", False), ("RLS", False)],
)
def test_history_is_seen_in_present_units(name, intercept):
    X, y = hard_stream()
    if not intercept:
        X = X[:, [0, 2, 3, 4, 6]]
    if name == "ONS":  # its steps grow with the fourth power of the label
        y = y / 10
    model = ol.Standardized(fresh(name), intercept=intercept)
    expected = textbook(fresh(name), X, y, intercept)
    found = ol.replay(model, X, y).predictions
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * scale)


@every_learner
@given(powers=st.lists(st.integers(-60, 60), min_size=7, max_size=7))
@settings(max_examples=10)
def test_powers_of_two_change_no_bit(name, powers):
    X, y = hard_stream(60)
    first = ol.replay(ol.Standardized(fresh(name)), X, y).predictions
    again = ol.replay(ol.Standardized(fresh(name)), X * 2.0 ** np.array(powers), y).predictions
    assert first.tobytes() == again.tobytes()


@every_learner
def test_units_origins_and_order_do_not_matter(name):
    X, y = hard_stream(120)
    X = X[:, [0, 2, 4, 5]]
    first = ol.replay(ol.Standardized(fresh(name)), X, y).predictions
    others = {
        "units": X * [1e6, 1e-6, 1e6, 1e-3],
        "origins": X + np.array([0.0, 1e3, -1.0, 10.0]),
        "order": X[:, ::-1],
    }
    for what, other in others.items():
        again = ol.replay(ol.Standardized(fresh(name)), other, y).predictions
        np.testing.assert_allclose(again, first, rtol=1e-6, atol=1e-6, err_msg=what)


def test_least_squares_of_the_raw_rows():
    X, y = hard_stream(200)
    X = X[:, [0, 1, 2, 4, 5]]
    model = ol.Standardized(ol.Ridge(b=1e-7)).fit(X, y)
    design = np.column_stack([np.ones(len(X)), X])
    expected = np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(model.coef_, expected[1:], rtol=1e-4, atol=1e-6)
    assert model.intercept_ == pytest.approx(expected[0], rel=1e-4)
    found = X @ model.coef_ + model.intercept_
    np.testing.assert_allclose(model.predict(X), found, rtol=1e-9, atol=1e-6)


def test_each_row_scaled_on_arrival_is_something_else():
    """The way that leaves the past in old units, for comparison: it predicts worse."""
    X, y = hard_stream(150)
    model, loss = ol.Ridge(b=0.5), 0.0
    for n, (x, label) in enumerate(zip(X, y, strict=True)):
        seen = X[: n + 1]
        spread = seen.std(axis=0)
        inside = np.divide(x - seen.mean(axis=0), spread, out=np.zeros(7), where=spread > 1e-9)
        u = np.concatenate([[1.0], inside])
        loss += (model.predict_one(u) - label) ** 2
        model.learn_one(u, label)
    exact = ol.replay(ol.Standardized(ol.Ridge(b=0.5)), X, y).cumulative_loss[-1]
    assert exact < 0.8 * loss


def test_a_refused_row_leaves_units_and_weights_alone():
    X, y = hard_stream(40)
    model = ol.Standardized(ol.WEMM(b=20.0))
    model.partial_fit(X[:10, :3], y[:10])
    before = model._record.copy()
    with pytest.raises(ValueError, match="xᵀΣx < 1"):
        model.learn_one([1e9, 1.0, 1.0], 1.0)  # the units would move, then the learner refuses
    assert model._record.tobytes() == before.tobytes()
    with pytest.raises(ValueError, match="squares fit"):
        model.learn_one([1e200, 1.0, 1.0], 1.0)
    assert model._record.tobytes() == before.tobytes()


def test_a_first_row_too_large_is_refused():
    model = ol.Standardized(ol.LASER())
    with pytest.raises(ValueError, match="squares fit"):
        model.learn_one([1e200, 1.0], 1.0)
    model.learn_one([1.0, 1.0], 1.0)


def test_huge_and_tiny_columns_are_safe():
    X, y = hard_stream(100)
    X = X[:, :3].copy()
    X[:, 1] = np.where(np.arange(100) == 1, 1e12, X[:, 1])  # an early value of another world
    model = ol.Standardized(ol.Ridge())
    run = ol.replay(model, X, y)
    assert np.isfinite(run.predictions).all()
    assert np.all(np.diag(model._state.S) > 0)
    tiny = ol.replay(ol.Standardized(ol.Ridge()), X[:, :1] * 1e-200, y).predictions
    assert np.isfinite(tiny).all()  # its squares have no digits: a constant


def test_learners_that_cannot_are_refused():
    for learner in (ol.NLMS(), ol.KernelAAR(), "LASER", ol.Standardized(ol.LASER())):
        with pytest.raises(ValueError, match="second-order learner"):
            ol.Standardized(learner).learn_one([1.0], 1.0)
    used = ol.LASER()
    used.learn_one([1.0], 1.0)
    with pytest.raises(ValueError, match="learnt nothing"):
        ol.Standardized(used).learn_one([1.0], 1.0)


def test_two_with_different_learners_do_not_mix():
    X, y = hard_stream(50)
    models = [ol.Standardized(ol.LASER()), ol.Standardized(ol.Ridge())]
    for i in range(50):
        for model in models:
            model.learn_one(X[i], y[i])
    for model in models:
        alone = ol.Standardized(type(model.learner)()).partial_fit(X, y)
        assert model._record.tobytes() == alone._record.tobytes()


def test_parameters_of_the_learner_behind():
    model = ol.Standardized(ol.LASER(c=10.0))
    assert model.get_params()["learner__c"] == 10.0
    model.set_params(learner__c=20.0)
    assert model.learner.c == 20.0
    X, y = hard_stream(50)
    model.partial_fit(X, y)
    model.set_params(learner__c=1e9)
    model.partial_fit(X, y)
    other = ol.Standardized(ol.LASER(c=20.0)).partial_fit(X, y)
    other.learner.c = 1e9
    other.partial_fit(X, y)
    assert model._record.tobytes() == other._record.tobytes()


def test_a_certificate_has_no_bound_but_the_comparators():
    X, y = hard_stream(60)
    model = ol.Standardized(ol.LASER(c=10.0))
    certified = ol.Certified(model)
    for x, label in zip(X, y, strict=True):
        certified.learn_one(x, label)
    assert certified.rounds_ == 60
    model.set_params(learner__c=20.0)
    with pytest.raises(ValueError, match="one setting of the parameters, but learner__c"):
        certified.learn_one(X[0], y[0])


def test_what_it_began_with_stays():
    X, y = hard_stream(30)
    model = ol.Standardized(ol.LASER()).fit(X, y)
    for change in ({"learner": ol.Ridge()}, {"intercept": False}):
        model.set_params(**change)
        with pytest.raises(ValueError, match=f"the {next(iter(change))} it began with"):
            model.predict_one(X[0])
        model.set_params(learner=ol.LASER(), intercept=True)
    assert np.isfinite(model.predict_one(X[0]))


@pytest.mark.parametrize(
    "inner", [partial(ol.LogisticLASER, c=100.0), ol.AROW], ids=["LogisticLASER", "AROW"]
)
def test_several_classes_are_learnt_as_by_a_learner_for_each(inner, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) * [1.0, 100.0, 0.01] + [0.0, 50.0, 0.0]
    places = rng.integers(3, size=300)
    labels = np.array(["ant", "bee", "cat"])[places]
    model = ol.Standardized(inner(classes=("ant", "bee", "cat")))
    run = ol.replay(model, X, labels, engine="rank-one")
    alone = [ol.Standardized(inner()) for _ in range(3)]
    numbers = np.column_stack(
        [
            ol.replay(each, X, (places == k) * 1, engine="rank-one").predictions
            for k, each in enumerate(alone)
        ]
    )
    if run.probabilities:
        numbers /= numbers.sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(run.predictions, numbers)
    for k, each in enumerate(alone):
        np.testing.assert_array_equal(model.coef_[k], each.coef_)
        assert model.intercept_[k] == pytest.approx(each.intercept_, rel=1e-9)
    one_by_one = ol.Standardized(inner(classes=("ant", "bee", "cat")))
    for x, label in zip(X, labels, strict=True):
        one_by_one.learn_one(x, label)
    model.save(tmp_path / "m.onl")
    for other in (one_by_one, ol.load(tmp_path / "m.onl"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
    before = model.predict(X)
    X[7, 1] = np.nan
    with pytest.raises(ValueError, match="row 7"):
        ol.replay(model, X, labels)
    np.testing.assert_array_equal(model.predict(X[:7]), before[:7])
