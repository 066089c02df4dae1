"""A first-order learner, whose loss is a parameter, can be written with public names alone."""

import ast
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from table import state, stream

import onlinear as ol
from onlinear.extend import (
    DOMAIN,
    FINE,
    OVERFLOW,
    Algorithm,
    FirstOrder,
    Step,
    axpy,
    dot,
    number,
    rate_for_horizon,
    rate_for_loss,
    rate_for_range,
    weights,
)
from onlinear.losses import Absolute, Logistic

LOGISTIC = float(Logistic.kind)


class Params(NamedTuple):
    """The learning rate, the kind of the loss and its parameter."""

    eta: float
    kind: float
    shape: float


def init(params, d):
    return weights(d)


@Step
def step(state, params, x, y, work):
    """Follow the slope of the logistic or of the absolute loss."""
    t, w = state
    eta, kind, _ = params
    a = dot(w, x)
    m = 1.0 / (1.0 + math.exp(-a)) if kind == LOGISTIC else a
    if math.isnan(y):
        return m, FINE
    if kind == LOGISTIC and not 0.0 <= y <= 1.0:
        return y, DOMAIN
    g = m - y if kind == LOGISTIC else math.copysign(1.0, a - y)
    if not math.isfinite(eta * g * dot(x, x)):
        return eta, OVERFLOW
    axpy(-eta * g, x, w)
    t[0] += 1
    return m, FINE


class Descent(FirstOrder):
    """Gradient descent on the logistic or on the absolute loss."""

    eta: float = 0.1

    algorithm = Algorithm(init, step, ("needs {loss.labels} for loss={loss}, got y = {value:g}",))

    def _params(self):
        return Params(number(self, "eta", above=0), *self.loss.numbers())


def test_this_file_imports_nothing_private():
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    ours = {module for module in modules if module.startswith("onlinear")}
    assert ours == {"onlinear.extend", "onlinear.losses"}


@pytest.mark.parametrize("loss", [Logistic(), Absolute()], ids=repr)
def test_it_is_gradient_descent_on_its_loss(loss, tmp_path):
    X, y = stream(60)
    model, w = Descent(eta=0.4, loss=loss), np.zeros(5)
    run = ol.replay(model, X, y)
    for x, label, m in zip(X, y, run.predictions, strict=True):
        a = w @ x
        expected = 1 / (1 + np.exp(-a)) if loss == Logistic() else a
        assert abs(m - expected) < 1e-12
        w = w - 0.4 * x * (expected - label if loss == Logistic() else np.sign(a - label))
    np.testing.assert_allclose(model.coef_, w, rtol=1e-10)
    assert run.loss == loss
    np.testing.assert_allclose(run.losses, loss.of_predictions(run.predictions, y))
    model.save(tmp_path / "model.onl")
    again = ol.load(tmp_path / "model.onl")
    assert (type(again), again.loss, state(again)) == (Descent, loss, state(model))


def test_it_has_the_activations_and_refusals_of_its_loss():
    X, y = stream(60)
    model = Descent(eta=0.4, loss=Logistic()).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_, rtol=1e-12)
    np.testing.assert_allclose(model.predict(X), 1 / (1 + np.exp(-(X @ model.coef_))), rtol=1e-12)
    before = state(model)
    with pytest.raises(ValueError, match=r"labels from 0 to 1 for loss=Logistic\(\), got y = 2"):
        model.learn_one(X[0], 2.0)
    assert state(model) == before
    with pytest.raises(AttributeError, match=r"no decision_function with loss=Absolute\(\)"):
        Descent(loss=Absolute()).fit(X, y).decision_function(X)


def test_its_rates_are_those_of_the_theorems():
    """For ‖x‖² ≤ R², ‖u‖²/2 ≤ P: Pinsker's κ is ½ for soft labels, and no slope exceeds 1."""
    R2, P, K, kappa = 4.0, 4.5, 7.0, 0.5
    assert rate_for_range("Descent", Logistic(), R2) == pytest.approx(1 / (kappa * R2))
    assert rate_for_horizon("Descent", Absolute(), R2, P, T=100) == pytest.approx(0.15)
    etas = np.linspace(1e-4, 0.9999, 100_000)  # below 2/(κR²) = 1
    ceilings = (K + P / etas) / (1 - kappa / 2 * etas * R2)
    best = rate_for_loss("Descent", Logistic(), R2, P, K)
    assert abs(best - etas[ceilings.argmin()]) < 1e-4
