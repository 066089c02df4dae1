"""The river face: rows are dicts, whose features may appear and vanish.

    from river import evaluate, datasets, metrics, preprocessing
    model = preprocessing.StandardScaler() | River(LASER(c=100.0))
    evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())

A feature that is absent counts as 0. One that appears late joins with exactly the state it would
have had if it had been there, as 0, from the start: the learner always keeps one spare column that
never sees anything else, and a newcomer takes a copy of it. (For the learners on the simplex the
spare column counts as one of the n inputs.)
"""

import copy
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from river import base

from onlinear import _checks
from onlinear._model import Learner
from onlinear.algorithms.laser import LASER

__all__ = ["River"]


class River(base.Regressor):
    """Any learner as a river regressor.

    Parameters
    ----------
    model
        The learner; it is copied, and the copy learns.

    Examples
    --------
    >>> import onlinear as ol
    >>> from onlinear.river import River
    >>> model = River(ol.Ridge())
    >>> model.learn_one({"a": 1.0}, 2.0)
    >>> model.learn_one({"a": 1.0, "b": 1.0}, 3.0)  # b is new
    >>> round(model.predict_one({"b": 1.0}), 6)
    0.8
    """

    def __init__(self, model: Learner) -> None:
        self.model = model
        self.learner: Learner = copy.deepcopy(model)
        self._columns: dict[Hashable, int] = {}

    @classmethod
    def _unit_test_params(cls) -> Any:
        yield {"model": LASER()}

    def predict_one(self, x: Mapping[Hashable, float]) -> float:
        """Predict the label of one row; never changes the model."""
        learner, columns = self._with(x)
        return learner.predict_one(_row(x, columns))

    def learn_one(self, x: Mapping[Hashable, float], y: float) -> None:
        """Learn the label of one row, with whatever features it has."""
        learner, columns = self._with(x)
        learner.learn_one(_row(x, columns), y)
        self.learner, self._columns = learner, columns

    def _with(self, x: Mapping[Hashable, float]) -> tuple[Learner, dict[Hashable, int]]:
        """Return the learner and its columns; if x brings new features, a copy that has them."""
        known = self._columns
        if self.learner._state is not None and all(name in known for name in x):
            return self.learner, known
        new = sorted((name for name in x if name not in known), key=_order)
        columns = {**known, **{name: len(known) + i for i, name in enumerate(new)}}
        learner = _grown(self.learner, len(columns) + 1)
        learner._names = [*map(str, columns), "none"]  # for the words of errors
        return learner, columns


def _row(x: Mapping[Hashable, float], columns: dict[Hashable, int]) -> np.ndarray:
    """Return the row as a vector, the last entry being the spare column."""
    row = np.zeros(len(columns) + 1)
    for name, value in x.items():
        row[columns[name]] = value if value.__class__ is float else _checks.label(value)
    return row


def _order(name: Hashable) -> tuple[str, str]:
    return type(name).__name__, str(name)


def _grown(model: Learner, d: int) -> Learner:
    """Return a copy of the learner with d columns, the new ones as the last of the old."""
    grown = copy.deepcopy(model)
    if model._state is None:
        grown._begin(d)
        return grown
    old = model.n_features_in_
    source = np.minimum(np.arange(d), old - 1)  # new columns are copies of the spare one
    fresh = np.arange(d) >= old - 1  # the spare one and its copies
    grown._begin(d)
    for field, target in zip(model._state, grown._state, strict=True):
        if field.shape == target.shape:
            target[...] = field
        elif field.ndim == 2 and field.shape == (old, old):
            target[...] = field[np.ix_(source, source)]
            target[np.ix_(fresh, fresh)] *= np.eye(int(fresh.sum()))  # idle ones do not covary
        else:
            target[...] = field[..., source]
    grown.n_skipped_ = model.n_skipped_
    return grown
