"""The story of a run: the same bits however it is cut, put down and taken up again."""

import itertools
import json

import numpy as np
import pytest
from table import CASES, IDS, make, state, stream, stream_of

import onlinear as ol
from onlinear import hindsight
from onlinear._evaluation.html.page import Chart
from onlinear._evaluation.report import recorder as _watched
from onlinear._evaluation.report.recorder import CEILING, COMPARATOR, FIXED, LOSS, MEAN
from onlinear._evaluation.report.resumable_recorder import Story

NAMES = list("abcde")
LEARNERS = {
    "LASER": lambda: ol.LASER(c=10.0, on_bad="skip"),
    "Auto": lambda: ol.Auto(on_bad="skip"),
    "NLMS": lambda: ol.NLMS(on_bad="skip"),
    "Standardized": lambda: ol.Standardized(ol.LASER(c=30.0, shrink=False), on_bad="skip"),
}


def bad_stream(rows=2600, seed=1):
    """Return a stream with rows that are bad, a constant column and a value far away."""
    X, y = stream(rows, seed=seed)
    X[:, 4] = 0.25
    X[3, 1] = np.nan
    X[100:160:9, 2] = np.inf
    y[700] = np.nan
    X[-1, 3] = 60.0
    return X, y


def told(story):
    """Return everything a story tells, in bits."""
    header, arrays = story.described()
    bits = {name: (array.shape, array.tobytes()) for name, array in arrays.items()}
    return json.dumps(header), bits, story.page().html()


@pytest.mark.parametrize("name", sorted(LEARNERS))
def test_a_story_is_the_same_however_the_stream_is_cut_or_put_down(name, tmp_path):
    X, y = bad_stream()
    whole = Story(LEARNERS[name](), NAMES, "y")
    run = whole.replay(X, y, 10)
    rng = np.random.default_rng(0)
    cuts = [0, 1, 2, *np.sort(rng.integers(3, len(X), 5)).tolist(), len(X)]
    parts, predictions = Story(LEARNERS[name](), NAMES, "y"), []
    for k, (a, b) in enumerate(itertools.pairwise(cuts)):
        if k % 2:  # as after a crash
            header, arrays = parts.described()
            parts.model.save(tmp_path / "model.onl")
            model = ol.load(tmp_path / "model.onl")
            header = json.loads(json.dumps(header))
            parts = Story.restored(model, header, {n: a.copy() for n, a in arrays.items()})
        predictions.append(parts.replay(X[a:b], y[a:b], 10 + a).predictions)
    assert np.concatenate(predictions).tobytes() == run.predictions.tobytes()
    assert state(parts.model) == state(whole.model)
    assert told(parts) == told(whole)


def test_accounts_kept_in_a_thread_give_the_same_story():
    X, y = ol.streams.rotating(rows=4000, d=20)  # more entries than are kept in one thread
    names = [f"x{j}" for j in range(20)]
    whole, parts = Story(ol.LASER(c=10.0), names, "y"), Story(ol.LASER(c=10.0), names, "y")
    whole.replay(X, y, 0)
    for start in range(0, 4000, 400):
        parts.replay(X[start : start + 400], y[start : start + 400], start)
    assert told(parts) == told(whole)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_every_learner_has_a_story_and_predicts_as_in_a_replay(case):
    X, y = stream_of(case, 40)
    story = Story(make(case), NAMES, "y")
    run = story.replay(X, make(case)._labels(y, 40), 0)
    alone = ol.replay(make(case), X, y, engine="rank-one")
    assert run.predictions.tobytes() == alone.predictions.tobytes()
    np.testing.assert_allclose(story.curves.table[:, LOSS], alone.cumulative_loss, rtol=1e-12)
    assert "How to read this" in story.page().html()


def test_the_curves_are_those_of_the_certificate_and_of_hindsight():
    X, y = stream(1500)
    story = Story(ol.LASER(c=10.0), NAMES, "y")
    story.replay(X, y, 0)
    proof = ol.certificate(ol.LASER(c=10.0), X, y, engine="rank-one")
    at = story.curves.rows.astype(int)
    table = story.curves.table.T
    np.testing.assert_array_equal(table[LOSS], proof.loss[at])
    np.testing.assert_array_equal(table[COMPARATOR], proof.comparator[at])
    np.testing.assert_array_equal(table[CEILING], proof.ceiling[at])
    np.testing.assert_array_equal(table[FIXED], hindsight.best_fixed(X, y)[at])
    means = np.concatenate([[0.0], np.cumsum(y)[:-1] / np.arange(1, len(y))])
    np.testing.assert_allclose(table[MEAN], np.cumsum((y - means) ** 2)[at], rtol=1e-12)


def test_a_learner_with_an_intercept_is_compared_with_one():
    X, y = stream(300)
    story = Story(ol.Auto(), NAMES, "y")
    story.replay(X, y + 100.0, 0)
    with_one = hindsight.best_fixed(np.column_stack([X, np.ones(300)]), y + 100.0)
    assert story.curves.table[-1, FIXED] == with_one[-1]


def test_weights_are_kept_whether_scikit_learn_is_loaded_or_not():
    import sklearn.exceptions  # its NotFittedError is then the one that is raised

    assert sklearn.exceptions
    assert Story(ol.Ridge(), NAMES, "y").weighed == 5
    assert Story(ol.KernelAAR(), NAMES, "y").weighed == 0


def test_a_report_computes_no_bound_that_grows_with_the_rows():
    story = Story(ol.KernelGD(), NAMES, "y")
    assert story.certified is None
    assert Story(ol.GD(), NAMES, "y").certified is not None


def test_weights_are_recorded_when_they_were_so():
    X, y = stream(2000)
    story = Story(ol.Ridge(), NAMES, "y")
    story.replay(X, y, 0)
    assert story.records.stride == 4
    assert 300 < story.records.rows.size <= 600
    model = ol.Ridge()
    for begin, row, weights in zip(
        [-1, *story.records.rows], story.records.rows, story.records.table, strict=False
    ):
        part = slice(int(begin) + 1, int(row) + 1)
        ol.replay(model, X[part], y[part], engine="rank-one")
        np.testing.assert_array_equal(weights, model.coef_)


def test_bad_rows_are_told_by_rule_and_column():
    X, y = bad_stream()
    story = Story(ol.LASER(on_bad="skip"), NAMES, "price")
    run = story.replay(X, y, 0)
    found = {each.words: (each.rows, list(each.first)) for each in story.skipped.problems()}
    assert found == {
        "c: not a finite number; the learner skipped the row": (7, [100, 109, 118, 127, 136]),
        "b: not a finite number; the learner skipped the row": (1, [3]),
        "price, the label: not a finite number; the learner skipped the row": (1, [700]),
    }
    assert run.bad_rows.size == 9
    text = story.page().html()
    for words in ("never changes: e", "d: has 60,", "c: not a finite number"):
        assert words in text
    text = story.page([("no label", 12, [5, 6])]).html()  # of who knows better
    assert "no label" in text
    assert "c: not a finite number" not in text


def test_a_rule_of_the_learners_own_is_told_in_its_words():
    X, y = stream(50)
    X[20] *= 1000.0
    story = Story(ol.WEMM(b=1.3, on_bad="skip"), NAMES, "y")
    story.replay(X, y, 100)
    (problem,) = story.skipped.problems()
    assert problem.words.startswith("WEMM needs")
    assert "row 120" in problem.words


def test_a_refused_row_leaves_learner_and_story_as_they_were():
    X, y = stream(500)
    story = Story(ol.LASER(), NAMES, "y")
    story.replay(X[:200], y[:200], 0)
    before, learnt = told(story), state(story.model)
    y[450] = np.inf
    with pytest.raises(ValueError, match=r"y contains infinity in row 450; the model is unchanged"):
        story.replay(X[200:], y[200:], 200)
    assert told(story) == before
    assert state(story.model) == learnt
    y[450] = 0.5
    story.replay(X[200:], y[200:], 200)
    whole = Story(ol.LASER(), NAMES, "y")
    whole.replay(X, y, 0)
    assert told(story) == told(whole)


def test_an_interrupt_while_a_story_is_kept_undoes_learner_and_story(monkeypatch):
    X, y = stream(300)
    story = Story(ol.LASER(), NAMES, "y")
    story.replay(X[:100], y[:100], 0)
    before, learnt = told(story), state(story.model)

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_watched.Recorder, "_range", interrupted)
        with pytest.raises(KeyboardInterrupt):
            story.replay(X[100:], y[100:], 100)
    assert told(story) == before
    assert state(story.model) == learnt


def test_a_best_predictor_beyond_floating_point_ends_at_the_same_row_in_any_cut():
    X, y = stream(60)
    X[30:] *= 3e153  # the sum of their squares does not fit; NLMS does not mind
    stories = []
    for cuts in ([0, 60], [0, 39, 40, 41, 60], [0, 17, 60]):
        story = Story(ol.NLMS(), NAMES, "y")
        for a, b in itertools.pairwise(cuts):
            story.replay(X[a:b], y[a:b], a)
        stories.append(story)
    known = int(np.isfinite(stories[0].curves.table[:, FIXED]).sum())
    assert 30 < known < 60
    assert hindsight.best_fixed(X[:known], y[:known]).size == known
    with pytest.raises(ValueError, match="would overflow"):
        hindsight.best_fixed(X[: known + 1], y[: known + 1])
    assert told(stories[0]) == told(stories[1]) == told(stories[2])


@pytest.mark.parametrize("name", sorted(LEARNERS))
def test_a_stream_of_bad_rows_only_has_a_report_too(name):
    story = Story(LEARNERS[name](), NAMES, "y")
    run = story.replay(np.full((30, 5), np.nan), np.ones(30), 0)
    assert run.bad_rows.size == 30
    assert "a: not a finite number" in story.page().html()
    again = Story.restored(LEARNERS[name](), *story.described())
    assert told(again) == told(story)


@pytest.mark.parametrize("scale", [1e-140, 1e150])
def test_numbers_at_the_edge_of_floating_point_make_no_noise(scale):
    X, y = stream(700)
    story = Story(ol.NLMS(), NAMES, "y")
    story.replay(X * scale, y * min(scale, 1e140), 0)
    assert "NaN" not in story.page().html().split("<script>")[0]


def test_rows_come_in_order_and_in_the_columns_named():
    X, y = stream(20)
    story = Story(ol.Ridge(), NAMES, "y")
    story.replay(X, y, 5)
    with pytest.raises(ValueError, match="record ends at row 24, got rows from 24 on"):
        story.replay(X, y, 24)
    with pytest.raises(ValueError, match="record has 5 columns, got 4"):
        story.replay(X[:, :4], y, 25)
    with pytest.raises(ValueError, match="begins with the first row, got a Ridge that has learnt"):
        Story(story.model, NAMES, "y")
    with pytest.raises(TypeError, match="a report is on a learner, got a Bank"):
        Story(ol.Bank([ol.Ridge()]), NAMES, "y")


def hostile(change):
    X, y = stream(300)
    story = Story(ol.LASER(), NAMES, "y")
    story.replay(X, y, 0)
    header, arrays = story.described()
    header, arrays = json.loads(json.dumps(header)), {n: a.copy() for n, a in arrays.items()}
    change(header, arrays)
    return lambda: Story.restored(story.model, header, arrays)


@pytest.mark.parametrize(
    "change",
    [
        lambda h, a: h.pop("names"),
        lambda h, a: h.update(names="abcde"),
        lambda h, a: h.update(names=["a", "b", "c", "d", 5]),
        lambda h, a: h.update(story=4),
        lambda h, a: h.update(story=1),
        lambda h, a: h.update(seen=-1),
        lambda h, a: h.update(seen=301),
        lambda h, a: h.update(last=1e300),
        lambda h, a: h.update(skipped=[[1, 2, "x", 3, [1]]]),
        lambda h, a: h.update(skipped=7),
        lambda h, a: a.pop("curves"),
        lambda h, a: a.update(curves=np.zeros((3, 2))),
        lambda h, a: a.update(truth=np.zeros((3, 2))),
        lambda h, a: a["truth"].fill(np.nan),
        lambda h, a: a["sample"].fill(np.inf),
        lambda h, a: a["sums"].fill(-1.0),
        lambda h, a: a["range"].fill(np.nan),
        lambda h, a: a["fixed"].fill(np.nan),
        lambda h, a: a.update(fixed=np.ones(3)),
        lambda h, a: h.update(compared=False),
        lambda h, a: a["totals"].fill(-1.0),
        lambda h, a: a.pop("accounts"),
        lambda h, a: a["records"].__setitem__((0, 0), 1e9),
        lambda h, a: a["recent"].__setitem__((0, 0), -4.0),
    ],
)
def test_contents_that_no_story_has_are_refused_in_words(change):
    with pytest.raises(ValueError, match=r"\w+ \w+"):
        hostile(change)()


def test_a_story_of_an_earlier_version_is_taken_up():
    X, y = stream(3000)
    whole = Story(ol.Ridge(), NAMES, "y")
    whole.replay(X[:2000], y[:2000], 0)
    header, arrays = whole.described()
    header["story"], arrays["curves"] = 1, arrays["curves"][:, : 2 + CEILING]
    story = Story.restored(whole.model, header, arrays)
    story.replay(X[2000:], y[2000:], 2000)
    np.testing.assert_array_equal(story.curves.table[-1, LOSS], story.sums.lost)
    (chart, *_) = [part for part in story.page().parts if isinstance(part, Chart)]
    assert [trace["name"] for trace in chart.traces] == ["labels: range", "predictions: range"]


def test_the_story_of_another_learner_is_refused():
    X, y = stream(100)
    story = Story(ol.Ridge(), NAMES, "y")
    story.replay(X, y, 0)
    other = ol.Ridge()
    ol.replay(other, X[:50], y[:50])
    with pytest.raises(ValueError, match="records 100 rows of 5 columns, but the learner has"):
        Story.restored(other, *story.described())


@pytest.mark.parametrize("d", [3, 200, 300, 1000])
def test_what_is_kept_is_bounded(d):
    rng = np.random.default_rng(0)
    story = Story(ol.LASER() if d < 1000 else ol.NLMS(), [f"x{j}" for j in range(d)], "y")
    for start in range(0, 6000, 1500):
        story.replay(rng.normal(size=(1500, d)), rng.normal(size=1500), start)
    _, arrays = story.described()
    assert sum(array.nbytes for array in arrays.values()) < 6e6


def test_the_report_of_a_data_frame_names_its_columns(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = stream(60)
    frame = pd.DataFrame(X, columns=["heat", "wind", "sun", "rain", "fog"])
    run = ol.report(ol.LASER(), frame, pd.Series(y, name="power"), tmp_path / "report.html")
    assert run.predictions.size == 60
    text = (tmp_path / "report.html").read_text()
    assert "heat" in text
    assert "power, predicted by LASER" in text


def test_a_report_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    X, y = stream(10)
    with pytest.raises(FileNotFoundError, match=r"no/such/report.html"):
        ol.report(ol.Ridge(), X, y, tmp_path / "no" / "such" / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_the_path_in_hindsight_finds_a_truth_that_turns():
    from onlinear._evaluation.report.effects import effects, speeds

    X, y = ol.streams.rotating(rows=3000, d=2, degrees=0.2, noise=0.05)
    story = Story(ol.LASER(c=100.0, shrink=False), ["a", "b"], "y")
    story.replay(X, 5.0 * y, 0)
    found = effects(story)
    start = np.random.default_rng(0).normal(size=2)
    angle = np.deg2rad(0.2) * np.arange(3000) + np.arctan2(start[1], start[0])
    truth = 5.0 * np.column_stack([np.cos(angle), np.sin(angle)]) * X.std(axis=0)
    assert np.abs(found.path.effects - truth).max() < 0.4
    _, own, path = speeds(found)
    assert np.median(path) == pytest.approx(5.0 * np.deg2rad(0.2), rel=0.2)
    assert np.median(own) == pytest.approx(5.0 * np.deg2rad(0.2), rel=0.4)


def test_a_path_that_tells_nothing_is_left_out(monkeypatch):
    from onlinear._evaluation.report.effects import effects

    monkeypatch.setattr(_watched, "SAMPLED", 60)  # far too few for this truth
    X, y = ol.streams.rotating(rows=6000, d=4, degrees=1.0)
    story = Story(ol.LASER(c=10.0, shrink=False), list("abcd"), "y")
    story.replay(X, y, 0)
    assert effects(story).path is None
    assert "is left out: its error exceeds the learner" in story.page().html()
