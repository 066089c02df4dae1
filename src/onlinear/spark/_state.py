"""The state of a key: a learner as one binary column, which Spark commits with each batch.

    onls                       marks the format
    version                    of this layout, 4 bytes
    learner, columns, start    three SHA-256 hashes, cut to 8 bytes each: of the learner's class and
                               parameters; of the names of the key, features and target; of what
                               the learner had learnt before the stream
    skipped, numbers           how many rows were skipped, how many numbers follow, 8 bytes each
    <numbers>                  the state, float64
    <16 bytes>                 the first bytes of the SHA-256 of everything before

All numbers of a state are little-endian, and nothing in the state is executed as code. A query
is refused if its columns, its model, or what the model had learnt before the stream differ from
those of the query that wrote the state.
"""

import copy
import hashlib
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from onlinear._learner.base import Learner, full_name
from onlinear._state_files import model_codec
from onlinear._state_files.file_format import StateFileError
from onlinear._validation import checks
from onlinear.spark._columns import Columns

__all__ = ["StateForm"]

MAGIC = b"onls"
VERSION = 1
HEADER = struct.Struct("<4sI8s8s8sQQ")
CHECKSUM = 16
LITTLE = np.dtype("<f8")


@dataclass(frozen=True)
class StateForm:
    """How the learners of a query are stored, and the learner that each key starts with."""

    start: Learner  # with the names of the features
    learnt: bool  # whether ``start`` has learnt anything
    columns: Columns
    marks: tuple[bytes, bytes, bytes]

    @classmethod
    def of(cls, model: Learner, columns: Columns) -> Self:
        """Return the form in which to store copies of ``model``; refuse columns that do not fit."""
        header, arrays = model_codec.described(model, full_name(type(model)))
        if model._state is not None:
            d, names = len(columns.features), model._names
            if names is not None:
                checks.same_names(names, columns.features)
            elif model.n_features_in_ != d:
                raise ValueError(
                    f"features need to be {model.n_features_in_} columns, as the model has learnt, "
                    f"got {d}"
                )
        params = {name: value for name, value in header["params"].items() if name != "on_bad"}
        marks = (
            _mark([header["learner"], params]),
            _mark(columns[:3]),
            _mark([array.tobytes().hex() for array in arrays.values()]),
        )
        start = copy.copy(model)
        if model._state is None:
            start._begin(len(columns.features))
        start._name_columns(columns.features)
        return cls(start, model._state is not None, columns, marks)

    def fresh(self) -> Learner:
        """Return a learner with the same parameters as ``start`` that has learnt nothing."""
        learner = type(self.start)(**self.start.get_params(deep=False))
        learner._begin(len(self.columns.features))
        learner._name_columns(self.columns.features)
        return learner

    def pack(self, learner: Learner) -> bytes:
        """Return a learner as bytes for Spark's state store."""
        record = learner._record
        assert record is not None
        head = HEADER.pack(MAGIC, VERSION, *self.marks, learner.n_skipped_, record.size)
        body = head + record.astype(LITTLE).tobytes()
        return body + _checksum(body)

    def unpack(self, kept: bytes) -> Learner:
        """Return the learner that :meth:`pack` turned into bytes, or raise StateFileError."""
        if not kept.startswith(MAGIC) or len(kept) < HEADER.size + CHECKSUM:
            raise StateFileError("the state of this key is not one of onlinear, or is truncated")
        _, version, *marks, skipped, size = HEADER.unpack_from(kept)
        if version != VERSION:
            raise StateFileError(
                f"the state of this key has layout version {version}, this onlinear reads version "
                f"{VERSION}"
            )
        body = kept[:-CHECKSUM]
        if _checksum(body) != kept[-CHECKSUM:] or len(body) != HEADER.size + 8 * size:
            raise StateFileError(
                "the state of this key is truncated or altered: its checksum does not match"
            )
        self._check_marks(marks)
        learner = type(self.start)(**self.start.get_params(deep=False))
        record = np.frombuffer(body, LITTLE, offset=HEADER.size).astype(np.float64)
        learner._begin(len(self.columns.features), record)
        try:
            learner._check_state()
        except ValueError as error:
            raise StateFileError(
                f"the state of this key is not that of a learner: {error}"
            ) from None
        learner._name_columns(self.columns.features)
        learner.n_skipped_ = skipped
        return learner

    def _check_marks(self, marks: Sequence[bytes]) -> None:
        key, features, target, _ = self.columns
        words = (
            f"of another learner or other parameters than {self.start}",
            f"of other columns than key {key}, features {features} and target {target!r}",
            "started from a model that had learnt other rows before the stream than this one",
        )
        for mark, own, text in zip(marks, self.marks, words, strict=True):
            if mark != own:
                raise StateFileError(
                    f"the state of this key is {text}: continue with the model and columns that "
                    "the checkpoint was started with, or start a new checkpoint"
                )


def _mark(what: Any) -> bytes:
    """Return 8 bytes of a hash of ``what``, to detect changes; 1 and 1.0 have the same hash."""
    plain = json.loads(json.dumps(what), parse_int=float)
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).digest()[:8]


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()[:CHECKSUM]
