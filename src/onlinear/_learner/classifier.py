"""The base class of classifiers: labels of any type, and the scikit-learn API of classifiers.

The step of a classifier knows two classes, as two numbers, and returns one number: a margin or a
probability. With more than two classes, the classifier holds a binary learner for each class, which
learns to tell this class from the rest; the state's arrays then have a first axis for the classes.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from math import nan
from typing import Any, ClassVar, Self, cast

import numpy as np

from onlinear._engine.status import Outcome
from onlinear._engine.step import Step
from onlinear._engine.tables import Rows
from onlinear._engine.transaction import all_or_nothing, atomic, check_idle
from onlinear._learner import class_labels
from onlinear._learner.class_replay import ClassReplay
from onlinear._learner.one_versus_rest import learn_row, predicted, repeated, rounds_of_many
from onlinear._learner.rounds import no_progress
from onlinear._learner.second_order import SecondOrder
from onlinear._validation import checks

__all__ = ["Classifier"]


class Classifier(SecondOrder):
    """A learner whose labels are classes.

    Tables of predictions (``onlinear.replay``), ``Keyed``, ``Bank`` and ``Late`` have the numbers
    that the step returns; ``predict`` and ``predict_one`` return classes.
    """

    classes: Sequence[Any] | None = dataclasses.field(default=None, kw_only=True)

    _codes: ClassVar[tuple[float, float]]  # the step's labels for the first and the second class
    _boundary: ClassVar[float]  # a prediction above it is the second class
    _soft: ClassVar[bool] = False  # whether labels between the two codes are allowed
    _found = cast("tuple[Any, ...] | None", None)  # the classes of the first table

    # --- classes ------------------------------------------------------------------------------

    def _listed(self) -> tuple[Any, ...] | None:
        """Return the classes that were declared or found; None if labels have to be 0 and 1."""
        if self.classes is None:
            return self._found
        return class_labels.declared(type(self).__name__, self.classes)

    def _count(self) -> int:
        """Return how many classes there are."""
        return len(self._listed() or class_labels.ZERO_ONE)

    @property
    def classes_(self) -> np.ndarray:
        """The classes, as declared; or sorted, if they were found in the labels."""
        listed = self._listed()
        if listed is None:
            self._learnt()  # raises an error if nothing was learnt
        return class_labels.as_array(listed or class_labels.ZERO_ONE)

    def _how_coded(self) -> tuple[tuple[Any, ...] | None, Sequence[float]]:
        """Return the classes, or None, and the step's labels for them."""
        listed = self._listed()
        many = listed is not None and len(listed) > 2
        return listed, range(len(listed)) if many and listed else self._codes

    def _label(self, y: Any) -> float:
        try:
            return class_labels.code(type(self).__name__, y, *self._how_coded(), soft=self._soft)
        except ValueError:
            if self.on_bad == "skip":
                return nan
            raise

    def _labels(self, y: Any, rows: int) -> np.ndarray:
        return class_labels.codes(
            *(type(self).__name__, class_labels.flat(y, rows), *self._how_coded()),
            soft=self._soft,
            skip=self.on_bad == "skip",
        )

    def _coding(self) -> Any:
        listed, numbers = self._how_coded()
        kinds = None if listed is None else tuple(map(type, listed))
        return listed, kinds, tuple(numbers), self._soft

    def _outputs(self) -> int:
        count = self._count()
        return count if count > 2 else 1

    def _find_classes(self, y: Any, classes: Any = None) -> None:
        """Find the classes in the labels of the first table, or take the given ones."""
        owner = type(self).__name__
        if classes is not None:
            self._found = class_labels.declared(owner, classes)
        elif self.classes is None and self._found is None and self._state is None:
            self._found = class_labels.found(owner, class_labels.flat(y), soft=self._soft)

    def _class_of(self, number: float) -> Any:
        """Return the class that the step's prediction stands for; None for NaN."""
        if math.isnan(number):
            return None
        listed = self._listed() or class_labels.ZERO_ONE
        return listed[int(number) if len(listed) > 2 else int(number > self._boundary)]

    def _classes_of(self, numbers: np.ndarray) -> np.ndarray:
        """Return the class of each prediction of a table; None where the prediction is NaN."""
        if numbers.ndim > 1:
            missing = np.isnan(numbers).any(axis=1)
            index = np.where(missing[:, None], 0.0, numbers).argmax(axis=1)
        else:
            missing, index = np.isnan(numbers), (numbers > self._boundary).astype(np.intp)
        chosen = self.classes_[index]
        if missing.any():
            chosen = chosen.astype(object)
            chosen[missing] = None
        return np.asarray(chosen)

    # --- the round ----------------------------------------------------------------------------

    def predict_one(self, x: Any) -> Any:
        """Predict the class of one row, a vector or a sparse 1 × d matrix; change nothing.

        >>> import onlinear as ol
        >>> model = ol.AROW(classes=("ham", "spam"))
        >>> model.learn_one([1.0, 2.0], "spam")
        >>> model.predict_one([1.0, 1.0])
        'spam'
        """
        return self._class_of(self._number_one(x))

    def _number_one(self, x: Any) -> float:
        if self._outputs() == 1:
            return super()._number_one(x)
        numbers = self._numbers_one(x)
        return nan if np.isnan(numbers).any() else float(numbers.argmax())

    @atomic
    def _numbers_one(self, x: Any) -> np.ndarray:
        """Return the prediction of each class for one row; NaN if the row is bad and skipped."""
        return predicted(self, x)

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn the class of one row, a vector or a sparse 1 × d matrix.

        Unless the parameter ``classes`` lists the classes, or a table has shown them, labels have
        to be 0 and 1, or False and True.

        >>> import onlinear as ol
        >>> model = ol.AROW()
        >>> model.learn_one([1.0, 2.0], True)
        >>> model.predict_one([1.0, 1.0])
        1
        """
        super().learn_one(x, self._label(y))

    @atomic
    def _learn_one(self, x: Any, y: Any) -> None:
        if self._outputs() == 1:
            super()._learn_one(x, y)
        else:
            learn_row(self, x, y)

    # --- tables -------------------------------------------------------------------------------

    def _run(
        self,
        X: Any,
        y: Any,
        *,
        learn: bool,
        progress: Callable[[int, int], None] = no_progress,
        engine: str = "rank-one",
        classes: Any = None,
    ) -> tuple[np.ndarray, np.ndarray, list[int]]:
        if learn and self._found is None and self._state is None and self.classes is None:
            return self._first_run(X, y, progress, engine, classes)
        return super()._run(X, y, learn=learn, progress=progress, engine=engine)

    @atomic
    def _first_run(
        self, X: Any, y: Any, progress: Callable[[int, int], None], engine: str, classes: Any
    ) -> tuple[np.ndarray, np.ndarray, list[int]]:
        """Learn the first table, in whose labels the classes are found."""
        with all_or_nothing(self):
            self._find_classes(y, classes)
            result = super()._run(X, y, learn=True, progress=progress, engine=engine)
            if self._state is None:  # all rows were skipped
                self.__dict__.pop("_found", None)
        return result

    def _rounds(
        self,
        step: Step,
        X: np.ndarray | Rows,
        y: np.ndarray,
        learn: bool,
        refusal: Callable[..., ValueError],
        progress: Callable[[int, int], None],
        *,
        in_bulk: bool = False,
        noticed: Callable[[Outcome], None] | None = None,
    ) -> tuple[np.ndarray, list[int]]:
        if self._outputs() > 1:
            return rounds_of_many(
                *(self, self._codes, step, X, y, learn, refusal, progress),
                in_bulk=in_bulk,
                noticed=noticed,
            )
        return super()._rounds(
            *(step, X, y, learn, refusal, progress), in_bulk=in_bulk, noticed=noticed
        )

    def _replayed(
        self, predictions: np.ndarray, labels: np.ndarray, bad_rows: np.ndarray
    ) -> ClassReplay:
        """Return the result of a replay with more than two classes."""
        return ClassReplay(predictions, labels, bad_rows, self.classes_, False)

    # --- state --------------------------------------------------------------------------------

    def _initial(self, d: int, record: np.ndarray | None) -> Any:
        return repeated(super()._initial(d, record), self._outputs())

    def _matrices(self) -> int:
        return super()._matrices() * self._outputs()

    def _made_for(self) -> dict[str, Any]:
        return {**super()._made_for(), "classes": self._listed() or class_labels.ZERO_ONE}

    def _prepare(self) -> tuple[Any, ...]:
        if self._outputs() == 1:
            return super()._prepare()
        call = (tuple(self._state), self._numbers(), self._work)
        self._call = call  # but no _direct: the step is not for the whole state
        return call

    def _plain_learnt(self) -> dict[str, Any]:
        return {} if self._found is None else {"classes": list(self._found)}

    def _restore_learnt(self, learnt: dict[str, Any]) -> None:
        if learnt:
            self._found = class_labels.declared(type(self).__name__, learnt["classes"])

    def _to_plain(self) -> dict[str, Any]:
        params, listed = super()._to_plain(), self._listed()
        return params if self.classes is None else {**params, "classes": listed}

    @classmethod
    def _from_plain(cls, params: dict[str, Any]) -> dict[str, Any]:
        params = super()._from_plain(params)
        if params["classes"] is None:
            return params
        return {**params, "classes": tuple(params["classes"])}

    # --- scikit-learn ---------------------------------------------------------------------------

    @atomic
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn more rows, in order; ``classes`` lists all classes, if not all are in the first y.

        ``classes`` is ignored once the classes are known, except that it must list the same ones.
        """
        check_idle(self, "fit")
        if classes is not None:
            listed = class_labels.declared(type(self).__name__, classes)
            known = self._listed() if self._state is None else tuple(self.classes_.tolist())
            if known is not None and set(listed) != set(known):
                raise ValueError(
                    f"{type(self).__name__} needs the classes it knows, {list(known)}, got "
                    f"classes={list(listed)}"
                )
        self._run(X, y, learn=True, classes=classes)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the class of every row from the present state; learn nothing."""
        return self._classes_of(super().predict(X))

    @property
    def decision_function(self) -> Callable[[Any], np.ndarray]:
        """``decision_function(X)`` returns the activation of each row.

        The activation is the margin or, if the learner predicts probabilities p, ln(p/(1 − p)). The
        second class is predicted if it is positive. With more than two classes, there is a column
        for each, and the class with the largest activation is predicted.

        >>> import onlinear as ol
        >>> model = ol.AROW().fit([[1.0, 0.0], [0.0, 1.0]], ["a", "b"])
        >>> model.decision_function([[1.0, 0.0], [0.0, 1.0]])
        array([-0.5,  0.5])
        """
        return self._activations

    def _activations(self, X: Any) -> np.ndarray:
        return super().predict(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of :meth:`predict`: the share of rows whose class is right."""
        checks.same_index(X, y=y, sample_weight=sample_weight)
        predicted = self.predict(X)
        labels = class_labels.flat(y, len(predicted))
        right = [
            one == other for one, other in zip(predicted.tolist(), labels.tolist(), strict=True)
        ]
        weight = None if sample_weight is None else checks.labels(sample_weight, len(right))
        return float(np.average(right, weights=weight))

    def __sklearn_tags__(self) -> Any:
        """Describe the classifier to scikit-learn; nothing else calls this method."""
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.regressor_tags = "classifier", None
        tags.classifier_tags = ClassifierTags(poor_score=self._poor_score)
        return tags
