"""A learner whose matrices would not fit in memory is refused before they are made."""

import numpy as np
import pytest
from scipy import sparse
from sparse_rows import wide
from table import stream_of

import onlinear as ol
from onlinear._validation import checks

SQUARE = [name for name, learner in sorted(ol.LEARNERS.items()) if learner._square]


@pytest.mark.parametrize("name", SQUARE)
def test_a_matrix_that_does_not_fit_is_refused_before_it_is_made(name, monkeypatch):
    monkeypatch.setattr("onlinear._validation.memory.physical_memory", lambda: 24e9)
    learner, S = ol.LEARNERS[name], sparse.csr_array((2, 200_000))

    def allocated(params, d):
        raise AssertionError

    monkeypatch.setattr(learner, "algorithm", learner.algorithm._replace(init=allocated))
    matrices = learner._square
    kept = (
        "a 200000 × 200000 matrix" if matrices == 1 else f"{matrices} matrices of 200000 × 200000"
    )
    words = (
        f"{name} keeps {kept}, {320 * matrices:,} GB, more than half of this machine's 24 GB: use "
        r"NLMS, GD or OGD \(O\(d\)\), which take sparse rows, or fewer columns \(features hashed"
    )
    model = learner()
    for call in (
        lambda: model.fit(S, [1.0, 1.0]),
        lambda: model.partial_fit(S, [1.0, 1.0]),
        lambda: ol.replay(model, S, [1.0, 1.0]),
        lambda: model.learn_one(S[[0]], 1.0),
        lambda: model.learn_one(np.zeros(200_000), 1.0),
        lambda: model.predict_one(S[[0]]),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    assert vars(model) == vars(learner())


@pytest.mark.parametrize("name", SQUARE)
def test_a_file_with_a_matrix_that_does_not_fit_is_refused(name, monkeypatch, tmp_path):
    X, y = stream_of((name, {}), 3)
    ol.LEARNERS[name]().fit(X, y).save(tmp_path / "model.onl")
    needed = 8 * 5 * 5 * ol.LEARNERS[name]._square
    monkeypatch.setattr("onlinear._validation.memory.physical_memory", lambda: 2.0 * needed)
    ol.load(tmp_path / "model.onl")
    monkeypatch.setattr("onlinear._validation.memory.physical_memory", lambda: 2.0 * needed - 1)
    with pytest.raises(ol.StateFileError, match=f"{name} keeps .* more than half"):
        ol.load(tmp_path / "model.onl")


@pytest.mark.parametrize("name", sorted(ol.LEARNERS))
def test_a_learner_knows_how_many_matrices_it_keeps(name):
    model = ol.LEARNERS[name]()
    model._begin(200)
    square = [array for array in model._state if array.ndim > 1 and min(array.shape[-2:]) >= 200]
    matrices = sum(array.size // 200**2 for array in square)
    assert model._square == model._matrices() == matrices + len(model._work) // 200


def test_a_learner_without_a_matrix_takes_very_many_columns(monkeypatch):
    monkeypatch.setattr("onlinear._validation.memory.physical_memory", lambda: 1.0)
    S, y = wide(2)
    assert ol.NLMS().fit(S, y).coef_.size == 10**6


def test_a_machine_that_does_not_say_has_eight_gigabytes(monkeypatch):
    assert checks.physical_memory() > 1e8
    monkeypatch.delattr("os.sysconf", raising=False)
    assert checks.physical_memory() == 8e9
