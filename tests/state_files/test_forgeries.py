"""State files of every release, changed at random and signed again: refused, or models that work.

A longer search: ``FORGERIES=500 pytest tests/state_files/test_forgeries.py``.
"""

import json
import os
import pydoc
import shutil
from pathlib import Path

import numpy as np
import pytest
import table  # noqa: F401 - registers the kernel that some files name
from forgery import forge_at_random

import onlinear as ol

TESTS = next(folder for folder in Path(__file__).resolve().parents if folder.name == "tests")
FILES = sorted((TESTS / "data" / "releases").glob("*/*.onl"))
LOADERS = {
    folder: {name: about["load"] for name, about in json.loads(path.read_text()).items()}
    for path in (TESTS / "data" / "releases").glob("*/expected.json")
    for folder in (path.parent,)
}
TRIES = int(os.environ.get("FORGERIES", "4"))
ROWS = np.random.default_rng(5).uniform(size=(8, 5)) / 2
LABEL = 0.5


def loader(path):
    return pydoc.locate(LOADERS[path.parent].get(path.name, "onlinear.load"))


def calls(model):
    """Return calls that predict and learn a few rows, each of which may refuse its row."""
    if isinstance(model, ol.filtering.Filter):
        rows = ROWS[:, : getattr(model, "n_features_in_", 3)]
        return [
            call
            for x in rows
            for call in (lambda x=x: model.margin(x), lambda x=x: taken(model, x))
        ]
    if isinstance(model, ol.Keyed):
        keys = [*list(model)[:3], "new"]
        pairs = [(key, x[:3]) for x in ROWS for key in keys]
        return [
            call
            for key, x in pairs
            for call in (
                lambda key=key, x=x: model.predict_one(key, x),
                lambda key=key, x=x: model.learn_one(key, x, LABEL),
            )
        ]
    if not hasattr(model, "predict_one"):  # text
        return [lambda: model.learn_one("some words")]
    inner = getattr(model, "model", model)
    d = getattr(inner, "n_features_in_", 3)
    return [
        call
        for x in ROWS[:, :d]
        for call in (lambda x=x: model.predict_one(x), lambda x=x: model.learn_one(x, LABEL))
    ]


def taken(filter, x):
    if filter.decide(x):
        filter.feedback(x, 1)


def works(model):
    """Whether predictions are finite; a row may be refused, or skipped and then be NaN."""
    said = []
    for call in calls(model):
        try:
            said.append(call())
        except ValueError:
            continue
    numbers = [value for value in said if isinstance(value, (float, np.ndarray))]
    return "on_bad='skip'" in repr(model) or all(np.isfinite(value).all() for value in numbers)


@pytest.mark.parametrize("file", FILES, ids=[f"{f.parent.name}-{f.stem}" for f in FILES])
def test_a_forged_file_is_refused_or_holds_a_model_that_works(file, tmp_path):
    if "onlinear.text" in LOADERS[file.parent].get(file.name, ""):
        pytest.importorskip("sklearn")
    load, path = loader(file), tmp_path / file.name
    state = getattr(load(file), "_state", None)
    for seed in range(TRIES):
        rng = np.random.default_rng([seed, *file.name.encode()])
        shutil.copy(file, path)
        forge_at_random(path, rng, state)
        try:
            with np.errstate(all="ignore"):
                model = load(path)
        except ol.StateFileError:
            continue
        with np.errstate(all="ignore"):
            assert works(model), seed
        model.save(path)
        assert type(load(path)) is type(model)


def test_forgeries_are_not_all_refused_nor_all_accepted(tmp_path):
    file = next(file for file in FILES if file.stem == "learner-LASER-default")
    state, path, loaded = ol.load(file)._state, tmp_path / "forged.onl", 0
    for seed in range(60):
        shutil.copy(file, path)
        forge_at_random(path, np.random.default_rng(seed), state)
        try:
            ol.load(path)
            loaded += 1
        except ol.StateFileError:
            pass
    assert 3 < loaded < 57
