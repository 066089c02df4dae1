"""Files with a valid checksum and contents that no sequence of rounds leads to are refused."""

import os
import subprocess
import sys

import numpy as np
import pytest
from forgery import alter, forge, parts
from table import stream

import onlinear as ol
from onlinear._state_files import file_format

X, Y = stream(40)
posix = pytest.mark.skipif(os.name != "posix", reason="POSIX")


def forged(path, model, change):
    """Save a model, then change its state as ``change(state)`` says, and sign it again."""
    model.save(path)

    def inside(header, arrays):
        state = ol.load(path)
        record = arrays["state"]
        parts, first = [], 0
        for array in state._state:
            parts.append(record[first : first + array.size].reshape(array.shape))
            first += array.size
        change(type(state._state)(*parts))

    alter(path, inside)
    return path


def put(name, index, value):
    """Return a change of some numbers of an array."""

    def change(state):
        getattr(state, name)[index] = value

    return change


def indefinite(name="S"):
    """Return a change to a symmetric indefinite matrix with the same positive diagonal."""

    def change(state):
        matrix = getattr(state, name)
        matrix = matrix if matrix.ndim == 2 else matrix[-1]
        matrix[0, 1] = matrix[1, 0] = -3.0 * np.sqrt(matrix[0, 0] * matrix[1, 1])

    return change


LAGS = np.s_[:]
CASES = [
    ("Ridge", {}, indefinite(), "Σ is not symmetric and positive definite"),
    ("Ridge", {}, put("S", (0, 1), 0.1), "Σ is not symmetric and positive definite"),
    ("Ridge", {}, put("t", 0, 1e300), "1e\\+300 rounds were learnt"),
    ("Ridge", {}, put("t", 0, 2.5), "2.5 rounds were learnt"),
    ("RLS", {}, put("peak", 0, -1.0), "a largest x² = -1"),
    ("CRRLS", {}, put("peak", 0, -1.0), "a largest x² = -1"),
    ("CIRR", {}, indefinite("A"), "Σxxᵀ is not symmetric and positive definite"),
    ("OSLOG", {}, indefinite("A"), "Σxxᵀ is not symmetric and positive definite"),
    ("ARCOR", {}, indefinite("N"), "N is not symmetric and positive definite"),
    ("ARCOR", {}, put("segment", 0, 1.5), "1.5 is its segment"),
    ("ARCOR", {}, put("segment", 0, 1e6), "1e\\+06 is its segment"),
    ("ARCOR", {}, put("segment", 1, 2.0), "2 is its flag"),
    ("EG", {}, put("w", 0, 0.9), "weights"),
    ("EG", {}, put("w", 0, -0.1), "its weights = -0.1"),
    ("EG", {}, put("log_w", 0, 5.0), "a difference between a weight and exp"),
    ("EGPM", {}, put("log_w", (1, 0), 5.0), "a difference between a weight and exp"),
    ("EGU", {}, put("w", 0, 2.0), "a weight = 2"),
    ("DriftNetwork", {"C": 1}, indefinite(), "Σ of a copy is not symmetric"),
    ("DriftNetwork", {"C": 1}, indefinite("P"), "Σ of the second layer is not symmetric"),
    ("DriftNetwork", {"C": 1}, put("t", 1, -4.0), "-4 rounds were learnt by a copy"),
    ("DriftNetwork", {"C": 1}, put("S", (0, 2, 2), 50.0), "Σ of a copy = 50"),
    ("DriftNetwork", {"C": 1}, put("segments", (0, 0), 0.0), "0 is its segment"),
    ("Standardized", {"learner": ol.LASER()}, indefinite(), "Σ is not symmetric"),
    ("Standardized", {"learner": ol.LASER()}, put("spread", 0, -1.0), "spread = -1"),
    ("Standardized", {"learner": ol.LASER()}, put("scale", 0, 0.0), "a squared scale = 0"),
    ("Standardized", {"learner": ol.LASER()}, put("prior", 0, 0.0), "a variance of a prior = 0"),
    ("Standardized", {"learner": ol.LASER()}, put("centre", 0, 1e9), "the distance of a centre"),
    ("KernelAAR", {"b": 0.2}, put("n", 0, 1e6), "1e\\+06 examples are kept"),
    ("KernelAAR", {"b": 0.2}, put("form", 0, 1.0), "kernel"),
    ("KernelAAR", {"b": 0.2}, put("form", 1, -1.0), "gamma of its kernel = -1"),
    ("KernelAAR", {"b": 0.2}, put("L", 0, 1e-300), "its factor L"),
    ("KernelAAR", {"b": 0.2}, put("rho", 0, 1e-320), "a prior variance"),
    ("KernelLASER", {"b": 0.3, "c": 5.0}, put("rho", 0, 1e9), "a change of the prior"),
    ("KernelARCOR", {"r": 0.3}, put("kept", 0, 99.0), "99 examples are in its segment"),
    ("KernelARCOR", {"r": 0.3}, put("segment", 0, 0.5), "0.5 is its segment"),
    ("KernelARCOR", {"r": 0.3}, put("segment", 1, 0.0), "the variance of the noise = 0"),
    ("KernelARCOR", {"r": 0.3}, put("segment", 2, -1.0), "a threshold = -1"),
    ("KernelARCOR", {"r": 0.3}, put("square", 0, -1.0), "a squared norm = -1"),
    ("KernelARCOR", {"q": np.inf}, put("L", 0, -1.0), "its factor L"),
    ("KernelARCOR", {"r": 9.0}, put("N", 0, -1.0), "its factor N"),
    ("KernelCRRLS", {}, put("noise", 0, 2.0), "the variance of the noise = 2"),
    ("KernelCRRLS", {}, put("L", 0, -1.0), "its factor L"),
    ("KernelCRRLS", {}, put("kept", 0, 2.5), "2.5 examples are in its segment"),
    ("Auto", {}, indefinite(), "Σ of an expert is not symmetric"),
    ("Auto", {}, indefinite("T"), "T of a ridge is not symmetric"),
    ("Auto", {}, put("rounds", 0, 41.0), "41 rounds were learnt by an expert"),
    ("Auto", {}, put("trust", 0, 2.0), "weights of its ridges"),
    ("Auto", {}, put("trust", LAGS, [0.0, 1.0]), "a weight of a ridge = 0"),
    ("Auto", {}, put("spread", 0, -1.0), "spread = -1"),
    ("Auto", {}, put("scale", 0, -1.0), "scale = -1"),
    ("Auto", {}, put("seen", (0, 0), 1e3), "the end of a column's range"),
    ("Auto", {}, put("mean", 0, 1e200), "an entry of mean"),
    ("Auto", {}, put("absurd", 0, 1e9), "outliers in a column"),
    ("Auto", {}, put("last", 0, -1.0), "the distance of an outlier"),
    ("Auto", {}, put("calm", 0, -1.0), "usual error"),
    ("Auto", {}, put("recent", 0, -1.0), "a recent loss"),
    ("Auto", {}, put("losses", 0, -1.0), "a loss of an expert"),
    ("Auto", {}, put("sums", 0, -1.0), "a loss = -1"),
    ("Auto", {}, put("early", (0, 0), 1e200), "an entry of early"),
    ("Auto", {}, put("labels", 0, 1e200), "a first label"),
    ("Auto", {}, put("labels", 1, 1.0), "a lowest label"),
    ("Auto", {}, put("labels", 2, -1.0), "a highest label"),
    ("Auto", {}, put("labels", 3, 1e3), "a mean label"),
    ("Auto", {}, put("labels", 4, -1.0), "a squared error"),
    ("Auto", {}, put("labels", 5, 1e9), "statistics of labels"),
    ("Auto", {}, put("labels", 8, 99.0), "99 in its statistics of labels"),
    ("Auto", {}, put("labels", 11, 2.0), "2 in its statistics of labels"),
    ("Auto", {}, put("labels", 12, -1.0), "outlying labels"),
]


@pytest.mark.parametrize(("name", "params", "change", "words"), CASES)
def test_a_state_that_no_rounds_lead_to_is_refused(tmp_path, name, params, change, words):
    model = getattr(ol, name)(**params).fit(X, Y)
    path = forged(tmp_path / "bad.onl", model, change)
    with pytest.raises(ol.StateFileError, match=words):
        ol.load(path)


def test_every_record_of_a_keyed_file_is_checked(tmp_path):
    keyed = ol.Keyed(ol.Ridge())
    keyed.replay(np.arange(40) % 10, X, Y)
    path = tmp_path / "keyed.onl"

    for row in (1, 9):
        keyed.save(path)

        def negate(header, arrays, row=row):
            arrays["records"][row, -25:] *= -1.0

        alter(path, negate)
        with pytest.raises(ol.StateFileError, match="Σ is not symmetric and positive definite"):
            ol.load(path)


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("value", [-1.0, 0.5, 1e300, np.nan])
def test_the_counts_of_every_record_of_a_keyed_file_are_checked(tmp_path, place, value):
    keyed = ol.Keyed(ol.Ridge())
    keyed.replay(np.arange(40) % 10, X, Y)
    path = tmp_path / "keyed.onl"
    keyed.save(path)

    def change(header, arrays):
        arrays["records"][3, place] = value

    alter(path, change)
    loss = place == 4 and value in (0.5, 1e300)
    if loss:
        assert ol.load(path).statistics(3).mean_squared_error > 0
    else:
        with pytest.raises(ol.StateFileError, match="does not describe"):
            ol.load(path)


def test_a_certificate_with_an_indefinite_matrix_is_refused(tmp_path):
    certified = ol.Certified(ol.LASER())
    certified.replay(X, Y)
    path = tmp_path / "certified.onl"
    certified.save(path)

    def negate(header, arrays):
        arrays["accounts"][-1] *= -1.0

    alter(path, negate)
    with pytest.raises(ol.StateFileError, match="a matrix of the bound is not symmetric"):
        ol.Certified.load(path)


def test_a_certificate_cannot_choose_places_in_memory(tmp_path):
    certified = ol.Certified(ol.OSLOG())
    certified.replay(X, Y)
    path = tmp_path / "certified.onl"
    certified.save(path)

    def move(header, arrays):
        arrays["accounts"][-26:-25] = 1e9  # the last of the order of the weights

    alter(path, move)
    with pytest.raises(ol.StateFileError, match="the order of the weights"):
        ol.Certified.load(path)


def test_the_degree_of_a_polynomial_is_bounded(tmp_path):
    kernel = ol.kernels.Polynomial(1000, gamma=1e-3)
    model = ol.KernelAAR(kernel, b=1.0).fit(X, Y)
    path = tmp_path / "model.onl"
    model.save(path)
    assert ol.load(path).kernel == kernel

    def change(header, arrays):
        header["params"]["kernel"]["degree"] = 2**53
        arrays["state"][6] = 2.0**53

    alter(path, change)
    with pytest.raises(ol.StateFileError, match="1 ≤ degree ≤ 1000"):
        ol.load(path)


def test_a_deeply_nested_filter_is_refused(tmp_path):
    path = tmp_path / "deep.onl"
    model = ol.AppleTasting(ol.Perceptron())
    model.save(path)
    header, _ = parts(path)
    base = header["params"]["base"]
    for _ in range(300):
        base = {**header, "params": {**header["params"], "base": base}}
    forge(path, base)
    with pytest.raises(ol.StateFileError, match="nested more than 4 levels"):
        ol.load(path)


# --- which paths ------------------------------------------------------------------------------


def test_a_file_does_not_choose_where_models_are_spilled(tmp_path):
    victim, mine = tmp_path / "victim", tmp_path / "mine"
    victim.mkdir()
    mine.mkdir()
    keyed = ol.Keyed(ol.Ridge(), memory_limit=100_000, spill=mine)
    keyed.replay(np.arange(40) % 10, X, Y)
    path = tmp_path / "keyed.onl"
    keyed.save(path)
    assert str(mine).encode() not in path.read_bytes()
    alter(path, lambda header, arrays: header.update(spill=str(victim)))
    loaded = ol.load(path)
    assert loaded.spill is None
    assert not list(victim.iterdir())
    del loaded
    before = set(mine.iterdir())
    loaded = ol.load(path, spill=mine)
    assert loaded.spill == mine
    assert len(set(mine.iterdir()) - before) == 1
    assert loaded[3].coef_.tolist() == keyed[3].coef_.tolist()


def test_a_spill_folder_is_for_keyed_files_and_must_exist(tmp_path):
    path = tmp_path / "model.onl"
    ol.Ridge().save(path)
    with pytest.raises(ValueError, match=r"model\.onl holds has no setting 'spill'"):
        ol.load(path, spill=tmp_path)
    with pytest.raises(ValueError, match="spill to be a folder that exists"):
        ol.load(path, spill=tmp_path / "none")


@posix
@pytest.mark.parametrize("kind", ["a pipe", "a folder", "a device"])
def test_only_a_regular_file_is_loaded(tmp_path, kind):
    path = tmp_path / "model.onl"
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    for load in (ol.load, ol.Certified.load):
        with pytest.raises(ol.StateFileError, match=f"is {kind}: use the path of a regular file"):
            load(path)


def test_a_link_to_a_regular_file_is_loaded(tmp_path):
    ol.Ridge(b=3.0).save(tmp_path / "model.onl")
    (tmp_path / "link.onl").symlink_to(tmp_path / "model.onl")
    assert ol.load(tmp_path / "link.onl").b == 3.0


# --- files that change while they are read ---------------------------------------------------

CUT = """
import hashlib, os, sys
import onlinear as ol

whole = hashlib.sha256

def cut(*body):
    os.truncate(sys.argv[1], 5000)  # after the file was opened, before it is read
    return whole(*body)

hashlib.sha256 = cut
try:
    ol.load(sys.argv[1])
except ol.StateFileError as error:
    print(error)
"""


@posix
def test_a_file_cut_by_another_process_is_refused(tmp_path):
    path = tmp_path / "keyed.onl"
    keyed = ol.Keyed(ol.Ridge())
    keyed.replay(np.arange(1000), np.resize(X, (1000, 5)), np.resize(Y, 1000))
    keyed.save(path)
    done = subprocess.run([sys.executable, "-c", CUT, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "truncated" in done.stdout


@pytest.mark.parametrize("at", [-40, -20_000])
def test_a_file_that_changes_between_header_and_numbers_is_refused(tmp_path, at):
    path = tmp_path / "wide.onl"
    rows = np.eye(60)[:3]
    ol.Ridge().fit(rows, np.ones(3)).save(path)
    with pytest.raises(ol.StateFileError, match="its checksum does not match"):
        read_while_it_changes(path, at)


def read_while_it_changes(path, at):
    """Read the header, change a byte, read the numbers; the checksum is compared at the end."""
    with file_format.opened(path) as file, path.open("r+b") as other:
        other.seek(at, os.SEEK_END)
        other.write(b"\x01")
        other.flush()
        assert file.arrays()["state"].size == 1 + 60 + 3600


def test_a_waiting_row_with_absurd_features_is_not_learnt(tmp_path):
    late = ol.Late(ol.Auto())
    for i in range(12):
        late.predict_one(X[i], id=i)
        late.learn_one(id=i, y=Y[i])
    late.predict_one(X[12], id=12)
    path = tmp_path / "late.onl"
    late.save(path)

    def change(header, arrays):
        arrays["late tickets"][0, 5] = 1e308

    alter(path, change)
    late = ol.load(path)
    with pytest.raises(ValueError, match=r"Auto\.learn_late needs the array that remember"):
        late.learn_one(id=12, y=0.5)
    late.save(path)
