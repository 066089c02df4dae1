"""One model for each key: the bits of learners apart, however it is run, and wherever they are."""

import copy
import datetime
import pickle
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table import SETTINGS, make, state, stream, stream_of

import onlinear as ol
from onlinear._engine.segments import Segments
from onlinear._state_files import file_format
from onlinear._state_files.key_codec import canonical, decoded, encoded
from onlinear._wrappers.keyed import event_rounds, state_file, undo_log
from onlinear._wrappers.keyed.integer_table import FREE
from onlinear._wrappers.keyed.key_batch import key_batch, one_key
from onlinear._wrappers.keyed.key_index import KeyIndex
from onlinear._wrappers.keyed.model_store import ModelStore
from onlinear._wrappers.keyed.models import EventCounts
from onlinear._wrappers.keyed.record_cache import RecordCache
from onlinear._wrappers.keyed.spill_store import SpillStore, _Transaction

LINEAR = [(name, both[0]) for name, both in SETTINGS.items() if not name.startswith("Kernel")]
ROWS, KEYS = 400, 23
X, Y = stream(ROWS, d=4)
NUMBERS = np.random.default_rng(1).integers(KEYS, size=ROWS) * 3 - 20


def laser(**more):
    return ol.LASER(c=20.0, shrink=False, **more)


SMALL = 10_000  # bytes: 18 LASERs of four inputs


def apart(model, keys, X=X, y=Y):
    """Learners of their own, and what they predict."""
    models, predictions = {}, np.empty(len(X))
    for i, key in enumerate(keys):
        own = models.setdefault(key, copy.deepcopy(model))
        predictions[i] = own._number_one(X[i])
        own.learn_one(X[i], y[i])
    return models, predictions


def one_by_one(keyed, keys, X=X, y=Y):
    predictions = []
    for key, x, label in zip(keys, X, y, strict=True):
        predictions.append(keyed.predict_one(key, x))
        keyed.learn_one(key, x, label)
    return np.array(predictions)


def same(keyed, models):
    """Whether the models are these, to the bit."""
    assert len(keyed) == len(models)
    assert set(keyed) == set(models)
    for key, model in models.items():
        assert state(keyed[key]) == state(model), key
        assert keyed[key].n_skipped_ == model.n_skipped_
    return True


def bits(array):
    return np.ascontiguousarray(array).tobytes()


@pytest.fixture
def in_threads(monkeypatch):
    monkeypatch.setattr(event_rounds, "THREADS_PAY", 2)
    monkeypatch.setattr(event_rounds, "LARGEST_BLOCK", 50)


@pytest.mark.parametrize("case", LINEAR, ids=[name for name, _ in LINEAR])
def test_every_learner_has_the_bits_it_has_alone(case, in_threads, tmp_path):
    keys = NUMBERS.tolist()
    X, y = stream_of(case, ROWS)  # of five columns, inside every domain
    models, expected = apart(make(case), keys, X, y)
    keyed = ol.Keyed(make(case), threads=2)
    parts = [keyed.replay(NUMBERS[:150], X[:150], y[:150]).predictions]
    parts.append(one_by_one(keyed, keys[150:170], X[150:170], y[150:170]))
    keyed.save(tmp_path / "keyed.onl")
    keyed = ol.load(tmp_path / "keyed.onl")
    parts.append(keyed.replay(keys[170:], X[170:], y[170:]).predictions)
    assert bits(np.concatenate(parts)) == bits(expected)
    assert same(keyed, models)
    now = [models[key]._number_one(x) for key, x in zip(keys, X, strict=True)]
    assert bits(keyed.predict(keys, X)) == bits(now)


KINDS = {
    "numbers": NUMBERS.tolist(),
    "strings": [f"sensor {n}" for n in NUMBERS],
    "mixed": [int(n) if n % 2 else (str(n), int(n), b"x") for n in NUMBERS],
    "large": [int(n) * 10**18 * 3 for n in NUMBERS],  # some beyond 64 bits
    "fractions": [float(n) / 2 for n in NUMBERS],
    "objects": [frozenset([int(n)]) for n in NUMBERS],
}


@pytest.mark.parametrize("kind", KINDS)
def test_keys_of_any_kind(kind, tmp_path):
    keys = KINDS[kind]
    models, expected = apart(laser(), keys)
    keyed = ol.Keyed(laser())
    assert bits(keyed.replay(keys, X, Y).predictions) == bits(expected)
    assert same(keyed, models)
    again = ol.Keyed(laser())
    assert bits(one_by_one(again, keys)) == bits(expected)
    assert keys[0] in keyed
    assert "nobody" not in keyed
    if kind == "objects":
        with pytest.raises(TypeError, match=r"go to a file need to be numbers.*frozenset"):
            keyed.save(tmp_path / "keyed.onl")
        assert not list(tmp_path.iterdir())
        return
    keyed.save(tmp_path / "keyed.onl")
    assert same(ol.load(tmp_path / "keyed.onl"), models)


@pytest.mark.parametrize("how", [{"memory_limit": SMALL}, {"max_age": 30}, {"threads": 1}])
@pytest.mark.parametrize("kind", ["numbers", "mixed"])
def test_wherever_the_models_are_the_bits_are_the_same(how, kind, tmp_path):
    rng = np.random.default_rng(2)
    draws = (rng.pareto(1.0, size=ROWS) * 12).astype(int)  # some keys often, many once
    keys = draws.tolist() if kind == "numbers" else [(n, "a") if n % 3 else n for n in draws]
    models, expected = apart(laser(), keys)
    if "memory_limit" in how:
        assert len(models) > 60
    keyed = ol.Keyed(laser(), spill=tmp_path, **how)
    parts = [keyed.replay(keys[:100], X[:100], Y[:100]).predictions]
    parts.append(one_by_one(keyed, keys[100:200], X[100:200], Y[100:200]))
    keyed.save(tmp_path / "keyed.onl")
    keyed = ol.load(tmp_path / "keyed.onl")
    parts.append(keyed.replay(keys[200:300], X[200:300], Y[200:300]).predictions)
    keyed = pickle.loads(pickle.dumps(keyed))
    parts.append(keyed.replay(keys[300:], X[300:], Y[300:]).predictions)
    assert bits(np.concatenate(parts)) == bits(expected)
    assert same(keyed, models)
    now = [models[key].predict_one(x) for key, x in zip(keys, X, strict=True)]
    assert bits(keyed.predict(keys, X)) == bits(now)
    if "memory_limit" in how:
        assert keyed._models.store.cache.capacity < 30
        assert len(keyed._models.store.cache.keys) <= keyed._models.store.cache.capacity
        assert keyed.nbytes <= SMALL or kind == "mixed"


events = st.lists(
    st.tuples(st.integers(0, 40), st.sampled_from(["one", "replay", "save", "copy"])),
    min_size=1,
    max_size=60,
)


@settings(max_examples=30, deadline=None)
@given(events, st.sampled_from([{}, {"memory_limit": SMALL}, {"max_age": 5}]), st.booleans())
def test_however_a_stream_is_cut(events, how, pooled):
    """Calls in any mixture, against learners apart (or, if pooled, against calls one by one)."""
    keys = [key for key, _ in events]
    if pooled:
        reference = ol.Keyed(laser(), pooled=True)
        expected = one_by_one(reference, keys, X[: len(keys)], Y[: len(keys)])
        models = {key: reference[key] for key in keys}
    else:
        models, expected = apart(laser(), keys)
    expected = expected[: len(keys)]
    keyed, got, waiting = ol.Keyed(laser(), pooled=pooled, **how), [], 0
    with tempfile.TemporaryDirectory() as folder:
        for i, (_, action) in enumerate(events):
            if action == "replay" and i + 1 < len(events):
                continue
            rows = slice(waiting, i + 1)
            if action == "one":
                got.append(one_by_one(keyed, keys[rows], X[rows], Y[rows]))
            else:
                got.append(keyed.replay(keys[rows], X[rows], Y[rows]).predictions)
            waiting = i + 1
            if action == "save":
                keyed.save(f"{folder}/keyed.onl")
                keyed = ol.load(f"{folder}/keyed.onl")
            if action == "copy":
                keyed = copy.deepcopy(keyed)
    assert bits(np.concatenate(got)) == bits(expected)
    assert same(keyed, models)


def test_a_key_that_is_new_begins_with_the_average_of_the_others():
    rng = np.random.default_rng(0)
    truth = np.array([1.0, -2.0, 0.5])
    keys = [*np.repeat(np.arange(7), 30), 7, 0, 0, 8, 9]
    A = rng.normal(size=(len(keys), 3))
    b = A @ truth + 0.01 * rng.normal(size=len(keys))
    before, keyed = ol.Keyed(ol.Ridge()), ol.Keyed(ol.Ridge(), pooled=True)
    before.replay(keys[:211], A[:211], b[:211])
    keyed.replay(keys[:-2], A[:-2], b[:-2])
    weights = np.array([before[key].coef_ for key in range(8)])
    shares = np.array([*np.full(7, 30 / 33), 1 / 4])
    average = shares @ weights / shares.sum()
    np.testing.assert_allclose(average, truth, atol=0.2)
    for key in ("never seen", 8):
        assert keyed.predict_one(key, np.ones(3)) == pytest.approx(average.sum(), abs=1e-12)
    run = keyed.replay(keys[-2:], A[-2:], b[-2:])
    np.testing.assert_allclose(run.predictions, A[-2:] @ average, atol=1e-12)
    with pytest.raises(ValueError, match="pooled=False with a learner whose state is more"):
        ol.Keyed(ol.Auto(), pooled=True).learn_one(1, np.ones(3), 1.0)


def test_the_start_from_an_average_is_the_same_as_learning_what_is_left_of_it():
    """A second-order learner that begins with w̄ learns y − w̄ᵀx from 0."""
    keyed = ol.Keyed(laser(), pooled=True)
    for key in range(8):
        keyed.learn_one(key, X[key], Y[key])
    keyed.learn_one("new", X[8], Y[8])
    mean = keyed._models.store.start[-20:-16]
    alone = laser()
    alone.learn_one(X[8], Y[8] - mean @ X[8])
    np.testing.assert_allclose(keyed["new"].coef_, mean + alone.coef_, atol=1e-12)


def test_every_key_begins_with_what_the_model_has_learnt():
    model = laser()
    ol.replay(model, X[:50], Y[:50])
    keyed = ol.Keyed(model)
    assert keyed.predict_one(5, X[60]) == model.predict_one(X[60])
    models, expected = apart(model, NUMBERS.tolist())
    assert bits(keyed.replay(NUMBERS, X, Y).predictions) == bits(expected)
    assert same(keyed, models)
    assert model.rounds_ == 50


# --- what is refused ------------------------------------------------------------------------------


def whole_state(keyed):
    """All there is to know of it."""
    store = keyed._models.store
    records = [] if store is None else [rows.tobytes() for _, rows in store.cache.chunks()]
    return list(keyed), records, keyed.events_, keyed.n_skipped_, len(keyed), keyed.late_


@pytest.mark.parametrize("how", [{}, {"memory_limit": SMALL}, {"threads": 1}])
def test_a_bad_row_changes_nothing(how, in_threads, monkeypatch):
    monkeypatch.setattr(undo_log, "IN_MEMORY", 2000)  # most of what is undone was on disk
    keyed = ol.Keyed(laser(), **how)
    keyed.replay(NUMBERS[:100], X[:100], Y[:100])
    before = whole_state(keyed)
    bad = X.copy()
    bad[350, 2] = np.nan
    bad[360] = np.inf
    keys = [f"new {key}" if key % 5 == 0 else int(key) for key in NUMBERS]
    words = rf"key {keys[350]!r}: LASER needs finite input: X contains NaN in row 350, column 2; "
    with pytest.raises(ValueError, match=words + "every model is unchanged"):
        keyed.replay(keys, bad, Y)
    assert whole_state(keyed) == before
    labels = Y.copy()
    labels[7] = np.inf
    with pytest.raises(ValueError, match=r"y contains infinity in row 7; every model is unchanged"):
        keyed.replay(keys, X, labels)
    for key in (keys[0], "never seen"):
        with pytest.raises(ValueError, match=r"X contains NaN in this row, column 2"):
            keyed.learn_one(key, bad[350], 1.0)
        with pytest.raises(ValueError, match=r"X contains NaN in this row, column 2"):
            keyed.predict_one(key, bad[350])
        with pytest.raises(ValueError, match=r"y contains NaN"):
            keyed.learn_one(key, X[0], np.nan)
    assert whole_state(keyed) == before
    with pytest.raises(ValueError, match="row 350"):
        keyed.predict(keys, bad)
    models, expected = apart(laser(), NUMBERS.tolist())
    assert bits(keyed.replay(NUMBERS[100:], X[100:], Y[100:]).predictions) == bits(expected[100:])
    assert same(keyed, models)


def test_the_earliest_bad_row_is_named_whichever_portion_finds_one_first():
    keyed = ol.Keyed(laser(), memory_limit=SMALL)
    keys = np.arange(ROWS) % 100
    bad = X.copy()
    bad[[390, 311, 333]] = np.nan
    with pytest.raises(ValueError, match="row 311,"):
        keyed.replay(keys, bad, Y)
    assert len(keyed) == 0


def test_bad_rows_are_skipped_and_counted_if_asked():
    bad = X.copy()
    bad[[3, 50, 51]] = np.nan
    labels = Y.copy()
    labels[60] = np.nan
    model = laser(on_bad="skip")
    models, expected = apart(model, NUMBERS.tolist(), bad, labels)
    for how in ({}, {"memory_limit": SMALL}):
        keyed = ol.Keyed(model, **how)
        run = keyed.replay(NUMBERS, bad, labels)
        assert run.bad_rows.tolist() == [3, 50, 51, 60]
        assert bits(run.predictions) == bits(expected)
        assert np.isfinite(run.predictions[60])  # it could be predicted
        assert keyed.n_skipped_ == 4
        assert same(keyed, models)
        assert keyed.learn_one(NUMBERS[0], bad[3], 1.0) is False
        assert keyed.n_skipped_ == 5
    none = ol.Keyed(model)
    none.learn_one(1, [np.nan, 1.0], 1.0)  # does not say how wide the next will be
    assert none.learn_one(1, [1.0, 1.0, 1.0], 1.0)
    assert none.n_skipped_ == 1


def test_rows_without_a_key(tmp_path):
    keys = [float(n) for n in NUMBERS]
    keys[5], keys[9] = np.nan, None
    with pytest.raises(ValueError, match="a key in every row, row 5 has none; every model"):
        ol.Keyed(laser()).replay(keys, X, Y)
    keyed = ol.Keyed(laser(on_bad="skip"))
    run = keyed.replay(keys, X, Y)
    assert run.bad_rows.tolist() == [5, 9]
    assert np.isnan(run.predictions[[5, 9]]).all()
    assert keyed.n_skipped_ == 2
    rest = np.delete(np.arange(ROWS), [5, 9])
    _, expected = apart(laser(on_bad="skip"), NUMBERS[rest].tolist(), X[rest], Y[rest])
    assert bits(run.predictions[rest]) == bits(expected)
    one = ol.Keyed(laser(on_bad="skip"))
    predictions = one_by_one(one, keys)
    assert bits(predictions) == bits(run.predictions)
    assert without_stamps(one) == without_stamps(keyed)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ol.Keyed(3), TypeError, "Keyed needs a learner, got an int"),
        (lambda: ol.Keyed(ol.KernelAAR()), ValueError, "state does not grow, got KernelAAR"),
        (lambda: ol.Keyed(ol.LASER(c=-1)), ValueError, "0 < c"),
        (lambda: ol.Keyed(laser(), threads=0), ValueError, "1 ≤ threads"),
        (lambda: ol.Keyed(laser(), memory_limit=1.5), ValueError, "memory_limit=1.5"),
        (lambda: ol.Keyed(laser(), max_age=0), ValueError, "1 ≤ max_age"),
        (
            lambda: ol.Keyed(laser(), max_age=datetime.timedelta(0)),
            ValueError,
            "max_age > 0",
        ),
        (lambda: ol.Keyed(laser(), pooled="yes"), ValueError, "pooled"),
        (lambda: ol.Keyed(laser(), waiting=0), ValueError, "1 ≤ waiting"),
        (
            lambda: ol.Keyed(laser(), memory_limit=5000).learn_one(1, X[0], 1.0),
            ValueError,
            r"whole number \d+ ≤ memory_limit",
        ),
        (lambda: ol.Keyed(laser(), spill="not/there"), ValueError, "spill to be a folder"),
        (lambda: ol.Keyed(laser()).replay([1], X, Y), ValueError, "got 1 and 400"),
        (lambda: ol.Keyed(laser()).replay(3, X, Y), TypeError, "one per row, got 3"),
        (lambda: ol.Keyed(laser()).replay("ab", X[:2], Y[:2]), TypeError, "one per row, got 'ab'"),
        (lambda: ol.Keyed(laser()).replay(X, X, Y), ValueError, r"1-D\), got shape \(400, 4\)"),
        (lambda: ol.Keyed(laser()).learn_one([1], X[0], 1.0), TypeError, "hashable"),
        (lambda: ol.Keyed(laser()).learn_one(1, X[0], 1.0, id=3), ValueError, "got both, id=3"),
        (lambda: ol.Keyed(laser())["nobody"], KeyError, "nobody"),
    ],
)
def test_what_cannot_be_is_refused_in_words(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_columns_are_those_of_the_first_row():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    keyed = ol.Keyed(laser())
    keyed.replay(frame["a"] > 0.5, frame, Y)
    assert len(keyed) == 2
    assert keyed[1].feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names should match"):
        keyed.replay(NUMBERS, frame[list("abdc")], Y)
    with pytest.raises(ValueError, match="4 features, as the first row had, got 2"):
        keyed.learn_one(1, [1.0, 2.0], 1.0)


# --- interrupts -----------------------------------------------------------------------------------


def without_stamps(keyed):
    """The same, but for which runs there were."""
    records = [rows[:, 1:].tobytes() for _, rows in keyed._models.store.cache.chunks()]
    return list(keyed), records, keyed.events_, keyed.n_skipped_, len(keyed), keyed.late_


@pytest.mark.parametrize("how", [{}, {"memory_limit": SMALL}])
def test_ctrl_c_in_a_replay_changes_nothing(how, monkeypatch):
    """Wherever it falls: at every line of what a replay runs, one after the other."""
    modules = {"table_runs", "models", "model_store", "event_rounds", "undo_log", "segments"}
    modules |= {"record_cache", "key_index", "key_batch", "spill_store"}
    keyed = ol.Keyed(laser(), threads=1, **how)
    keyed.replay(NUMBERS[:100], X[:100], Y[:100])
    keys = [f"new {key}" if key % 5 == 0 else int(key) for key in NUMBERS]
    keys[120:140] = range(1000, 1020)
    before, lines, at = whole_state(keyed), 0, 1
    done = copy.deepcopy(keyed)
    done.replay(keys[100:160], X[100:160], Y[100:160])
    after = without_stamps(done)

    def trace(frame, event, argument):
        nonlocal lines
        name = frame.f_code.co_filename.rsplit("/", 1)[-1].removesuffix(".py")
        if name not in modules or frame.f_code.co_name in {"restore", "recover", "__exit__"}:
            return None
        if frame.f_code.co_name == "_run":  # Python raises none where a lock is released
            return None
        if event == "line":
            lines += 1
            if lines == at:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    interrupted = 0
    while True:
        lines = 0
        sys.settrace(trace)
        try:
            keyed.replay(keys[100:160], X[100:160], Y[100:160])
            break
        except KeyboardInterrupt:
            interrupted += 1
        finally:
            sys.settrace(None)
        if without_stamps(keyed) == after:  # it fell when all was done
            break
        assert whole_state(keyed) == before, at
        at += 7 if at > 60 else 1
    assert interrupted > 60
    assert without_stamps(keyed) == after


def test_what_is_on_disk_goes_with_the_models(tmp_path):
    keyed = ol.Keyed(laser(), memory_limit=SMALL, spill=tmp_path)
    keyed.replay(np.arange(ROWS), X, Y)
    assert len(list(tmp_path.iterdir())) == 1
    del keyed
    assert not list(tmp_path.iterdir())


def test_models_that_are_old_go_to_disk_by_count_or_by_the_clock():
    keyed = ol.Keyed(laser(), max_age=10)
    for key in range(40):
        keyed.learn_one(key, X[key], Y[key])
    assert len(keyed) == 40
    assert 10 <= len(keyed._models.store.cache.keys) <= 12
    now = 0.0
    keyed = ol.Keyed(laser(), max_age=datetime.timedelta(seconds=10), clock=lambda: now)
    for key in range(40):
        now = float(key)
        keyed.learn_one(key, X[key], Y[key])
    assert 10 <= len(keyed._models.store.cache.keys) <= 14
    assert [keyed[key].rounds_ for key in range(40)] == [1] * 40


# --- the models -----------------------------------------------------------------------------------


def test_statistics_and_access():
    keyed = ol.Keyed(laser())
    run = keyed.replay(NUMBERS, X, Y)
    table = keyed.statistics()
    assert table["key"] == sorted(set(NUMBERS.tolist()))
    for k, key in enumerate(table["key"]):
        (rows,) = np.nonzero(key == NUMBERS)
        one = keyed.statistics(key)
        assert one == tuple(table[name][k] for name in one._fields)
        assert (one.rounds, one.skipped, one.last_event) == (rows.size, 0, rows[-1])
        assert one.mean_squared_error == pytest.approx(run.losses[rows].mean(), rel=1e-12)
    assert keyed.events_ == ROWS
    assert repr(keyed) == "<Keyed LASER(c=20.0, shrink=False): 23 keys>"
    keyed[NUMBERS[0]].learn_one(X[0], 5.0)  # a copy
    assert keyed[NUMBERS[0]].rounds_ == keyed.statistics(NUMBERS[0]).rounds
    first = int(NUMBERS[0])
    del keyed[first]
    assert first not in keyed
    assert len(keyed) == 22
    assert keyed.predict_one(first, X[0]) == 0.0
    with pytest.raises(KeyError):
        del keyed[first]
    keyed.learn_one(first, X[0], Y[0])
    assert keyed[first].rounds_ == 1
    empty = ol.Keyed(laser()).statistics()
    assert empty["key"] == []
    assert [len(column) for column in empty.values()] == [0] * 5


def test_threads_may_predict_at_once():
    keyed = ol.Keyed(laser())
    keyed.replay(NUMBERS, X, Y)
    expected = [keyed.predict_one(key, x) for key, x in zip(NUMBERS, X, strict=True)]
    wrong = []

    whole = keyed.predict(NUMBERS, X)

    def work():
        for _ in range(5):
            wrong.append(bits(keyed.predict(NUMBERS, X)) != bits(whole))
            got = [keyed.predict_one(key, x) for key, x in zip(NUMBERS, X, strict=True)]
            wrong.append(got != expected)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [False] * 40


# --- files and shards -----------------------------------------------------------------------------


def test_shards_are_made_one(tmp_path):
    models, _ = apart(laser(), NUMBERS.tolist())
    shards = []
    for part in range(3):
        (rows,) = np.nonzero(part == NUMBERS % 3)
        shard = ol.Keyed(laser(), memory_limit=SMALL if part == 0 else None)
        if rows.size:
            shard.replay(NUMBERS[rows], X[rows], Y[rows])
        shards.append(shard)
    one = ol.merge(shards)
    assert same(one, models)
    assert one.events_ == ROWS
    assert sum(len(shard) for shard in shards) == len(one)
    with pytest.raises(
        ValueError, match=r"different keys, as LASER.* cannot be merged, got -20 in"
    ):
        ol.merge([one, shards[1], shards[0], shards[2]])
    with pytest.raises(ValueError, match="shards of the same new learner"):
        ol.merge([one, ol.Keyed(ol.LASER())])
    with pytest.raises(TypeError, match="all Keyed or none"):
        ol.merge([one, laser()])


def test_a_key_of_two_shards_is_merged_where_that_is_exact():
    half = ROWS // 2
    shards = [ol.Keyed(ol.Ridge()), ol.Keyed(ol.Ridge())]
    shards[0].replay(NUMBERS[:half], X[:half], Y[:half])
    shards[1].replay(NUMBERS[half:], X[half:], Y[half:])
    one, whole = ol.merge(shards), ol.Keyed(ol.Ridge())
    whole.replay(NUMBERS, X, Y)
    assert list(one) == list(whole)
    for key in whole:
        np.testing.assert_allclose(one[key].coef_, whole[key].coef_, rtol=1e-9, atol=1e-12)
        assert one[key].rounds_ == whole[key].rounds_ == one.statistics(key).rounds
    one.learn_one(int(NUMBERS[0]), X[0], Y[0])


def test_a_file_that_is_none_of_ours_is_refused(tmp_path):
    path = tmp_path / "keyed.onl"
    keyed = ol.Keyed(laser())
    keyed.replay(KINDS["mixed"], X, Y)
    keyed.save(path)
    header, arrays = file_format.read(path)
    content = path.read_bytes()
    path.write_bytes(content[:-100])
    with pytest.raises(ol.StateFileError, match="truncated"):
        ol.load(path)

    def spoilt(name, change):
        array = arrays[name].copy()
        change(array)
        return {name: array}

    def repeat(whole):
        whole[1] = whole[0]

    def infinite(records):
        records[3, -1] = np.inf

    def unsymmetric(records):
        records[0, -2] += 1.0

    def no_stamp(records):
        records[2, 0] = 0.0

    for change, words in (
        (spoilt("whole", repeat), "key more than once"),
        (spoilt("records", infinite), "not finite"),
        (spoilt("records", unsymmetric), "symmetric"),
        (spoilt("records", no_stamp), "was the last run of a model"),
        ({"records": arrays["records"][:-1]}, "numbers"),
        ({"whole": arrays["whole"].astype(float)}, "float64"),
        ({"others lengths": arrays["others lengths"] + 1}, "lengths"),
        (spoilt("others", lambda text: text.fill(ord("z"))), "no key has the bytes"),
    ):
        file_format.write(path, header, {**arrays, **change})
        with pytest.raises(ol.StateFileError, match=words):
            ol.load(path)
    for change, words in (
        ({"columns": [3, None]}, "3 features|numbers"),
        ({"columns": [4, ["a"]]}, "names"),
        ({"events": -1}, "number of rows"),
        ({"threads": "x"}, "threads"),
        ({"keyed": {"learner": "os.system"}}, "no learner"),
        ({"runs": 0.5}, "0.5 runs"),
        ({"runs": 1e17}, "1e[+]17 runs"),
        ({"runs": 0}, "was the last run of a model"),
    ):
        file_format.write(path, {**header, **change}, arrays)
        with pytest.raises(ol.StateFileError, match=words):
            ol.load(path)


def test_a_file_is_written_and_read_some_models_at_a_time(tmp_path, monkeypatch):
    from onlinear._wrappers.keyed import record_cache as _residence
    from onlinear._wrappers.keyed import spill_store as _store

    for module in (_residence, _store, state_file):
        monkeypatch.setattr(module, "ROWS", 7)
    keys = KINDS["mixed"]
    models, _ = apart(laser(), keys)
    for how in ({}, {"memory_limit": SMALL}):
        keyed = ol.Keyed(laser(), **how)
        keyed.replay(keys, X, Y)
        keyed.save(tmp_path / "keyed.onl")
        loaded = ol.load(tmp_path / "keyed.onl")
        assert same(loaded, models)
        assert loaded.memory_limit == how.get("memory_limit")
        assert bits(loaded.predict(keys, X)) == bits(keyed.predict(keys, X))


def test_an_error_whose_square_is_infinite_is_no_harm(tmp_path):
    keyed = ol.Keyed(laser())
    keyed.learn_one(1, X[0], 1e200)
    assert keyed.statistics(1).mean_squared_error == np.inf
    keyed.save(tmp_path / "keyed.onl")
    assert same(ol.load(tmp_path / "keyed.onl"), {1: keyed[1]})


def test_settings_survive(tmp_path):
    age = datetime.timedelta(days=2, microseconds=5)
    keyed = ol.Keyed(laser(), max_age=age, threads=2, waiting=7, expire_after=3)
    keyed.predict_one("a", X[0], id="first")
    keyed.save(tmp_path / "keyed.onl")
    loaded = ol.load(tmp_path / "keyed.onl")
    assert (loaded.max_age, loaded.threads, loaded.pooled) == (age, 2, False)
    assert loaded.late_.waiting == 1
    assert loaded.waiting == 7
    assert loaded.learn_one(id="first", y=2.0)
    assert loaded["a"].rounds_ == 1


# --- labels that come late ------------------------------------------------------------------------


@pytest.mark.parametrize("model", [laser(), ol.Auto()], ids=["LASER", "Auto"])
@pytest.mark.parametrize("how", [{}, {"memory_limit": 200_000}])
def test_late_labels_give_what_learners_apart_give(model, how, tmp_path):
    """Random delays, labels twice, labels of nobody: against remember and learn_late by hand."""
    rng = np.random.default_rng(3)
    keyed = ol.Keyed(model, waiting=1000, **how)
    models, kept, got, expected = {}, {}, [], []
    due = []
    learnt = duplicates = unknown = 0
    for t in range(250):
        key = f"key {NUMBERS[t]}"
        own = models.setdefault(key, copy.deepcopy(model))
        got.append(keyed.predict_one(key, X[t], id=t))
        expected.append(own.predict_one(X[t]))
        kept[t] = key, own.remember(X[t])
        due.append((t + int(rng.integers(30)), rng.random(), t))
        for _, _, id in sorted(item for item in due if item[0] <= t):
            key, ticket = kept[id]
            models[key].learn_late(ticket, Y[id])
            assert keyed.learn_one(id=id, y=Y[id])
            learnt += 1
            if rng.random() < 0.1:
                assert not keyed.learn_one(id=id, y=Y[id])
                duplicates += 1
        due = [item for item in due if item[0] > t]
        if rng.random() < 0.05:
            assert not keyed.learn_one(id=f"nobody {t}", y=1.0)
            unknown += 1
        if t == 120:
            keyed.save(tmp_path / "keyed.onl")
            keyed = ol.load(tmp_path / "keyed.onl")
    assert bits(got) == bits(expected)
    models = {key: own for key, own in models.items() if own._state is not None}
    assert same(keyed, models)
    counts = keyed.late_
    assert (counts.learnt, counts.waiting) == (learnt, len(due))
    assert (counts.duplicate_labels, counts.unknown) == (duplicates, unknown)
    assert duplicates
    assert unknown


def test_a_label_that_is_refused_leaves_its_row_waiting():
    keyed = ol.Keyed(laser())
    keyed.predict_one("a", X[0], id=1)
    with pytest.raises(ValueError, match="finite labels"):
        keyed.learn_one(id=1, y=np.nan)
    assert keyed.late_.waiting == 1
    assert len(keyed) == 0
    assert keyed.learn_one(id=1, y=1.0)
    assert keyed.predict_one("a", X[0], id=1) != 0.0  # predicted, but not to be learnt again
    assert keyed.late_.duplicate_rows == 1
    assert not keyed.learn_one(id=1, y=1.0)
    assert keyed["a"].rounds_ == 1


def test_a_thousand_evictions_mix_no_two_models_up():
    rng = np.random.default_rng(0)
    keys = rng.integers(300, size=6000)
    rows = X[rng.integers(ROWS, size=6000)]
    labels = rng.normal(size=6000)
    limited, free = ol.Keyed(laser(), memory_limit=18_000), ol.Keyed(laser())
    for few in (slice(k, k + 3) for k in range(0, 6000, 3)):
        limited.replay(keys[few], rows[few], labels[few])
    free.replay(keys, rows, labels)
    assert same(limited, {key: free[key] for key in free})


def test_keys_that_go_leave_the_others_alone():
    keyed = ol.Keyed(laser())
    for key in range(7):
        keyed.learn_one(key, X[key], Y[key])
    for key in (2, 5, 0):
        del keyed[key]
    keyed.replay([100] * 4, X[:4], Y[:4])
    for key in (200, 201, 202):
        keyed.learn_one(key, X[0], Y[0])
    assert list(keyed) == [1, 3, 4, 6, 100, 200, 201, 202]
    assert [keyed[key].rounds_ for key in keyed] == [1, 1, 1, 1, 4, 1, 1, 1]


@pytest.mark.parametrize("how", [{}, {"memory_limit": SMALL}])
def test_rows_without_a_key_are_not_predicted(how):
    keyed = ol.Keyed(laser(on_bad="skip"), **how)
    keys = [f"k{n}" for n in range(60)]
    keyed.replay(keys, X[:60], Y[:60])
    expected = [keyed.predict_one(key, x) for key, x in zip(keys, X, strict=False)]
    got = keyed.predict([*keys[:30], None, *keys[30:]], X[[*range(30), 0, *range(30, 60)]])
    assert np.isnan(got[30])
    assert bits(np.delete(got, 30)) == bits(expected)


def test_columns_of_keys_with_nulls():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    large = [2**60, 2**60 + 1, None]
    for column in (
        polars.Series(large),
        pandas.Series(large, dtype="Int64"),
        np.ma.array([2**60, 2**60 + 1, 3], mask=[False, False, True]),
    ):
        keyed = ol.Keyed(laser(on_bad="skip"))
        assert keyed.replay(column, X[:3], Y[:3]).bad_rows.tolist() == [2]
        assert list(keyed) == large[:2]
    keyed = ol.Keyed(laser(on_bad="skip"))
    words = pandas.Series(["a", pandas.NA, "b"], dtype="string")
    assert keyed.replay(words, X[:3], Y[:3]).bad_rows.tolist() == [1]


def test_what_was_learnt_row_by_row_is_there_when_a_replay_cannot_begin(monkeypatch):
    keyed = ol.Keyed(laser(), memory_limit=SMALL)
    one_by_one(keyed, range(10), X[:10], Y[:10])
    real, models = RecordCache.flush, {key: keyed[key] for key in range(10)}

    def interrupted(self, slots):
        real(self, slots[:3])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RecordCache, "flush", interrupted)
        with pytest.raises(KeyboardInterrupt):
            keyed.replay(np.arange(40), X[:40], Y[:40])
    assert same(keyed, models)


def test_a_full_disk_changes_nothing():
    keyed = ol.Keyed(laser(), memory_limit=SMALL)
    keyed.replay(np.arange(50), X[:50], Y[:50])
    before = whole_state(keyed)
    base = keyed._models.store.cache.disk._base
    pages = base.execute("PRAGMA page_count").fetchone()[0]
    base.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        keyed.replay(np.arange(ROWS), X, Y)
    base.execute("PRAGMA max_page_count = 100000")
    assert whole_state(keyed) == before
    keyed.replay(np.arange(ROWS), X, Y)
    assert len(keyed) == ROWS


@pytest.mark.parametrize("where", ["put_number", "claim"])
def test_new_keys_whose_entry_is_interrupted_are_not_there(where, monkeypatch, tmp_path):
    keyed = ol.Keyed(laser())
    keyed.replay([0, 1, 2], X[:3], Y[:3])
    before, real = whole_state(keyed), getattr(Segments, where)
    for learn in (
        lambda: keyed.learn_one(7, X[3], Y[3]),
        lambda: keyed.replay(np.arange(3, 40), X[:37], Y[:37]),
    ):
        calls = []

        def once(*arguments, calls=calls):
            calls.append(1)
            if len(calls) == 1:
                raise KeyboardInterrupt
            return real(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(Segments, where, once)
            with pytest.raises(KeyboardInterrupt):
                learn()
        assert whole_state(keyed) == before
    keyed.save(tmp_path / "keyed.onl")
    assert same(ol.load(tmp_path / "keyed.onl"), {key: keyed[key] for key in range(3)})


@pytest.mark.parametrize("how", [{}, {"memory_limit": SMALL}, {"pooled": True}])
def test_ctrl_c_after_a_new_key_was_learnt(how, monkeypatch):
    """Then it was not: the key is gone again, whole."""
    keyed = ol.Keyed(laser(), **how)
    keyed.replay(np.arange(7), X[:7], Y[:7])
    before, real = whole_state(keyed), ModelStore.round

    def interrupted(*arguments, **named):
        real(*arguments, **named)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ModelStore, "round", interrupted)
        with pytest.raises(KeyboardInterrupt):
            keyed.learn_one("new", X[8], Y[8])
    assert whole_state(keyed) == before
    assert keyed.learn_one("new", X[8], Y[8])
    assert len(keyed) == len(list(keyed)) == 8


def test_a_row_learnt_in_an_interrupted_call_has_a_run_of_its_own(monkeypatch, tmp_path):
    """The next replay, undone, took the number of that run and removed the key as a new one."""
    keyed = ol.Keyed(ol.Ridge())
    keyed.replay(["a", "b"], [[1.0, 2.0], [3.0, 4.0]], [1.0, 2.0])
    plus, calls = EventCounts.plus, []

    def interrupted(self, *counts):
        calls.append(counts)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return plus(self, *counts)

    with monkeypatch.context() as patch:
        patch.setattr(EventCounts, "plus", interrupted)
        with pytest.raises(KeyboardInterrupt):
            keyed.learn_one("a", [1.0, 0.0], 5.0)
    keyed.save(tmp_path / "keyed.onl")
    before = whole_state(keyed)
    for rows in (["b", "b"], ["a", "b"]):
        with pytest.raises(ValueError, match="every model is unchanged"):
            keyed.replay(rows, [[1.0, 1.0], [np.nan, 1.0]], [1.0, 1.0])
        assert whole_state(keyed) == before


# --- unusual keys, orders and interrupts -----------------------------------------------------


@pytest.mark.parametrize("where", ["before", "after"])
def test_ctrl_c_while_the_disk_commits_is_all_or_nothing(where, monkeypatch):
    keyed = ol.Keyed(laser(), memory_limit=SMALL)
    keyed.replay(NUMBERS[:100], X[:100], Y[:100])
    before, real = whole_state(keyed), SpillStore.commit

    def interrupted(self):
        if where == "after":
            real(self)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SpillStore, "commit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            keyed.replay(NUMBERS[100:], X[100:], Y[100:])
    if where == "before":
        assert whole_state(keyed) == before
        keyed.replay(NUMBERS[100:], X[100:], Y[100:])
    models, _ = apart(laser(), NUMBERS.tolist())
    assert same(keyed, models)
    assert keyed.events_ == ROWS == keyed.statistics()["rounds"].sum()


def test_ctrl_c_at_the_end_of_what_goes_to_disk_loses_nothing(monkeypatch):
    rng = np.random.default_rng(5)
    keys = rng.integers(200, size=900)
    rows, labels = X[rng.integers(ROWS, size=900)], rng.normal(size=900)
    keyed, real, left = ol.Keyed(laser(), memory_limit=SMALL), _Transaction.__exit__, [20]

    def interrupted(self, kind, *rest):
        left[0] -= 1
        if left[0] == 0 and kind is None:
            raise KeyboardInterrupt
        return real(self, kind, *rest)

    monkeypatch.setattr(_Transaction, "__exit__", interrupted)
    for i in range(600):
        try:
            keyed.learn_one(keys[i], rows[i], labels[i])
        except KeyboardInterrupt:
            keyed.learn_one(keys[i], rows[i], labels[i])
    assert left[0] < 0
    keyed.replay(keys[600:], rows[600:], labels[600:])
    models, _ = apart(laser(), keys.tolist(), rows, labels)
    assert same(keyed, models)
    assert keyed.events_ == 900


@pytest.mark.parametrize("act", ["replay", "learn_one"])
def test_what_cannot_be_sent_to_disk_for_its_age_is_said_before_anything_is_learnt(
    act, monkeypatch
):
    keyed = ol.Keyed(laser(), max_age=10)
    keyed.replay(NUMBERS[:100], X[:100], Y[:100])
    before = whole_state(keyed)

    def full(self, event):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(RecordCache, "evict_before", full)
    arguments = (NUMBERS[100:], X[100:], Y[100:])
    if act == "learn_one":
        arguments = (NUMBERS[100], X[100], Y[100])
    with pytest.raises(sqlite3.OperationalError):
        getattr(keyed, act)(*arguments)
    assert whole_state(keyed) == before


@pytest.mark.parametrize("pooled", [False, True])
def test_bad_rows_before_the_first_good_one_make_no_key_however_they_come(pooled):
    keys = [f"k{n % 14}" for n in range(30)]
    bad = X[:30].copy()
    bad[[0, 1, 7]] = np.nan
    keys[1] = None
    model = laser(on_bad="skip")
    whole, one = ol.Keyed(model, pooled=pooled), ol.Keyed(model, pooled=pooled)
    got = whole.replay(keys, bad, Y[:30])
    assert bits(got.predictions) == bits(one_by_one(one, keys, bad, Y[:30]))
    assert got.bad_rows.tolist() == [0, 1, 7]
    assert without_stamps(whole) == without_stamps(one)


def test_merged_shards_know_which_late_labels_were_learnt(tmp_path):
    one, two = ol.Keyed(ol.Ridge(), expire_after=5), ol.Keyed(ol.Ridge())
    one.predict_one("w", X[0], id="waits")
    for id in range(10):
        two.predict_one("x", X[id], id=id)
        two.learn_one(id=id, y=Y[id])
    whole = ol.merge([one, two])
    assert whole.late_[:3] == (1, 10, 0)
    whole.save(tmp_path / "whole.onl")
    whole = ol.load(tmp_path / "whole.onl")
    whole.predict_one("x", X[3], id=3)
    assert not whole.learn_one(id=3, y=Y[3])
    assert whole.statistics("x").rounds == 10
    assert whole.learn_one(id="waits", y=1.0)  # it is no older than it was
    with pytest.raises(ValueError, match="share no id of late labels, got 0 in two"):
        ol.merge([two, two])
    one.replay(["a", "b"], X[:2], Y[:2])
    assert ol.merge([one, two]).statistics("x").last_event == 11


def test_numbers_that_are_equal_are_one_key_and_times_are_no_numbers(tmp_path):
    keyed = ol.Keyed(laser())
    for key in (Decimal(1), 1, Fraction(1), True, np.float32(1)):
        keyed.learn_one(key, X[0], Y[0])
    assert list(keyed) == [1]
    day = np.datetime64("2020-01-01", "ns")
    keyed.replay(np.array([day, day]), X[:2], Y[:2])
    keyed.learn_one(day, X[0], Y[0])
    assert len(keyed) == 2
    assert keyed[day].rounds_ == 3
    assert np.timedelta64(1, "ns") not in keyed
    assert np.nan not in keyed
    for key in (day, (day, 1)):
        lone = ol.Keyed(laser())
        lone.learn_one(key, X[0], Y[0])
        with pytest.raises(TypeError, match="datetime64: str"):
            lone.save(tmp_path / "keyed.onl")


def test_a_key_that_only_waits_can_be_given_up():
    keyed = ol.Keyed(laser())
    keyed.predict_one("a", X[0], id=1)
    del keyed["a"]
    assert keyed.late_.waiting == 0
    for key in ("a", np.nan):
        with pytest.raises(KeyError):
            del keyed[key]


def test_time_is_what_the_clock_says():
    now = [0.0]
    keyed = ol.Keyed(laser(), expire_after=datetime.timedelta(seconds=5), clock=lambda: now[0])
    keyed.predict_one("a", X[0], id=1)
    now[0] = 6.0
    assert keyed.expire() == 1
    assert keyed.clock() == 6.0


def test_settings_are_to_be_read(tmp_path):
    keyed = ol.Keyed(laser(), memory_limit=SMALL, spill=tmp_path)
    for name in ("memory_limit", "max_age", "spill", "pooled", "threads", "waiting"):
        with pytest.raises(AttributeError):
            setattr(keyed, name, 3)
    keyed.replay(NUMBERS, X, Y)
    keyed.save("keyed.onl")
    assert ol.load("keyed.onl").spill is None
    assert ol.load("keyed.onl", spill=tmp_path).spill == tmp_path
    away = tmp_path / "away"
    away.mkdir()
    lost = ol.Keyed(laser(), memory_limit=SMALL, spill=away)
    kept = pickle.dumps(lost)
    del lost
    away.rmdir()
    with pytest.warns(RuntimeWarning, match="does not exist here: the folder for temporary files"):
        assert pickle.loads(kept).spill is None


def test_keys_that_are_no_numbers_count_for_the_memory_limit_too():
    for keys in (range(300), [f"sensor {n}" for n in range(300)], KINDS["mixed"]):
        keyed = ol.Keyed(laser(), memory_limit=SMALL)
        keys = list(keys)
        keyed.replay(keys, X[: len(keys)], Y[: len(keys)])
        one_by_one(keyed, keys[:40], X[:40], Y[:40])
        assert keyed.nbytes <= SMALL
    ol.Keyed(laser(), memory_limit=10**15).learn_one(1, X[0], Y[0])  # more than there is


def test_errors_name_what_the_user_knows():
    keyed = ol.Keyed(laser())
    with pytest.raises(TypeError, match=r"^Keyed.__init__\(\) got an unexpected .*'memory_limt'"):
        ol.Keyed(laser(), memory_limt=3)
    with pytest.raises(TypeError, match=r"^Keyed.replay\(\) missing 1"):
        keyed.replay(X, Y)
    with pytest.raises(TypeError, match="got a Keyed; it has a replay of its own"):
        ol.replay(keyed, X, Y)
    with pytest.raises(ValueError, match=r"needs a label: \(key, x, y\), or \(id=..., y=...\)"):
        keyed.learn_one("order 1", 1.0)
    with pytest.raises(ValueError, match="or a timedelta, got max_age='1h'"):
        ol.Keyed(laser(), max_age="1h")


# --- the parts ------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(-(2**63), 2**63 - 1)), max_size=200))
def test_the_table_of_keys_is_a_dict(changes):
    """Against a dict: entered, found, taken out."""
    keys, segments, reference = KeyIndex(), Segments(3), {}
    for enter, number in changes:
        number = number if number % 3 else number % 17  # some again
        given = key_batch(np.array([number, number]))
        if enter:
            slots = keys.slots_of(given)
            keys.enter(given, slots, segments)
            reference.setdefault(number, int(slots[0]))
            assert slots.tolist() == [reference[number]] * 2
        elif number in reference:
            keys.remove(one_key(number))
            segments.release(np.array([reference.pop(number)]))
        assert keys.slot(number) == reference.get(number, FREE)
    everyone = key_batch(np.array([*reference, *range(20)], dtype=np.int64))
    found = [reference.get(key, FREE) for key in everyone.integers.tolist()]
    assert keys.slots_of(everyone).tolist() == found
    assert len(keys) == len(reference)
    assert len(set(reference.values())) == len(reference)


def test_many_keys_are_entered_at_once_and_the_table_grows():
    numbers = np.random.default_rng(0).integers(-(2**62), 2**62, size=200_000)
    numbers = np.concatenate([numbers, numbers[::-1]])
    keys, segments = KeyIndex(), Segments(3)
    slots = keys.slots_of(key_batch(numbers))
    new = keys.enter(key_batch(numbers), slots, segments)
    assert new.slots.size == np.unique(numbers).size == len(keys)
    assert np.array_equal(slots, slots[::-1])
    assert np.array_equal(keys.slots_of(key_batch(numbers)), slots)
    assert slots.max() < len(keys) + 70_000
    assert segments._used == len(keys)


def test_records_stay_where_they_are_when_the_bank_grows():
    segments = Segments(9)
    first = segments.claim(10)
    segments.put(first, np.arange(90.0).reshape(10, 9))
    places = segments.place[0][:1].copy()
    segments.claim(3 * segments.each)
    assert segments.place[0][:1] == places
    assert segments.rows(first).ravel().tolist() == list(range(90))
    assert all(address % 64 == 0 for address in segments.place[0])


keys_of_files = st.recursive(
    st.one_of(
        st.integers(),
        st.text(),
        st.binary(),
        st.floats(allow_nan=False),
        st.sampled_from(["\ud800", -0.0]),
    ),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)


@settings(max_examples=100, deadline=None)
@given(keys_of_files, keys_of_files)
def test_keys_to_bytes_and_back(one, other):
    assert decoded(encoded(canonical(one))) == one
    assert (encoded(canonical(one)) == encoded(canonical(other))) == (one == other)


def test_the_least_recently_used_go_first():
    home = RecordCache(10, capacity=20)
    for key in range(20):
        slots = np.zeros(1, dtype=np.int64)
        home.load(one_key(key), np.zeros(1, dtype=np.int64), slots)
        row = np.zeros((1, 10))
        row[0, :2] = 1.0, (key * 7) % 20  # the stamp, the last event
        row[0, 5] = np.array([key]).view(np.float64)[0]
        home.segments.put(slots, row)
    home.load(one_key("one more"), np.zeros(1, dtype=np.int64), slots)
    gone = [key for key in range(20) if home.keys.slot(key) == FREE]
    assert sorted((key * 7) % 20 for key in gone) == list(range(len(gone)))
    assert 1 <= len(gone) <= 3
    assert home.read(key_batch(gone))[0][:, 1].tolist() == [(key * 7) % 20 for key in gone]


PROGRAM = """
import signal, numpy as np, onlinear as ol
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
keyed = ol.Keyed(ol.LASER(c=20.0, shrink=False))
rng = np.random.default_rng(0)
X, y = rng.normal(size=(400_000, 4)), rng.normal(size=400_000)
keys = rng.integers(1000, size=400_000)
keyed.replay(keys[:5000], X[:5000], y[:5000])
before = [rows.tobytes() for _, rows in keyed._models.store.cache.chunks()]
print("ready", flush=True)
try:
    while True:
        keyed.replay(np.tile(keys, 4), np.tile(X, (4, 1)), np.tile(y, 4))
        before = [rows.tobytes() for _, rows in keyed._models.store.cache.chunks()]
except KeyboardInterrupt:
    print([rows.tobytes() for _, rows in keyed._models.store.cache.chunks()] == before)
"""


def test_a_real_ctrl_c(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[0] == "True\n"
    finally:
        process.kill()


def test_an_interrupt_that_prevents_undoing_spoils_no_later_replay(monkeypatch):
    """It fell before a single line of the undoing had run: later replays are all or nothing."""
    X, y = stream(50)
    keys, bad = np.arange(50) % 5, X.copy()
    bad[40, 1] = np.nan
    keyed = ol.Keyed(ol.NLMS(), threads=1)
    keyed.replay(keys, X, y)

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("onlinear._engine.transaction.Transaction.__exit__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            keyed.replay(keys, bad, y)
    for _ in range(2):
        before = [keyed[key].coef_.tolist() for key in range(5)]
        with pytest.raises(ValueError, match="NaN in row 40"):
            keyed.replay(keys, bad, y)
        assert [keyed[key].coef_.tolist() for key in range(5)] == before
