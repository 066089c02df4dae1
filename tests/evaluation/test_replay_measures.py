"""The measures of a replay, its slices, and how a notebook shows it."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from notebook_html import read
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics
from table import stream

import onlinear as ol
from onlinear import losses

NONE = np.zeros(0, dtype=np.intp)
MEASURES = ("mse", "rmse", "mae", "r2", "correlation2", "error_quartiles")
ROW = ("mse", "rmse", "mae", "r2", "correlation2")
numbers = st.floats(-1e3, 1e3).map(lambda value: round(value, 3))


def some_run(rows=200, bad=(), seed=0):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=rows) + 2.0
    return ol.Replay(0.8 * y + 0.3 * rng.normal(size=rows), y, np.array(bad, dtype=np.intp))


def some_bank(rows=200, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=rows)
    skipped = rng.uniform(size=(rows, 3)) < 0.1
    return ol.BankReplay(y[:, None] + rng.normal(size=(rows, 3)), y, skipped, ("a", "b", "c"))


def same(one, other):
    assert_array_equal(one.predictions, other.predictions)
    assert_array_equal(one.labels, other.labels)
    if isinstance(one, ol.BankReplay):
        assert_array_equal(one.skipped, other.skipped)
        assert one.learners == other.learners
    else:
        assert_array_equal(one.bad_rows, other.bad_rows)


# --- measures -----------------------------------------------------------------------------------


@given(st.data())
def test_the_measures_are_those_of_numpy_and_scikit_learn(data):
    rows = data.draw(st.integers(2, 30))
    y, said = (data.draw(npst.arrays(float, rows, elements=numbers)) for _ in range(2))
    bad = data.draw(st.lists(st.integers(0, rows - 1), max_size=rows - 2, unique=True))
    run = ol.Replay(said, y, np.array(sorted(bad), dtype=np.intp))
    kept = np.setdiff1d(np.arange(rows), bad)
    y, said = y[kept], said[kept]
    assert_allclose(run.mse, metrics.mean_squared_error(y, said), rtol=1e-12)
    assert_allclose(run.rmse, np.sqrt(np.mean((y - said) ** 2)), rtol=1e-12)
    assert_allclose(run.mae, metrics.mean_absolute_error(y, said), rtol=1e-12)
    assert_allclose(run.error_quartiles, np.percentile(y - said, [25, 50, 75]), rtol=1e-12)
    if np.ptp(y) > 0:
        assert_allclose(run.r2, metrics.r2_score(y, said), rtol=1e-9, atol=1e-9)
    if np.ptp(y) > 1e-2 and np.ptp(said) > 1e-2:
        expected = np.corrcoef(y, said)[0, 1] ** 2
        assert_allclose(run.correlation2, expected, rtol=1e-6, atol=1e-9)


def test_the_measures_are_those_of_the_losses_of_a_run():
    X, y = stream(100)
    X[[3, 40]] = np.nan
    run = ol.replay(ol.Ridge(on_bad="skip"), X, y)
    assert_array_equal(run.bad_rows, [3, 40])
    assert_allclose(run.mse, np.nanmean(run.losses), rtol=1e-12)
    assert_allclose(run.mse * 98, run.cumulative_loss[-1], rtol=1e-12)
    assert repr(run) == f"<Replay of 100 rows, 2 skipped: mean squared error {run.mse:.6g}>"


def test_a_row_that_was_predicted_but_not_learnt_is_left_out():
    X, y = stream(50)
    X[7] *= 100.0  # too long for gradient descent, which predicts it all the same
    run = ol.replay(ol.GD(eta=0.5, on_bad="skip"), X, y)
    assert math.isfinite(run.predictions[7])
    rest = np.arange(50) != 7
    assert run.mse == run[rest].mse
    assert_allclose(run.mse, np.mean((y - run.predictions)[rest] ** 2))


@pytest.mark.parametrize("said", [0.1, 0.2])
def test_r2_of_constant_labels_is_one_if_all_is_exact_and_else_zero(said):
    """Also where the mean of the labels is rounded: ten times 0.1 is not 1."""
    run = ol.Replay(np.full(10, said), np.full(10, 0.1), NONE)
    assert run.r2 == (1.0 if said == 0.1 else 0.0)
    assert math.isnan(run.correlation2)
    model = ol.Ridge().fit(np.ones((10, 1)), np.full(10, 0.1))
    assert model.score(np.ones((10, 1)), np.full(10, 0.1)) == 0.0


def test_r2_and_score_are_one_definition():
    X, y = stream(60)
    model = ol.Ridge().fit(X, y)
    assert model.score(X, y) == ol.Replay(model.predict(X), y, NONE).r2


def test_correlation_forgives_a_shift_and_a_factor_and_r2_does_not():
    y = np.random.default_rng(0).normal(size=50)
    run = ol.Replay(3.0 * y - 7.0, y, NONE)
    assert run.correlation2 == pytest.approx(1.0)
    assert run.r2 < 0
    assert run.correlation2 <= 1.0


def test_all_measures_are_one_table():
    run = some_run()
    table = run.measures
    assert list(table) == [*ROW, "lower_quartile", "median", "upper_quartile"]
    assert [table[name] for name in ROW] == [getattr(run, name) for name in ROW]
    assert list(table.values())[len(ROW) :] == run.error_quartiles.tolist()
    bank = some_bank()
    for name, values in bank.measures.items():
        assert_array_equal(values, [bank[:, k].measures[name] for k in range(3)])


def test_measures_include_those_of_the_loss():
    shares, y = [0.2, 0.7, 0.6], [0.0, 1.0, 0.0]
    plain = list(ol.Replay(shares, y).measures)
    found = ol.Replay(shares, y, loss=losses.Logistic()).measures
    wanted = -np.log([0.8, 0.7, 0.4]).mean()
    assert list(found) == [*plain, "accuracy", "log_loss", "loss"]
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["log_loss"] == found["loss"] == pytest.approx(wanted)
    soft = ol.Replay(shares, [0.0, 0.5, 0.0], loss=losses.Logistic())  # labels are no classes
    assert list(soft.measures) == [*plain, "loss"]
    margins = ol.Replay([2.0, 0.5], [1.0, -1.0], loss=losses.Hinge()).measures
    assert list(margins) == [*plain, "accuracy", "loss"]
    assert (margins["accuracy"], margins["loss"]) == (0.5, 0.75)
    high = ol.Replay([1.0, 1.0], [2.0, 0.0], loss=losses.Quantile(0.9)).measures
    assert list(high) == [*plain, "loss"]
    assert high["loss"] == pytest.approx(0.5)  # (0.9 + 0.1)/2
    kinds = losses.Logistic(), losses.Quantile(0.9)
    two = np.column_stack([shares, shares])
    bank = ol.BankReplay(two, np.array(y), np.zeros((3, 2), dtype=bool), loss=kinds)
    assert list(bank.measures) == [*plain, "loss"]
    assert bank.measures["loss"][0] == found["loss"]
    assert list(bank[:, :1].measures) == list(found)
    assert list(bank[:, []].measures) == plain


def test_what_is_no_number_or_no_loss_is_refused_in_words():
    with pytest.raises(ValueError, match=r"Replay needs labels that are numbers.*got labels=\['a'"):
        ol.Replay([0.2, 0.7], ["a", "b"])
    with pytest.raises(ValueError, match=r"Replay needs a loss such as .*got loss='logistic'"):
        ol.Replay([0.2, 0.7], [0, 1], loss="logistic")


def test_a_replay_may_be_made_of_any_predictions():
    run = ol.Replay([1, 2, 4], [1, 3, 5])
    assert_array_equal(run.losses, [0, 1, 1])
    assert run.bad_rows.size == 0
    assert run[1:].mse == 1.0
    wrong = [1.0], np.ones((3, 1)), np.ones((3, 2)), np.ones((3, 3)), np.ones((1, 3)), 1.0
    for predictions in wrong:
        for loss in (losses.Square(), losses.Logistic(), losses.Hinge(), losses.Absolute()):
            with pytest.raises(ValueError, match="as many predictions as labels, in one dimension"):
                ol.Replay(predictions, [1.0, 0.0, 1.0], loss=loss)
    with pytest.raises(ValueError, match="in one dimension, got arrays of the shapes"):
        ol.Replay(np.ones((3, 1)), np.ones((3, 1)), loss=losses.Logistic())


def test_a_replay_of_classes_has_a_column_for_each_class():
    shares = [[0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]
    classes = np.array(["a", "b", "c"])
    run = ol.ClassReplay(shares, [0, 1, np.nan, 1], NONE, classes, True)
    assert run.accuracy == pytest.approx(2 / 3)
    assert run.log_loss == pytest.approx(-np.log([0.5, 0.8, 0.2]).mean())
    assert run.measures == {"accuracy": run.accuracy, "log_loss": run.log_loss}
    assert list(ol.ClassReplay(shares, [0, 1, 2, 1], NONE, classes, False).measures) == ["accuracy"]
    assert len(run) == 4
    table = np.array(shares)
    for wrong in (table[:, :2], table[:3], table[:, 0], table[None], np.ones((4, 4)), 1.0):
        with pytest.raises(ValueError, match="for each label, in 3 columns, one for each class, g"):
            ol.ClassReplay(wrong, [0, 1, 2, 1], NONE, classes, True)
    with pytest.raises(ValueError, match="a row of predictions for each label"):
        ol.ClassReplay(table, [[0, 1, 2, 1]], NONE, classes, True)
    for label in (3, -1, 0.5):
        with pytest.raises(ValueError, match=rf"numbers of classes, 0 to 2, .* got {label}$"):
            ol.ClassReplay(table, [0, 1, 2, label], NONE, classes, True)


@pytest.mark.parametrize("rows", [0, 5])
def test_a_run_without_a_row_to_score_has_no_measures(rows):
    run = ol.Replay(np.zeros(rows), np.zeros(rows), np.arange(rows))
    for name in MEASURES:
        assert np.isnan(getattr(run, name)).all(), name
    bank = ol.BankReplay(np.zeros((rows, 2)), np.zeros(rows), np.ones((rows, 2), dtype=bool))
    for name in MEASURES:
        value = getattr(bank, name)
        assert value.shape == ((2, 3) if name == "error_quartiles" else (2,))
        assert np.isnan(value).all()
    assert "mean squared error of no row" in repr(run)
    assert "of no row" in repr(bank)


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e200, 1e308])
def test_measures_survive_numbers_whose_squares_do_not_fit(size):
    y = np.array([1.0, -1.0, 0.5, 0.25]) * size
    said = np.array([-1.0, 1.0, 0.5, 0.5]) * size  # 1e308 + 1e308 overflows
    plain = ol.Replay(said / size, y / size, NONE)
    run = ol.Replay(said, y, NONE)
    assert_allclose(run.r2, plain.r2, rtol=1e-9)
    assert_allclose(run.correlation2, plain.correlation2, rtol=1e-9)
    assert run.mse == (0.0 if size < 1 else np.inf)
    assert_allclose(run.rmse / size, plain.rmse, rtol=1e-9)
    assert_allclose(run.mae / size, plain.mae, rtol=1e-9)
    assert_allclose(run.error_quartiles / size, plain.error_quartiles, rtol=1e-9)
    assert np.isinf(run.losses[0]) == (size > 1)
    assert np.isinf(run.cumulative_loss[-1]) == (size > 1)
    assert repr(run)
    assert run._repr_html_()


def test_each_learner_of_a_bank_has_the_measures_it_has_alone():
    X, y = stream(120)
    X[5] = np.nan
    models = [ol.Ridge(on_bad="skip"), ol.NLMS(on_bad="skip"), ol.LASER(c=3.0, on_bad="skip")]
    run = ol.replay(ol.Bank(models, threads=1), X, y)
    assert run.learners == tuple(map(repr, models))
    for k, model in enumerate(models):
        alone = ol.replay(model, X, y)
        for name in MEASURES:
            assert_array_equal(getattr(run, name)[k], getattr(alone, name))


# --- rows ---------------------------------------------------------------------------------------


slices = st.slices(40)


@given(slices, slices)
def test_slices_compose_as_those_of_arrays(first, second):
    run = some_run(40, bad=[0, 3, 4, 17, 39])
    rows = np.arange(40)[first]
    picked = run[first]
    same(picked, run[rows])
    same(picked[second], run[rows[second]])
    assert len(picked) == rows.size
    skipped = np.isin(rows, run.bad_rows)
    assert_array_equal(np.flatnonzero(skipped), picked.bad_rows)
    assert_array_equal(picked.losses, run.losses[rows])


@given(slices, st.slices(3))
def test_slices_of_a_bank_are_those_of_its_learners(rows, learners):
    run = some_bank(40)
    some = run[rows]
    for k in range(-3, 3):
        same(some.learner(k), run[rows, k])
        same(run[rows, k], run.learner(k)[rows])
    both = run[rows, learners]
    same(both, run[:, learners][rows])
    assert both.predictions.shape == (len(some), len(range(3)[learners]))
    assert both.learners == ("a", "b", "c")[learners]


def test_rows_are_picked_by_masks_and_numbers():
    run = some_run(10, bad=[2, 5])
    odd = np.arange(10) % 2 == 1
    same(run[odd], run[1::2])
    same(run[[5, -5, 0]], run[np.array([5, 5, 0])])
    assert_array_equal(run[[5, -5, 0]].bad_rows, [0, 1])
    assert len(run[[]]) == 0
    bank = some_bank(10)
    same(bank[odd, [2, 0]], bank[1::2, ::-2])
    same(bank[:, np.array([True, False, True])], bank[:, ::2])


def test_the_measures_from_a_row_on_are_those_of_the_rows_after_it():
    run = some_run(300)
    assert run[100:].mse == pytest.approx(np.mean((run.labels - run.predictions)[100:] ** 2))


@pytest.mark.parametrize("index", [3, np.int64(3), 1.5, "a", None, (1, 2), [0.5], [[1]]])
def test_an_index_that_picks_no_rows_says_how_to_write_one(index):
    with pytest.raises(TypeError, match=r"needs a slice, mask or array of rows, as in run\[100:\]"):
        some_run()[index]


def test_an_index_of_a_bank_that_picks_no_rows_says_how_to_write_one():
    run = some_bank()
    with pytest.raises(TypeError, match=r"run\[:, k\] is the replay of learner k"):
        run[2]
    with pytest.raises(TypeError, match=r"array of learners, as in run\[:, 1:3\]"):
        run[:, "a"]
    with pytest.raises(IndexError):
        run[:, 3]


def test_a_bank_without_names_and_an_old_one_can_be_picked_from():
    run = some_bank()
    unnamed = ol.BankReplay(run.predictions, run.labels, run.skipped)
    assert unnamed[5:, 1:].learners == ()
    assert "learner 2" in unnamed._repr_html_()


def test_a_run_goes_through_pickle():
    run = some_run(bad=[3])
    assert run.mse > 0
    twin = pickle.loads(pickle.dumps(run))
    same(twin, run)
    assert twin.rmse == run.rmse


# --- in a notebook ------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 2, 119, 121, 5000])
def test_a_notebook_shows_the_measures_and_a_picture(rows):
    run = some_run(rows)
    html = run._repr_html_()
    page = read(html)
    text = " ".join(page.text)
    assert f"{rows:,} rows" in text
    assert f"{run.rmse:.4g}".replace("-", "−") in text
    assert "nan" not in html.lower()
    assert "inf" not in html.lower()
    assert len(html) < 6000
    drawn = [tag for tag, _ in page.tags if tag == "svg"]
    assert len(drawn) == (1 if rows > 1 else 0)


def test_the_picture_has_the_colour_of_the_page_and_leaves_skipped_rows_out():
    run = some_run(60, bad=[*range(20, 30)])
    html = run._repr_html_()
    (line,) = [a["d"] for tag, a in read(html).tags if tag == "path" and "stroke-width" in a]
    assert line.count("M") == 2  # a gap
    assert "currentColor" in html
    assert "10 skipped" in html
    assert "absolute error of each row" in html


def test_the_picture_is_the_error_of_each_bin():
    y = np.zeros(1200)
    said = np.repeat([3.0, 1.0], 600)
    html = ol.Replay(said, y, NONE)._repr_html_()
    (line,) = [a["d"] for tag, a in read(html).tags if tag == "path" and "stroke-width" in a]
    heights = [float(point.split()[1]) for point in line[1:].split("L")]
    assert len(heights) == 120
    assert heights[:60] == [8.0] * 60  # 3, the largest: at the top
    assert heights[60:] == [88.0] * 60  # a third of the 120 above the axis
    assert "RMSE of each 10 rows" in html


def test_one_absurd_error_does_not_flatten_the_picture():
    run = some_run(100)
    run.predictions[0] = 1e6
    html = run._repr_html_()
    assert "cut at" in html
    assert "the largest is 1e+06" in html


@pytest.mark.parametrize("said", [np.zeros(50), np.full(50, np.inf), np.full(50, np.nan)])
def test_runs_without_an_error_or_of_nothing_but_are_shown_too(said):
    assert read(ol.Replay(said, np.zeros(50), NONE)._repr_html_())
    assert read(ol.Replay(said[:0], said[:0], NONE)._repr_html_())


def test_a_bank_is_shown_as_a_table_of_its_learners_and_names_are_escaped():
    run = some_bank()
    hostile = '<script>alert("x")</script>&amp;' * 9
    run = ol.BankReplay(run.predictions, run.labels, run.skipped, (hostile, "Ridge()", "NLMS()"))
    html = run._repr_html_()
    page = read(html)
    assert "script" not in {tag for tag, _ in page.tags}
    assert '<script>alert("x")</script>&amp;<script>' in "".join(page.text)
    assert hostile not in "".join(page.text)  # cut
    assert "skipped" in html
    best = int(np.argmin(run.rmse))
    bold = [i for i, (tag, a) in enumerate(page.tags) if tag == "tr" and "bold" in str(a)]
    assert len(bold) == 1
    assert f"{run.rmse[best]:.4g}" in html
    assert "nan" not in html


def test_of_a_large_bank_the_best_learners_are_shown():
    rng = np.random.default_rng(0)
    y = rng.normal(size=30)
    said = y[:, None] + rng.normal(size=(30, 500)) * np.arange(500, 0, -1)
    run = ol.BankReplay(said, y, np.zeros((30, 500), dtype=bool))
    html = run._repr_html_()
    assert "500 learners, the best 20" in html
    assert f"learner {int(np.argmin(run.rmse))}" in html
    assert len(html) < 20_000
