"""Calls are atomic: under any number of interrupts, in threads, and after a fork."""

import contextlib
import copy
import os
import signal
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from interrupts import interrupted
from scipy import sparse
from table import stream

import onlinear as ol
from onlinear._engine.status import BUSY
from onlinear._engine.transaction import Transaction, all_or_nothing
from onlinear.river import River

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 3)), RNG.normal(size=60)
LIMIT = 40_000  # bytes: some sixty models of NLMS


def file_of(model):
    model.save("told.onl")
    return Path("told.onl").read_bytes()


def told_keyed(keyed):
    """All there is to know of a Keyed, except the numbers of its runs."""
    counts = len(keyed), keyed.events_, keyed.n_skipped_, keyed.late_  # the first call mends
    records = {
        repr(keys.key(i)): row[1:].tobytes()
        for keys, rows in keyed._models.chunks()
        for i, row in enumerate(rows)
    }
    pending = keyed._late.pending._contents()
    arrays = pending.rows.tickets.tobytes(), pending.how.tobytes()
    return repr((counts, sorted(records.items()), pending.rows.ids, pending.settled, arrays))


def told_river(river):
    return repr(sorted(river._columns.items())) + repr(river.learner._record.tolist())


def learnt(model, rows=20):
    ol.replay(model, X[:rows], Y[:rows])
    return model


def bank():
    made = ol.Bank([ol.NLMS(), ol.Ridge(), ol.NLMS(eta=0.5, on_bad="skip")])
    return learnt(made)


def late():
    made = ol.Late(ol.Ridge(), limit=5)
    for t in range(12):
        made.predict_one(X[t], id=t)
        if t in (3, 5, 6):
            made.learn_one(id=t - 1, y=Y[t])
    return made


def keyed(**settings):
    made = ol.Keyed(ol.NLMS(on_bad="skip"), threads=1, **settings)
    made.replay(
        [f"k{i % 7}" for i in range(20)] + list(range(90)),
        np.vstack([X, X])[:110],
        np.r_[Y, Y][:110],
    )
    for t in range(4):
        made.predict_one(t, X[t], id=f"row {t}")
    return made


def filtering(made, row):
    for t in range(8):
        if made.decide(row(t)) and t < 6:
            made.feedback(row(t), np.sign(Y[t]))
    assert made.waiting_
    return made


def waiting_row(made, row):
    return next(
        row(t) for t in (7, 6, 5, 4, 3, 2, 1, 0) if made.copy()._waiting and _waits(made, row(t))
    )


def _waits(made, x):
    try:
        made.copy().feedback(x, 1)
    except ValueError:
        return False
    return True


def dense(t):
    return X[t] / np.linalg.norm(X[t])


def text(t):
    return sparse.csr_matrix(dense(t) * (np.arange(3) != t % 3))


def river():
    made = River(ol.Ridge())
    for t in range(5):
        made.learn_one({"a": X[t, 0], "b": X[t, 1]}, Y[t])
    return made


def mapped():
    return learnt(ol.features.Mapped(ol.features.Nystroem(landmarks=50), ol.NLMS()), 8)


SPILL = {"memory_limit": LIMIT}
CASES = {  # an object, what is done to it, and what is known of it
    "learn_one": (lambda: learnt(ol.Ridge()), lambda m: m.learn_one(X[30], 1.0), file_of),
    "the first row": (ol.Ridge, lambda m: m.learn_one(X[0], 1.0), file_of),
    "replay": (lambda: learnt(ol.Ridge()), lambda m: ol.replay(m, X[20:], Y[20:]), file_of),
    "fit": (lambda: learnt(ol.Ridge()), lambda m: m.fit(X[20:], Y[20:]), file_of),
    "a state that grows": (
        lambda: learnt(ol.KernelGD(eta=0.1), 16),
        lambda m: m.learn_one(X[30], 1.0),
        lambda m: repr((m.rounds_, m.dual_coef_.tolist(), m.examples_.tolist())),
    ),
    "late, a row": (late, lambda m: m.predict_one(X[20], id=20), file_of),
    "late, a label": (late, lambda m: m.learn_one(id=9, y=0.5), file_of),
    "certified": (
        lambda: ol.Certified(ol.AAR()),
        lambda m: m.learn_one(X[0], 1.0),
        file_of,
    ),
    "bank": (bank, lambda m: m.learn_one(X[30], 1.0), file_of),
    "bank, replay": (bank, lambda m: ol.replay(m, X[20:], Y[20:]), file_of),
    "mapped": (mapped, lambda m: m.learn_one(X[30], 1.0), file_of),
    "river, a new feature": (river, lambda m: m.learn_one({"c": 1.0}, 2.0), told_river),
    "keyed": (keyed, lambda m: m.learn_one("k1", X[30], 1.0), told_keyed),
    "keyed, a new key": (keyed, lambda m: m.learn_one("new", X[30], 1.0), told_keyed),
    "keyed, a bad row": (keyed, lambda m: m.learn_one("k1", [np.nan] * 3, 1.0), told_keyed),
    "keyed, a late label": (keyed, lambda m: m.learn_one(id="row 2", y=1.0), told_keyed),
    "keyed, a key less": (keyed, lambda m: m.__delitem__(2), told_keyed),
    "keyed, replay": (keyed, lambda m: m.replay(["k1", "new"] * 5, X[:10], Y[:10]), told_keyed),
    "spilled": (lambda: keyed(**SPILL), lambda m: m.learn_one("k1", X[30], 1.0), told_keyed),
    "spilled, a new key": (
        lambda: keyed(**SPILL),
        lambda m: m.learn_one("new", X[30], 1.0),
        told_keyed,
    ),
    "spilled, replay": (
        lambda: keyed(**SPILL),
        lambda m: m.replay(["k1", "new", 3] * 5, X[:15], Y[:15]),
        told_keyed,
    ),
    "a decision": (
        lambda: filtering(ol.RidgeFilter(), dense),
        lambda m: m.decide(dense(40)),
        file_of,
    ),
}
for name, make in {
    "SimpleFilter": ol.SimpleFilter,
    "Perceptron": ol.Perceptron,
    "AppleTasting": lambda: ol.AppleTasting(ol.Perceptron(), p=1.0),
    "PRidgeFilter": lambda: ol.PRidgeFilter(p=1.0),
    "PRidgeFilter in dual form": lambda: ol.PRidgeFilter(p=1.0, form="dual"),
    "LaserFilter": lambda: ol.LaserFilter(p=1.0),
    "RidgeFilter with an ellipsoid": lambda: ol.RidgeFilter(rule="ellipsoid"),
}.items():
    CASES[f"{name}.feedback"] = (
        lambda make=make: filtering(make(), dense),
        lambda m: m.feedback(waiting_row(m, dense), 1),
        file_of,
    )
CASES["RidgeFilter.feedback on text"] = (
    lambda: filtering(ol.RidgeFilter(), text),
    lambda m: m.feedback(waiting_row(m, text), 1),
    file_of,
)


@pytest.mark.parametrize("case", CASES)
def test_whatever_interrupts_come_a_call_is_done_or_was_not_begun(case, tmp_path, monkeypatch):
    """At line after line, one; then two and three, close to each other."""
    monkeypatch.chdir(tmp_path)
    make, act, tell = CASES[case]
    start = make()
    done = copy.deepcopy(start)
    act(copy.deepcopy(start))  # compiled
    act(done)
    allowed, seen = {tell(start), tell(done)}, set()

    def attempt(moments):
        model = copy.deepcopy(start)
        came = interrupted(lambda: act(model), moments)
        told = tell(model)
        assert told in allowed, moments
        seen.add(told)
        with contextlib.suppress(KeyError):  # a key that is gone
            act(model)  # it still works
        return came

    line = 1
    while attempt([line]):
        line += 1 if line < 40 else 3 if line < 150 else 11
    assert line > 10
    for _ in range(25):
        first = int(RNG.integers(1, line))
        gaps = RNG.integers(1, 14, size=int(RNG.integers(1, 3)))
        attempt([first, *(first + np.cumsum(gaps)).tolist()])
    assert seen == allowed


# --- threads ------------------------------------------------------------------------------------


def at_once(*calls, rounds=150):
    """Run each call so many times, in threads at once; raise what one of them raises."""
    errors = []

    def work(call):
        try:
            for i in range(rounds):
                call(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def saved_and_loaded(model, path, check):
    def call(i):
        if i % 10 == 0:
            model.save(path)
            check(ol.load(path))

    return call


def rounds_are_whole(model):
    """Σ⁻¹ = I + Σ xxᵀ with x = e_j: what was learnt shows in Σ and in the number of rounds."""
    if model._state is not None:
        assert round(float(np.sum(1 / np.diag(model.covariance_) - 1))) == model.rounds_


def test_threads_share_a_learner(tmp_path):
    model, rows = ol.Ridge(), np.eye(3)[np.arange(3000) % 3]
    at_once(
        *[lambda i, j=j: model.learn_one(rows[j], 1.0) for j in range(3)],
        lambda i: ol.replay(model, rows, rows[:, 0]) if i % 30 == 0 else None,
        lambda i: model.predict(rows) if i % 10 == 0 else None,
        lambda i: model.predict_one(rows[0]),
        lambda i: rounds_are_whole(copy.copy(model)),
        saved_and_loaded(model, tmp_path / "model.onl", rounds_are_whole),
    )
    assert model.rounds_ == 3 * 150 + 5 * 3000


def test_threads_share_late_labels(tmp_path):
    late, rows = ol.Late(ol.Ridge(), limit=40), np.eye(3)

    def whole(loaded):
        rounds = loaded.model.rounds_ if loaded.model._state is not None else 0
        assert rounds == loaded.counts_.learnt
        rounds_are_whole(loaded.model)

    def round_trip(j):
        def call(i):
            late.predict_one(rows[j % 3], id=(j, i))
            late.learn_one(id=(j, i - 3), y=1.0)

        return call

    at_once(*map(round_trip, range(6)), saved_and_loaded(late, tmp_path / "late.onl", whole))
    whole(late)
    counts = late.counts_
    assert counts.waiting + counts.learnt + counts.expired == 6 * 150


@pytest.mark.parametrize("settings", [{}, {"memory_limit": LIMIT}])
def test_threads_share_models_by_key(settings, tmp_path):
    keyed, rows = ol.Keyed(ol.NLMS(), **settings), np.eye(3)

    def whole(loaded):
        assert int(np.sum(loaded.statistics()["rounds"])) == loaded.events_

    def learn(j):
        def call(i):
            keyed.learn_one((j, i % 25), rows[j % 3], 1.0)
            keyed.predict_one((j + 1, i % 25), rows[0])
            keyed.predict_one(j, rows[0], id=(j, i))
            keyed.learn_one(id=(j, i - 2), y=1.0)

        return call

    at_once(
        *map(learn, range(5)),
        lambda i: keyed.replay(range(200), np.ones((200, 3)), np.ones(200)) if i % 30 == 0 else 0,
        lambda i: [keyed.statistics(), len(keyed), list(keyed)] if i % 20 == 0 else None,
        saved_and_loaded(keyed, tmp_path / "keyed.onl", whole),
        rounds=90,
    )
    whole(keyed)
    assert keyed.events_ == 5 * 90 + 5 * 88 + 3 * 200


def test_a_call_in_a_signal_handler_sees_no_half_of_another(tmp_path):
    """The handler runs in the middle of a replay: it may predict, but not save half a replay."""
    model, seen = learnt(ol.Ridge(), 30), []

    class Rude:
        """Progress that calls the model, as a signal handler may at any moment."""

        def __call__(self, row, rows):
            seen.append(model.predict_one(X[0]))
            with pytest.raises(RuntimeError, match="Ridge is in the middle of a call"):
                model.save(tmp_path / "model.onl")

    before = model.rounds_
    model._run(X, Y, learn=True, progress=Rude())
    assert seen
    assert model.rounds_ == before + 60
    model.save(tmp_path / "model.onl")


class Reentrant:
    """A row that calls an object when it is read, as a signal handler may at any moment."""

    def __init__(self, act):
        self.act, self.error = act, None

    def __array__(self, dtype=None, copy=None):
        if self.error is None:
            with pytest.raises(RuntimeError) as self.error:
                self.act()
        return X[30]


@pytest.mark.parametrize(
    ("make", "act"),
    [
        (keyed, lambda m, x: m.learn_one("k1", x, 1.0)),
        (late, lambda m, x: m.predict_one(x, id=99)),
        (lambda: filtering(ol.Perceptron(), dense), lambda m, x: m.decide(x)),
        (lambda: ol.Certified(ol.AAR()), lambda m, x: m.learn_one(x, 1.0)),
    ],
)
def test_what_cannot_be_called_within_a_call_says_so(make, act, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = make()
    row = Reentrant(lambda: act(model, X[31]))
    act(model, row)
    assert "is in the middle of a call, which a signal handler has" in str(row.error.value)
    alone = make()
    act(alone, X[30])
    tell = told_keyed if isinstance(model, ol.Keyed) else file_of
    assert tell(model) == tell(alone)


@pytest.mark.parametrize(
    "model",
    [
        ol.Bank([ol.Ridge()]),
        ol.features.Mapped(ol.features.RandomFourier(), ol.NLMS()),
        ol.Ridge(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_two_threads_cannot_begin_with_rows_of_different_widths(model, monkeypatch):
    """The width was checked before the lock was taken: here, another thread comes in between."""
    ended, columns = [], type(model)._columns

    def replay_wider_rows():
        with pytest.raises(ValueError, match="6 features, but"):
            ol.replay(model, np.ones((5, 6)), np.ones(5))
        ended.append("refused")

    thread = threading.Thread(target=replay_wider_rows)

    def interrupted_by_another(self):
        value = columns(self)
        if thread.ident is None:
            thread.start()
            thread.join(0.2)
        return value

    monkeypatch.setattr(type(model), "_columns", interrupted_by_another)
    ol.replay(model, X[:5, :2], Y[:5])
    thread.join()
    assert ended == ["refused"]


# --- processes ----------------------------------------------------------------------------------


def in_a_child(act):
    """Run a function in a forked child; return its exit status: 0 if it returned True."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)
        os._exit(0 if act() is True else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@needs_fork
def test_a_child_may_use_a_model_whose_lock_another_thread_held():
    model, holds, done = learnt(ol.Ridge()), threading.Event(), threading.Event()

    def hold():
        with model._lock, all_or_nothing(model):
            model._learn_one(X[0], 1.0)  # half of something
            holds.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    holds.wait()
    assert in_a_child(lambda: model.rounds_ == 20) == 0
    done.set()
    thread.join()
    assert model.rounds_ == 21


@needs_fork
def test_a_refused_replay_changes_nothing_also_beside_a_forked_child(monkeypatch):
    """Parent and child had one file for the undo log."""
    monkeypatch.setattr("onlinear._wrappers.keyed.undo_log.IN_MEMORY", 0)
    keys, rows, labels = np.arange(600) % 50, np.ones((600, 3)), np.arange(600.0)
    model = ol.Keyed(ol.NLMS(), threads=1)
    model.replay(keys, rows, labels)

    def refused():
        before, bad = told_keyed(model), rows.copy()
        bad[599, 1] = np.nan
        with pytest.raises(ValueError, match="NaN in row 599"):
            model.replay(keys, bad, -labels)
        return told_keyed(model) == before

    read, write = os.pipe()

    def in_the_child():
        os.read(read, 1)
        return all(refused() for _ in range(5))

    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        os._exit(0 if in_the_child() else 1)
    os.write(write, b"x")
    assert all(refused() for _ in range(5))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@needs_fork
def test_a_child_refuses_the_models_its_parent_has_on_disk():
    model = keyed(**SPILL)
    before = told_keyed(model)

    def refused():
        acts = (
            lambda: model.replay([1, 2], X[:2], Y[:2]),
            lambda: model.learn_one(3, X[0], 1.0),
            lambda: model.learn_one("k1", X[0], 1.0),
            lambda: list(model),
        )
        for act in acts:
            with pytest.raises(RuntimeError, match=f"file of process {os.getppid()}, from which"):
                act()
        return True

    assert in_a_child(refused) == 0
    assert told_keyed(model) == before
    model.replay([1, 2], X[:2], Y[:2])


# --- rounds that take no lock -------------------------------------------------------------------


def test_a_round_waits_for_a_replay_of_another_thread():
    model, (X, y) = ol.LASER(), stream(64)
    model.learn_one(X[0], 1.0)
    model.learn_one(X[0], 1.0)  # from now on without the lock
    in_the_middle, go_on, learnt = threading.Event(), threading.Event(), threading.Event()

    def progress(row, rows):
        in_the_middle.set()
        go_on.wait(60)

    def one():
        model.learn_one(X[0], 1.0)
        learnt.set()

    table = threading.Thread(
        target=lambda: model._run(X, y, learn=True, progress=progress), daemon=True
    )
    table.start()
    assert in_the_middle.wait(60)
    single = threading.Thread(target=one, daemon=True)
    single.start()
    assert not learnt.wait(0.2)
    go_on.set()
    table.join()
    single.join()
    expected = ol.LASER()
    ol.replay(expected, [X[0], X[0], *X, X[0]], [1.0, 1.0, *y, 1.0])
    assert model._record.tobytes() == expected._record.tobytes()


def refuse(model, X, y):
    with pytest.raises(ValueError, match="infinity in row 29"):
        ol.replay(model, X, [*y[:-1], np.inf])


@pytest.mark.parametrize(
    "change",
    [
        lambda model, X, y: model.set_params(c=3.0),
        lambda model, X, y: model.fit(X, y),
        refuse,
    ],
    ids=["another parameter", "another state", "a state put back"],
)
def test_a_round_that_another_thread_has_begun_with_what_was_before_a_change_is_run_anew(change):
    """Between looking up the arrays and the compiled call, another thread may change the model."""
    model, (X, y) = ol.LASER(), stream(30)
    for _ in range(2):
        model.learn_one(X[0], 1.0)
    one, _, state, params, work, busy = model._direct
    change(model, X, y)
    before = model._record.copy()
    assert one(state, params, X[0], 1.0, work, True, busy.address)[1] == BUSY
    model.learn_one(X[0], 1.0)
    model.learn_one(X[0], 1.0)
    assert model._direct is not None
    assert not model._busy[7]
    assert not np.array_equal(model._record, before)


def test_a_mark_that_an_interrupt_has_left_is_reset_by_the_next_round():
    model = ol.LASER()
    for _ in range(2):
        model.learn_one([1.0], 1.0)
    model._busy[7] = 1
    model.learn_one(np.ones(1), 1.0)
    assert not model._busy[7]
    assert model.rounds_ == 3


def test_an_interrupt_between_the_two_parts_of_a_pair_can_be_recovered_from():
    """The inner block has marked the map, but not the learner yet."""
    model = ol.features.Mapped(ol.features.Nystroem(landmarks=5), ol.AAR()).fit(X, Y)
    before = model.predict(X)
    entered = 0

    def trace(frame, event, _):
        nonlocal entered
        if frame.f_code is Transaction.__enter__.__code__:
            entered += event == "call"
            if entered == 2 and event == "line" and "guarded" in frame.f_locals:
                guards = frame.f_locals["self"]._guards
                if frame.f_locals["guarded"] is guards[1] and guards[0]._undo is not None:
                    raise KeyboardInterrupt
            return trace
        return None

    sys.settrace(trace)
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X[:10], Y[:10])
    finally:
        sys.settrace(None)
    assert entered == 2
    np.testing.assert_array_equal(model.predict(X), before)


def test_a_parameter_set_during_a_replay_of_another_thread_is_not_undone_with_it():
    model, (rows, labels) = ol.RLS(), stream(64)
    model.learn_one(rows[0], 1.0)
    in_the_middle, go_on = threading.Event(), threading.Event()

    def progress(row, total):
        in_the_middle.set()
        go_on.wait(60)
        raise ValueError("refused")

    def replay():
        with contextlib.suppress(ValueError):
            model._run(rows, labels, learn=True, progress=progress)

    table = threading.Thread(target=replay, daemon=True)
    table.start()
    assert in_the_middle.wait(60)
    setter = threading.Thread(target=lambda: model.set_params(forgetting=0.5), daemon=True)
    setter.start()
    go_on.set()
    table.join()
    setter.join()
    assert model.forgetting == 0.5


def test_rows_of_any_kind_are_predicted_while_another_thread_fits():
    model, errors = ol.AAR().fit(X, Y), []
    done = threading.Event()

    def predict():
        try:
            while not done.is_set():
                model.predict_one([1.0, 2.0, 3.0])
                model.predict(X[:2])
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=predict, daemon=True)
    thread.start()
    for _ in range(200):
        model.fit(X, Y)
    done.set()
    thread.join()
    assert errors == []


@pytest.mark.parametrize("act", [lambda m: m.learn_one(X[0], 1.0), lambda m: m.fit(X, Y)])
def test_a_learner_does_not_learn_within_its_own_replay(act):
    """In a signal handler: its round would be undone with the replay, or undo it."""
    model, said = ol.LASER().fit(X, Y), []

    def progress(row, rows):
        with pytest.raises(RuntimeError, match="in the middle of a call"):
            act(model)
        said.append(row)

    model._run(X, Y, learn=True, progress=progress)
    assert said
    assert model.rounds_ == 2 * len(X)


def test_what_auto_remembers_is_of_its_row_whatever_is_predicted_meanwhile():
    model = ol.Auto()
    ol.replay(model, X, Y)
    expected = model.remember(X[0])
    one = ol.Auto._one

    def interrupted_one(*arguments):
        result = one(*arguments)
        model._one = one
        model.predict_one(X[1])
        return result

    model._one = interrupted_one
    np.testing.assert_array_equal(model.remember(X[0]), expected)
