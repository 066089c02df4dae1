"""A feature map and a learner combined: parameters, state and state file."""

import os
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from onlinear._engine.transaction import Guarded, GuardedBy, atomic, check_idle, mend, share_lock
from onlinear._learner.base import Learner, full_name
from onlinear._learner.parameters import Nested
from onlinear._learner.rounds import Columns
from onlinear._learner.sklearn_api import Estimator
from onlinear._state_files import file_format, model_codec
from onlinear._validation import checks
from onlinear.features._map import FeatureMap
from onlinear.losses import Loss

__all__ = ["Pair"]


class Pair(GuardedBy, Nested, Estimator):
    """A feature map and a learner; all state of the pair is in these two parts."""

    features: FeatureMap
    learner: Learner

    def _parts(self) -> tuple[FeatureMap, Learner]:
        """Return the map and the learner; raise an error if they are invalid or do not match."""
        features, learner = self.features, self.learner
        owner = type(self).__name__
        if not isinstance(features, FeatureMap):
            raise ValueError(
                f"{owner} needs features such as onlinear.features.RandomFourier(), got "
                f"{checks.described(features)}"
            )
        if not isinstance(learner, Learner):
            raise ValueError(
                f"{owner} needs a learner such as onlinear.AAR(), got {checks.described(learner)}"
            )
        learner._check_one(owner)
        if learner._state is not None and features._state is None:
            raise ValueError(
                f"{owner} needs a new learner for a new map, got "
                f"{checks.with_article(type(learner).__name__)} that has learnt {learner.rounds_} "
                "rows"
            )
        if learner._state is not None and learner.n_features_in_ != features._width():
            raise ValueError(
                f"{owner} needs a learner of the map's {features._width()} features, got one of "
                f"{learner.n_features_in_}"
            )
        if features._lock is not learner._lock:
            share_lock(learner, features)
        if features._undo is not None:
            mend(features)
        return features, learner

    @property
    def _loss(self) -> Loss:
        """The loss by which the predictions are measured, that of the learner."""
        return self.learner._loss

    def _labels(self, y: Any, rows: int) -> np.ndarray:
        """Return the labels of a table as the numbers that the learner's step takes."""
        return self.learner._labels(y, rows)

    @property
    def _guard(self) -> Guarded:
        learner = self.learner
        return learner if isinstance(learner, Learner) else self._parts()[1]

    def _guards(self) -> tuple[Guarded, ...]:
        return self._parts()

    # --- state --------------------------------------------------------------------------------

    def _has_begun(self) -> bool:
        return self._parts()[1]._state is not None

    def _columns(self) -> Columns | None:
        features, _ = self._parts()
        return None if features._state is None else (features.n_features_in_, features._names)

    def _start(self, d: int, names: list[str] | None) -> None:
        """Initialize the learner, and the map unless it has a state already."""
        features, learner = self._parts()
        if features._state is None:
            features._begin(d, names)
        learner._begin(features._width())

    @property
    def _skips(self) -> int:
        return self.learner.n_skipped_

    @_skips.setter
    def _skips(self, count: int) -> None:
        self.learner.n_skipped_ = count

    def _forget(self) -> None:
        for part in (self.features, self.learner):
            part._forget()

    def _snapshot(self) -> Callable[[], None]:
        """Return a function that restores the present state of the map and the learner."""
        restorers = [part._snapshot() for part in self._parts()]

        def restore() -> None:
            for each in restorers:
                each()

        return restore

    def _learnt(self) -> Any:
        if self._parts()[1]._state is None:
            raise checks.not_fitted(type(self).__name__)
        return self.learner._state

    def _for_tables(self) -> Self:
        learner = self.learner._for_tables()
        return self if learner is self.learner else type(self)(self.features, learner)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether anything was learnt."""
        return self.learner._state is not None

    @property
    @atomic
    def rounds_(self) -> int:
        """How many rows were learnt."""
        return int(self._learnt().t[0])

    @property
    def n_skipped_(self) -> int:
        """How many bad rows were skipped."""
        return self.learner.n_skipped_

    @property
    def n_features_in_(self) -> int:
        """How many columns a row has."""
        return self.features.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """The names of the columns, if they have names."""
        return self.features.feature_names_in_

    # --- files --------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write map and learner to one file, as :meth:`onlinear.Learner.save` does.

        >>> import onlinear as ol
        >>> model = ol.features.Mapped(ol.features.RandomFourier(), ol.AAR())
        >>> model.learn_one([1.0, 0.0], 3.0)
        >>> model.save("model.onl")
        >>> ol.load("model.onl").predict_one([1.0, 0.0]) == model.predict_one([1.0, 0.0])
        True
        """
        check_idle(self, "save")
        file_format.write(path, *self._described())

    @atomic
    def _described(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the header and arrays that describe map and learner."""
        features, learner = self._parts()
        header, arrays = model_codec.described(learner, full_name(type(learner)))
        features._numbers()
        about: dict[str, Any] = {"name": full_name(type(features))}
        about["params"] = features._to_plain()
        if features._state is not None:
            features._prepare()
            features._check_state()
            about |= {"features": features.n_features_in_, "names": features._names}
            arrays["map"] = features._record
        return {**header, "map": about}, arrays

    @classmethod
    def _rebuilt(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """Return the model that a header and arrays describe."""
        about = header["map"]
        name = about["name"]
        if name not in FeatureMap._classes:
            raise ValueError(f"no feature map is known as {name!r} (import or define it first)")
        kind = FeatureMap._classes[name]
        features = kind(**kind._from_plain(about["params"]))
        features._numbers()
        if "map" in arrays:
            features._restore(about["features"], about["names"], arrays["map"])
        model = cls(features, model_codec.rebuilt(header, arrays, Learner._classes))
        model._parts()
        return model
