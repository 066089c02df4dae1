"""``Mapped``: a learner on kernel features, for nonlinear regression at a constant cost per row."""

import contextlib
import copy
from collections.abc import Callable
from math import nan
from typing import Any, ClassVar

import numpy as np

from onlinear._engine.status import BAD_INPUT, BAD_LABEL, FINE, FULL, Outcome
from onlinear._engine.tables import Rows
from onlinear._engine.transaction import all_or_nothing, atomic
from onlinear._learner.rounds import no_progress, rows_taken, run
from onlinear._state_files import model_codec
from onlinear._validation import checks
from onlinear.features._pair import Pair
from onlinear.features._steps import Behind, of_map

__all__ = ["Mapped"]


class Mapped(Pair):
    """A feature map φ followed by a learner that learns from φ(x) instead of x.

    ``Mapped`` has the API of a learner: ``predict_one`` and ``learn_one``, :func:`onlinear.replay`,
    scikit-learn's methods, ``save`` and :func:`onlinear.load`. Row by row, in a replay, or saved
    and loaded in between, a model gives the same predictions to the bit. A map that learns
    (``Nystroem``, which chooses landmarks) learns only from rows that the learner learns. Map and
    learner are the given objects, not copies, as in a scikit-learn pipeline:
    ``model.learner.coef_`` has the weights of the features, the learner's ``on_bad`` says what
    happens to bad rows, and ``fit`` resets both. Costs as much as the map and the learner together.

    Parameters
    ----------
    features : RandomFourier or Nystroem
        The feature map.
    learner : Learner
        Any learner.

    Examples
    --------
    >>> import numpy as np
    >>> import onlinear as ol
    >>> x = np.random.default_rng(0).uniform(-3, 3, size=(2000, 1))
    >>> y = np.sin(3 * x[:, 0])
    >>> kernel = ol.kernels.RBF(gamma=2.0)
    >>> curved = ol.features.Mapped(ol.features.Nystroem(kernel, landmarks=30), ol.AAR(b=0.1))
    >>> straight = ol.AAR()
    >>> both = [ol.replay(model, x, y).cumulative_loss[-1] for model in (curved, straight)]
    >>> bool(both[0] < 0.02 * both[1])
    True
    """

    _poor_score: ClassVar[bool] = True  # as for learners that shrink their predictions

    @atomic
    def predict_one(self, x: Any) -> float:
        """Predict the label of one row, a vector or a sparse 1 × d matrix; change nothing."""
        features, learner = self._parts()
        if learner._state is None:
            fresh = copy.deepcopy(self)
            fresh._start(checks.width(x), None)
            return fresh.predict_one(x)
        x = features._row(x)
        value, rule = self._round(x, nan, labelled=False)
        if rule == FINE:
            return value
        if learner.on_bad == "raise":
            raise self._refusal(Outcome(0, rule, value), x, in_table=False)
        return nan

    @atomic
    def learn_one(self, x: Any, y: Any) -> None:
        """Learn the label of one row, a vector or a sparse 1 × d matrix."""
        features, learner = self._parts()
        if learner._state is None:
            with rows_taken(self, checks.width(x), checks.row_names(x)):
                self.learn_one(x, y)
            return
        x = features._row(x)
        value, rule = self._round(x, learner._label(y), labelled=True)
        if rule != FINE:
            if learner.on_bad == "raise":
                raise self._refusal(Outcome(0, rule, value), x, in_table=False)
            learner.n_skipped_ += 1

    def _round(self, x: np.ndarray, y: float, *, labelled: bool) -> tuple[float, int]:
        """Run one round; return the prediction and FINE, or a bad value and the broken rule."""
        features, learner = self.features, self.learner
        phi, new, rule = features._look(x)
        if rule != FINE:
            return new, of_map(rule)
        both = labelled and new == 1.0  # else only the learner changes, and its step is atomic
        with all_or_nothing(features, learner) if both else contextlib.nullcontext():
            state, params, work = learner._call or learner._prepare()
            value, rule = learner._one(state, params, phi, y, work, labelled, 0)
            if rule == FULL:
                with all_or_nothing(learner):
                    learner._make_room()
                return self._round(x, y, labelled=labelled)
            if both and rule == FINE:
                features._look(x, learn=True)
        return value, rule

    def _refusal(self, outcome: Outcome, x: np.ndarray, *, in_table: bool) -> ValueError:
        """Return the error for a bad row; rules of the learner are about φ(x), others about x."""
        features, learner = self.features, self.learner
        owner: Any = self
        rules: tuple[str, ...] = ()
        names, params = features._names, {}
        if outcome.rule < 0:
            owner, rules, params = features, features.rules, features.get_params()
            outcome = outcome._replace(rule=-outcome.rule)
        elif outcome.rule not in (BAD_INPUT, BAD_LABEL):
            owner, rules, params = learner, learner.algorithm.rules, learner.get_params()
            x, names = features._look(x)[0], features.get_feature_names_out().tolist()
        error = checks.refusal(
            type(owner).__name__, rules, outcome, x, in_table=in_table, names=names, params=params
        )
        return ValueError(f"{error}; the model is unchanged")

    @atomic
    def _run(
        self,
        X: Any,
        y: Any,
        *,
        learn: bool,
        progress: Callable[[int, int], None] = no_progress,
        engine: str = "rank-one",
    ) -> tuple[np.ndarray, np.ndarray, list[int]]:
        """Predict every row and, with ``learn``, learn it; return predictions, labels, bad rows."""
        return run(self, X, y, learn=learn, progress=progress, engine=engine)

    @atomic
    def _run_table(
        self,
        X: np.ndarray | Rows,
        names: list[str] | None,
        y: np.ndarray,
        *,
        learn: bool,
        progress: Callable[[int, int], None],
        engine: str,
    ) -> tuple[np.ndarray, list[int]]:
        """Predict a table's rows and, with ``learn``, learn them; return predictions, bad rows."""
        features, learner = self._parts()
        with rows_taken(self, X.shape[1], names, X.shape[0], learn=learn):
            step = Behind(features, learner._step)
            step.takes_bulk(
                X, engine, type(self).__name__
            )  # always False; this checks the name of the engine
            predictions, bad = learner._rounds(step, X, y, learn, self._refusal, progress)
            if learn:
                learner.n_skipped_ += len(bad)
        return predictions, bad


model_codec.register_reader("map", Mapped._rebuilt)
