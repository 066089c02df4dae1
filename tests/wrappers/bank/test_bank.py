"""A bank is its learners: the same bits, the same refusals, however it is run."""

import copy
import json
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table import CASES, IDS, make, state, stream

import onlinear as ol
from onlinear._engine import record_block
from onlinear._engine.step import FINE, Step
from onlinear._learner.base import Algorithm, Learner
from onlinear._updates.gaussian import weights
from onlinear._wrappers.bank import journal, stacked_models

OTHERS = ("Kernel", "AROW-", "LogisticLASER")  # the last two in tests/learner/test_classifier.py
LINEAR = [c for i, c in zip(IDS, CASES, strict=True) if not i.startswith(OTHERS)]
DEFAULTS = LINEAR[::2]
ROWS = 40


def learners(cases=LINEAR, **more):
    return [make(case, **more) for case in cases]


def states(bank):
    return [state(model) for model in bank]


def same(bank, alone):
    """Whether the learners of a bank are those run alone, to the bit."""
    for k, model in enumerate(alone):
        mine = bank[k]
        assert type(mine) is type(model)
        assert state(mine) == state(model), model
        assert mine.n_skipped_ == model.n_skipped_, model
        assert repr(mine.get_params()) == repr(model.get_params()), model
        assert vars(mine).get("_names") == vars(model).get("_names")
        assert hasattr(mine, "n_features_in_") is hasattr(model, "n_features_in_"), model
    return True


def one_by_one(bank, X, y):
    predictions = np.empty((len(X), len(bank)))
    for i in range(len(X)):
        predictions[i] = bank.predict_one(X[i])
        bank.learn_one(X[i], y[i])
    return predictions


@pytest.fixture
def in_threads(monkeypatch):
    monkeypatch.setattr(stacked_models, "THREADS_PAY", 0.0)
    monkeypatch.setattr(stacked_models, "FIRST_BLOCK", 4)


def bits(array):
    return np.ascontiguousarray(array).tobytes()


def test_every_way_of_running_gives_the_bits_of_the_learners_alone(tmp_path, in_threads):
    """All learners, some in two settings, in stacks of two and more."""
    cases = DEFAULTS + LINEAR[:9] + LINEAR[:3]
    X, y = stream(ROWS)
    alone = learners(cases)
    runs = [ol.replay(model, X, y) for model in alone]
    expected = np.column_stack([run.predictions for run in runs])
    half = ROWS // 2

    def bank(threads=1):
        return ol.Bank(learners(cases), threads)

    def halves(between, first=lambda bank, X, y: ol.replay(bank, X, y).predictions):
        model = bank()
        before = first(model, X[:half], y[:half])
        model = between(model)
        return model, np.vstack([before, ol.replay(model, X[half:], y[half:]).predictions])

    def through_a_file(model):
        model.save(tmp_path / "bank.onl")
        return ol.load(tmp_path / "bank.onl")

    def whole(model, way):
        return model, way(model, X, y)

    def replayed(model, X, y):
        return ol.replay(model, X, y).predictions

    for way, (model, predictions) in {
        "one by one": whole(bank(), one_by_one),
        "one thread": whole(bank(1), replayed),
        "two threads": whole(bank(2), replayed),
        "more threads than cores": whole(bank(7), replayed),
        "two halves": halves(lambda model: model),
        "first one by one": halves(lambda model: model, one_by_one),
        "save and load": halves(through_a_file),
        "copy": halves(copy.copy),
        "deep copy": halves(copy.deepcopy),
        "pickle": halves(lambda model: pickle.loads(pickle.dumps(model))),
        "taken apart": halves(lambda model: ol.Bank(list(model))),
    }.items():
        assert bits(predictions) == bits(expected), way
        assert same(model, alone), way
        assert bits(model.predict(X)) == bits(np.column_stack([m.predict(X) for m in alone])), way
    run = ol.replay(bank(), X, y)
    assert bits(run.losses) == bits(np.column_stack([run.losses for run in runs]))
    assert bits(run.cumulative_loss) == bits(np.column_stack([r.cumulative_loss for r in runs]))
    assert repr(run.learner(3)) == repr(runs[3])


@pytest.mark.parametrize("case", LINEAR, ids=[i for i in IDS if not i.startswith(OTHERS)])
def test_a_bank_of_one_is_the_learner(case):
    X, y = stream(ROWS)
    alone = make(case)
    expected = ol.replay(alone, X, y).predictions
    bank = ol.Bank([make(case)])
    assert bits(ol.replay(bank, X, y).predictions[:, 0]) == expected.tobytes()
    assert same(bank, [alone])


BAD = {
    "fine": lambda x, y: (x, y),
    "NaN": lambda x, y: (np.where(np.arange(x.size) == 1, np.nan, x), y),
    "label": lambda x, y: (x, np.inf),
    "huge": lambda x, y: (x * 1e160, y),
    "huge label": lambda x, y: (x, 1e300),
    "negative": lambda x, y: (-x, -y - 0.5),
    "long": lambda x, y: (x * 3.0, y),
}
kinds = st.sampled_from(["fine"] * 6 + list(BAD))


@settings(max_examples=60, deadline=None)
@given(
    mix=st.lists(st.tuples(st.sampled_from(LINEAR), st.booleans()), min_size=1, max_size=6),
    rows=st.lists(kinds, min_size=1, max_size=24),
    cuts=st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=8),
    threads=st.integers(1, 3),
)
def test_bad_rows_are_refused_or_skipped_as_by_each_learner_alone(mix, rows, cuts, threads):
    X, y = stream(len(rows))
    for i, kind in enumerate(rows):
        X[i], y[i] = BAD[kind](X[i], y[i])
    alone = [make(case, on_bad="skip" if skip else "raise") for case, skip in mix]
    bank = ol.Bank(alone, threads)
    row, part = 0, 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stacked_models, "THREADS_PAY", 0.0)
        patch.setattr(stacked_models, "FIRST_BLOCK", 2)
        patch.setattr(journal, "ROWS", 3)
        while row < len(rows):
            length, singly = cuts[part % len(cuts)]
            stop = row + (1 if singly else length)
            check_part(bank, alone, X[row:stop], y[row:stop], singly)
            assert same(bank, alone)
            row, part = stop, part + 1


def check_part(bank, alone, X, y, singly):
    """Run some rows by the bank and by copies of the learners; keep the copies if all are fine."""
    ways = [copy.deepcopy(model) for model in alone]
    outcomes = [attempt(lambda m=m: ol.replay(m, X, y)) for m in ways]
    first = min(
        (
            (outcome[1], k, outcome[2])
            for k, outcome in enumerate(outcomes)
            if outcome[0] == "refused"
        ),
        default=None,
    )
    if singly:
        happened = attempt(lambda: bank.learn_one(X[0], y[0]))
    else:
        happened = attempt(lambda: ol.replay(bank, X, y))
    if first is not None:
        row, k, words = first
        assert happened[0] == "refused"
        assert happened[2] == f"learner {k} of the bank: " + words.replace("the model", "the bank")
        assert happened[1] == row
        return
    assert happened[0] == "fine"
    if not singly:
        run = happened[1]
        for k, (_, expected) in enumerate(outcomes):
            assert run.learner(k).bad_rows.tolist() == expected.bad_rows.tolist()
            assert bits(run.predictions[:, k]) == bits(expected.predictions)
    for model, learnt in zip(alone, ways, strict=True):
        model.__dict__.clear()
        model.__dict__.update(learnt.__dict__)


def attempt(call):
    """Return that it went well and what came, or the row refused and the words but for the row."""
    try:
        return "fine", call()
    except ValueError as error:
        row = re.search(r"in row (\d+)|\brow (\d+) would", str(error))
        words = re.sub(r"\b(this row|row \d+)", "the row", str(error))
        return "refused", int(row[1] or row[2]) if row else 0, words


@pytest.mark.parametrize("learnt", [0, 1, 5, journal.ROWS - 1, journal.ROWS, journal.ROWS + 3])
def test_a_row_that_one_learner_refuses_is_learnt_by_none(learnt):
    X, y = stream(learnt + 20)
    bank = ol.Bank([ol.Ridge(), ol.AAR(), ol.WEMM(), ol.LASER(on_bad="skip"), ol.Ridge(b=2.0)])
    twin = copy.deepcopy(bank)
    one_by_one(bank, X[:learnt], y[:learnt])
    one_by_one(twin, X[:learnt], y[:learnt])
    before = states(bank)
    for _ in range(3):
        with pytest.raises(ValueError, match=r"learner 2 of the bank: WEMM .* bank is unchanged"):
            bank.learn_one(9 * X[0], 0.0)
        assert states(bank) == before
    assert bits(one_by_one(bank, X[learnt:], y[learnt:])) == bits(
        one_by_one(twin, X[learnt:], y[learnt:])
    )
    assert states(bank) == states(twin)
    if not learnt:
        fresh = ol.Bank([ol.Ridge(), ol.WEMM()])
        with pytest.raises(ValueError, match="WEMM"):
            fresh.learn_one(9 * X[0], 0.0)
        fresh.learn_one([1.0], 0.0)  # the row that was refused did not say how wide rows are


def test_a_refused_row_undoes_nothing_but_itself():
    """Whatever was learnt between it and the copy that the bank goes back to."""
    from scipy.sparse import csr_array

    X, y = stream(ROWS)
    bank = ol.Bank([ol.Ridge(), ol.WEMM(), ol.NLMS(on_bad="skip")])
    for learn in [
        lambda: bank.learn_one(X[0], y[0]),
        lambda: ol.replay(bank, X, y),
        lambda: bank.learn_one(X[1], y[1]),
        lambda: bank.learn_one(csr_array(X[[2]]), y[2]),
        lambda: ol.replay(bank, csr_array(X), y),
        lambda: bank.learn_one(X[3].tolist(), int(y[3])),
    ]:
        before = states(bank)
        learn()
        learnt = states(bank)
        assert learnt != before
        with pytest.raises(ValueError, match="WEMM"):
            bank.learn_one(9 * X[0], 0.0)
        assert states(bank) == learnt
    with pytest.raises(ValueError, match="WEMM"):
        bank.learn_one(csr_array(9 * X[[0]]), 0.0)
    with pytest.raises(ValueError, match="WEMM"):
        ol.replay(bank, np.vstack([X, 9 * X]), np.append(y, y))
    assert states(bank) == learnt
    assert [model.rounds_ for model in bank] == [2 * ROWS + 4] * 3


def test_learners_that_know_more_and_less_go_on_together():
    X, y = stream(ROWS)
    alone = [ol.Ridge().fit(X[:7], y[:7]), ol.LASER(), ol.Ridge(b=3.0).fit(X[:3], y[:3])]
    bank = ol.Bank(alone)
    ol.replay(bank, X, y)
    for model in alone:
        ol.replay(model, X, y)
    assert same(bank, alone)
    assert [model.rounds_ for model in bank] == [ROWS + 7, ROWS, ROWS + 3]


def test_the_learners_given_and_those_taken_out_are_not_those_of_the_bank():
    X, y = stream(ROWS)
    model = ol.Ridge().fit(X[:5], y[:5])
    bank = ol.Bank([model, model])
    kept = state(model)
    ol.replay(bank, X, y)
    assert state(model) == kept
    before = states(bank)
    for twin in bank:
        twin.learn_one(X[0], y[0])
        twin.b = 9.0
    assert states(bank) == before
    assert bank[-1].b == 1.0
    with pytest.raises(IndexError):
        bank[2]
    assert len(list(bank)) == len(bank) == 2


def test_a_learner_that_skipped_all_it_saw_has_not_begun():
    X, y = stream(ROWS)
    bank = ol.Bank([ol.Ridge(on_bad="skip"), ol.NLMS(on_bad="skip")])
    bank.learn_one([np.nan, 1.0], 0.0)
    assert [model.n_skipped_ for model in bank] == [1, 1]
    ol.replay(bank, np.full((2, 3), np.nan), np.zeros(2))
    assert [model.n_skipped_ for model in bank] == [3, 3]
    with pytest.raises(ValueError, match="not fitted"):
        bank.predict(X)
    bank.learn_one(X[0], y[0])  # of another width
    assert bank.predict(X).shape == (ROWS, 2)
    mixed = ol.Bank([ol.Ridge(on_bad="skip"), ol.WEMM(on_bad="skip")])
    mixed.learn_one(3 * X[0], y[0])
    assert hasattr(mixed[0], "coef_")
    assert not hasattr(mixed[1], "n_features_in_")
    assert mixed[1].n_skipped_ == 1


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupted_replay_leaves_the_bank_as_it_was(threads, in_threads):
    X, y = stream(ROWS)
    bank = ol.Bank(learners(), threads)
    one_by_one(bank, X[:9], y[:9])
    before = states(bank)
    rows = []

    def interrupt(row, rows_in_all):
        rows.append(row)
        if len(rows) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bank._run(X, y, learn=True, progress=interrupt)
    assert rows[0] < rows[-1] < ROWS
    assert states(bank) == before
    with pytest.raises(ValueError, match="the bank is unch"):  # and can still go back by one row
        bank.learn_one(9 * X[0], 0.0)
    assert states(bank) == before


def test_an_interrupted_round_leaves_the_bank_as_it_was():
    X, y = stream(ROWS)
    bank = ol.Bank([ol.Ridge(), ol.LASER()])
    one_by_one(bank, X[:9], y[:9])
    before, calls = states(bank), bank._calls
    pressed = []

    def interrupted(*args):
        pressed.append(args)
        if len(pressed) <= 2:  # in the round, and again while it is undone
            raise KeyboardInterrupt
        return calls[1][0](*args)

    bank._calls = [calls[0], (interrupted, *calls[1][1:])]
    with pytest.raises(KeyboardInterrupt):
        bank.learn_one(X[9], y[9])
    assert states(bank) == before


def test_threads_that_still_write_are_waited_for():
    import time

    from onlinear._engine.threads import Crew

    done = []

    def slow():
        time.sleep(0.05)
        done.append(1)

    def fails():
        raise ValueError("at once")

    with Crew(2) as crew:
        with pytest.raises(ValueError, match="at once"):
            crew.run([fails, slow, slow])
        assert len(done) >= 1
        left = len(done)
        time.sleep(0.1)
        assert len(done) == left


def test_work_is_cut_into_parts_of_about_the_same_time():
    bank = ol.Bank([ol.LASER()] * 10 + [ol.Ridge()] * 2 + [ol.NLMS()])
    bank.learn_one([1.0], 1.0)
    whole = [stacked_models.StackSlice(s, 0, s.where.size, np.zeros(1)) for s in bank._stacks]
    parts = stacked_models._divided(whole, [6.0, 1.9, 0.1], 8)
    assert [(p.first, p.last) for p in parts if p.stack.step is whole[0].stack.step] == [
        (0, 1), (1, 3), (3, 5), (5, 6), (6, 8), (8, 10),
    ]  # fmt: skip
    assert [p.last - p.first for p in parts[6:]] == [1, 1, 1]
    assert len({id(p.work) for p in parts}) == len(parts)


def test_threads_may_predict_side_by_side():
    from concurrent.futures import ThreadPoolExecutor

    X, y = stream(300, d=20)
    bank = ol.Bank(learners([("LASER", {}), ("Ridge", {}), ("LASER", {"c": 1.0})]))
    ol.replay(bank, X, y)
    expected, first = bits(bank.predict(X)), bits(bank.predict_one(X[0]))
    with ThreadPoolExecutor(2) as pool:
        assert set(pool.map(lambda _: bits(bank.predict(X)), range(6))) == {expected}
        assert set(pool.map(lambda _: bits(bank.predict_one(X[0])), range(200))) == {first}


@pytest.mark.parametrize("singly", [False, True])
def test_sparse_rows_give_the_bits_of_the_learners_alone(singly):
    from scipy.sparse import csr_array

    X, y = stream(ROWS)
    X[np.random.default_rng(0).uniform(size=X.shape) < 0.5] = 0.0
    X = csr_array(X)
    alone, bank = (learners(DEFAULTS, on_bad="skip") for _ in range(2))
    bank = ol.Bank(bank)
    bad = X.copy()
    bad.data[3] = np.nan
    for rows in (X, bad):
        if singly:
            for i in range(ROWS):
                row = rows[[i]]
                expected = [model.predict_one(row) for model in alone]
                assert bits(bank.predict_one(row)) == bits(expected)
                bank.learn_one(row, y[i])
                for model in alone:
                    model.learn_one(row, y[i])
        else:
            run = ol.replay(bank, rows, y)
            for k, model in enumerate(alone):
                own = ol.replay(model, rows, y)
                assert bits(run.predictions[:, k]) == bits(own.predictions)
                assert run.learner(k).bad_rows.tolist() == own.bad_rows.tolist()
        assert same(bank, alone)
    strict = ol.Bank([ol.Ridge(), ol.NLMS()])
    ol.replay(strict, X, y)
    before = states(strict)
    with pytest.raises(ValueError, match=r"learner 0 of the bank: Ridge .* bank is unchanged"):
        ol.replay(strict, bad, y)
    with pytest.raises(ValueError, match=r"learner 0 of the bank: Ridge .* in this row"):
        strict.learn_one(bad[[int(np.searchsorted(bad.indptr, 3, "right")) - 1]], 0.0)
    assert states(strict) == before


def test_column_names_are_kept_and_checked():
    import pandas as pd

    X, y = stream(ROWS, d=2)
    frame = pd.DataFrame(X, columns=["a", "b"])
    bank = ol.Bank([ol.Ridge(), ol.NLMS()])
    ol.replay(bank, frame, y)
    assert bank[1].feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="same order"):
        bank.predict(frame[["b", "a"]])
    with pytest.raises(ValueError, match="same order"):
        bank.learn_one(frame[["b", "a"]].iloc[0], 1.0)
    with pytest.warns(UserWarning, match="Bank was fitted with feature names"):
        bank.predict(X)
    frame.iloc[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN in row 3, column 1 \('b'\)"):
        ol.replay(bank, frame, y)
    with pytest.raises(ValueError, match=r"same columns, got 2 features .* and 2 features$"):
        ol.Bank([bank[0], ol.Ridge().fit(X, y)])


def test_what_cannot_be_in_a_bank_is_refused_in_words():
    X, y = stream(ROWS)
    for bad, error, words in [
        (ol.LASER(), TypeError, "Bank needs a sequence of learners, got a LASER"),
        ([], ValueError, "at least one learner"),
        ([ol.LASER], TypeError, "Bank needs learners, got the class LASER: write LASER"),
        ([ol.features.Mapped(ol.features.RandomFourier(), ol.AAR())], TypeError, "got a Mapped"),
        ([ol.Ridge(), ol.KernelAAR()], ValueError, "does not grow, got KernelAAR"),
        ([ol.Ridge(b=-1.0)], ValueError, "Ridge needs"),
        ([ol.Ridge().fit(X, y), ol.Ridge().fit(X[:, :2], y)], ValueError, "5 features and 2"),
    ]:
        with pytest.raises(error, match=words):
            ol.Bank(bad)
    for threads in (0, -1, 1.5, "two", True):
        with pytest.raises(ValueError, match="Bank needs a whole number 1 ≤ threads"):
            ol.Bank([ol.Ridge()], threads)
    bank = ol.Bank([ol.Ridge(), ol.NLMS()])
    with pytest.raises(ValueError, match="not fitted"):
        bank.predict(X)
    ol.replay(bank, X, y)
    with pytest.raises(ValueError, match="5 features, as the first row had, got 2"):
        bank.learn_one([1.0, 2.0], 1.0)
    with pytest.raises(ValueError, match="Bank is expecting 5 features"):
        bank.predict(X[:, :2])
    with pytest.raises(ValueError, match="one number"):
        bank.learn_one(X[0], [1.0, 2.0])


def test_a_bank_too_large_for_memory_is_refused_before_anything_is_allocated(monkeypatch):
    monkeypatch.setattr("onlinear._validation.memory.physical_memory", lambda: 8e6)
    X, y = stream(5, d=300)
    ol.Bank([ol.Ridge()] * 5).learn_one(X[0], y[0])
    with pytest.raises(ValueError, match="Bank of 6 learners keeps 6 matrices of 300 × 300"):
        ol.Bank([ol.Ridge()] * 6).learn_one(X[0], y[0])


def test_a_file_that_does_not_describe_a_bank_is_refused(tmp_path):
    from onlinear._state_files import file_format

    X, y = stream(ROWS)
    bank = ol.Bank([ol.Ridge(), ol.NLMS(on_bad="skip")], threads=1)
    bank.save(tmp_path / "fresh.onl")
    assert same(ol.load(tmp_path / "fresh.onl"), [ol.Ridge(), ol.NLMS(on_bad="skip")])
    ol.replay(bank, X, y)
    path = tmp_path / "bank.onl"
    bank.save(path)
    assert ol.load(path).threads == 1
    header, arrays = file_format.read(path)

    def altered(change):
        other, numbers = json.loads(json.dumps(header)), {k: v.copy() for k, v in arrays.items()}
        change(other, numbers)
        file_format.write(path, other, numbers)
        return path

    for change in [
        lambda h, a: h.update(bank=[]),
        lambda h, a: h.update(bank=3),
        lambda h, a: h.update(bank="Ridge"),
        lambda h, a: h.update(threads=0),
        lambda h, a: h.pop("threads"),
        lambda h, a: h["bank"][0].update(learner="Unknown"),
        lambda h, a: h["bank"][0].update(features=4),
        lambda h, a: h["bank"][0].update(learner="KernelAAR"),
        lambda h, a: a.update({"state 0": np.full_like(a["state 0"], np.nan)}),
        lambda h, a: a.update({"state 0": a["state 0"][:-1]}),
    ]:
        with pytest.raises(ol.StateFileError):
            ol.load(altered(change))


@Step
def counting(state, params, x, y, work):
    t, w = state
    by, twice, table = params
    if y == y:
        w[0] += table[0] * by * (2 if twice else 1)
        t[0] += 1
    return w[0] / 2, FINE


class Counting(Learner):
    by: int = 1
    twice: bool = False
    algorithm = Algorithm(lambda params, d: weights(d), counting)

    def _params(self):
        return self.by, self.twice, np.array([0.5, 0.0])


def test_parameters_may_be_whole_numbers_and_truth_values():
    bank = ol.Bank([Counting(3), Counting(5, True), ol.Ridge(), Counting()])
    X, y = stream(4)
    one_by_one(bank, X, y)
    assert [model.coef_[0] for model in list(bank)[:2]] == [6.0, 20.0]
    assert bank[3].coef_[0] == 2.0
    assert len(bank._stacks) == 2


def test_matrices_begin_with_a_cache_line_and_records_are_the_learners_states():
    block = record_block.RecordBlock(3, [np.zeros(1), np.zeros((2, 3)), np.zeros(0)])
    block.put(1, ([7.0], np.arange(6).reshape(2, 3), []))
    assert block.records.tolist() == [[0] * 7, [7, 0, 1, 2, 3, 4, 5], [0] * 7]
    assert [a.shape for a in block.arrays] == [(3, 1), (3, 2, 3), (3, 0)]
    assert all(matrix.ctypes.data % record_block.LINE == 0 for matrix in block.arrays[1])
    assert record_block.at(block.arrays, 1)[0].tolist() == [7.0]


def test_the_repr_says_what_is_in_it_and_what_happened():
    X, y = stream(ROWS)
    bank = ol.Bank([ol.LASER(), ol.LASER(c=1.0), ol.Ridge(on_bad="skip")])
    assert repr(bank) == "<Bank of 3 learners: 2 LASER, 1 Ridge>"
    run = ol.replay(bank, X, y)
    means = run.losses.mean(axis=0)
    assert repr(run) == (
        f"<BankReplay of 40 rows by 3 learners: least mean squared error {means.min():.6g}, "
        f"of learner {means.argmin()}>"
    )
    none = ol.replay(ol.Bank([ol.Ridge(on_bad="skip")]), np.full((9, 2), np.nan), np.zeros(9))
    assert repr(none) == (
        "<BankReplay of 9 rows by 1 learners, 9 skipped: least mean squared error of no row>"
    )
