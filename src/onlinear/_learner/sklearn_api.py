"""The scikit-learn API of learners and feature maps, without importing scikit-learn itself."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from onlinear._engine.transaction import all_or_nothing, atomic, check_idle
from onlinear._learner import notebook
from onlinear._learner.measures import r_squared
from onlinear._learner.parameters import Parameters
from onlinear._validation import checks

__all__ = ["Estimator", "Transformer"]


class Estimator(Parameters):
    """The methods that scikit-learn expects of a regressor, implemented with a learner."""

    _positive: ClassVar[bool] = False  # x and y must not be negative
    # if True, scikit-learn's check_regressors_train accepts an R² below 0.5 on its data
    _poor_score: ClassVar[bool] = False

    def _run(self, X: Any, y: Any, *, learn: bool) -> tuple[np.ndarray, np.ndarray, list[int]]:
        raise NotImplementedError

    def _snapshot(self) -> Callable[[], None]:
        """Return a function that restores the present state."""
        raise NotImplementedError

    def _forget(self) -> None:
        raise NotImplementedError

    def _learnt(self) -> Any:
        """Return the learner's state; raise an error if the learner has learnt nothing yet."""
        raise NotImplementedError

    def _for_tables(self) -> Self:
        """Return the learner to use for predicting a whole table.

        The returned learner does not assume that the rows of the table come next in the stream.
        """
        return self

    @atomic
    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything learnt so far, then learn the rows of X in order."""
        check_idle(self, "fit")
        with all_or_nothing(self):
            self._forget()
            self._run(X, y, learn=True)
        return self

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn more rows, in order."""
        check_idle(self, "fit")
        self._run(X, y, learn=True)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict every row from the learner's present state; learn nothing."""
        return self._fitted()._run(X, None, learn=False)[0]  # type: ignore[no-any-return]

    @atomic
    def _fitted(self) -> Any:
        """Return the learner to use for predicting tables; raise an error if nothing was learnt."""
        self._learnt()
        return self._for_tables()

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² = 1 − SSE/SST of :meth:`predict`: predicting the mean of y would give 0."""
        checks.same_index(X, y=y, sample_weight=sample_weight)
        predictions = self.predict(X)
        y = checks.labels(y, predictions.size)
        if not np.isfinite(y).all():
            raise ValueError(f"score needs finite labels, got {y[~np.isfinite(y)][0]}")
        given = np.ones(y.size) if sample_weight is None else sample_weight
        weight = checks.labels(given, y.size) * ~np.isnan(predictions)  # a skipped row has weight 0
        if not np.any(weight > 0):
            raise ValueError(
                "score needs a row that can be predicted and has positive weight, got none"
            )
        return r_squared(y, predictions, weight)

    def _repr_html_(self) -> str:
        """Return HTML with the learner's parameters and what it has learnt, for notebooks."""
        return notebook.model_page(self)

    def __sklearn_tags__(self) -> Any:
        """Describe the learner to scikit-learn; nothing else calls this method."""
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=True, positive_only=self._positive),
            regressor_tags=RegressorTags(poor_score=self._poor_score),
            input_tags=InputTags(sparse=True, positive_only=self._positive),
        )

    def get_metadata_routing(self) -> Any:
        """Tell scikit-learn which arguments the learner takes besides X and y."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=type(self).__name__)
        request.score.add_request(param="sample_weight", alias=None)
        return request

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether the learner has learnt anything."""
        return hasattr(self, "n_features_in_")


class Transformer(Parameters):
    """The methods that scikit-learn expects of a transformer, implemented with a feature map."""

    def _learn(self, X: Any) -> None:
        raise NotImplementedError

    def _snapshot(self) -> Callable[[], None]:
        """Return a function that restores the present state."""
        raise NotImplementedError

    def _forget(self) -> None:
        raise NotImplementedError

    def _width(self) -> int:
        """Return the number of columns that the feature map makes."""
        raise NotImplementedError

    def transform(self, X: Any) -> np.ndarray:
        """Return the features that the map makes of every row of X; learn nothing."""
        raise NotImplementedError

    @atomic
    def fit(self, X: Any, y: Any = None) -> Self:
        """Forget everything learnt so far, then learn from the rows of X in order; y is ignored."""
        with all_or_nothing(self):
            self._forget()
            self._learn(X)
        return self

    @atomic
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from the rows of X in order, after the earlier rows; y is ignored."""
        with all_or_nothing(self):
            self._learn(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Forget everything, learn from all rows of X, then return the features of each row."""
        return self.fit(X).transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns that the feature map makes."""
        name = type(self).__name__.lower()
        return np.array([f"{name}{i}" for i in range(self._width())], dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Describe the feature map to scikit-learn; nothing else calls this method."""
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(sparse=True),
        )

    def get_metadata_routing(self) -> Any:
        """Tell scikit-learn which arguments the feature map takes besides X and y."""
        from sklearn.utils.metadata_routing import MetadataRequest

        return MetadataRequest(owner=type(self).__name__)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether the feature map has seen a row."""
        return hasattr(self, "n_features_in_")
