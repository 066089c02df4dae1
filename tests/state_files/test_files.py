"""State files: whole or refused, old or new, never executed."""

import hashlib
import os
import stat
from fractions import Fraction

import numpy as np
import pytest
from forgery import forge
from table import state, stream

import onlinear as ol
from onlinear._state_files import file_format

X, Y = stream(20)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.onl"
    ol.LASER(c=10.0, clip=2.0).fit(X, Y).save(path)
    return path


def test_a_fresh_learner_is_saved_too(tmp_path):
    ol.ARCOR(q=np.inf, thresholds=[0.5]).save(tmp_path / "fresh.onl")
    model = ol.load(tmp_path / "fresh.onl")
    assert repr(model) == "ARCOR(q=inf, thresholds=[0.5])"
    assert state(model) == b""


def test_numpy_parameters_are_saved_as_numbers(tmp_path):
    model = ol.OSLOG(a=np.longdouble(2.0), floor=Fraction(1, 2), w0=np.ones(5)).fit(X, Y)
    model.save(tmp_path / "model.onl")
    loaded = ol.load(tmp_path / "model.onl")
    assert (loaded.a, loaded.floor, loaded.w0) == (2.0, 0.5, [1.0] * 5)
    ol.LASER(shrink=np.False_).save(tmp_path / "model.onl")
    assert ol.load(tmp_path / "model.onl").shrink is False


def test_column_names_and_skipped_rows_survive(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "ä", "<d>", "e"])
    frame.iloc[3, 0] = np.nan
    ol.Ridge(on_bad="skip").fit(frame, Y).save(tmp_path / "model.onl")
    model = ol.load(tmp_path / "model.onl")
    assert model.feature_names_in_.tolist() == ["a", "b", "ä", "<d>", "e"]
    assert model.n_skipped_ == 1
    assert model.on_bad == "skip"


def test_every_truncation_is_refused(saved):
    content = saved.read_bytes()
    for length in range(0, len(content), 7):
        saved.write_bytes(content[:length])
        with pytest.raises(ol.StateFileError, match=r"not an onlinear|version|truncated"):
            ol.load(saved)


def test_every_altered_byte_is_refused(saved):
    content = saved.read_bytes()
    for position in range(0, len(content), 3):
        altered = bytearray(content)
        altered[position] ^= 0x10
        saved.write_bytes(bytes(altered))
        with pytest.raises(ol.StateFileError):
            ol.load(saved)


def test_a_file_of_a_newer_layout_is_refused_in_words(saved):
    saved.write_bytes(saved.read_bytes().replace(b"onlinear 1\n", b"onlinear 2\n", 1))
    with pytest.raises(ol.StateFileError, match=r"version b'2', this onlinear reads version 1"):
        ol.load(saved)


@pytest.mark.parametrize(
    ("header", "numbers", "words"),
    [
        ([], b"", "header"),
        ({"learner": "Ridge"}, b"", "header"),
        ({"arrays": {}}, b"", "learner"),
        (
            {"learner": "os.system", "params": {}, "skipped": 0, "arrays": {}},
            b"",
            "no learner is known as 'os.system'",
        ),
        (
            {"learner": ["Ridge"], "params": {}, "skipped": 0, "arrays": {}},
            b"",
            "does not describe",
        ),
        ({"learner": "Ridge", "params": {"z": 1}, "arrays": {}}, b"", "does not describe"),
        ({"learner": "Ridge", "params": {}, "arrays": {"state": [-1]}}, b"", "dimension"),
        ({"learner": "Ridge", "params": {}, "arrays": {"state": [10**12]}}, b"", "announces"),
        ({"learner": "Ridge", "params": {}, "arrays": {"state": [1.5]}}, b"", "dimension"),
        ({"learner": "Ridge", "params": {}, "arrays": {"state": [0, 10**30]}}, b"", "shape"),
        ({"learner": "Ridge", "params": {}, "arrays": {"state": [0] * 101}}, b"", "shape"),
        ({"learner": "SecondOrder", "params": {}, "skipped": 0, "arrays": {}}, b"", "no learner"),
        ({"learner": "Ridge", "params": {"b": 10**400}, "skipped": 0, "arrays": {}}, b"", "0 < b"),
        ({"learner": "Ridge", "params": {"b": {"x": 1}}, "skipped": 0, "arrays": {}}, b"", "0 < b"),
        (
            {"learner": "Ridge", "params": {"on_bad": [1, 2]}, "skipped": 0, "arrays": {}},
            b"",
            "on_bad",
        ),
        (
            {
                "learner": "Ridge",
                "params": {},
                "features": 10**9,
                "names": None,
                "skipped": 0,
                "arrays": {"state": [3]},
            },
            bytes(24),
            "1000000000 features",
        ),
        (
            {
                "learner": "Ridge",
                "params": {"b": -1.0},
                "features": 1,
                "names": None,
                "skipped": 0,
                "arrays": {"state": [3]},
            },
            bytes(24),
            "0 < b",
        ),
        (
            {
                "learner": "Ridge",
                "params": {},
                "features": 1,
                "names": None,
                "skipped": 0,
                "arrays": {"state": [3]},
            },
            np.array([1.0, np.nan, 1.0]).tobytes(),
            "not finite",
        ),
        (
            {
                "learner": "Ridge",
                "params": {},
                "features": 1,
                "names": ["a", "b"],
                "skipped": 0,
                "arrays": {"state": [3]},
            },
            bytes(24),
            "names",
        ),
    ],
)
def test_a_hostile_file_with_a_right_checksum_is_refused(tmp_path, header, numbers, words):
    forge(tmp_path / "bad.onl", header, numbers)
    with pytest.raises(ol.StateFileError, match=words):
        ol.load(tmp_path / "bad.onl")


@pytest.mark.parametrize(
    ("learner", "params", "state", "other", "words"),
    [
        ("Ridge", {}, [-5.5, 0.0, 1.0], {}, "-5.5 rounds"),
        ("Ridge", {}, [1.0, 0.0, -1.0], {}, "symmetric and positive"),
        ("Ridge", {}, [1.0, 0.0, 1.0], {"skipped": -3}, "-3 for a number of rows"),
        ("Ridge", {}, [1.0, 0.0, 1.0], {"skipped": float("inf")}, "inf for a number of rows"),
        ("Ridge", {}, [1.0, 0.0, 1.0], {"names": {"a": 1}}, "names"),
        ("Ridge", {}, [1.0, 0.0, 1.0], {"names": "a"}, "names"),
        ("ARCOR", {"thresholds": [0.5]}, [1.0, 0.0, 1.0, 1.0, -1e15, 1.0], {}, "segment"),
    ],
)
def test_a_state_no_rounds_lead_to_is_refused(tmp_path, learner, params, state, other, words):
    header = {
        "learner": learner,
        "params": params,
        "features": 1,
        "names": None,
        "skipped": 0,
        "arrays": {"state": [len(state)]},
        **other,
    }
    forge(tmp_path / "bad.onl", header, np.array(state).tobytes())
    with pytest.raises(ol.StateFileError, match=words):
        ol.load(tmp_path / "bad.onl")


def test_a_learner_that_could_not_be_loaded_is_not_saved(tmp_path):
    model = ol.CIRR().fit(X, Y)
    model.save(tmp_path / "model.onl")
    before = (tmp_path / "model.onl").read_bytes()
    for params in ({"w0": [1.0, 2.0]}, {"w0": 1.0, "a": -1.0}):
        model.set_params(**params)
        with pytest.raises(ValueError, match=r"w0|0 < a"):
            model.save(tmp_path / "model.onl")
    assert (tmp_path / "model.onl").read_bytes() == before


def test_the_file_and_its_folder_are_flushed_to_the_disk(saved, monkeypatch):
    flushed = []
    flush = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (flushed.append(os.fstat(fd).st_mode), flush(fd)))
    ol.Ridge().save(saved)
    assert [stat.S_ISREG(mode) for mode in flushed] == [True, False]
    assert stat.S_ISDIR(flushed[1])


def test_a_save_keeps_the_permissions_of_the_file_it_replaces(saved):
    saved.chmod(0o600)
    ol.Ridge().save(saved)
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600


def test_a_deeply_nested_header_is_refused(tmp_path):
    body = b"onlinear 1\n" + b"[" * 100_000 + b"\n"
    (tmp_path / "deep.onl").write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(ol.StateFileError, match="header"):
        ol.load(tmp_path / "deep.onl")


@pytest.mark.parametrize("fault", ["fsync", "rename"])
def test_a_failed_save_leaves_the_old_file_and_no_litter(saved, monkeypatch, fault):
    before = saved.read_bytes()

    def fail(*args):
        raise OSError(28, "No space left on device")

    target = (os, "fsync") if fault == "fsync" else (file_format.Path, "replace")
    monkeypatch.setattr(*target, fail)
    with pytest.raises(OSError, match="No space"):
        ol.Ridge().fit(X, Y).save(saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_save_follows_a_link_and_keeps_ordinary_permissions(saved, tmp_path):
    link = tmp_path / "link.onl"
    link.symlink_to(saved)
    ol.Ridge().fit(X, Y).save(link)
    assert link.is_symlink()
    assert isinstance(ol.load(saved), ol.Ridge)
    plain = tmp_path / "plain"
    plain.touch()
    assert stat.S_IMODE(saved.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_a_learner_of_the_users_own_is_found_by_its_name(tmp_path):
    def define():
        class LASER(ol.Ridge):
            """Named like another, and defined anew as in a notebook."""

        return LASER

    for _ in range(2):
        mine = define()
        mine(b=3.0).fit(X, Y).save(tmp_path / "mine.onl")
        assert type(ol.load(tmp_path / "mine.onl")) is mine
    ol.LASER().fit(X, Y).save(tmp_path / "theirs.onl")
    assert type(ol.load(tmp_path / "theirs.onl")) is ol.LASER


def test_an_error_names_the_file_that_was_asked_for(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no/such/folder/model\.onl"):
        ol.Ridge().save(tmp_path / "no/such/folder/model.onl")
