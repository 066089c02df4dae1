"""Accuracy, log loss and calibration of replays, beside those of scikit-learn."""

import numpy as np
import pytest
from notebook_html import read
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics
from sklearn.calibration import calibration_curve

import onlinear as ol
from onlinear import losses

NONE = np.zeros(0, dtype=np.intp)
MARGINS = [losses.Hinge(), losses.SquaredHinge(), losses.Mistakes()]


def stream(rows=1500, seed=0):
    """Return rows, and classes 0 and 1 that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    return X, (rng.uniform(size=rows) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(float)


def probable(rows=1500):
    X, y = stream(rows)
    return ol.replay(ol.GD(eta=0.1, loss=losses.Logistic()), X, y)


def test_the_measures_of_probabilities_are_those_of_scikit_learn():
    run = probable()
    y, p = run.labels, run.predictions
    assert run.accuracy == metrics.accuracy_score(y, p > 0.5)
    assert 0.7 < run.accuracy < 0.9
    assert_allclose(run.log_loss, metrics.log_loss(y, p), rtol=1e-12)
    assert_allclose(run[500:].log_loss, metrics.log_loss(y[500:], p[500:]), rtol=1e-12)
    for bins in (1, 5, 10, 200):
        found = run.calibration(bins)
        there = found.counts > 0
        observed, predicted = calibration_curve(y, p, n_bins=bins)
        assert_allclose(found.observed[there], observed, rtol=1e-12)
        assert_allclose(found.predicted[there], predicted, rtol=1e-12)
        assert found.counts.sum() == len(run)
        assert np.isnan(found.observed[~there]).all()
        gaps = np.abs(observed - predicted) @ found.counts[there] / len(run)
        assert_allclose(found.error, gaps, rtol=1e-12)
    assert not there.all()  # of 200 bins, some are empty


def test_a_probability_between_two_bins_is_in_the_lower_one_as_in_scikit_learn():
    p = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    run = ol.Replay(p, np.array([0.0, 1.0, 0.0, 1.0, 1.0]), NONE, losses.Logistic())
    assert_array_equal(run.calibration(4).counts, [2, 1, 1, 1])


@pytest.mark.parametrize("loss", MARGINS, ids=repr)
def test_margins_have_an_accuracy_but_no_log_loss(loss):
    X, y = stream()
    run = ol.replay(ol.GD(eta=0.02, loss=loss), X, 2 * y - 1)
    assert run.accuracy == metrics.accuracy_score(y == 1, run.predictions > 0)
    assert 0.6 < run.accuracy < 0.9
    for measure in (lambda: run.log_loss, run.calibration):
        with pytest.raises(AttributeError, match="needs predicted probabilities"):
            measure()
    assert repr(run).startswith(f"<Replay of 1500 rows: accuracy {run.accuracy:.6g}, mean loss by ")


def test_a_margin_of_0_is_of_the_first_class():
    y = np.array([1.0, -1.0])
    assert ol.Replay(np.zeros(2), y, NONE, losses.Hinge()).accuracy == 0.5
    assert ol.Replay(np.zeros(1), y[1:], NONE, losses.Hinge()).accuracy == 1.0
    half = ol.Replay(np.array([0.5]), np.zeros(1), NONE, losses.Logistic())
    assert half.accuracy == 1.0


def test_bad_rows_are_left_out_of_the_measures():
    X, y = stream(300)
    X[[3, 40]] = np.nan
    model = ol.GD(eta=0.1, loss=losses.Logistic(), on_bad="skip")
    run = ol.replay(model, X, y)
    good = np.setdiff1d(np.arange(300), [3, 40])
    assert run.accuracy == np.mean((run.predictions > 0.5)[good] == y[good])
    assert_allclose(run.log_loss, metrics.log_loss(y[good], run.predictions[good]), rtol=1e-12)
    assert run.calibration().counts.sum() == 298
    shown = f"accuracy {run.accuracy:.6g}, log loss {run.log_loss:.6g}"
    assert repr(run) == f"<Replay of 300 rows, 2 skipped: {shown}>"


def test_numbers_have_no_accuracy():
    X, y = stream(50)
    run = ol.replay(ol.Ridge(), X, y)
    assert not hasattr(run, "accuracy")
    with pytest.raises(AttributeError, match=r"log_loss is a measure of classes.*got Square\(\)"):
        run.log_loss  # noqa: B018


def test_labels_that_are_no_classes_are_refused_in_words():
    run = ol.Replay(np.array([0.2, 0.6]), np.array([1.0, 0.25]), NONE, losses.Logistic())
    for measure in (lambda: run.accuracy, lambda: run.log_loss, run.calibration):
        with pytest.raises(ValueError, match=r"needs the labels 0 and 1, got 0\.25"):
            measure()
    assert repr(run) == f"<Replay of 2 rows: mean loss by Logistic() {run.mean_loss:.6g}>"
    with pytest.raises(ValueError, match="whole number of bins ≥ 1, got bins=0"):
        probable(50).calibration(0)


def test_an_empty_replay_has_no_measures():
    run = probable(50)[:0]
    assert np.isnan(run.accuracy)
    assert np.isnan(run.log_loss)
    assert np.isnan(run.calibration(3).error)
    assert repr(run) == "<Replay of 0 rows: accuracy of no row, log loss of no row>"


def test_a_bank_has_the_measures_of_each_learner():
    X, y = stream()
    bank = ol.Bank([ol.GD(eta=eta, loss=losses.Logistic()) for eta in (0.001, 0.1)])
    run = ol.replay(bank, X, y)
    assert_array_equal(run.accuracy, [run[:, k].accuracy for k in range(2)])
    assert_array_equal(run.log_loss, [run[:, k].log_loss for k in range(2)])
    assert [found.counts.sum() for found in run.calibration(5)] == [1500, 1500]
    wrong = 1 - run.accuracy.max()
    assert f"least share of mistakes {wrong:.6g}, of learner" in repr(run)
    page = run._repr_html_()
    assert "share of mistakes" in page
    assert "log loss" in page
    assert "RMSE" not in page


def test_a_notebook_shows_the_measures_of_classes():
    run = probable()
    text = read(run._repr_html_()).text
    assert {"accuracy", "log loss", f"{run.accuracy:.4g}"} <= set(text)
    assert not {"RMSE", "R²"} & set(text)
    assert any("mean loss of each" in each for each in text)
    absolute = ol.replay(ol.GD(eta=0.1, loss=losses.Absolute()), *stream())
    assert {"RMSE", "mean loss by Absolute()"} <= set(read(absolute._repr_html_()).text)
