"""Pooling: the models of new keys start with the average weights of the other keys' models.

    w̄ = Σ_k a_k w_k / Σ_k a_k,    a_k = t_k / (t_k + d)

Here, the model of key k has the weights w_k and has learnt t_k rows of width d: a model that has
learnt little has a small share a_k in the average. The average w̄ is computed whenever the number
of keys reaches a power of two, from 8 on. The average is computed right after the row with the new
key, so it does not depend on how the stream is split into tables. The models are added up in the
order of their keys, so that the bits of the average do not depend on where the models are stored.
"""

from collections.abc import Iterable

import numpy as np

from onlinear._learner.base import Learner
from onlinear._wrappers.keyed.record_header import HEAD

__all__ = ["FIRST", "averaged", "check", "due"]

FIRST = 8  # the number of keys from which the average is used


def check(model: Learner) -> None:
    """Refuse a learner whose state contains more than the number of rounds, the weights and Σ."""
    fields = type(model._state)._fields
    if not {"t", "w"} <= set(fields) <= {"t", "w", "S"}:
        raise ValueError(
            "Keyed needs pooled=False with a learner whose state is more than weights and Σ, got "
            f"{type(model).__name__}"
        )


def due(keys: int) -> bool:
    """Whether the average weights are computed when the number of keys reaches ``keys``."""
    return keys >= FIRST and keys & (keys - 1) == 0


def averaged(model: Learner, start: np.ndarray, pieces: Iterable[np.ndarray]) -> np.ndarray:
    """Return a copy of ``start``, the record that new keys begin with, with the average weights.

    A record is one array: counters of a key, then the state of its model. ``pieces`` yields the
    records of all keys, some records at a time.
    """
    state = model._state
    first = HEAD + sum(array.size for array in state[: state._fields.index("w")])
    t, d = HEAD + state._fields.index("t"), state.w.size
    assert state._fields[0] == "t"
    total, weight = np.zeros(d), 0.0
    for rows in pieces:
        share = rows[:, t] / (rows[:, t] + d)
        total += (share[:, None] * rows[:, first : first + d]).sum(axis=0)
        weight += float(share.sum())
    if weight == 0.0:
        return start
    new = start.copy()
    new[first : first + d] = total / weight
    return new
