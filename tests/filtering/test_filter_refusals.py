"""What filters refuse: bad rows, parameters that cannot be, altered files."""

import contextlib
import math
import os
import re

import numpy as np
import pytest
from filters import FILTERS, described, every_filter, stream
from forgery import forge_at_random
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

import onlinear as ol
from onlinear._state_files import file_format
from onlinear.kernels import RBF

FORGERIES = int(os.environ.get("FORGERIES", "4"))


@every_filter
def test_bad_input_is_named_and_changes_nothing(name):
    X, y, _ = stream(60)
    f = FILTERS[name]()
    ol.filter_replay(f, X, y)
    before = described(f)
    bad = X.copy()
    bad[7, 2] = math.nan
    with pytest.raises(ValueError, match=r"(?i)nan in row 7, column 2"):
        ol.filter_replay(f, bad, y)
    with pytest.raises(ValueError, match=r"(?i)nan in row 7, column 2"):
        ol.filter_replay(f, csr_array(bad), y)
    for call in (f.decide, f.margin, lambda x: f.feedback(x, 1)):
        with pytest.raises(ValueError, match=r"(?i)nan in"):
            call(bad[7])
        with pytest.raises(ValueError, match="needs 4 features, as the first row had, got 3"):
            call([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"needs labels −1 or \+1 \(or .*\), got 0\.5 in row 9"):
        ol.filter_replay(f, X, np.where(np.arange(60) == 9, 0.5, y))
    with pytest.raises(ValueError, match="the same number of rows"):
        ol.filter_replay(f, X, y[:9])
    assert described(f) == before


@every_filter
@pytest.mark.parametrize("size", [1e-320, 1e-160, 1e8, 1e60, 1e160, 1e308])
def test_numbers_too_large_are_refused_or_stay_finite(name, size):
    X, y, _ = stream(60)
    for kind in (np.asarray, csr_array):
        f = FILTERS[name]()
        ol.filter_replay(f, X, y)
        before = described(f)
        rows = X.copy()
        rows[5] *= size
        try:
            ol.filter_replay(f, kind(rows), y)
        except ValueError:
            assert described(f) == before
        assert all(np.isfinite(array).all() for array in f._described()[1].values())
        assert math.isfinite(f.margin(X[1]))


def test_true_and_false_stand_for_the_labels():
    X, y, _ = stream(60)
    runs = [ol.filter_replay(ol.RidgeFilter(), X, labels) for labels in (y, y > 0)]
    np.testing.assert_array_equal(runs[0].decisions, runs[1].decisions)


@every_filter
def test_an_interrupt_leaves_the_filter_as_it_was(name, monkeypatch):
    X, y, _ = stream(200)
    f = FILTERS[name]()
    ol.filter_replay(f, X[:50], y[:50])
    before, calls = described(f), []

    def interrupt(*args, **kwargs):
        calls.append(1)
        if len(calls) > 20:
            raise KeyboardInterrupt
        return answer(*args, **kwargs)

    kind = "onlinear.filtering._filter.Filter._answer"
    answer = ol.Filter._answer
    monkeypatch.setattr(kind, interrupt)
    if name.endswith("full-dual"):
        monkeypatch.setattr(
            "onlinear.filtering._sparse_ridge.SparseRidge.reweigh", lambda self: interrupt_now()
        )
    with pytest.raises(KeyboardInterrupt):
        ol.filter_replay(f, X, y)
    assert described(f) == before


def interrupt_now():
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ol.SimpleFilter(c=-1), "SimpleFilter needs a finite number 0 ≤ c, got c=-1"),
        (lambda: ol.RidgeFilter(a=0), "RidgeFilter needs a finite number 0 < a, got a=0"),
        (lambda: ol.RidgeFilter(feedback="some"), "got feedback='some'"),
        (lambda: ol.RidgeFilter(form="sparse"), "got form='sparse'"),
        (lambda: ol.RidgeFilter(kernel="rbf"), "needs a kernel such as"),
        (
            lambda: ol.RidgeFilter(kernel=RBF(), form="primal"),
            "needs form='auto' or 'dual' with a kernel",
        ),
        (lambda: ol.RidgeFilter(rule="all"), "got rule='all'"),
        (lambda: ol.RidgeFilter(rule="ellipsoid", delta=1), "0 < delta < 1, got delta=1"),
        (lambda: ol.RidgeFilter(drift=0), "RidgeFilter needs a number 0 < drift ≤ inf"),
        (
            lambda: ol.RidgeFilter(rule="ellipsoid", drift=100.0),
            "needs drift=inf with rule='ellipsoid', whose theorem is about a truth that stays, "
            "got drift=100.0: use rule='variance', or LaserFilter",
        ),
        (lambda: ol.LaserFilter(b=0), "LaserFilter needs a finite number 0 < b, got b=0"),
        (lambda: ol.LaserFilter(c=-1), "LaserFilter needs a number 0 < c ≤ inf, got c=-1"),
        (lambda: ol.LaserFilter(p=2), "LaserFilter needs a finite number 0 ≤ p ≤ 1, got p=2"),
        (
            lambda: ol.LaserFilter(kernel=RBF(), form="primal"),
            "LaserFilter needs form='auto' or 'dual' with a kernel",
        ),
        (lambda: ol.PRidgeFilter(margin="shrunk"), "got margin='shrunk'"),
        (
            lambda: ol.PRidgeFilter(kernel=RBF(), form="primal"),
            "PRidgeFilter needs form='auto' or 'dual' with a kernel",
        ),
        (lambda: ol.PRidgeFilter(p=1.5), "0 ≤ p ≤ 1, got p=1.5"),
        (lambda: ol.PRidgeFilter(seed=-1), "needs a seed that is a whole number ≥ 0"),
        (lambda: ol.PRidgeFilter(horizon=0.5), "got horizon=0.5"),
        (lambda: ol.AppleTasting(ol.AAR()), "needs a base that is a filter"),
        (lambda: ol.filter_replay(ol.AAR(), [[1.0]], [1]), "needs a filter, got an AAR"),
        (lambda: ol.RidgeFilter().decide(csr_array(np.eye(2))), "one row"),
    ],
)
def test_what_cannot_be_is_refused_in_words(make, words):
    with pytest.raises((ValueError, TypeError), match=re.escape(words)):
        make()


def test_a_base_is_copied(tmp_path):
    base = ol.Perceptron()
    f = ol.AppleTasting(base)
    ol.filter_replay(f, *stream(20)[:2])
    assert base.seen_ == 0
    ol.filter_replay(base, *stream(20)[:2])
    f.save(tmp_path / "f.onl")
    assert described(ol.load(tmp_path / "f.onl")) == described(f)


def test_a_seed_that_is_a_function_cannot_be_saved(tmp_path):
    f = ol.PRidgeFilter(seed=lambda t: 0.5)
    with pytest.raises(ValueError, match="needs a seed that is a number to be saved"):
        f.save(tmp_path / "f.onl")


def test_numbers_of_numpy_are_saved_as_numbers(tmp_path):
    for f in (ol.PRidgeFilter(np.float32(0.5), horizon=np.int64(7)), ol.SimpleFilter(np.int32(3))):
        f.decide([1.0])
        f.save(tmp_path / "f.onl")
        assert ol.load(tmp_path / "f.onl").get_params() == f.get_params()
    model = ol.CRRLS(reset_every=np.int64(7))
    model.save(tmp_path / "m.onl")
    assert ol.load(tmp_path / "m.onl").reset_every == 7


@every_filter
def test_a_file_that_was_tampered_with_is_refused(name, tmp_path):
    X, y, _ = stream(60)
    f = FILTERS[name]()
    ol.filter_replay(f, csr_array(X), y)
    path = tmp_path / "f.onl"
    f.save(path)
    header, arrays = file_format.read(path)
    for change in (
        {"counts": {**header["counts"], "seen_": -1}},
        {"filter": "Nothing"},
        {"waiting": 3},
        {"waiting": {"x": "abc"}},
        {"features": 10**12},
        {"features": 3} if name != "simple" else {"features": -1},
        {"counts": {**header["counts"], "labels_": 1000}},
        {"features": "4"},
        {"params": {"x": 1}},
    ):
        file_format.write(path, {**header, **change}, arrays)
        with pytest.raises(ol.StateFileError, match="does not describe"):
            ol.load(path)
    for array in arrays:
        file_format.write(path, header, {**arrays, array: arrays[array][:-1]})
        with pytest.raises(ol.StateFileError, match="does not describe"):
            ol.load(path)
        spoilt = {**arrays, array: np.where(arrays[array] == arrays[array].flat[0], np.nan, 1.0)}
        file_format.write(path, header, spoilt)
        with pytest.raises(ol.StateFileError, match="does not describe"):
            ol.load(path)


@pytest.mark.parametrize(
    ("form", "scale"),
    [("primal", 1.0), ("primal", 1e6), ("primal", 1e8), ("dual", 1.0), ("dual", 1e3)],
)
def test_a_file_of_the_ellipsoid_filter_with_long_rows_goes_on_with_the_same_bits(
    form, scale, tmp_path
):
    """With long rows, ln det(A/a) as a sum over the rows is larger than what Σ itself says."""
    X, y, _ = stream(80, near=1.0)
    X *= scale
    whole, first = (ol.RidgeFilter(rule="ellipsoid", form=form) for _ in range(2))
    path = tmp_path / "f.onl"
    decisions = ol.filter_replay(whole, X, y).decisions
    assert ol.filter_replay(first, X[:40], y[:40]).decisions.tolist() == decisions[:40].tolist()
    first.save(path)
    header, arrays = file_format.read(path)
    again = ol.load(path)
    assert described(again) == described(first)
    assert ol.filter_replay(again, X[40:], y[40:]).decisions.tolist() == decisions[40:].tolist()
    assert described(again) == described(whole)
    growth = header["inner"]["growth"]
    slow = np.linalg.slogdet(np.eye(4) + X[:40][decisions[:40]].T @ X[:40][decisions[:40]])[1]
    assert_allclose(growth, slow, rtol=1e-9 if scale < 1e5 else 0.5)
    for forged in (0.5 * growth, 0.0, -growth, math.nan, math.inf, 1e6, "1"):
        file_format.write(path, {**header, "inner": {**header["inner"], "growth": forged}}, arrays)
        with pytest.raises(ol.StateFileError, match="does not describe"):
            ol.load(path)
    del header["inner"]["growth"]
    file_format.write(path, header, arrays)
    with pytest.raises(ol.StateFileError, match="does not describe"):
        ol.load(path)


@every_filter
def test_a_forged_file_is_refused_or_holds_a_filter_that_works(name, tmp_path):
    X, y, _ = stream(30)
    f, path = FILTERS[name](), tmp_path / "f.onl"
    ol.filter_replay(f, X, y)
    f.decide(X[0])
    for seed in range(FORGERIES):
        f.save(path)
        forge_at_random(path, np.random.default_rng([seed, *name.encode()]), None)
        try:
            with np.errstate(all="ignore"):
                loaded = ol.load(path)
        except ol.StateFileError:
            continue
        for x in np.random.default_rng(seed).uniform(size=(6, getattr(f, "n_features_in_", 3))) / 3:
            with contextlib.suppress(ValueError), np.errstate(all="ignore"):
                assert math.isfinite(loaded.margin(x)), seed
                if loaded.decide(x):
                    loaded.feedback(x, 1)
        loaded.save(path)
        assert type(ol.load(path)) is type(loaded)


def test_the_sparse_form_takes_no_more_memory_than_it_says():
    """n²/2 numbers, the entries of the rows, and a few vectors of the width."""
    rng = np.random.default_rng(0)
    d, n = 50_000, 300
    columns = rng.integers(d, size=(n, 20))
    X = csr_array(
        (np.full(n * 20, 20**-0.5), columns.ravel(), np.arange(0, 20 * n + 1, 20)), (n, d)
    )
    f = ol.RidgeFilter(c=0.0, feedback="full")
    ol.filter_replay(f, X, np.where(np.arange(n) % 3, 1, -1))
    model = f._model
    assert model.L.size < 1.6 * n * n / 2
    arrays = (*vars(model).values(), *vars(model.rows).values())
    numbers = sum(a.size for a in arrays if isinstance(a, np.ndarray))
    assert numbers < 1.6 * (n * n / 2 + 2 * 20 * n + 2 * n) + 5 * d
