"""The report of a learner of classes: accuracy, log loss and calibration, however it is cut."""

import html
import itertools
import json
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import onlinear as ol
from onlinear import losses
from onlinear._evaluation.html.page import Chart, Panels
from onlinear._evaluation.report.recorder import BINS, LOSS, MEAN, RIGHT
from onlinear._evaluation.report.resumable_recorder import Story

NAMES = ["a", "b", "c"]
LOSSES = {"Logistic": losses.Logistic(), "Hinge": losses.Hinge()}


def stream(loss, rows=2600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    X[::400, 1] = np.nan
    spam = rng.uniform(size=rows) < 1 / (1 + np.exp(-2 * X[:, 0]))
    return X, spam * 1.0 if loss == losses.Logistic() else 2.0 * spam - 1


def told(name, cuts=(0, 2600)):
    """Return the story of a stream, put down and taken up at the cuts, and its replays."""
    loss = LOSSES[name]
    X, y = stream(loss)
    model = ol.GD(eta=0.1, loss=loss, on_bad="skip")
    story, runs = Story(model, NAMES, "y"), []
    for a, b in itertools.pairwise(cuts):
        runs.append(story.replay(X[a:b], y[a:b], a))
        header, arrays = story.described()
        header = json.loads(json.dumps(header))
        story = Story.restored(story.model, header, {n: each.copy() for n, each in arrays.items()})
    return story, runs


def charts(story):
    """Return the charts of the report by heading."""
    parts = story.page().parts
    panels = [chart for part in parts if isinstance(part, Panels) for chart in part.charts]
    return {each.heading: each for each in [*parts, *panels] if isinstance(each, Chart)}


@pytest.mark.parametrize("name", LOSSES)
def test_a_story_of_classes_is_the_same_however_the_stream_is_cut(name):
    whole, _ = told(name)
    parts, _ = told(name, [0, 1, 2, 700, 701, 1999, 2600])
    header, arrays = whole.described()
    again, others = parts.described()
    assert again == header
    assert {n: each.tobytes() for n, each in arrays.items()} == {
        n: each.tobytes() for n, each in others.items()
    }
    assert parts.page().html() == whole.page().html()


@pytest.mark.parametrize("name", LOSSES)
def test_the_record_has_the_measures_of_the_replay(name):
    story, (run,) = told(name)
    learnt = len(run) - len(run.bad_rows)
    assert story.right == run.accuracy * learnt
    assert_allclose(story.curves.table[-1, LOSS], run.cumulative_loss[-1], rtol=1e-12)
    good = np.setdiff1d(np.arange(len(run)), run.bad_rows)
    y, positive = run.labels[good], run.labels[good] > 0
    ones = np.cumsum(positive) - positive
    if name == "Logistic":
        shares = (ones + 0.5) / (np.arange(learnt) + 1)
        plain = losses.Logistic().of_predictions(shares, y)
        found = run.calibration(BINS)
        assert_array_equal(story.bins[:, 0], found.counts)
        there = found.counts > 0
        counts, *sums = story.bins[there].T
        assert_allclose(sums[0] / counts, found.predicted[there], rtol=1e-12)
        assert_allclose(sums[1] / counts, found.observed[there], rtol=1e-12)
    else:
        usual = np.sign(2 * ones - np.arange(learnt))
        plain = losses.Hinge().of_predictions(usual, y)
        assert not story.bins.any()
    assert_allclose(story.curves.table[-1, MEAN], plain.sum(), rtol=1e-9)


def test_the_report_shows_accuracy_log_loss_and_calibration():
    story, (run,) = told("Logistic")
    text = story.page().html()
    shown = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", text))
    assert float(shown["accuracy"]) == pytest.approx(run.accuracy, rel=1e-3)
    assert float(shown["log loss"]) == pytest.approx(run.log_loss, rel=1e-3)
    assert "mean squared error" not in shown
    drawn = charts(story)
    windows = drawn["Accuracy over time"].traces[0]["y"]
    assert np.mean(windows) == pytest.approx(run.accuracy, abs=0.02)
    over_time = drawn["Log loss over time"].traces
    assert np.mean(over_time[0]["y"]) == pytest.approx(run.log_loss, abs=0.02)
    assert over_time[1]["name"] == "share of 1 so far"
    observed = next(t for t in drawn["Observed frequency"].traces if t["name"] == "observed")
    found = run.calibration(BINS)
    there = found.counts > 0
    assert_allclose(observed["x"], found.predicted[there], rtol=1e-6)
    assert_allclose(observed["y"], found.observed[there], rtol=1e-6)
    assert drawn["How often"].traces[0]["y"] == found.counts.tolist()
    assert "squared" not in text.split("<script")[0]


def test_margins_have_no_calibration_and_numbers_no_accuracy():
    story, _ = told("Hinge")
    assert "Accuracy over time" in charts(story)
    assert "Observed frequency" not in charts(story)
    X, y = ol.streams.rotating(rows=500, d=3)
    numbers = Story(ol.GD(eta=0.1, loss=losses.Absolute()), NAMES, "y")
    run = numbers.replay(X, y, 0)
    assert "Accuracy over time" not in charts(numbers)
    text = numbers.page().html()
    shown = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", text))
    assert float(shown["mean loss by Absolute()"]) == pytest.approx(run.mean_loss, rel=1e-3)


def test_probabilities_as_labels_have_a_log_loss_but_no_accuracy():
    X, _ = stream(losses.Logistic(), rows=300)
    X = np.nan_to_num(X)
    story = Story(ol.GD(eta=0.1, loss=losses.Logistic()), NAMES, "y")
    story.replay(X, np.full(300, 0.25), 0)
    assert np.isnan(story.right)
    text = story.page().html()
    shown = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", text))
    assert "accuracy" not in shown
    assert "log loss" in shown


@pytest.mark.parametrize("change", [{"bins": np.zeros((3, 3))}, {"bins": np.full((BINS, 3), -1.0)}])
def test_forged_bins_are_refused(change):
    story, _ = told("Logistic")
    header, arrays = story.described()
    with pytest.raises(ValueError, match="bins of predicted probabilities are not possible"):
        Story.restored(story.model, header, {**arrays, **change})


def test_the_record_of_an_earlier_release_has_no_bins():
    X, y = ol.streams.rotating(rows=200, d=3)
    story = Story(ol.LASER(), NAMES, "y")
    story.replay(X, y, 0)
    header, arrays = story.described()
    header["story"] = 2
    arrays = {**arrays, "curves": arrays["curves"][:, : RIGHT + 1]}  # a column of rows, then curves
    del arrays["bins"]
    again = Story.restored(story.model, header, arrays)
    assert np.isnan(again.right)
    again.page()
    assert RIGHT == 8


@pytest.mark.parametrize("rows", [600, 2600], ids=["every row", "windows"])
@pytest.mark.parametrize("classes", [("ham", "spam"), (3, 7), (False, True)], ids=str)
def test_the_report_names_the_classes(classes, rows, tmp_path):
    X, y = stream(losses.Logistic(), rows)
    names = [f'"{each}"' if isinstance(each, str) else str(each) for each in classes]
    for model, codes in (
        (ol.LogisticLASER(on_bad="skip", classes=classes), (0, 1)),
        (ol.Standardized(ol.LogisticLASER(classes=classes), on_bad="skip"), (0, 1)),
        (ol.AROW(on_bad="skip", classes=classes), (-1, 1)),
    ):
        story = Story(model, NAMES, "y")
        story.replay(X, y if codes == (0, 1) else 2 * y - 1, 0)
        text = html.unescape(story.page().html())
        assert f"In the chart, {codes[0]} is {names[0]} and {codes[1]} is {names[1]}." in text
        assert "label was 1" not in text
        if codes == (0, 1):
            assert f"how often the label was {names[1]} among" in text
            assert f"times that of the share of {names[1]} so far" in text
            over_time = charts(story)["Log loss over time"].traces
            assert over_time[1]["name"] == f"share of {names[1]} so far"
    labels = np.array(classes, dtype=object)[np.ones(rows, dtype=int)]
    model = ol.LogisticLASER(on_bad="skip", classes=classes)
    ol.report(model, X, labels, tmp_path / "report.html")
    said = html.unescape((tmp_path / "report.html").read_text())
    assert f"y, the label, never changes: it is always {names[1]}" in said
    free, _ = told("Logistic")
    plain = free.page().html()
    assert "how often the label was 1 among" in plain
    assert "In the chart" not in plain


@pytest.mark.parametrize("kind", [ol.LogisticLASER, ol.AROW])
@pytest.mark.parametrize("classes", [None, ("a", "b", "c")], ids=["found", "listed"])
def test_a_report_of_three_classes_is_refused_in_words(kind, classes, tmp_path):
    X, y = np.eye(3)[[0, 1, 2, 0]], np.array(["a", "b", "c", "a"])
    with pytest.raises(ValueError, match="a report needs a learner whose prediction is one number"):
        ol.report(kind(classes=classes), X, y, tmp_path / "report.html")
    assert not list(tmp_path.iterdir())
