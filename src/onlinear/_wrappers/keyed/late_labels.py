"""Labels of the models of many keys that come late, by the id of their row."""

import copy
import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from onlinear._learner.base import Learner
from onlinear._state_files.key_codec import canonical
from onlinear._wrappers.keyed.key_index import one_key
from onlinear._wrappers.keyed.models import ONE, Models
from onlinear._wrappers.keyed.record_cache import Residence
from onlinear._wrappers.keyed.record_header import HEAD, KEY, LAST, LEARNT, LOSS, SKIPPED, STAMP
from onlinear._wrappers.late.mixin import Waits
from onlinear._wrappers.late.pending import LateCounts

__all__ = ["LateLabels"]


class LateLabels(Waits, Models):
    """Models by key whose labels may come late."""

    @property
    def waiting(self) -> int:
        """How many rows wait for a late label at most."""
        return self._pending.limit

    @property
    def late_(self) -> LateCounts:
        """What became of rows that wait for their label, and of labels that came in vain."""
        return self._pending.counts

    def _remember(self, id: Any, key: Hashable, x: Any, prediction: float) -> None:
        """Keep what is needed of a row until its label comes, and what was predicted."""
        if math.isnan(prediction):
            self._pending.leave_out()
            return
        model = self._model
        if type(model)._ticket is not Learner._ticket:
            model = self._at(key) or model
        self._pending.add(id, np.append(model._ticket(x), prediction), key)

    def _learn_late(self, id: Any, y: float, key: Any = None) -> bool:
        """Learn the label of a row that waits, for this key if one is given."""
        row = self._pending.find(id)
        if row is None:
            return False
        if key is not None and canonical(key) != row.key:
            raise ValueError(f"the row {id!r:.60} is of key {row.key!r:.60}, got key {key!r:.60}")
        lost = self._counted(row.key)[1]
        ticket, prediction = row.ticket[:-1], float(row.ticket[-1])
        with self._once(id, lambda: self._counted(row.key)[0]):
            if type(self._model).learn_late is Learner.learn_late:
                learnt = self._learn(row.key, ticket, y)
            else:
                learnt = self._learn_ticket(row.key, ticket, y)
            if learnt:  # what counts is what was predicted then, not what would be now
                self._put_lost(row.key, lost + (y - prediction) * (y - prediction))
                self._pending.settle(id)
        return learnt

    def _counted(self, key: Hashable) -> tuple[float, float]:
        """Return how many rows of a key were learnt, and the sum of their squared errors."""
        if self._home is None:
            return 0.0, 0.0
        record = self._home.get(one_key(key))[0][0]
        return float(record[LEARNT]), float(record[LOSS])

    def _put_lost(self, key: Hashable, loss: float) -> None:
        """Set that of a key that has just been learnt; it may have been sent to disk since."""
        home, slots = self._home, ONE.copy()
        assert home is not None
        try:
            home.bring(one_key(key), ONE, slots)
            home.segments.put_number(slots, LOSS, np.array([loss]))
        except BaseException:
            home.recover(home.count)
            raise

    def _learn_ticket(self, key: Hashable, ticket: np.ndarray, y: float) -> bool:
        """Learn a row that waits by a learner to which it is more than the row."""
        self._let_go()
        model = self._at(key)
        if model is None:
            model = copy.deepcopy(self._model)
        skipped = model.n_skipped_
        try:
            model.learn_late(ticket, y)
        except ValueError as error:
            raise ValueError(f"key {key!r:.60}: {error}") from None
        learnt = model.n_skipped_ == skipped
        if self._home is None and learnt:
            self._begin(model.n_features_in_, model._names)
        if self._home is not None:
            self._enter_late(self._home, key, model, learnt)
        self.n_skipped_ += not learnt
        self.events_ += 1
        return learnt

    def _enter_late(self, home: Residence, key: Hashable, model: Learner, learnt: bool) -> None:
        """Make a model that of a key, after a row that it has learnt or skipped."""
        slots, count = ONE.copy(), home.count
        try:
            home.bring(one_key(key), ONE, slots)
            self._stamp += 1.0
            record = home.segments.rows(slots)
            if record[0, STAMP] == 0.0:
                record[0, :KEY], record[0, HEAD:] = 0.0, self._start[HEAD:]
            record[0, [STAMP, LAST]] = self._stamp, self.events_
            if learnt:
                record[0, HEAD:] = model._record
                record[0, LEARNT] += 1.0
            else:
                record[0, SKIPPED] += 1.0
            home.segments.put(slots, record)
        except BaseException:
            self._forget_new(home, key, count)
            raise
