"""What is saved can be loaded: a bad state is not written, and what was written is read back."""

import os
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from table import stream

import onlinear as ol
from onlinear._cli.columns import Columns
from onlinear._cli.errors import DataError
from onlinear._cli.moved_weights import WeightSamples
from onlinear._cli.predictions_file import Nothing
from onlinear._cli.run_figures import RunFigures
from onlinear._cli.snapshot import Snapshot
from onlinear._cli.source import Place
from onlinear._state_files import file_format

X, Y = stream(20)
posix = pytest.mark.skipif(os.name != "posix", reason="POSIX")


@pytest.fixture
def saved(tmp_path):
    """Return a good file, which must survive."""
    path = tmp_path / "model.onl"
    ol.Ridge().fit(X, Y).save(path)
    return path


@pytest.fixture(autouse=True)
def survives(saved):
    """Check that the good file and nothing else is there afterwards."""
    before = saved.read_bytes()
    yield
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


# --- the file is read back --------------------------------------------------------------------


@posix
@pytest.mark.parametrize("at", [3, 11, 60, -100, -1])
def test_a_file_that_cannot_be_read_back_does_not_replace_a_good_one(saved, monkeypatch, at):
    def fail(descriptor):
        size = os.fstat(descriptor).st_size
        os.pwrite(descriptor, b"\x80", at % size)

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(
        ol.StateFileError, match=r"model\.onl is unchanged, because what was written"
    ):
        ol.LASER().fit(X, Y).save(saved)


@posix
def test_a_file_that_lost_bytes_does_not_replace_a_good_one(saved, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda fd: os.ftruncate(fd, os.fstat(fd).st_size - 1))
    with pytest.raises(OSError, match=r"bytes were written.*model\.onl"):
        ol.LASER().fit(X, Y).save(saved)
    with pytest.raises(OSError, match="bytes were written"):
        file_format.replace(saved, b"a page")


@pytest.mark.parametrize("rows", [0, 2, 4])
def test_an_array_of_another_size_than_announced_does_not_replace_a_good_file(saved, rows):
    pieces = (np.zeros((1, 2)) for _ in range(rows))
    array = file_format.Pieces((3, 2), np.dtype(np.float64), pieces)
    with pytest.raises(ol.StateFileError, match=r"is unchanged.*announces 48 bytes"):
        file_format.write(saved, {"learner": "Ridge"}, {"state": array})


def test_verifying_a_file_needs_little_memory(saved):
    piece = np.zeros((1, 2**17))
    array = file_format.Pieces((48, 2**17), piece.dtype, (piece for _ in range(48)))
    tracemalloc.start()
    try:
        file_format.write(saved.with_name("big.onl"), {}, {"state": array})
        assert tracemalloc.get_traced_memory()[1] < 8e6  # of 50 MB
    finally:
        tracemalloc.stop()
        saved.with_name("big.onl").unlink()


@posix
@pytest.mark.parametrize("kind", ["a pipe", "a folder"])
def test_a_save_does_not_replace_what_is_not_a_regular_file(saved, kind):
    path = saved.with_name("other")
    os.mkfifo(path) if kind == "a pipe" else path.mkdir()
    mode = path.stat().st_mode
    with pytest.raises(ol.StateFileError, match=f"{kind}: use the path of a regular file"):
        ol.Ridge().save(path)
    assert path.stat().st_mode == mode
    path.unlink() if kind == "a pipe" else path.rmdir()


# --- a state that load would refuse is not written -------------------------------------------


def broken(model):
    """Return a learner whose weights are not finite."""
    (model._state.W if isinstance(model, ol.Auto) else model._state.w)[...] = np.nan
    return model


def keyed():
    models = ol.Keyed(ol.Ridge())
    models.replay(np.arange(20) % 5, X, Y)
    cache = models._models.store.cache
    slot = cache.keys.slot(3)
    record = cache.segments.rows(np.array([slot]))
    record[0, -1] = -1.0
    cache.segments.put(np.array([slot]), record)
    return models


def bank():
    return ol.Bank([ol.Ridge(), broken(ol.LASER().fit(X, Y))])


def late():
    late = ol.Late(ol.Ridge().fit(X, Y))
    broken(late.model)
    return late


def certified():
    certified = ol.Certified(ol.LASER())
    certified.learn_one(X[0], Y[0])
    certified._accounts.ledger.state[4][...] *= -1.0  # Σ of the comparator
    return certified


def mapped():
    model = ol.features.Mapped(ol.features.RandomFourier(4), ol.Ridge()).fit(X, Y)
    model.features._state[0][0, 0] = np.inf
    return model


def perceptron():
    model = ol.Perceptron()
    model.decide(X[0])
    model._w[0] = np.inf
    return model


def ridge_filter():
    model = ol.RidgeFilter(form="dual")
    model.decide(X[0])
    model.feedback(X[0], 1)
    model._model.z[0] = np.nan
    return model


@pytest.mark.parametrize(
    "make",
    [
        lambda: broken(ol.Auto().fit(X, Y)),
        lambda: broken(ol.GD().fit(X, Y)),
        bank,
        keyed,
        late,
        certified,
        mapped,
        perceptron,
        ridge_filter,
    ],
)
def test_what_load_would_refuse_is_not_saved(saved, make):
    model = make()
    with pytest.raises(ValueError, match=r"not finite|positive definite") as error:
        model.save(saved)
    assert not isinstance(error.value, ol.StateFileError)


def test_a_run_does_not_replace_its_state_by_what_cannot_be_resumed(saved):
    columns = Columns("y", ("a", "b", "c", "d", "e"), {}, (), ())
    source = SimpleNamespace(paths=["x.csv"], mark=lambda place: "")
    told = SimpleNamespace(described=lambda: None)
    with pytest.raises(DataError, match=r"cannot write .*model\.onl: .*not finite"):
        Snapshot(str(saved), 1, 1.0).write(
            broken(ol.LASER().fit(X, Y)),
            *(columns, source, Place(), RunFigures(), Nothing(), told, WeightSamples(5)),
        )


@pytest.mark.parametrize("make", [ol.Auto, ol.Ridge, ol.ARCOR, ol.CIRR, ol.DriftNetwork])
@pytest.mark.parametrize("gap", [0.0, 1e-12, 1e-9, 1e-6])
def test_nearly_collinear_columns_are_saved_and_loaded(saved, make, gap):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    X[:, 1] = X[:, 0] + gap * X[:, 2]
    X[:, 3] *= 1e6
    X[:, 4] += 1e7
    path = saved.with_name("other.onl")
    model = make().fit(X, X[:, 0])
    model.save(path)
    assert ol.load(path)._record.tobytes() == model._record.tobytes()
    path.unlink()
