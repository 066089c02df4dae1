"""Delayed labels of models by key: rows that wait, found by id."""

import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from onlinear._learner.base import Learner
from onlinear._state_files.key_codec import canonical
from onlinear._wrappers.keyed.models import Models
from onlinear._wrappers.keyed.record_header import LEARNT, LOSS
from onlinear._wrappers.late.pending import Pending

__all__ = ["LateLabels"]


class LateLabels:
    """Remembers rows of models by key, with their predictions, until their labels come."""

    def __init__(self, models: Models, pending: Pending) -> None:
        self._models, self.pending = models, pending

    def predict(self, id: Any, key: Hashable, x: Any) -> float:
        """Predict a row and remember what the learner needs of it, with the prediction."""
        models = self._models
        if models.store is not None:
            x = models.store.row(x)
        prediction = models.predict(key, x)
        if math.isnan(prediction):
            self.pending.leave_out()
            return prediction
        model = models.initial
        if type(model)._ticket is not Learner._ticket:
            model = models.model(key) or model
        self.pending.add(id, np.append(model._ticket(x), prediction), key)
        return prediction

    def learn(self, id: Any, y: float, key: Any = None) -> bool:
        """Learn the label of a waiting row; if a key is given, it has to be that of the row."""
        row = self.pending.find(id)
        if row is None:
            return False
        if key is not None and canonical(key) != row.key:
            raise ValueError(f"the row {id!r:.60} is of key {row.key!r:.60}, got key {key!r:.60}")
        models, (rounds, loss) = self._models, self._counted(row.key)
        ticket, prediction = row.ticket[:-1], float(row.ticket[-1])
        with self.pending.learning(id, rounds, lambda: self._counted(row.key)[0]):
            if type(models.initial).learn_late is Learner.learn_late:
                learnt = models.learn(row.key, ticket, y)
            else:
                learnt = models.learn_ticket(row.key, ticket, y)
            if learnt:  # the error is that of the prediction made then, not of one made now
                assert models.store is not None
                error = y - prediction
                models.store.put_loss(row.key, loss + error * error)
                self.pending.settle(id)
        return learnt

    def _counted(self, key: Hashable) -> tuple[float, float]:
        """Return how many rows of a key were learnt, and the sum of their squared errors."""
        record = self._models.record(key)
        return (0.0, 0.0) if record is None else (float(record[LEARNT]), float(record[LOSS]))
