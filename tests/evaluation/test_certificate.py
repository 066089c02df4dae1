"""The certificate: one set of figures however it is come by, and words where there are none."""

import copy
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from table import CASES, IDS, make, state, stream

import onlinear as ol

FIGURES = ("loss", "comparator", "ceiling", "bound", "slack", "holds")


def same(a, b):
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_row_by_row_in_bulk_in_parts_and_resumed_give_the_same_bits(case, tmp_path):
    X, y = stream(60)
    bulk = ol.certificate(make(case), X, y)
    single = ol.Certified(make(case))
    for t in range(20):
        single.learn_one(X[t], float(y[t]))
        for name in FIGURES:
            assert same(getattr(single, name), getattr(bulk, name)[t])
    single.save(tmp_path / "watched.onl")
    resumed = [ol.Certified.load(tmp_path / "watched.onl"), copy.deepcopy(single)]
    resumed.append(pickle.loads(pickle.dumps(single)))
    for watched in [single, *resumed]:
        rest = watched.replay(X[20:], y[20:])
        for name in FIGURES:
            assert same(getattr(rest, name), getattr(bulk, name)[20:])
        assert watched.failed == bulk.failed
        assert watched.rounds_ == 60


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_watching_a_learner_does_not_change_what_it_does(case):
    X, y = stream(60)
    alone, watched = make(case), make(case)
    run, proof = ol.replay(alone, X, y), ol.certificate(watched, X, y)
    assert state(alone) == state(watched)
    assert same(run.predictions, proof.run.predictions)
    assert same(run.cumulative_loss, proof.loss)


def test_the_figures_belong_together():
    X, y = stream(100)
    proof = ol.certificate(ol.LASER(), X, y)
    np.testing.assert_array_equal(proof.bound, proof.ceiling - proof.comparator)
    np.testing.assert_array_equal(proof.slack, proof.ceiling - proof.loss)
    np.testing.assert_array_equal(proof.regret, proof.loss - proof.comparator)
    assert proof.holds.dtype == bool
    assert proof.holds.all()
    assert proof.failed is None
    assert "holds" in repr(proof)
    assert "Theorem 12" in proof.theorem
    best = ol.hindsight.best_drifting(X, y, 1.0, 100.0)
    np.testing.assert_allclose(proof.comparator, best, rtol=1e-14)


def test_the_comparator_of_aar_is_the_best_fixed_predictor():
    X, y = stream(100)
    proof = ol.certificate(ol.AAR(b=0.3), X, y)
    np.testing.assert_allclose(proof.comparator, ol.hindsight.best_fixed(X, y, 0.3), rtol=1e-12)


@pytest.mark.parametrize("kind", [ol.EG, ol.EGPM, ol.EGU, ol.GD])
def test_the_comparator_of_a_first_order_learner_is_nearly_the_best_of_its_class(kind):
    """Any u of the class will do for the ceiling; this one is to be worth showing."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2000, 4)) / 2
    truth = np.array([0.1, 0.6, 0.3, 0.0])
    y = X @ truth + 0.01 * rng.normal(size=2000).clip(-1, 1)
    y = y.clip(0, 1)
    proof = ol.certificate(kind(**({"eta": 0.2} if kind is ol.GD else {})), X, y)
    given = ol.certificate(kind(**({"eta": 0.2} if kind is ol.GD else {})), X, y, comparator=truth)
    assert proof.ceiling[-1] <= 1.1 * given.ceiling[-1]


# --- where there is no bound ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (ol.CRRLS(), "CR-RLS"),
        (ol.RLS(), "RLS that forgets"),
        (ol.ONS(), "ONS without a radius"),
        (ol.ARCOR(), "ARCOR with resets and without a finite radius"),
        (ol.OGD(schedule="sqrt"), "falling rate"),
        (ol.OSLOG(first="w0"), "w0"),
    ],
    ids=repr,
)
def test_a_learner_without_a_theorem_has_its_regret_and_says_so(model, words):
    X, y = stream(50)
    proof = ol.certificate(model, X, y)
    assert proof.failed.startswith("no bound is known for")
    assert words in proof.failed
    assert proof.failed_from == 0
    assert np.isfinite(proof.regret).all()
    assert np.isnan(proof.ceiling).all()
    assert not proof.holds.any()
    assert "no bound is known" in repr(proof)
    watched = ol.Certified(type(model)(**model.get_params()))
    assert "no bound" in watched.failed
    assert math.isnan(watched.ceiling)


@pytest.mark.parametrize(
    ("model", "spoil", "rule", "value"),
    [
        (ol.LASER(clip=1.0), {"y": 3.0}, "|y| ≤ clip", "3"),
        (ol.AAR(clip=1.0), {"y": -2.0}, "|y| ≤ clip", "2"),
        (ol.Ridge(clip=1.0), {"y": 3.0}, "|y| ≤ clip", "3"),
        (ol.OSLOG(clip=1.0), {"y": 3.0}, "|y| ≤ clip", "3"),
        (ol.GD(eta=0.25), {"x": 1.9}, "η‖x‖² < 3/4", "0.9025"),
        (ol.EG(eta=2.0, X=5.0), {"x": 2.0}, "η·range² < 8/3", "8"),
        (ol.EGPM(eta=0.5, X=5.0), {"x": 2.0}, "< 10/3", "8"),
        (ol.EGU(eta=0.3, X=5.0), {"x": 2.0}, "3η·x_i·Y ≤ 1", "1.8"),
        (ol.ONS(gamma=0.1, radius=1.0), {"y": 3.0}, "2γ(radius·‖x‖ + |y|)² ≤ 1", "3.2"),
    ],
    ids=repr,
)
def test_a_hypothesis_that_fails_is_named_with_its_row_and_value(model, spoil, rule, value):
    X, y = np.eye(3)[np.arange(30) % 3], np.full(30, 0.5)
    X[17, 17 % 3] = spoil.get("x", 1.0)
    y[17] = spoil.get("y", 0.5)
    proof = ol.certificate(model, X, y)
    assert rule in proof.failed
    assert f"row 17 has {value}," in proof.failed
    assert proof.failed_from == 17
    assert proof.holds[:17].all()
    assert not proof.holds[17:].any()
    assert np.isnan(proof.ceiling[17:]).all()
    assert np.isfinite(proof.comparator).all()


# --- given comparators ----------------------------------------------------------------------


def test_a_given_path_is_priced_as_the_theorem_prices_it():
    X, y = stream(40)
    b, c = 2.0, 7.0
    u = np.cumsum(0.1 * np.random.default_rng(0).normal(size=(40, 5)), axis=0)
    proof = ol.certificate(ol.LASER(b, c), X, y, comparator=u)
    best = ol.certificate(ol.LASER(b, c), X, y)
    for t in (1, 2, 40):
        loss = np.sum((y[:t] - np.sum(X[:t] * u[:t], axis=1)) ** 2)
        penalty = b * u[0] @ u[0] + c * ol.hindsight.squared_drift(u[:t])
        assert proof.comparator[t - 1] == pytest.approx(loss, rel=1e-12)
        assert proof.bound[t - 1] == pytest.approx(penalty + best.bound[t - 1], rel=1e-9)
    assert np.all(proof.ceiling >= best.ceiling)
    along = ol.hindsight.drifting_path(X, y, b, c)
    there = ol.certificate(ol.LASER(b, c), X, y, comparator=along)
    assert there.ceiling[-1] == pytest.approx(best.ceiling[-1], rel=1e-12)
    assert there.against == "loss of the given u"
    assert "2·‖u_1‖² + 7·Σ‖u_t+1 − u_t‖²" in there.theorem


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_one_vector_is_the_path_that_repeats_it(case):
    X, y = stream(40)
    u = np.array([0.2, 0.1, 0.3, 0.2, 0.2])
    one = ol.certificate(make(case), X, y, comparator=u)
    many = ol.certificate(make(case), X, y, comparator=np.tile(u, (40, 1)))
    np.testing.assert_allclose(one.comparator, many.comparator, rtol=1e-12)
    np.testing.assert_allclose(one.ceiling, many.ceiling, rtol=1e-12)
    assert one.failed == many.failed


@pytest.mark.parametrize(
    ("model", "u", "words"),
    [
        (ol.AAR(), "moves", "one u for all rounds"),
        (ol.GD(eta=0.1), "moves", "one u for all rounds"),
        (ol.GD(eta=0.1, radius=0.1), "moves", "‖u_t‖ ≤ radius"),
        (ol.ARCOR(radius=0.1), "moves", "‖u_t‖ ≤ radius"),
        (ol.EG(), "moves", "simplex"),
        (ol.EGPM(U=0.5, alpha=0.1), "moves", "‖u_t‖₁ ≤ U"),
        (ol.EGU(), "moves", "one u ≥ 0 for all rounds"),
    ],
    ids=repr,
)
def test_a_path_outside_the_class_ends_the_bound_where_it_leaves(model, u, words):
    X, y = stream(30)
    u = np.tile([0.05, 0.05, 0.0, 0.0, 0.0], (30, 1))
    if type(model) is ol.EG:
        u = np.tile([1.0, 0.0, 0.0, 0.0, 0.0], (30, 1))
    u[12:] = [0.0, 0.0, 0.9, 0.3, -0.1]
    proof = ol.certificate(model, X, y, comparator=u)
    assert words in proof.failed
    assert "row 12 has u = [" in proof.failed
    assert proof.failed_from == 12
    assert proof.holds[:12].all()
    assert np.isnan(proof.ceiling[12:]).all()
    losses = (y - np.sum(X * u, axis=1)) ** 2
    np.testing.assert_allclose(proof.comparator, np.cumsum(losses), rtol=1e-12)


@pytest.mark.parametrize(
    ("u", "rule"),
    [
        (np.ones(4), "each of 5 inputs"),
        (np.ones((9, 5)), "each of 10 rounds"),
        ([np.nan] * 5, "finite"),
    ],
)
def test_a_comparator_of_the_wrong_shape_is_refused_before_anything_is_learnt(u, rule):
    X, y = stream(10)
    model = ol.AAR()
    with pytest.raises(ValueError, match=rule):
        ol.certificate(model, X, y, comparator=u)
    assert model._state is None


# --- misuse, bad rows, files ----------------------------------------------------------------


def test_a_certificate_begins_with_the_first_row():
    X, y = stream(10)
    model = ol.AAR()
    model.learn_one(X[0], 1.0)
    with pytest.raises(ValueError, match="learnt 1 "):
        ol.certificate(model, X, y)
    with pytest.raises(TypeError, match="for a learner"):
        ol.Certified("AAR")


def test_a_learner_changed_by_other_hands_ends_the_certificate():
    X, y = stream(10)
    watched = ol.Certified(ol.AAR())
    watched.learn_one(X[0], 1.0)
    watched.model.learn_one(X[1], 1.0)
    with pytest.raises(ValueError, match="2 rows, 1 of them"):
        watched.learn_one(X[2], 1.0)
    watched = ol.Certified(ol.AAR())
    watched.learn_one(X[0], 1.0)
    watched.model.b = 2.0
    with pytest.raises(ValueError, match=r"b was 1.0 and is 2.0"):
        watched.replay(X, y)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_a_bad_row_changes_nothing(case):
    X, y = stream(20)
    watched = ol.Certified(make(case))
    watched.replay(X, y)
    before = pickle.dumps(watched)
    worse = X.copy()
    worse[7, 2] = np.inf
    with pytest.raises(ValueError, match="infinity in row 7, column 2"):
        watched.replay(worse, y)
    with pytest.raises(ValueError, match="finite"):
        watched.learn_one(worse[7], 1.0)
    assert pickle.dumps(watched) == before


def test_where_the_accounts_end_the_learner_goes_on():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[30:, :2] += 1e8  # two columns that are the same to eight digits
    y = rng.normal(size=60)
    alone, model = ol.Ridge(), ol.Ridge()
    ol.replay(alone, X, y)
    proof = ol.certificate(model, X, y)
    assert "double precision" in proof.failed
    assert proof.failed_from >= 30
    assert proof.holds[: proof.failed_from].all()
    assert np.isnan(proof.comparator[proof.failed_from :]).all()
    assert state(model) == state(alone)
    watched = ol.Certified(ol.Ridge())
    for x, label in zip(X, y, strict=True):
        watched.learn_one(x, float(label))
    assert watched.failed == proof.failed
    assert state(watched.model) == state(alone)


def test_squares_that_do_not_fit_end_the_accounts_and_not_the_learner():
    X, y = np.ones((4, 1)), np.array([1.0, 1e160, 1.0, 1.0])
    with np.errstate(over="ignore"):
        proof = ol.certificate(ol.NLMS(), X, y)
    assert "fit in floating point" in proof.failed
    assert proof.failed_from == 1


@pytest.mark.parametrize(
    ("model", "x", "y"),
    [
        (ol.OSLOG(), [12345.0], 1.0),
        (ol.OSLOG(), [54321.0, 1.0], 1.0),
        (ol.CIRR(), [54321.0, 1.0], 1.0),
        (ol.EGPM(U=100.0, X=1e6), [7e5, 3e5], 0.5),
        (ol.EG(X=1e6), [7e5, 3e5], 5e5 + 1),
        (ol.EG(), [1e7 + 0.3, 1e7 + 0.9], 1e7 + 0.5),
        (ol.NLMS(eta=1.999999), [0.0], 1.0),
        (ol.Ridge(), [1e6, 1.0], 1.0),
    ],
    ids=repr,
)
def test_large_inputs_are_no_false_alarm(model, x, y):
    proof = ol.certificate(model, [x, x], [y, y])
    assert proof.failed is None
    assert proof.holds.all()


def test_eg_far_from_the_origin_is_no_false_alarm():
    rng = np.random.default_rng(0)
    X = 1e7 + rng.uniform(size=(3000, 4))
    y = X.mean(axis=1) + 0.3 * rng.normal(size=3000)
    assert ol.certificate(ol.EG(), X, y).holds.all()
    exact = rng.uniform(size=(20, 3))
    assert ol.certificate(ol.EG(), exact, exact.mean(axis=1)).holds.all()
    u = np.array([0.25, 0.25, 0.25, 0.25 + 9e-10])
    assert ol.certificate(ol.EG(), X + 9e7, (X + 9e7) @ (u / u.sum()), comparator=u).holds.all()


def test_rows_are_numbered_as_in_the_table_though_some_are_skipped():
    X, y = np.ones((30, 1)), np.full(30, 0.5)
    X[[2, 5, 20]] = np.nan
    y[9] = 3.0
    proof = ol.certificate(ol.AAR(clip=1.0, on_bad="skip"), X, y)
    assert proof.failed_from == 9
    assert "row 9 has 3" in proof.failed
    assert np.isfinite(proof.ceiling[:9]).all()
    assert np.isnan(proof.ceiling[9:]).all()
    assert "30 rounds, 3 skipped" in repr(proof)
    watched = ol.Certified(ol.AAR(clip=1.0, on_bad="skip"))
    first, second = watched.replay(X[:7], y[:7]), watched.replay(X[7:], y[7:])
    assert first.failed is None
    assert (second.failed_from, second.start) == (2, 7)
    assert "row 9 has 3" in second.failed
    third = watched.replay(X[:2], y[:2])
    assert third.failed_from == 0
    assert third.failed == second.failed == watched.failed
    singly = ol.Certified(ol.AAR(clip=1.0, on_bad="skip"))
    for x, label in zip(X, y, strict=True):
        singly.learn_one(x, float(label))
    assert singly.failed == proof.failed
    u = np.zeros((30, 1))
    u[12:] = 5.0
    moved = ol.certificate(ol.AAR(on_bad="skip"), X, y, comparator=u)
    assert moved.failed_from == 12


def test_a_named_comparator_is_checked_by_name():
    X, y = stream(20)
    frame = pd.DataFrame(X, columns=list("abcde"))
    u = pd.Series([0.1, 0.2, 0.3, 0.4, 0.5], index=list("abcde"))
    plain = ol.certificate(ol.AAR(), X, y, comparator=u.to_numpy())
    assert same(ol.certificate(ol.AAR(), frame, y, comparator=u).comparator, plain.comparator)
    with pytest.raises(ValueError, match="feature names"):
        ol.certificate(ol.AAR(), frame, y, comparator=u[::-1])
    with pytest.raises(ValueError, match="comparator needs numbers"):
        ol.certificate(ol.AAR(), X, y, comparator=list("abcde"))


@pytest.mark.parametrize("name", ["LASER", "CIRR", "EG", "RLS"])
def test_rows_left_out_count_for_nobody(name):
    X, y = stream(30)
    bad = np.isin(np.arange(30), [0, 1, 9, 29])
    dirty = X.copy()
    dirty[bad, 0] = np.nan
    clean = ol.certificate(ol.LEARNERS[name](), X[~bad], y[~bad])
    proof = ol.certificate(ol.LEARNERS[name](on_bad="skip"), dirty, y)
    for figure in ("loss", "comparator"):
        np.testing.assert_array_equal(getattr(proof, figure)[~bad], getattr(clean, figure))
    assert proof.loss[1] == proof.comparator[1] == 0.0
    assert proof.comparator[9] == proof.comparator[8]
    if clean.failed is None:
        assert proof.holds.all()
    watched = ol.Certified(ol.LEARNERS[name](on_bad="skip"))
    for x, label in zip(dirty, y, strict=True):
        watched.learn_one(x, float(label))
    assert watched.loss == proof.loss[-1]
    assert watched.comparator == proof.comparator[-1]
    u = np.tile([1.0, 0.0, 0.0, 0.0, 0.0], (30, 1))
    if name != "CIRR":
        against = ol.certificate(ol.LEARNERS[name](on_bad="skip"), dirty, y, comparator=u)
        assert against.comparator.shape == (30,)


def test_nothing_but_bad_rows_is_nothing():
    proof = ol.certificate(ol.LASER(on_bad="skip"), [[np.nan]], [1.0])
    assert proof.loss[0] == proof.ceiling[0] == 0.0


@pytest.mark.parametrize("where", ["_certificate", "_end"])
def test_an_interrupt_at_any_point_undoes_everything(where, monkeypatch):
    X, y = stream(30)
    watched = ol.Certified(ol.AAR())
    watched.replay(X[:10], y[:10])
    before = pickle.dumps(watched)

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ol.Certified, where, interrupted)
        with pytest.raises(KeyboardInterrupt):
            watched.replay(X[10:], y[10:])
    assert pickle.dumps(watched) == before
    with monkeypatch.context() as patch:
        patch.setattr(type(watched._accounts.ledger), "add_one", interrupted)
        with pytest.raises(KeyboardInterrupt):
            watched.learn_one(X[10], float(y[10]))
    assert pickle.dumps(watched) == before
    fresh = ol.Certified(ol.AAR())
    with monkeypatch.context() as patch:
        patch.setattr(ol.Certified, where, interrupted)
        with pytest.raises(KeyboardInterrupt):
            fresh.replay(X, y)
    assert same(fresh.replay(X, y).ceiling, ol.certificate(ol.AAR(), X, y).ceiling)


def test_files_are_told_apart(tmp_path):
    model = ol.AAR()
    model.learn_one([1.0], 1.0)
    model.save(tmp_path / "model.onl")
    watched = ol.Certified(ol.AAR())
    watched.learn_one([1.0], 1.0)
    watched.save(tmp_path / "watched.onl")
    with pytest.raises(ol.StateFileError, match=r"use Certified\.load"):
        ol.load(tmp_path / "watched.onl")
    with pytest.raises(ol.StateFileError, match=r"use onlinear\.load"):
        ol.Certified.load(tmp_path / "model.onl")


def test_an_altered_certificate_is_refused(tmp_path):
    from onlinear._state_files import file_format

    path = tmp_path / "watched.onl"
    watched = ol.Certified(ol.AAR())
    watched.learn_one([1.0, 2.0], 1.0)
    watched.save(path)
    header, arrays = file_format.read(path)
    odd = [arrays["accounts"].copy() for _ in range(5)]
    for accounts, place, value in zip(
        odd, (3, 4, 4, 0, -1), (1.5, 77, -5, np.nan, np.inf), strict=True
    ):
        accounts[place] = value  # rows, what is broken, the comparator, Σ
    for change in (
        *({"accounts": accounts} for accounts in odd),
        {"accounts": arrays["accounts"][:-1]},
        {"accounts": np.zeros(0)},
        {"accounts": arrays["accounts"] * np.nan},
        {"totals": np.array([math.nan, 1.0, 1.0, 0.0])},
        {"totals": np.array([1.0, math.inf, 1.0, 0.0])},
        {"totals": np.array([1.0, 1.0, 1.0, 2.0])},
        {"totals": np.zeros(2)},
    ):
        file_format.write(path, header, {**arrays, **change})
        with pytest.raises(ol.StateFileError, match="does not describe"):
            ol.Certified.load(path)


def test_accounts_of_an_arcor_that_never_resets_can_be_saved(tmp_path):
    X, y = stream(50)
    watched = ol.Certified(ol.ARCOR(radius=1.0, q=np.inf))
    watched.replay(X[:30], y[:30])
    watched.save(tmp_path / "watched.onl")
    again = ol.Certified.load(tmp_path / "watched.onl")
    assert again.replay(X[30:], y[30:]).ceiling[-1] == watched.replay(X[30:], y[30:]).ceiling[-1]


def test_a_certified_learner_that_has_learnt_nothing_can_be_saved(tmp_path):
    ol.Certified(ol.GD()).save(tmp_path / "new.onl")
    watched = ol.Certified.load(tmp_path / "new.onl")
    assert watched.loss == watched.ceiling == 0.0
    watched.learn_one([1.0], 1.0)
    assert watched.holds


def test_frames_are_taken_and_their_names_checked():
    X, y = stream(20)
    frame = pd.DataFrame(X, columns=list("abcde"))
    proof = ol.certificate(ol.AAR(), frame, pd.Series(y))
    assert same(proof.ceiling, ol.certificate(ol.AAR(), X, y).ceiling)
    watched = ol.Certified(ol.AAR())
    watched.replay(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        watched.replay(frame[list("edcba")], y)


# --- the picture ----------------------------------------------------------------------------


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_one_call_draws_loss_comparators_and_ceiling(tmp_path):
    X, y = stream(80)
    ax = ol.regret_plot(ol.LASER(), X, y, log=True, also={"nought": np.cumsum(y * y)})
    assert legend(ax) == ["LASER()", "best fixed", "nought", "loss", "comparator", "ceiling"]
    assert ax.get_yscale() == "log"
    proof = ol.certificate(ol.LASER(), X, y)
    for line, curve in zip(ax.lines, (proof.loss, proof.comparator, proof.ceiling), strict=False):
        np.testing.assert_array_equal(line.get_ydata(), curve)
    ax.figure.savefig(tmp_path / "regret.png")
    assert (tmp_path / "regret.png").stat().st_size > 10_000


def test_several_learners_and_certificates_can_be_drawn_together():
    X, y = stream(80)
    watched = ol.Certified(ol.AAR(clip=0.9))
    watched.replay(X[:40], y[:40])
    proof = watched.replay(X[40:], y[40:])
    ax = ol.regret_plot([proof, ol.RLS(on_bad="skip")], np.vstack([X[:40], X[:40] * np.nan]), y)
    assert legend(ax)[:3] == ["AAR(clip=0.9)", "RLS(on_bad='skip')", "best fixed"]
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), np.arange(41, 81))


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (lambda X, y: ol.regret_plot(ol.RLS()), "needs X and y"),
        (lambda X, y: ol.regret_plot([], X, y), "needs learners or certificates"),
        (lambda X, y: ol.regret_plot(ol.RLS, X, y), "needs learners or certificates"),
        (lambda X, y: ol.regret_plot([3], X, y), "needs learners or certificates"),
        (lambda X, y: ol.regret_plot(ol.RLS(), X, y, also={"a": [1.0]}), "needs 80 values"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, rule):
    with pytest.raises((TypeError, ValueError), match=rule):
        call(*stream(80))
