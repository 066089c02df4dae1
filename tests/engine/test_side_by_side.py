"""Accounts kept in a thread beside the replay change nothing but the time, as BLAS's threads."""

import threading

import numpy as np
import pytest
from table import stream
from threadpoolctl import ThreadpoolController

import onlinear as ol
from onlinear._engine import step
from onlinear._engine import threads as _threads
from onlinear._evaluation import bound_beside
from onlinear._evaluation import certified as _certified

LEARNERS = {
    "AAR": {},
    "ARCOR": {"radius": 0.8, "q": 1.5},
    "CIRR": {},
    "GD": {"eta": 0.1},
    "ONS": {"radius": 1.0, "gamma": 0.1},
    "RLS": {},
}
FIGURES = ("loss", "comparator", "ceiling", "holds")


@pytest.fixture(params=["alone", "beside"])
def cores(request, monkeypatch):
    monkeypatch.setattr(bound_beside, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(bound_beside, "usable_cores", lambda: 1 if request.param == "alone" else 2)
    return request.param


def certified(name, X, y, monkeypatch, cores, engine, **more):
    monkeypatch.setattr(bound_beside, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(bound_beside, "usable_cores", lambda: cores)
    watched = ol.Certified(ol.LEARNERS[name](**LEARNERS[name], **more))
    first = watched.replay(X[:100], y[:100], engine=engine)
    second = watched.replay(X[100:], y[100:], engine=engine)
    figures = [getattr(part, figure) for part in (first, second) for figure in FIGURES]
    return [each.tobytes() for each in figures], watched._accounts.ledger.record.tobytes()


@pytest.mark.parametrize("engine", ["rank-one", "auto"])
@pytest.mark.parametrize("name", LEARNERS)
def test_the_same_bits_as_one_after_the_other(name, engine, monkeypatch):
    X, y = stream(rows=300, d=64, seed=1)
    X[[7, 170], 3] = np.nan
    X[[120]] = 0.0
    for bad in (False, True):
        table = X if bad else np.nan_to_num(X)
        runs = [
            certified(name, table, y, monkeypatch, cores, engine, on_bad="skip") for cores in (1, 2)
        ]
        assert runs[0] == runs[1]


def test_a_row_that_is_refused_changes_nothing(cores):
    X, y = stream(rows=300, d=20, seed=2)
    watched = ol.Certified(ol.WEMM(b=1.5))
    watched.replay(X[:50], y[:50])
    before = watched._accounts.ledger.record, watched.model._record.copy(), watched.loss
    spoilt = X.copy()
    spoilt[200] *= 9.0
    with pytest.raises(ValueError, match="row 200"):
        watched.replay(spoilt, y)
    spoilt[30, 0] = np.inf
    with pytest.raises(ValueError, match="row 30"):
        watched.replay(spoilt, y)
    assert np.array_equal(before[0], watched._accounts.ledger.record)
    assert np.array_equal(before[1], watched.model._record)
    assert before[2] == watched.loss
    proof = watched.replay(X[50:], y[50:])
    whole = ol.certificate(ol.WEMM(b=1.5), X, y)
    assert np.array_equal(whole.ceiling[50:], proof.ceiling)


def test_an_interrupt_ends_the_thread_and_changes_nothing(cores, monkeypatch):
    X, y = stream(rows=4000, d=20, seed=3)
    watched = ol.Certified(ol.AAR())
    watched.replay(X[:50], y[:50])
    before, threads = watched._accounts.ledger.record, threading.active_count()
    monkeypatch.setattr(step, "BLOCK_SECONDS", 0.0)
    monkeypatch.setattr(step, "FIRST_BLOCK", 1)

    def interrupted(model, X, y, engine):
        model._run(X[:10], y[:10], learn=True)
        raise KeyboardInterrupt

    monkeypatch.setattr(_certified, "replay", interrupted)
    with pytest.raises(KeyboardInterrupt):
        watched.replay(X[50:], y[50:])
    assert watched.rounds_ == watched.model.rounds_ == 50
    assert np.array_equal(before, watched._accounts.ledger.record)
    assert threading.active_count() == threads


def test_where_the_engine_stops_for_breath_changes_no_bit_of_accounts(monkeypatch):
    X, y = stream(rows=700, d=64, seed=4)
    X[[5, 400]] *= 30.0
    runs = []
    for seconds in (0.0, 1e9):
        monkeypatch.setattr(step, "BLOCK_SECONDS", seconds)
        watched = ol.Certified(ol.ARCOR(radius=0.8, r=0.5))
        proof = watched.replay(X, y)
        runs.append((proof.ceiling.tobytes(), watched._accounts.ledger.record.tobytes()))
    assert runs[0] == runs[1]
    alone = ol.certificate(ol.ARCOR(radius=0.8, r=0.5), X, y, engine="rank-one")
    np.testing.assert_allclose(proof.ceiling, alone.ceiling, rtol=1e-10)


def test_a_call_beside_a_block_that_fails_is_ended():
    begun, told = threading.Event(), []

    def call(advance):
        begun.set()
        while True:
            told.append(1)
            advance(0, 1)

    def fail(future):
        begun.wait()
        futures.append(future)
        raise ZeroDivisionError

    futures = []
    with pytest.raises(ZeroDivisionError), _threads.beside(call) as future:
        fail(future)
    assert isinstance(futures[0].exception(), RuntimeError)
    assert told


def blas() -> list[int]:
    import scipy.linalg.cython_blas  # noqa: F401

    found = ThreadpoolController().select(user_api="blas").info()
    return [each["num_threads"] for each in found if "scipy.libs" in each["filepath"]] or [
        each["num_threads"] for each in found
    ]


def test_blas_is_held_to_one_thread_for_narrow_rows_and_then_let_go():
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        assert blas() == [2]
        with _threads.blas_threads(100):
            assert blas() == [1]
            with _threads.blas_threads(64):
                assert blas() == [1]
            assert blas() == [1]  # somebody else still asks for it
        assert blas() == [2]
        with _threads.blas_threads(1024):
            assert blas() == [2]
        X, y = stream(rows=100, d=64)
        X[50, 0] = np.nan
        with pytest.raises(ValueError, match="row 50"):
            ol.replay(ol.AAR(), X, y, engine="bulk")
        assert blas() == [2]


def test_only_the_main_thread_holds_blas_and_certificates_let_it_go(monkeypatch):
    monkeypatch.setattr(bound_beside, "usable_cores", lambda: 2)
    X, y = stream(rows=1000, d=64)
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        for _ in range(5):
            ol.certificate(ol.LASER(), X, y)
            assert blas() == [2]
        seen = []

        def elsewhere():
            with _threads.blas_threads(64):
                seen.extend(blas())

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert seen == blas() == [2]


def test_bulk_has_the_same_bits_whatever_threads_blas_may_use():
    X, y = stream(rows=400, d=200)
    runs = []
    for threads in (1, 2):
        with ThreadpoolController().limit(limits=threads, user_api="blas"):
            runs.append(ol.replay(ol.LASER(), X, y, engine="bulk").predictions.tobytes())
    assert runs[0] == runs[1]
