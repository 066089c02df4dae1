"""Labels that come late: in any order, twice, too late, never; none is learnt twice."""

import copy
import json
import math
import os
import pickle
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from forgery import forge
from hypothesis import example, given, settings
from hypothesis import strategies as st
from table import state, stream

import onlinear as ol
from onlinear._state_files import file_format
from onlinear._wrappers.keyed.models import Models
from onlinear._wrappers.late import late as _late
from onlinear._wrappers.late import pending as _pending
from onlinear._wrappers.late import settled_ids, waiting_rows
from onlinear._wrappers.late.late import Late
from onlinear._wrappers.late.pending import LateCounts, Pending

X, Y = stream(40, d=3)
MAKE = {
    "Ridge": lambda on_bad: ol.Ridge(on_bad=on_bad),
    "LASER": lambda on_bad: ol.LASER(c=10.0, shrink=False, on_bad=on_bad),
    "Auto": lambda on_bad: ol.Auto(on_bad=on_bad),
}
SPELT = [  # ids, and other ways to write them
    (0, 0.0, np.int64(0), False),
    (1, 1.0, np.float32(1), True),
    ("a", np.str_("a")),
    (b"a",),
    (("a", 2), ("a", 2)),
    (2**70,),
    (0.5, np.float64(0.5)),
    (-7, np.int8(-7)),
]


class Clock:
    """A clock that stands until it is told."""

    def __init__(self):
        self.now = 1e9

    def __call__(self):
        return self.now


class Slow:
    """What Late means, by lists that are searched from end to end."""

    def __init__(self, model, limit, expire_after, clock):
        self.model, self.limit, self.expire_after, self.clock = model, limit, expire_after, clock
        self.waiting = []  # (id, ticket, number, time)
        self.settled = []  # (id, how), the last so many
        self.remembered = 0
        self.n = dict.fromkeys(LateCounts._fields, 0)

    def settle(self, row, how):
        self.waiting.remove(row)
        self.settled = [*self.settled, (row[0], how)][-self.limit :]
        self.n[how] += 1

    def expire(self):
        for row in list(self.waiting):
            age = self.remembered - row[2]
            if isinstance(self.expire_after, timedelta):
                age = timedelta(seconds=self.clock() - row[3])
            if self.expire_after is None or age <= self.expire_after:
                break
            self.settle(row, "expired")

    def predict(self, x, id):
        try:
            prediction = self.model.predict_one(x)
        except ValueError:
            return "refused"
        if np.isnan(prediction):
            self.n["left_out"] += 1
            self.model.n_skipped_ += 1
            return prediction
        self.expire()
        if id in [row[0] for row in self.waiting] + [row[0] for row in self.settled]:
            self.n["duplicate_rows"] += 1
            return prediction
        if len(self.waiting) == self.limit:
            self.settle(self.waiting[0], "expired")
        self.remembered += 1
        ticket = self.model.remember(x)
        self.waiting.append((id, ticket, self.remembered, self.clock()))
        self.expire()
        return prediction

    def label(self, id, y):
        self.expire()
        for row in self.waiting:
            if row[0] == id:
                skipped = self.model.n_skipped_
                try:
                    self.model.learn_late(row[1], y)
                except ValueError:
                    return "refused"
                if self.model.n_skipped_ > skipped:
                    return False
                self.settle(row, "learnt")
                return True
        how = dict(self.settled).get(id)
        self.n[{"learnt": "duplicate_labels", "expired": "too_late", None: "unknown"}[how]] += 1
        return False

    def counts(self):
        return LateCounts(**{**self.n, "waiting": len(self.waiting)})


def tried(act, *args, **kwargs):
    try:
        return act(*args, **kwargs)
    except ValueError:
        return "refused"


def through_a_file(late):
    late.save("late.onl")
    return ol.load("late.onl")


AGAIN = {
    "file": through_a_file,
    "pickle": lambda late: pickle.loads(pickle.dumps(late)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}
ids = st.tuples(st.integers(0, len(SPELT) - 1), st.integers(0, 3))
events = st.one_of(
    st.tuples(st.just("predict"), ids),
    st.tuples(st.just("predict"), ids),
    st.tuples(st.just("label"), ids),
    st.tuples(st.just("label"), ids),
    st.tuples(st.sampled_from(["bad row", "bad label"]), ids),
    st.tuples(st.just("at once"), ids),
    st.tuples(st.just("sleep"), st.integers(0, 4)),
    st.tuples(st.just("again"), st.sampled_from(sorted(AGAIN))),
)
ages = st.one_of(
    st.none(), st.integers(1, 5), st.integers(1, 6).map(lambda s: timedelta(seconds=s))
)


def spelt(which):
    k, way = which
    return SPELT[k][way % len(SPELT[k])]


def run(name, on_bad, limit, expire_after, steps):
    """Run Late and its slow form side by side; return the counts."""
    clock = Clock()
    late = Late(MAKE[name](on_bad), limit, expire_after, clock=clock)
    slow = Slow(MAKE[name](on_bad), limit, expire_after, clock)
    for t, (what, which) in enumerate(steps):
        x, y = X[t % len(X)], Y[t % len(X)]
        if what == "sleep":
            clock.now += which
            slow.expire()
            before = late.counts_.expired
            assert late.expire() == slow.counts().expired - before
        elif what == "again":
            late = AGAIN[which](late)
            late.clock = clock
        elif what == "at once":
            slow.model.learn_one(x, y)
            assert late.learn_one(x, y) is True
        elif what in ("label", "bad label"):
            y = np.nan if what == "bad label" else y
            mine = tried(late.learn_one, id=spelt(which), y=y)
            assert mine == slow.label(which[0], y)
        else:
            x = np.array([1.0, np.nan, 1.0]) if what == "bad row" else x
            mine = tried(late.predict_one, x, id=spelt(which))
            theirs = slow.predict(x, which[0])
            assert np.array(mine).tobytes() == np.array(theirs).tobytes()
        assert late.counts_ == slow.counts(), (t, what)
        assert late.waiting_ == len(slow.waiting)
        assert state(late.model) == state(slow.model)
        assert late.model.n_skipped_ == slow.model.n_skipped_
    return late.counts_


@pytest.mark.parametrize("name", sorted(MAKE))
@settings(max_examples=80)
@given(
    on_bad=st.sampled_from(["raise", "skip"]),
    limit=st.integers(1, 7),
    expire_after=ages,
    steps=st.lists(events, min_size=10, max_size=60),
)
@example(
    on_bad="skip",
    limit=2,
    expire_after=None,
    steps=[(what, (k, 0)) for k in (0, 1, 2, 0, 3, 1, 4, 0) for what in ("predict", "label")],
)
def test_it_is_its_slow_form(name, on_bad, limit, expire_after, steps):
    run(name, on_bad, limit, expire_after, steps)


def test_the_streams_above_bring_about_everything_that_is_counted():
    """Else the comparison would compare nothing."""
    rng = np.random.default_rng(0)
    seen = np.zeros(len(LateCounts._fields))
    for limit, age in ((3, None), (8, 2), (7, timedelta(seconds=3))):
        steps = []
        for _ in range(150):
            which = (int(rng.integers(len(SPELT))), int(rng.integers(4)))
            what = str(rng.choice(["predict", "label", "bad row", "sleep"], p=[0.4, 0.4, 0.1, 0.1]))
            steps.append((what, 1 if what == "sleep" else which))
        seen += np.array(run("Ridge", "skip", limit, age, steps)) > 0
    assert (seen > 0).all(), LateCounts(*seen)


@pytest.mark.parametrize("name", sorted(MAKE))
def test_without_delay_it_is_learn_one_to_the_bit(name):
    late, model = Late(MAKE[name]("raise")), MAKE[name]("raise")
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        assert late.predict_one(x, id=t) == model.predict_one(x)
        assert late.learn_one(id=t, y=y)
        model.learn_one(x, y)
        assert state(late.model) == state(model)
    assert late.counts_ == LateCounts(0, len(X), 0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize("name", sorted(MAKE))
def test_labels_in_disorder_are_learnt_as_by_hand(name, tmp_path):
    late, hand = Late(MAKE[name]("raise")), MAKE[name]("raise")
    order = np.random.default_rng(1).permutation(20)
    for first in (0, 20):
        kept = {}
        for t in range(first, first + 20):
            assert late.predict_one(X[t], id=t) == hand.predict_one(X[t])
            kept[t] = hand.remember(X[t])
        late.save(tmp_path / "late.onl")
        late = ol.load(tmp_path / "late.onl")
        for t in (first + order).tolist():
            late.learn_one(id=t, y=Y[t])
            hand.learn_late(kept[t], Y[t])
    assert state(late.model) == state(hand) != b""


def test_a_sparse_row_waits_too():
    sparse = pytest.importorskip("scipy.sparse")
    late, hand = Late(ol.NLMS()), ol.NLMS()
    for t in range(5):
        late.predict_one(sparse.csr_array(X[t : t + 1]), id=t)
    for t in range(5):
        late.learn_one(id=t, y=Y[t])
        hand.learn_one(X[t], Y[t])
    assert state(late.model) == state(hand)


# --- what is said and refused -------------------------------------------------------------------


def test_the_learner_is_held_and_repr_counts():
    model = ol.Ridge()
    late = Late(model, limit=5, expire_after=timedelta(hours=1))
    assert late.model is model
    assert (late.limit, late.expire_after) == (5, timedelta(hours=1))
    for t in range(7):
        late.predict_one(X[t], id=t)
    late.learn_one(id=6, y=1.0)
    assert repr(late) == "<Late Ridge(): 4 rows wait, 1 learnt, 2 expired>"
    assert model.rounds_ == 1


def test_a_label_may_be_as_late_as_it_says_and_not_later():
    for delay, learnt in ((3, True), (4, False)):
        late = Late(ol.Ridge(), expire_after=3)
        for t in range(delay + 1):
            late.predict_one(X[t], id=t)
        assert late.learn_one(id=0, y=1.0) is learnt
        assert late.counts_.too_late == (not learnt)
    clock = Clock()
    for delay, learnt in ((60.0, True), (60.5, False)):
        late = Late(ol.Ridge(), expire_after=timedelta(minutes=1), clock=clock)
        late.predict_one(X[0], id=0)
        clock.now += delay
        assert late.learn_one(id=0, y=1.0) is learnt
        assert late.counts_.too_late == (not learnt)


def test_time_goes_on_while_nothing_runs(tmp_path):
    clock = Clock()
    late = Late(ol.Ridge(), expire_after=timedelta(seconds=10), clock=clock)
    late.predict_one(X[0], id="old")
    clock.now += 6
    late.predict_one(X[1], id="young")
    late.save(tmp_path / "late.onl")
    late = ol.load(tmp_path / "late.onl")
    assert late.expire_after == timedelta(seconds=10)
    late.clock = clock
    clock.now += 6
    assert late.expire() == 1
    assert late.learn_one(id="young", y=1.0)
    assert not late.learn_one(id="old", y=1.0)


def test_a_file_is_loaded_with_the_clock_of_the_machine(tmp_path):
    late = Late(ol.Ridge(), expire_after=timedelta(days=1), clock=Clock())  # of 2001
    late.predict_one(X[0], id=0)
    late.save(tmp_path / "late.onl")
    assert ol.load(tmp_path / "late.onl").expire() == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"x": X[0], "y": 1.0, "id": 3}, "both, id=3"),
        ({"y": 1.0}, "got neither"),
        ({"id": 3}, "needs a label y"),
        ({"x": X[0]}, "needs a label y"),
        ({"id": np.nan, "y": 1.0}, "is needed"),
    ],
)
def test_a_label_needs_a_row_or_an_id(given, words):
    late = Late(ol.Ridge())
    late.predict_one(X[0], id=3)
    with pytest.raises(ValueError, match=words):
        late.learn_one(**given)
    assert late.counts_ == LateCounts(1, 0, 0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"limit": 0}, r"Late needs a whole number 1 ≤ limit"),
        ({"limit": 1.5}, "limit=1.5"),
        ({"limit": 2**40}, "limit"),
        ({"expire_after": 0}, r"1 ≤ expire_after .* got expire_after=0"),
        ({"expire_after": True}, "expire_after=True"),
        ({"expire_after": "1h"}, "expire_after='1h'"),
        ({"expire_after": timedelta(0)}, r"expire_after > 0"),
    ],
)
def test_parameters_are_refused_in_words(params, words):
    with pytest.raises(ValueError, match=words):
        Late(ol.Ridge(), **params)


def test_only_learners_with_fine_parameters_are_taken():
    with pytest.raises(TypeError, match="Late needs a learner, got a Bank"):
        Late(ol.Bank([ol.Ridge()]))
    with pytest.raises(ValueError, match="0 < b"):
        Late(ol.Ridge(b=-1.0))


def test_an_id_that_cannot_be_one_is_refused_before_anything():
    late = Late(ol.Ridge())
    for id, kind in ((np.nan, ValueError), ([1], TypeError)):
        with pytest.raises(kind, match=r"is needed|hashable"):
            late.predict_one(X[0], id=id)
    assert late.waiting_ == 0


def test_a_clock_that_gives_no_time_is_refused():
    late = Late(ol.Ridge(), expire_after=timedelta(1), clock=lambda: np.nan)
    with pytest.raises(ValueError, match="finite time, got nan"):
        late.predict_one(X[0], id=0)


@pytest.mark.parametrize("name", sorted(MAKE))
def test_a_bad_label_leaves_the_row_waiting_for_a_better_one(name):
    for on_bad in ("raise", "skip"):
        late = Late(MAKE[name](on_bad))
        late.predict_one(X[0], id=0)
        for bad in (np.nan, np.inf, "a"):
            result = tried(late.learn_one, id=0, y=bad)
            assert result == ("refused" if on_bad == "raise" or bad == "a" else False)
        assert late.counts_ == LateCounts(1, 0, 0, 0, 0, 0, 0, 0)
        assert state(late.model) == b""
        assert late.learn_one(id=0, y=1.0)


def test_rows_of_another_width_are_refused_while_others_wait():
    late = Late(ol.Ridge())
    late.predict_one([1.0, 2.0], id=0)
    with pytest.raises(ValueError, match=r"stores 2 numbers per row.* got \(3,\)"):
        late.predict_one([1.0, 2.0, 3.0], id=1)
    assert late.counts_ == LateCounts(1, 0, 0, 0, 0, 0, 0, 0)
    late = Late(ol.Ridge(), expire_after=timedelta(seconds=1), clock=(clock := Clock()))
    late.predict_one([1.0, 2.0], id=0)
    clock.now += 2
    late.predict_one([1.0, 2.0, 3.0], id=1)  # nothing was learnt, and nothing waits any more
    assert late.learn_one(id=1, y=1.0)
    assert late.model.n_features_in_ == 3


def test_only_what_waits_can_be_settled():
    table = Pending(3)
    table.add("a", X[0], key=("k", 1))
    assert table.find("a").key == ("k", 1)
    assert ("a" in table, len(table)) == (True, 1)
    table.settle("a")
    for id in ("a", "b"):
        with pytest.raises(ValueError, match=rf"got id='{id}'"):
            table.settle(id)


def test_what_is_found_is_not_touched_by_rows_that_come_after():
    table = Pending(1)
    table.add(0, X[0])
    found = table.find(0)
    table.add(1, X[1])
    assert found.ticket.tobytes() == X[0].tobytes()


# --- interrupts ---------------------------------------------------------------------------------


def interrupted_after(lines, act):
    """Act, and raise KeyboardInterrupt at the so-manieth line of the table; whether it came."""
    modules, left = (_pending, _late, settled_ids, waiting_rows), [lines]
    files = {module.__file__ for module in modules}

    def trace(frame, event, _):
        if frame.f_code.co_filename not in files or frame.f_code.co_name == "__getstate__":
            return None
        if event == "line":
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def told(late):
    """All there is to know of a Late."""
    kept, settled, how = late._pending._contents()
    rows = [part if isinstance(part, list) else part.tobytes() for part in (*kept, settled, how)]
    return repr((late.counts_, rows, state(late.model)))


def check_whole(late):
    """Whether the table is in order: every row is found, the slots are those used or free."""
    table, kept = late._pending, late._pending._contents().rows
    assert len(kept.ids) == len(table) == late.counts_.waiting
    for id, ticket in zip(kept.ids, kept.tickets, strict=True):
        assert table.find(id).ticket.tobytes() == ticket.tobytes()
    rows = table._rows
    slots = [slot for shard in rows.slots for slot in shard.values()]
    assert sorted([0, *slots, *rows.free]) == list(range(len(rows.ids)))
    assert sum(rows.used) == len(slots)
    back = [rows.older[0]]
    while back[-1]:
        back.append(rows.older[back[-1]])
    assert [rows.ids[slot] for slot in back[:-1]] == kept.ids[::-1]
    assert len(table._recent) == min(table.limit, sum(late.counts_[1:3]))
    rounds = 0 if late.model._state is None else late.model.rounds_
    assert rounds == late.counts_.learnt


def half_full():
    late = Late(ol.Ridge(), limit=5)
    for t in range(12):
        late.predict_one(X[t], id=t)
        if t in (3, 5, 6):
            late.learn_one(id=t - 1, y=Y[t])
    return late


@pytest.mark.parametrize("what", ["row", "row in a new slot", "label", "last label"])
def test_an_interrupt_at_any_line_leaves_all_or_nothing(what, monkeypatch):
    monkeypatch.setattr(waiting_rows, "BITS", 2)
    monkeypatch.setattr(waiting_rows, "ROWS", 4)
    start = half_full()
    if what == "row in a new slot":
        start = Late(ol.Ridge(), limit=9)
        for t in range(3):  # a block has room for these, and slot 0
            start.predict_one(X[t], id=t)
    elif what == "last label":
        for t in (7, 8, 10, 11):
            assert start.learn_one(id=t, y=Y[t])
        assert start.waiting_ == 1
    else:
        assert start.counts_[:3] == (5, 3, 4)

    def act(late):
        if "row" in what:
            late.predict_one(X[20], id=20)
        else:
            late.learn_one(id=9, y=0.5)

    allowed, done = {told(start)}, copy.deepcopy(start)
    act(done)
    allowed.add(told(done))
    seen, lines = set(), 0
    while True:
        lines += 1
        late = copy.deepcopy(start)
        came = interrupted_after(lines, lambda late=late: act(late))
        seen.add(told(late))
        assert told(late) in allowed, lines
        check_whole(late)
        if not came:
            break
        act(late)  # again: it is refused if it was done, and done if it was not
        check_whole(late)
        assert late.counts_[:3] == done.counts_[:3]
        assert state(late.model) == state(done.model)
    assert lines > 30
    assert seen == allowed


# --- memory -------------------------------------------------------------------------------------

MEASURE = """
import sys
import numpy as np
from onlinear._wrappers.late.pending import Pending

def memory():
    text = open("/proc/self/status").read()
    return [int(text.split(name)[1].split()[0]) * 1024 for name in ("VmRSS:", "VmHWM:")]

limit, rows = map(int, sys.argv[1:])
table, x = Pending(limit), np.arange(8.0)
for i in range(2000):
    table.add(-i, x)
    table.find(-i)
    table.settle(-i)
start = memory()[0]
for first in range(0, rows, limit):
    for i in range(10**6 + first, 10**6 + first + limit):
        table.add(i, x)
    print((memory()[1] - start) / limit)
assert len(table) == limit
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="it reads memory from /proc")
@pytest.mark.parametrize(("limit", "rows"), [(125_000, 250_000), (31_250, 156_250)])
def test_rows_that_wait_take_little_memory_however_many_come(limit, rows):
    """d = 8: 64 bytes of numbers a row; the ids, of those settled too, take the rest."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(limit), str(rows)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    peaks = [float(line) for line in done.stdout.split()]
    assert 100 < peaks[0] < 250
    assert max(peaks) < 365
    if len(peaks) > 3:
        assert peaks[-1] < 1.05 * peaks[-3]  # it has come to an end


def test_blocks_that_are_empty_are_given_back():
    table = Pending(10_000)
    for i in range(10_000):
        table.add(i, X[0])
    assert sum(block is not None for block in table._rows.blocks) == 10
    for i in range(9_990):
        table.find(i)
        table.settle(i)
    assert sum(block is not None for block in table._rows.blocks) == 1
    for i in range(9_990, 10_000):
        table.settle(i)
    assert len(table._rows.ids) == 1
    assert table.add("new", X[0])


# --- files --------------------------------------------------------------------------------------


def small():
    late = Late(ol.Ridge(), limit=4, expire_after=timedelta(days=100_000))
    for t in range(6):
        late.predict_one(X[t], id=t)
    late.learn_one(id=3, y=1.0)
    return late


def test_an_id_no_file_can_hold_is_refused_and_the_old_file_stays(tmp_path):
    path = tmp_path / "late.onl"
    late = small()
    late.save(path)
    before = path.read_bytes()
    late.predict_one(X[7], id=frozenset({1}))
    with pytest.raises(TypeError, match="frozenset"):
        late.save(path)
    assert path.read_bytes() == before
    assert late.learn_one(id=frozenset({1}), y=1.0)


def test_keys_go_through_a_file():
    table = Pending(3, 2)
    for t, key in enumerate(["a", None, ("b", 1)]):
        table.add(t, X[t], key=key)
    again = Pending.rebuilt(*table.described())
    assert [again.find(t).key for t in range(3)] == ["a", None, ("b", 1)]
    assert again.expire_after == 2


def text(*codes):
    return np.frombuffer(b"".join(codes), dtype=np.uint8)


DEEP = b"n"
for _ in range(5000):
    DEEP = b"t%d:" % len(DEEP) + DEEP
HOSTILE = {  # changes of the header, of the arrays, and what is said
    "limit": ({"limit": 0}, {}, "1 ≤ limit"),
    "more than the limit": ({"limit": 2}, {}, "3 waiting rows"),
    "age": ({"expire_after": "x"}, {}, "expire_after"),
    "time": ({"expire_after": {"microseconds": 10**30}}, {}, "describe"),
    "no time": ({"expire_after": {"microseconds": 0}}, {}, "expire_after > 0"),
    "negative": ({"counts": {"unknown": -1}}, {}, "-1 for a number"),
    "a float": ({"counts": {"unknown": 1.0}}, {}, "1.0 for a number"),
    "other counts": ({"counts": {"waiting": 2}}, {}, "3 waiting rows"),
    "never learnt": ({"counts": {"learnt": 0, "expired": 3}}, {}, "settled rows than"),
    "more gone": ({"counts": {"learnt": 9}}, {}, "3 settled"),
    "counts of nothing": ({"counts": {"unknown": None}}, {}, "None for a number"),
    "not finite": ({}, {"tickets": np.full((3, 3), np.inf)}, "not finite"),
    "no end": ({}, {"times": np.full(3, np.nan)}, "not finite"),
    "fewer rows": ({}, {"tickets": np.zeros((2, 3))}, "3 waiting rows"),
    "no numbers": ({}, {"tickets": np.zeros((3, 0))}, "3 waiting rows"),
    "flat": ({}, {"tickets": np.zeros(3)}, "3 waiting rows"),
    "of bytes": ({}, {"tickets": np.zeros((3, 3), dtype=np.uint8)}, "uint8"),
    "fewer times": ({}, {"times": np.zeros(2)}, "3 waiting rows"),
    "numbers": ({}, {"numbers": np.array([4, 3, 6])}, "from 1 to 6"),
    "future": ({}, {"numbers": np.array([3, 5, 7])}, "from 1 to 6"),
    "past": ({}, {"numbers": np.array([0, 5, 6])}, "from 1 to 6"),
    "floats": ({}, {"numbers": np.array([3.0, 5.0, 6.0])}, "float64"),
    "twice": ({}, {"ids": text(b"i2", b"i2", b"i5")}, "more than once"),
    "settled too": ({}, {"ids": text(b"i2", b"i3", b"i5")}, "more than once"),
    "no ids": ({}, {"ids": text(b"x2", b"i4", b"i5")}, "no key"),
    "none": ({}, {"ids": text(b"n"), "ids lengths": np.array([1])}, "describe"),
    "NaN": ({}, {"ids": text(b"fnan", b"i4", b"i5"), "ids lengths": [4, 2, 2]}, "is needed"),
    "lengths": ({}, {"ids lengths": np.array([2, 2, 3])}, "lengths"),
    "deep": ({}, {"ids": text(DEEP), "ids lengths": [len(DEEP)]}, "describe"),
    "how": ({}, {"how": np.array([2, 2, 3], dtype=np.uint8)}, "neither learnt nor expired"),
    "fewer ways": ({}, {"how": np.array([2, 2], dtype=np.uint8)}, "describe"),
    "keys": ({}, {"keys": text(b"n"), "keys lengths": np.array([1])}, "3 waiting rows"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file_is_refused(case, tmp_path):
    header, arrays, words = HOSTILE[case]
    small().save(tmp_path / "late.onl")
    about, kept = file_format.read(tmp_path / "late.onl")
    counts = {**about["late"]["counts"], **header.get("counts", {})}
    about["late"] |= {**header, "counts": counts}
    kept |= {f"late {name}": np.asarray(values) for name, values in arrays.items()}
    file_format.write(tmp_path / "bad.onl", about, kept)
    with pytest.raises(ol.StateFileError, match=words):
        ol.load(tmp_path / "bad.onl")


def test_the_file_the_hostile_ones_are_made_of_is_fine(tmp_path):
    small().save(tmp_path / "late.onl")
    header, arrays = file_format.read(tmp_path / "late.onl")
    assert arrays["late numbers"].tolist() == [3, 5, 6]
    file_format.write(tmp_path / "again.onl", header, arrays)
    assert ol.load(tmp_path / "again.onl").counts_ == small().counts_


def test_arrays_that_are_missing_are_refused(tmp_path):
    small().save(tmp_path / "late.onl")
    header, arrays = file_format.read(tmp_path / "late.onl")
    for name in arrays:
        if name != "state":
            left = {other: values for other, values in arrays.items() if other != name}
            file_format.write(tmp_path / "bad.onl", header, left)
            with pytest.raises(ol.StateFileError, match="describe"):
                ol.load(tmp_path / "bad.onl")
    forge(tmp_path / "bad.onl", json.loads(json.dumps({"late": 3, "arrays": {}})))
    with pytest.raises(ol.StateFileError, match="describe"):
        ol.load(tmp_path / "bad.onl")


def test_a_pickle_is_read_where_strings_have_other_hashes(tmp_path):
    late = Late(ol.Ridge(), limit=30)
    for t in range(40):
        late.predict_one(X[t], id=f"row {t}")
    (tmp_path / "late.pickle").write_bytes(pickle.dumps(late))
    script = """
import pickle, sys
late = pickle.loads(open(sys.argv[1], "rb").read())
assert all(late.learn_one(id=f"row {t}", y=1.0) for t in range(10, 40))
assert not any(late.learn_one(id=f"row {t}", y=1.0) for t in range(10, 40))
print(late)
"""
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "late.pickle")],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "<Late Ridge(): 0 rows wait, 30 learnt, 10 expired>\n"


@pytest.mark.parametrize("how", [{}, {"memory_limit": 60_000}, {"max_age": 1}])
@pytest.mark.parametrize("make", [ol.Auto, ol.Ridge])
def test_the_error_of_a_key_is_that_of_what_was_predicted(make, how):
    """Not of what would be when a label comes, by which time others have been learnt."""
    X, y = stream(60, d=3)
    keyed, late = ol.Keyed(make(), **how), Late(make())
    losses = []
    for i, x in enumerate(X):
        losses.append((y[i] - keyed.predict_one("a", x, id=i)) ** 2)
        late.predict_one(x, id=i)
        keyed.learn_one("b", x, y[i])
        if i >= 7:
            assert keyed.learn_one("a", id=i - 7, y=y[i - 7])
            late.learn_one(id=i - 7, y=y[i - 7])
    assert state(keyed["a"]) == state(late.model)
    rounds, skipped, error, _ = keyed.statistics("a")
    assert (rounds, skipped) == (53, 0)
    assert error == pytest.approx(np.mean(losses[:53]), rel=1e-12)


def test_ids_are_those_of_all_keys_together():
    keyed = ol.Keyed(ol.Ridge())
    keyed.predict_one("a", X[0], id=1)
    with pytest.raises(ValueError, match=r"no two keys share.* 1 waits for key 'a'.* for 'b'"):
        keyed.predict_one("b", X[0], id=1)
    keyed.predict_one("a", X[0], id=1)
    assert keyed.late_.duplicate_rows == 1
    with pytest.raises(ValueError, match=r"the row 1 has key 'a', got key 'b'"):
        keyed.learn_one("b", id=1, y=1.0)
    assert keyed.late_.waiting == 1
    assert len(keyed) == 0
    assert keyed.learn_one("a", id=1, y=1.0)


def test_a_key_that_is_forgotten_waits_for_no_label():
    keyed = ol.Keyed(ol.Ridge(), waiting=5000)
    keyed.replay(["a", "b"], X[:2], Y[:2])
    for i in range(3000):
        keyed.predict_one("ab"[i % 2], X[0], id=i)
    del keyed["a"]
    assert not keyed.learn_one(id=0, y=1.0)
    assert keyed.learn_one(id=1, y=1.0)
    assert list(keyed) == ["b"]
    assert (keyed.late_.waiting, keyed.late_.expired, keyed.late_.too_late) == (1499, 1500, 1)
    for i in range(3, 3000, 2):
        assert keyed.learn_one(id=i, y=1.0)
    assert (keyed.waiting, keyed.late_.waiting, keyed.expire_after) == (5000, 0, None)


def test_a_row_without_a_key_is_skipped_row_by_row_too():
    for key in (None, math.nan, ("a", math.nan)):
        keyed = ol.Keyed(ol.Ridge(on_bad="skip"))
        assert math.isnan(keyed.predict_one(key, X[0], id=1))
        assert not keyed.learn_one(key, X[0], 1.0)
        assert math.isnan(keyed.predict([key], X[:1])[0])
        assert (keyed.n_skipped_, keyed.events_, keyed.late_.left_out) == (2, 2, 1)
        keyed = ol.Keyed(ol.Ridge())
        with pytest.raises(ValueError, match="a key or id is needed"):
            keyed.predict_one(key, X[0])
        with pytest.raises(ValueError, match="a key or id is needed"):
            keyed.learn_one(key, X[0], 1.0)
    with pytest.raises(ValueError, match="a row x, or the id of a row, got no row"):
        keyed.learn_one("a", y=1.0)


def test_what_nothing_was_learnt_of_is_predicted_as_the_model_would():
    keyed = ol.Keyed(ol.Ridge())
    assert keyed.predict(["a", 1], X[:2]).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match=r"^key 'a': Ridge needs finite input"):
        keyed.predict_one("a", [math.nan, 1.0])


def test_skips_of_a_learner_that_knows_what_it_knew():
    """Auto learns a late label by what was kept of its row; what it skips is counted as others'."""
    X, y = stream(60, d=3)
    keyed, alone = ol.Keyed(ol.Auto(on_bad="skip")), ol.Auto()
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        keyed.predict_one("a", x, id=i)
        alone.learn_one(x, label)
        assert keyed.learn_one(id=i, y=label)
    assert state(keyed["a"]) == state(alone)
    error = keyed.statistics("a").mean_squared_error

    keyed.predict_one("a", X[0], id="bad")
    keyed.predict_one("b", X[0], id="worse")
    assert not keyed.learn_one(id="bad", y=math.inf)
    assert not keyed.learn_one(id="worse", y=math.inf)
    assert keyed.statistics("a") == (60, 1, error, 60)
    assert keyed.statistics("b")[:2] == (0, 1)
    assert (keyed.n_skipped_, keyed.events_, keyed["b"].n_skipped_) == (2, 62, 1)
    assert keyed.learn_one(id="worse", y=0.5)  # it waited for a better one
    assert state(keyed["a"]) == state(alone)


@pytest.mark.parametrize("waiting", [0, 2**40])
def test_a_keyed_speaks_of_waiting(waiting):
    with pytest.raises(ValueError, match=rf"^Keyed needs .*waiting.*{waiting}"):
        ol.Keyed(ol.Ridge(), waiting=waiting)


def test_ctrl_c_after_a_label_that_is_skipped_leaves_its_row_waiting(monkeypatch):
    keyed = ol.Keyed(ol.Ridge(on_bad="skip"))
    keyed.predict_one("a", X[0], id=1)

    def interrupted(self):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Models, "evict_old", interrupted)
        with pytest.raises(KeyboardInterrupt):
            keyed.learn_one(id=1, y=math.inf)
    assert keyed.learn_one(id=1, y=2.0)
    assert keyed["a"].rounds_ == 1
