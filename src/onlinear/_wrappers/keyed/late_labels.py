"""Delayed labels of ``Keyed``: rows wait for their labels, which arrive with the rows' ids."""

import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from onlinear._engine.transaction import Transaction
from onlinear._learner.base import Learner
from onlinear._state_files.key_codec import canonical
from onlinear._wrappers.keyed.models import Models
from onlinear._wrappers.keyed.record_header import LEARNT, LOSS
from onlinear._wrappers.late.pending import Pending

__all__ = ["LateLabels"]


class LateLabels:
    """Remembers rows and their predictions until their labels arrive."""

    def __init__(self, models: Models, pending: Pending) -> None:
        self._models, self.pending = models, pending

    def predict(self, id: Any, key: Hashable, x: Any) -> float:
        """Predict a row; remember the prediction and the numbers needed to learn the row."""
        models, pending = self._models, self.pending
        if models.store is not None:
            x = models.store.row(x)
        prediction = models.predict(key, x)
        with Transaction(models._guards(), pending.mend):
            if math.isnan(prediction):
                models.learn(key, x, math.nan)  # counts the row as skipped
                pending.leave_out()
                return prediction
            model = models.initial
            if type(model)._ticket is not Learner._ticket:
                model = models.model(key) or model
            pending.add(id, np.append(model._ticket(x), prediction), key)
        return prediction

    def leave_out(self) -> None:
        """Count a row that is not remembered because it has no key."""
        self.pending.leave_out()
        self._models.skip_event()

    def remove_key(self, key: Hashable) -> bool:
        """Remove a key's model and waiting rows; return False if there was nothing to remove."""
        models, pending = self._models, self.pending
        known = models.record(key) is not None

        def finish() -> int:
            pending.mend()
            waited = pending.expire_key(key)
            if models.record(key) is not None:
                models.remove(key)
            return waited

        with Transaction(models._guards(), finish):  # after an interrupt, the removal is completed
            waited = finish()
        return known or waited > 0

    def expire(self) -> int:
        """Expire waiting rows that are too old; return how many rows expired."""
        with Transaction(self._models._guards(), self.pending.mend):
            return self.pending.expire()

    def learn(self, id: Any, y: float, key: Any = None) -> bool:
        """Learn the label of a waiting row; return whether it was learnt.

        ``key``, if given, must be the key of the row.
        """
        models, pending = self._models, self.pending
        with Transaction(models._guards(), pending.mend):
            row = pending.find(id)
        if row is None:
            return False
        if key is not None and canonical(key) != row.key:
            raise ValueError(f"the row {id!r:.60} has key {row.key!r:.60}, got key {key!r:.60}")
        rounds, loss = self._counted(row.key)
        ticket, error = row.ticket[:-1], y - float(row.ticket[-1])

        def finish() -> None:
            pending.mend()
            if self._counted(row.key)[0] > rounds and id in pending:  # learnt, but still waiting
                assert models.store is not None
                # the error of the prediction made when the row arrived
                models.store.put_loss(row.key, loss + error * error)
                pending.settle(id)

        with Transaction(models._guards(), finish):
            if type(models.initial).learn_late is Learner.learn_late:
                learnt = models.learn(row.key, ticket, y)
            else:
                learnt = models.learn_ticket(row.key, ticket, y)
            if learnt:
                finish()
        return learnt

    def _counted(self, key: Hashable) -> tuple[float, float]:
        """Return how many rows of a key were learnt, and the sum of their squared errors."""
        record = self._models.record(key)
        return (0.0, 0.0) if record is None else (float(record[LEARNT]), float(record[LOSS]))
