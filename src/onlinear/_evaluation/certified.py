"""``certificate`` and ``Certified``: compare a learner's loss with the bound of its theorem."""

import copy
import os
from collections.abc import Callable
from typing import Any, Self, cast

import numpy as np

from onlinear._engine.transaction import (
    Guarded,
    GuardedBy,
    all_or_nothing,
    alone,
    atomic,
    check_idle,
    exclusive,
)
from onlinear._evaluation.accounts import Accounts, check_totals, written_by
from onlinear._evaluation.bound_beside import engine_of_bound, run_beside
from onlinear._evaluation.certificate import Certificate, given, within
from onlinear._evaluation.replay import Engine, replay
from onlinear._learner.base import FLOAT, Learner, full_name
from onlinear._learner.bounds.guarantee import EXTRA
from onlinear._learner.parameters import _same
from onlinear._learner.replay_result import Replay
from onlinear._state_files import file_format, model_codec
from onlinear._validation import checks

__all__ = ["Certified", "certificate"]


def certificate(
    model: Learner, X: Any, y: Any, comparator: Any = None, *, engine: Engine = "auto"
) -> Certificate:
    """Replay a stream; return the loss, the best loss in hindsight and the bound at every round.

    The best loss in hindsight and the bound are computed from the rows and labels alone, never from
    the learner's state or predictions. Computing them takes O(d²) per round, about as long as the
    replay, and is done in parallel to the replay if there is a second core. (If the learner itself
    takes O(d) per round, the bound takes 4 to 20 times as long as the learner, unless a comparator
    is given. For a kernel learner, the bound takes about as long as the learner.) The model learns
    the stream, as in :func:`onlinear.replay`.

    Parameters
    ----------
    model : Learner
        A learner that has not learnt any row yet.
    X, y : array, list of rows or DataFrame; array or Series
        The stream.
    comparator : None, array of shape (d,) or (rows, d), or pair of arrays
        The weights to compare with. None means the best predictor in hindsight, of the kind that
        the learner's theorem is about. A vector is a fixed predictor to compare with. One vector
        per round is a changing predictor, such as ``hindsight.drifting_path(X, y)`` or
        ``hindsight.best_shifting(X, y, 5).path``; bounds against fixed predictors then do not
        apply. For a kernel learner, a pair (V, beta) means the function Σ beta_j K(v_j, ·) of the
        rows v_j of V; beta may have a row of coefficients for each round.
    engine : {"auto", "rank-one", "bulk"}, default "auto"
        How to run the learner and its bound, as in :func:`onlinear.replay`. A bound that cannot be
        computed in bulk is computed row by row.

    Examples
    --------
    >>> import onlinear as ol
    >>> X, y = ol.streams.rotating(rows=2000, d=4, degrees=0.1)
    >>> proof = ol.certificate(ol.LASER(b=1.0, c=50.0), X, y)
    >>> bool(proof.holds.all()), proof.failed
    (True, None)
    >>> proof.theorem
    'loss ≤ comparator + Σ y²·χ/(1+χ) (thesis, Theorem 12)'
    >>> ol.certificate(ol.ONS(), X, y).failed
    'no bound is known for ONS without a radius'
    """
    return Certified(model, _search=comparator is None)._replay(X, y, comparator, engine)


class Certified(GuardedBy):
    """A learner together with its certificate, updated row by row.

    A ``Certified`` object predicts and learns like ``model`` itself. The loss and bound of its
    certificate are those that :func:`certificate` gives (bit for bit with ``engine="rank-one"``),
    and are saved with the learner. ``replay`` takes one to two times as long as a replay of the
    learner alone. Predicting and learning single rows takes several times as long as with the
    learner alone, since the overhead of Python calls dominates.

    Parameters
    ----------
    model : Learner
        A learner that has not learnt any row yet; from now on it must learn through the
        ``Certified`` object.

    Examples
    --------
    >>> import onlinear as ol
    >>> watched = ol.Certified(ol.AAR(b=1.0))
    >>> for label in (1.0, 2.0, 1.0):
    ...     prediction = watched.predict_one([1.0])
    ...     watched.learn_one([1.0], label)
    >>> round(watched.loss, 3), round(watched.ceiling, 3), watched.holds
    (3.84, 4.083, True)
    >>> watched.save("watched.onl")
    >>> ol.Certified.load("watched.onl").loss == watched.loss
    True
    """

    def __init__(self, model: Learner, *, _search: bool = True) -> None:
        if not isinstance(model, Learner):
            why = f"a certificate is for one learner, got {checks.described(model)}"
            if hasattr(model, "decide"):  # a filter, whose module is beside this one
                why += "; the bounds of filters are in docs/guarantees.md, section Filters"
            raise TypeError(why)
        if model._state is not None and model.rounds_ > 0:
            raise ValueError(
                "a certificate begins with the first row, got "
                f"{checks.with_article(type(model).__name__)} that has learnt {model.rounds_} "
                "rows (use a new learner, or onlinear.Certified from the start)"
            )
        model._check_one("a certificate")
        model._numbers()
        self.model = model
        self._params = copy.deepcopy(model._plain_params())
        self._accounts = Accounts(model._guarantee(_search))
        self._settings = model._call

    @property
    def _guard(self) -> Guarded:
        return self.model

    # --- the round ----------------------------------------------------------------------------

    def predict_one(self, x: Any) -> float:
        """Predict the label of one row; change nothing."""
        return self.model.predict_one(x)

    @exclusive
    def learn_one(self, x: Any, y: Any) -> None:
        """Learn the label of one row, and update the certificate."""
        self._check_untouched()
        with all_or_nothing(self):
            label = self.model._label(y)
            prediction, skipped = self.model._number_one(x), self.model.n_skipped_
            self.model._learn_one(x, label)
            if self.model.n_skipped_ == skipped:
                plain = x.__class__ is np.ndarray and x.dtype is FLOAT
                self._accounts.add_one(x if plain else checks.row(x, None), label, prediction)
            self._accounts.seen += 1

    def _snapshot(self) -> Callable[[], None]:
        """Return a function that restores the present state of the learner and the certificate."""
        settings = self._settings
        restorers = [part._snapshot() for part in (self._accounts, self.model)]

        def restore() -> None:
            for each in restorers:
                each()
            self._settings = settings

        return restore

    def replay(self, X: Any, y: Any, *, engine: Engine = "auto") -> Certificate:
        """Replay a stream from the current state; return loss, best loss in hindsight and bound.

        Losses and bounds are totals since the first row that the ``Certified`` object saw.
        ``engine`` has the same meaning as in :func:`certificate`.
        """
        return self._replay(X, y, None, engine)

    @atomic
    def _replay(
        self,
        X: Any,
        y: Any,
        comparator: Any,
        engine: Engine,
        rounds: Callable[[], Replay] | None = None,
    ) -> Certificate:
        """Replay a stream; call ``rounds``, if given, to run the learner, else :func:`replay`."""
        self._check_untouched()
        table, names = checks.table(X)
        accounts, path, model = self._accounts, None, self.model
        with all_or_nothing(self):
            if rounds is None:
                model._find_classes(y)
                model._check_one("a certificate")
            labels = (model._labels if rounds is None else checks.labels)(y, len(table))
            if comparator is not None:
                path = given(comparator, table, labels, names, accounts.guarantee)
            before = accounts.comparator, accounts.ceiling
            first = accounts.rounds if accounts.intact else None
            rounds = rounds or (lambda: replay(model, X, y, engine=engine))
            run, tallies = run_beside(accounts, rounds, labels, table, names, engine)
            learnt = np.ones(len(table), dtype=bool)
            learnt[run.bad_rows] = False
            if tallies is None and learnt.any():
                rows = slice(None) if learnt.all() else learnt
                tallies = accounts.ledger.add(
                    table[rows], run.labels[rows], names, engine_of_bound(engine)
                )
            if tallies is None:
                tallies = np.zeros((EXTRA + 1, 0))
            if path is not None and not learnt.all() and learnt.any():
                path = path.of(learnt)
            return accounts.certificate(repr(model), run, tallies, path, learnt, before, first)

    def _check_untouched(self) -> None:
        """Refuse to continue if the learner was changed other than through this ``Certified``."""
        model = self.model
        if model._call is None or model._call is not self._settings:  # a parameter may have changed
            for name, value in model._plain_params().items():
                if not _same(value, self._params[name]):
                    raise ValueError(
                        f"a certificate is for one setting of the parameters, but {name} was "
                        f"{self._params[name]!r} and is {value!r}"
                    )
            self._settings = model._call
        learnt = 0 if model._state is None else model.rounds_
        if learnt != self.rounds_:
            raise ValueError(
                f"the learner has learnt {learnt} rows, {self.rounds_} of them through its "
                "certificate: let it learn through onlinear.Certified only"
            )

    # --- the figures --------------------------------------------------------------------------

    @property
    @atomic
    def rounds_(self) -> int:
        """How many rows were learnt."""
        return self._accounts.rounds

    @property
    @atomic
    def loss(self) -> float:
        """The cumulative squared loss so far."""
        return self._accounts.loss

    @property
    @atomic
    def comparator(self) -> float:
        """The loss of the best predictor in hindsight, including the theorem's penalty."""
        return self._accounts.comparator

    @property
    @atomic
    def ceiling(self) -> float:
        """The upper bound on the loss; NaN if no bound applies."""
        return self._accounts.ceiling

    @property
    def bound(self) -> float:
        """The bound on the regret: ceiling − comparator."""
        return self.ceiling - self.comparator

    @property
    def slack(self) -> float:
        """How far the loss is below the ceiling: ceiling − loss."""
        return self.ceiling - self.loss

    @property
    @atomic
    def holds(self) -> bool:
        """Whether the loss is at most the ceiling, up to rounding; False if no bound applies."""
        return bool(within(self.loss, self.ceiling, self._accounts.power))

    @property
    def regret(self) -> float:
        """The regret: loss − comparator."""
        return self.loss - self.comparator

    @property
    @atomic
    def failed(self) -> str | None:
        """Why no bound applies, or None if one applies; the text counts rows from 0."""
        return self._accounts.failed

    @property
    def theorem(self) -> str:
        """The bound in words."""
        return self._accounts.guarantee.statement

    @property
    def against(self) -> str:
        """The comparator in words."""
        return self._accounts.guarantee.comparator

    def __repr__(self) -> str:
        """Show loss, comparator and ceiling."""
        figures = f"loss {self.loss:.6g}, comparator {self.comparator:.6g}"
        if self.failed is None:
            figures += f", ceiling {self.ceiling:.6g}: {'holds' if self.holds else 'BROKEN'}"
        else:
            figures += f"; {self.failed}"
        return f"<Certified {self.model!r} after {self.rounds_} rounds: {figures}>"

    # --- saving -------------------------------------------------------------------------------

    @atomic
    def __getstate__(self) -> dict[str, Any]:
        """Return copies of the learner and of the running totals, for pickle and deepcopy."""
        return {"model": copy.copy(self.model), **self._accounts.described()}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Restore the learner and the running totals."""
        model = kept["model"]
        self.model = model
        self._params = copy.deepcopy(model._plain_params())
        d = model.n_features_in_ if kept["accounts"].size else 0
        self._accounts = Accounts(written_by(model._guarantee(), kept, d))
        self._accounts.restore(kept, d)
        self._settings = None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner and its certificate to one file, as :meth:`Learner.save` does."""
        check_idle(self, "save")
        nested = self._lock._is_owned()
        with self._lock, alone(self, nested):
            header, arrays = model_codec.described(self.model, full_name(type(self.model)))
            arrays |= self._described()
        file_format.write(path, {**header, "certificate": 1}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the learner and certificate from a file, exactly as they were saved."""
        header, arrays = file_format.read(path)
        with model_codec.refusing(path, "a learner with its certificate"):
            if header.get("certificate") != 1:
                raise ValueError("it holds no certificate: use onlinear.load")
            model = cast(Learner, model_codec.rebuilt(header, arrays, Learner._classes))
            return cls._restored(model, arrays)

    def _described(self) -> dict[str, np.ndarray]:
        """Return the running totals as arrays for a state file, without the learner."""
        self._accounts.check()  # do not save totals that load would refuse
        return self._accounts.described()

    @classmethod
    def _restored(cls, model: Learner, arrays: dict[str, np.ndarray]) -> Self:
        """Return a ``Certified`` of a learner and a state file's totals; refuse invalid totals."""
        check_totals(arrays["totals"])
        certified = cls.__new__(cls)
        certified.__setstate__({"model": model, **arrays})
        certified._check_untouched()
        certified._accounts.check()
        return certified


model_codec.register_refusal(
    "certificate", "it holds a learner with its certificate: use Certified.load"
)
