"""State files of maps and of learners behind them."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from forgery import forge
from mapped_learners import X, Y, bits, make

import onlinear as ol
from onlinear.features import Mapped, Nystroem, RandomFourier


def test_what_has_not_begun_is_saved_too(tmp_path):
    path = tmp_path / "model.onl"
    Mapped(Nystroem(landmarks=np.int64(7), novelty=np.float64(0.5)), ol.AAR(b=3.0)).save(path)
    model = ol.load(path)
    assert repr(model) == "Mapped(features=Nystroem(landmarks=7, novelty=0.5), learner=AAR(b=3.0))"
    assert bits(model) == (b"", b"")
    half = make("landmarks", on_bad="skip")
    half.features.fit(pd.DataFrame(X, columns=list("abcde")))
    half.learner.n_skipped_ = 4
    half.save(path)
    model = ol.load(path)
    assert bits(model) == bits(half) != (b"", b"")
    assert model.feature_names_in_.tolist() == list("abcde")
    assert model.n_skipped_ == 4
    assert model.fit(X, Y).rounds_ == 60


def test_a_kernel_that_is_not_registered_is_not_saved(tmp_path):
    model = Mapped(Nystroem(lambda Z, x: Z @ x, landmarks=5), ol.AAR()).fit(X, Y)
    with pytest.raises(ValueError, match=r"needs onlinear\.kernels\.register"):
        model.save(tmp_path / "model.onl")
    assert list(tmp_path.iterdir()) == []


def test_every_altered_byte_and_truncation_is_refused(tmp_path):
    path = tmp_path / "model.onl"
    make().fit(X, Y).save(path)
    content = path.read_bytes()
    for position in range(0, len(content), 37):
        altered = bytearray(content)
        altered[position] ^= 0x10
        for forged in (bytes(altered), content[:position]):
            path.write_bytes(forged)
            with pytest.raises(ol.StateFileError):
                ol.load(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "Learner"}, "no feature map is known as 'Learner'"),
        ({"name": "FeatureMap"}, "no feature map is known as 'FeatureMap'"),
        ({"name": ["Nystroem"]}, "does not describe"),
        ({"params": {"z": 1}}, "does not describe"),
        ({"landmarks": 10**12}, "numbers, got"),
        ({"landmarks": [[1.0], [2.0, 3.0]]}, "not a rectangular array"),
        ({"novelty": 2.0}, "0 ≤ novelty < 1"),
        ({"kernel": {"name": "system"}}, "does not describe"),
        ({"kernel": {"registered": "os.system"}}, "no kernel is registered as 'os.system'"),
        ({"kernel": {"module": "os", "function": "system"}}, "does not describe"),
        ({"features": 10**9}, "1000000000 features"),
        ({"features": 4}, "at 4 columns is"),
        ({"names": ["a"]}, "names them"),
        ({"count": 13.0}, "13 landmarks were chosen"),
        ({"count": 1.5}, "1.5 landmarks were chosen"),
        ({"count": math.nan}, "not finite"),
        ({"diagonal": 0.0}, "a diagonal that is not above 0"),
    ],
    ids=repr,
)
def test_a_hostile_file_with_a_right_checksum_is_refused(tmp_path, change, words):
    path = tmp_path / "model.onl"
    make().fit(X, Y).save(path)
    _, text, numbers = path.read_bytes()[:-32].split(b"\n", 2)
    header = json.loads(text)
    arrays = np.frombuffer(numbers).copy()
    first = math.prod(header["arrays"]["state"])  # the map's numbers follow the learner's
    for key, value in change.items():
        if key in ("count", "diagonal"):
            arrays[first + (key == "diagonal")] = value
        elif key in header["map"]["params"]:
            header["map"]["params"][key] = value
        else:
            header["map"][key] = value
    forge(path, header, arrays.tobytes())
    with pytest.raises(ol.StateFileError, match=words):
        ol.load(path)


def test_a_learner_of_another_width_in_a_file_is_refused(tmp_path):
    path = tmp_path / "model.onl"
    ol.AAR().fit(X, Y).save(path)
    _, text, numbers = path.read_bytes()[:-32].split(b"\n", 2)
    header = json.loads(text)
    header["map"] = {"name": "RandomFourier", "params": {"width": 6}}
    forge(path, header, numbers)
    with pytest.raises(ol.StateFileError, match="that has learnt 60 rows"):
        ol.load(path)
    header["map"] |= {"features": 5, "names": None}
    header["arrays"]["map"] = [15]
    forge(path, header, numbers + bytes(8 * 15))
    with pytest.raises(ol.StateFileError, match="the map's 6 features, got one of 5"):
        ol.load(path)


def test_the_frequencies_are_in_the_file_not_drawn_anew(tmp_path, monkeypatch):
    """A later NumPy may draw other numbers from the same seed."""
    model = make("waves").fit(X, Y)
    model.save(tmp_path / "model.onl")
    monkeypatch.setattr(RandomFourier, "_initial", lambda self, d: 1 / 0)
    assert bits(ol.load(tmp_path / "model.onl")) == bits(model)
