"""Labels of the models of many keys that come late, by the id of their row."""

import copy
import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from onlinear._engine import HEAD, KEY, LAST, LEARNT, LOSS, SKIPPED, STAMP
from onlinear._keyed_models import ONE, Models
from onlinear._keys import one_key
from onlinear._model import Learner
from onlinear._pending import LateCounts
from onlinear._residence import Residence

__all__ = ["LateLabels"]


class LateLabels(Models):
    """Models by key whose labels may come late."""

    @property
    def late_(self) -> LateCounts:
        """What became of rows that wait for their label, and of labels that came in vain."""
        return self._pending.counts

    def _ticket(self, key: Hashable, x: Any) -> np.ndarray:
        """Return what to keep of a row until its label comes."""
        if type(self._model)._ticket is Learner._ticket:
            return self._model._ticket(x)
        return (self._at(key) or self._model)._ticket(x)

    def _learn_late(self, id: Any, y: float) -> bool:
        """Learn the label of a row that waits."""
        row = self._pending.find(id)
        if row is None:
            return False
        runs = self._stamp
        try:
            if type(self._model).learn_late is Learner.learn_late:
                learnt = self._learn(row.key, row.ticket, y)
            else:
                learnt = self._learn_ticket(row.key, row.ticket, y)
            if learnt:
                self._pending.settle(id)
        except BaseException:
            if self._came_to(row.key) > runs and id in self._pending:
                self._pending.settle(id)  # Ctrl-C came after it was learnt: not to be learnt again
            raise
        return learnt

    def _came_to(self, key: Hashable) -> float:
        """Return the number of the run that came to a key last, 0 if none did."""
        return 0.0 if self._home is None else float(self._home.get(one_key(key))[0][0, STAMP])

    def _learn_ticket(self, key: Hashable, ticket: np.ndarray, y: float) -> bool:
        """Learn a row that waits by a learner to which it is more than the row."""
        model = self._at(key)
        if model is None:
            model = copy.deepcopy(self._model)
        try:
            prediction = model._learn_late(ticket, y)
        except ValueError as error:
            raise ValueError(f"key {key!r:.60}: {error}") from None
        learnt = not math.isnan(prediction)
        if self._home is None and learnt:
            self._begin(model.n_features_in_, model._names)
        if self._home is not None:
            self._enter_late(self._home, key, model, (y - prediction) * (y - prediction))
        self.n_skipped_ += not learnt
        self.events_ += 1
        self._let_go()
        return learnt

    def _enter_late(self, home: Residence, key: Hashable, model: Learner, loss: float) -> None:
        """Make a model that of a key, after a row with this loss: NaN if it was skipped."""
        slots, count = ONE.copy(), home.count
        try:
            home.bring(one_key(key), ONE, slots)
            self._stamp += 1.0
            record = home.segments.rows(slots)
            if record[0, STAMP] == 0.0:
                record[0, :KEY], record[0, HEAD:] = 0.0, self._start[HEAD:]
            record[0, [STAMP, LAST]] = self._stamp, self.events_
            if math.isnan(loss):
                record[0, SKIPPED] += 1.0
            else:
                record[0, HEAD:] = model._record
                record[0, LEARNT] += 1.0
                record[0, LOSS] += loss
            home.segments.put(slots, record)
        except BaseException:
            self._forget_new(home, key, count)
            raise
