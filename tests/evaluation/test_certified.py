"""Certified learners: misuse, bad rows, interrupts and state files."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from table import CASES, IDS, make, same_bits, state, stream, stream_of

import onlinear as ol
from onlinear._evaluation.accounts import Accounts
from onlinear._state_files import file_format


def test_a_certificate_begins_with_the_first_row():
    X, y = stream(10)
    model = ol.AAR()
    model.learn_one(X[0], 1.0)
    with pytest.raises(ValueError, match="learnt 1 "):
        ol.certificate(model, X, y)
    with pytest.raises(TypeError, match="for one learner"):
        ol.Certified("AAR")


def test_a_learner_changed_from_outside_ends_the_certificate():
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
    X, y = stream_of(case, 20)
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
    assert same_bits(ol.certificate(ol.AAR(), frame, y, comparator=u).comparator, plain.comparator)
    with pytest.raises(ValueError, match="feature names"):
        ol.certificate(ol.AAR(), frame, y, comparator=u[::-1])
    with pytest.raises(ValueError, match="comparator needs numbers"):
        ol.certificate(ol.AAR(), X, y, comparator=list("abcde"))


@pytest.mark.parametrize("name", ["LASER", "CIRR", "EG", "RLS", "CRRLS"])
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


@pytest.mark.parametrize("where", ["certificate", "_count", "_end"])
def test_an_interrupt_at_any_point_undoes_everything(where, monkeypatch):
    X, y = stream(30)
    watched = ol.Certified(ol.AAR())
    watched.replay(X[:10], y[:10])
    before = pickle.dumps(watched)

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Accounts, where, interrupted)
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
        patch.setattr(Accounts, where, interrupted)
        with pytest.raises(KeyboardInterrupt):
            fresh.replay(X, y)
    assert same_bits(fresh.replay(X, y).ceiling, ol.certificate(ol.AAR(), X, y).ceiling)


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
    assert same_bits(proof.ceiling, ol.certificate(ol.AAR(), X, y).ceiling)
    watched = ol.Certified(ol.AAR())
    watched.replay(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        watched.replay(frame[list("edcba")], y)


def of_earlier_version(kind, age, monkeypatch, *, told):
    """Return a certified learner as an earlier version saved it; before 0.15, files told no version
    of the account."""
    X, y = (part[:30] for part in stream(60))
    guarantee = kind()._guarantee().earlier[age]
    with monkeypatch.context() as before:
        before.setattr(kind, "_guarantee", lambda self, search=True: guarantee)
        certified = ol.Certified(kind())
        certified.replay(X, y)
        certified.save("early.onl")
    if not told:
        header, arrays = file_format.read("early.onl")
        arrays["totals"] = arrays["totals"][:-1]
        file_format.write("early.onl", header, arrays)
    return certified


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("kind", [ol.RLS, ol.CRRLS])
def test_a_certificate_begun_before_its_learner_had_a_bound_goes_on_without_one(
    kind, told, monkeypatch
):
    certified = of_earlier_version(kind, -1, monkeypatch, told=told)
    again = ol.Certified.load("early.onl")
    assert again.loss == certified.loss
    assert "before version 0.14" in again.failed
    again.learn_one(np.ones(5), 1.0)
    assert again.rounds_ == 31


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("kind", [ol.RLS, ol.CRRLS])
def test_a_certificate_with_a_shorter_account_goes_on_with_the_same_bound(kind, told, monkeypatch):
    X, y = stream(60)
    whole = ol.certificate(kind(), X, y, engine="rank-one")
    of_earlier_version(kind, 0, monkeypatch, told=told)
    again = ol.Certified.load("early.onl")
    proof = again.replay(X[30:], y[30:], engine="rank-one")
    assert same_bits(proof.ceiling, whole.ceiling[30:])
    again.save("again.onl")
    assert ol.Certified.load("again.onl").ceiling == whole.ceiling[-1]


def test_an_account_of_a_later_version_is_refused():
    certified = ol.Certified(ol.AAR())
    certified.learn_one([1.0], 1.0)
    certified.save("later.onl")
    header, arrays = file_format.read("later.onl")
    arrays["totals"][-1] = 7.0
    file_format.write("later.onl", header, arrays)
    with pytest.raises(ol.StateFileError, match="cannot be continued from version 7 of it"):
        ol.Certified.load("later.onl")
