"""Use a learner in river: rows are dicts, and features may appear and disappear.

    from river import evaluate, datasets, metrics, preprocessing
    model = preprocessing.StandardScaler() | River(LASER(c=100.0))
    evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())

A classifier, such as ``AROW``, becomes a river classifier, any other learner a river regressor. The
classes of a classifier are those of its parameter ``classes``, or 0 and 1 (False and True).

An absent feature counts as 0. A feature that appears late starts with exactly the state it would
have had if it had been 0 from the beginning: the learner keeps a spare column that is always 0, and
a new feature starts with a copy of that column's state. (The exponentiated-gradient learners are an
exception: their initial weights depend on the number of inputs, which includes the spare column,
and learners with weights on the simplex redistribute their weight over more inputs. ``PNorm``
without a given p is another: its p depends on the number of inputs.)
"""

import copy
import pickle
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

try:
    from river import base
except ImportError as error:
    raise ImportError('onlinear.river needs river: pip install "onlinear[river]"') from error

from onlinear._engine.transaction import Guarded, GuardedBy, atomic
from onlinear._learner.base import Learner
from onlinear._learner.classifier import Classifier
from onlinear._learner.probability_classifier import ProbabilityClassifier
from onlinear._validation import checks
from onlinear.algorithms.arow import AROW
from onlinear.algorithms.laser import LASER

__all__ = ["River", "RiverClassifier"]


class _Wrapper(GuardedBy):
    """A learner whose rows are dicts."""

    def __init__(self, model: Learner) -> None:
        if not isinstance(model, Learner):
            raise TypeError(
                f"River needs a learner, such as River(LASER()), got {checks.described(model)}"
            )
        if model._state is not None:
            raise ValueError(f"River needs a learner that has learnt nothing yet, got {model!r}")
        self.model = model
        self.learner: Learner = copy.deepcopy(model)
        self._columns: dict[Hashable, int] = {}

    @property
    def _guard(self) -> Guarded:
        return self.model

    @property
    def _raw_memory_usage(self) -> int:
        """The size of the model in bytes, without compiled code, which all models share."""
        return len(pickle.dumps((self.model, self.learner, self._columns)))

    @atomic
    def predict_one(self, /, x: Mapping[Hashable, float], **_: Any) -> Any:
        """Predict the label of one row, without changing the model."""
        learner, columns = self._with(x)
        return learner.predict_one(_row(x, columns))

    @atomic
    def learn_one(self, x: Mapping[Hashable, float], y: Any) -> None:
        """Learn the label of one row, which may have any features, known or new."""
        learner, columns = self._with(x)
        skipped = learner.n_skipped_
        learner.learn_one(_row(x, columns), y)
        if learner.n_skipped_ > skipped:  # the row was skipped, so its new features are not added
            self.learner.n_skipped_ = learner.n_skipped_
        else:
            self.__dict__.update(learner=learner, _columns=columns)  # both or neither

    def _with(self, x: Mapping[Hashable, float]) -> tuple[Learner, dict[Hashable, int]]:
        """Return learner and columns; for new features in x, copies that have columns for them."""
        if not isinstance(x, Mapping):
            hint = "; onlinear.replay takes sparse rows" if checks.sparse(x) else ""
            raise TypeError(f"River needs a row as a dict, got {type(x).__name__}{hint}")
        known = self._columns
        if self.learner._state is not None and all(name in known for name in x):
            return self.learner, known
        new = sorted((name for name in x if name not in known), key=_order)
        columns = {**known, **{name: len(known) + i for i, name in enumerate(new)}}
        learner = _grown(self.learner, len(columns) + 1)
        learner._names = [*map(str, columns), "none"]  # for error messages
        return learner, columns


class River(_Wrapper, base.Regressor):
    """Wrap any learner for river: a classifier as a river classifier, others as regressors.

    Parameters
    ----------
    model
        The learner to wrap; it is copied, and the copy learns. For a classifier, the result is a
        :class:`RiverClassifier`.

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

    def __new__(cls, model: Learner | None = None) -> Any:
        """Return a :class:`RiverClassifier` if the learner is a classifier."""
        if isinstance(model, Classifier):
            return RiverClassifier(model)
        return super().__new__(cls)

    @classmethod
    def _unit_test_params(cls) -> Any:
        yield {"model": LASER()}


class RiverClassifier(_Wrapper, base.Classifier):
    """A classifier as a river classifier; its labels are of any type, as ``classes`` says.

    Parameters
    ----------
    model
        The classifier to wrap; it is copied, and the copy learns.

    Examples
    --------
    >>> import onlinear as ol
    >>> from onlinear.river import River
    >>> model = River(ol.LogisticLASER(classes=("ham", "spam")))
    >>> model.learn_one({"money": 1.0}, "spam")
    >>> model.predict_one({"money": 1.0, "lunch": 0.5})
    'spam'
    """

    def predict_proba_one(self, x: Mapping[Hashable, float], **_: Any) -> dict[Any, float]:
        """Return the probability of each class, if the learner predicts probabilities."""
        if not isinstance(self.model, ProbabilityClassifier):
            raise NotImplementedError(
                f"{type(self.model).__name__} predicts margins, not probabilities: use "
                "LogisticLASER"
            )
        return self._probabilities(x)

    @atomic
    def _probabilities(self, x: Mapping[Hashable, float]) -> dict[Any, float]:
        learner, columns = self._with(x)
        return learner.predict_proba_one(_row(x, columns))  # type: ignore[attr-defined,no-any-return]

    @property
    def _multiclass(self) -> bool:
        return self.model._outputs() > 1

    @classmethod
    def _unit_test_params(cls) -> Any:
        yield {"model": AROW()}


def _row(x: Mapping[Hashable, float], columns: dict[Hashable, int]) -> np.ndarray:
    """Return the row as a vector; its last entry belongs to the spare column, which is always 0."""
    row = np.zeros(len(columns) + 1)
    for name, value in x.items():
        if value.__class__ is not float:
            value = checks.label(value, f"feature {name!r}")
        row[columns[name]] = value
    return row


def _order(name: Hashable) -> tuple[str, str]:
    return type(name).__name__, str(name)


def _grown(model: Learner, d: int) -> Learner:
    """Return a copy of the learner with d columns; new columns copy the spare column's state."""
    grown = copy.deepcopy(model)
    grown._begin(d)
    if model._state is None:
        return grown
    for field, target in zip(model._state, grown._state, strict=True):
        # on an axis that grows, the last index is the spare column; new ones are copies of it
        axes = [
            np.minimum(np.arange(new), old - 1)
            for old, new in zip(field.shape, target.shape, strict=True)
        ]
        target[...] = field[np.ix_(*axes)]
        grows = [old != new for old, new in zip(field.shape, target.shape, strict=True)]
        if len(grows) >= 2 and all(grows[-2:]):
            idle = np.arange(target.shape[-1]) >= field.shape[-1] - 1
            alone = np.where(idle[:, None] & idle, np.eye(len(idle)), 1.0)
            target *= alone  # unused columns are uncorrelated
    grown._settle()
    return grown
