"""A learner that carries its certificate: in bulk, or row by row for as long as the stream runs."""

import copy
import os
from math import nan
from typing import Any, Self, cast

import numpy as np

from onlinear import _checks, _files, _saving
from onlinear._bounds import COMPARATOR, EXTRA, FACTOR, ROWS, Path
from onlinear._certificate import Certificate, given, issued, reason, within
from onlinear._ledger import Ledger
from onlinear._model import Learner, _full_name
from onlinear._parameters import _same
from onlinear._replay import Replay, replay

__all__ = ["Certified", "certificate"]


def certificate(model: Learner, X: Any, y: Any, comparator: Any = None) -> Certificate:
    """Replay a stream and show, at every round, the loss beside hindsight's and the ceiling.

    The comparator and the ceiling are computed from the rows and labels alone, by a recursion of
    their own: a learner that is wrong cannot vouch for itself. They cost about as much as the
    replay does (O(d²) a round; for the learners whose round is O(d), that is more than the learner
    itself, unless a comparator is given). The model learns, as in :func:`onlinear.replay`.

    Parameters
    ----------
    model : Learner
        A learner that has learnt nothing yet.
    X, y : array, list of rows or DataFrame; array or Series
        The stream.
    comparator : None, or array of shape (d,) or (rows, d)
        None: the best predictor in hindsight, of the kind the theorem speaks of. A vector: that
        one. One vector a round: that sequence, such as ``hindsight.drifting_path(X, y)`` or
        ``hindsight.best_shifting(X, y, 5).path``; bounds that know no drift do not apply to it.

    Examples
    --------
    >>> import onlinear as ol
    >>> X, y = ol.streams.rotating(rows=2000, d=4, degrees=0.1)
    >>> proof = ol.certificate(ol.LASER(b=1.0, c=50.0), X, y)
    >>> bool(proof.holds.all()), proof.failed
    (True, None)
    >>> proof.theorem
    'loss ≤ comparator + Σ y²·χ/(1+χ) (thesis, Theorem 12)'
    >>> ol.certificate(ol.RLS(), X, y).failed
    'no bound is known for RLS that forgets (forgetting < 1)'
    """
    return Certified(model, _search=comparator is None)._replay(X, y, comparator)


class Certified:
    """A learner together with its certificate, for streams that do not end.

    Predicts and learns as the learner does. The figures are those of :func:`certificate`, bit for
    bit, and are saved with the learner. A row costs the learner's round and about as much again.

    Parameters
    ----------
    model : Learner
        A learner that has learnt nothing yet; from now on it is to learn through this object only.

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
            raise TypeError(f"a certificate is for a learner, got {type(model).__name__}")
        if model._state is not None and model.rounds_ > 0:
            raise ValueError(
                f"a certificate begins with the first row, got a {type(model).__name__} that has "
                f"learnt {model.rounds_} (start afresh, or with onlinear.Certified from the start)"
            )
        model._numbers()
        self.model = model
        self._params = copy.deepcopy(model.get_params())
        self._guarantee = model._guarantee(_search)
        self._ledger = Ledger(self._guarantee.account)
        self._loss = 0.0

    # --- the round ----------------------------------------------------------------------------

    def predict_one(self, x: Any) -> float:
        """Predict the label of one row; never changes anything."""
        return self.model.predict_one(x)

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn the label of one row, and enter it into the accounts."""
        self._check_untouched()
        with self.model._all_or_nothing():
            prediction, skipped = self.model.predict_one(x), self.model.n_skipped_
            self.model.learn_one(x, y)
            if self.model.n_skipped_ > skipped:
                return
            label = _checks.label(y)
            self._ledger.add_one(_checks.row(x, None), label)
        self._loss += (label - prediction) ** 2

    def replay(self, X: Any, y: Any) -> Certificate:
        """Replay a stream, going on from here; return the certificate of its rounds.

        The losses and ceilings are those since the first row this object saw.
        """
        return self._replay(X, y, None)

    def _replay(self, X: Any, y: Any, comparator: Any) -> Certificate:
        self._check_untouched()
        if comparator is not None and self._guarantee.price is None:
            owner = type(self.model).__name__
            raise ValueError(f"{owner}'s bound is against a comparator of its own: give none")
        table, names = _checks.table(X)
        path = (
            None if comparator is None else given(comparator, table, _checks.labels(y, len(table)))
        )
        with self.model._all_or_nothing():
            run = replay(self.model, X, y)
            learnt = np.ones(len(table), dtype=bool)
            learnt[run.bad_rows] = False
            before = np.array([self.comparator, self.ceiling])
            tallies = np.zeros((EXTRA + 1, 0))
            if learnt.all():
                tallies = self._ledger.add(table, run.labels, names)
            elif learnt.any():
                tallies = self._ledger.add(table[learnt], run.labels[learnt], names)
        return self._certificate(run, tallies, before, path, learnt)

    def _certificate(
        self,
        run: Replay,
        tallies: np.ndarray,
        before: np.ndarray,
        path: Path | None,
        learnt: np.ndarray,
    ) -> Certificate:
        """Return the certificate of rounds whose tallies are these, and add their loss."""
        skipping = not learnt.all()
        first = self.rounds_ - tallies.shape[1]  # rows learnt before these
        if skipping and path is not None:
            u = path.u if path.u.shape[0] == 1 else path.u[learnt]
            path = Path(path.X[learnt], path.y[learnt], u)
        comparator, ceiling, against, astray = issued(self._guarantee, tallies, path)
        failed, row = self._reason()
        if astray is not None and (row is None or astray < row):
            row = astray
            failed = f"the bound is against {self._guarantee.paths}; not so from row {row} on"
        if row is not None:
            ceiling = ceiling.copy()
            ceiling[max(row - first, 0) :] = np.nan
        if skipping:  # a row that was left out leaves the figures as they were
            since = np.cumsum(learnt)
            comparator = np.concatenate([before[:1], comparator])[since]
            ceiling = np.concatenate([before[1:], ceiling])[since]
        loss = np.nan_to_num(run.losses, nan=0.0) if skipping else run.losses.copy()
        loss[0] += self._loss
        loss = np.cumsum(loss)
        self._loss = float(loss[-1])
        return Certificate(
            loss,
            comparator,
            ceiling,
            repr(self.model),
            self._guarantee.statement,
            against,
            failed,
            row,
            run,
        )

    def _reason(self) -> tuple[str | None, int | None]:
        """Return why no bound applies, and from which row, counting those learnt."""
        if self._ledger.state is None:
            return (None, None) if self._guarantee.known else (self._guarantee.statement, 0)
        return reason(self._guarantee, self._ledger.state[1])

    def _check_untouched(self) -> None:
        """Refuse to go on if the learner was changed by other hands."""
        model = self.model
        for name, value in model.get_params().items():
            if not _same(value, self._params[name]):
                raise ValueError(
                    f"a certificate is for one setting of the parameters, but {name} was "
                    f"{self._params[name]!r} and is {value!r}"
                )
        learnt = 0 if model._state is None else model.rounds_
        if learnt != self.rounds_:
            raise ValueError(
                f"the learner has learnt {learnt} rows, {self.rounds_} of them through its "
                "certificate: let it learn through onlinear.Certified only"
            )

    # --- the figures --------------------------------------------------------------------------

    @property
    def rounds_(self) -> int:
        """How many rows were learnt."""
        return 0 if self._ledger.state is None else int(self._ledger.state[1][ROWS])

    @property
    def loss(self) -> float:
        """Squared loss so far."""
        return self._loss

    @property
    def comparator(self) -> float:
        """Loss, with the theorem's penalty, of the best predictor in hindsight."""
        tally = self._ledger.tally
        return 0.0 if tally is None else float(tally[COMPARATOR])

    @property
    def ceiling(self) -> float:
        """What the loss can be at most; NaN if no bound applies."""
        tally = self._ledger.tally
        if tally is None:
            return 0.0 if self._guarantee.known else nan
        if self.failed is not None:
            return nan
        return float(tally[FACTOR] * tally[COMPARATOR] + tally[EXTRA])

    @property
    def bound(self) -> float:
        """How far the loss can exceed the comparator."""
        return self.ceiling - self.comparator

    @property
    def slack(self) -> float:
        """How far the loss is below the ceiling."""
        return self.ceiling - self.loss

    @property
    def holds(self) -> bool:
        """Whether the loss is at most the ceiling, but for rounding; False if no bound applies."""
        return bool(within(self.loss, self.ceiling))

    @property
    def failed(self) -> str | None:
        """Why no bound applies, or None if one does."""
        return self._reason()[0]

    @property
    def theorem(self) -> str:
        """The bound in words."""
        return self._guarantee.statement

    def __repr__(self) -> str:
        """Show the figures."""
        figures = f"loss {self.loss:.6g}, comparator {self.comparator:.6g}"
        end = f"ceiling {self.ceiling:.6g}" if self.failed is None else self.failed
        return f"<Certified {self.model!r} after {self.rounds_} rounds: {figures}, {end}>"

    # --- saving -------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Return the learner and the accounts: what pickle and deepcopy keep."""
        return {"model": self.model, "accounts": self._ledger.record, "loss": self._loss}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Take the learner and the accounts back."""
        model = kept["model"]
        self.model = model
        self._params = copy.deepcopy(model.get_params())
        self._guarantee = model._guarantee()
        self._ledger = Ledger(self._guarantee.account)
        if kept["accounts"].size:
            self._ledger.begin(model.n_features_in_)
            self._ledger.record = kept["accounts"]
        self._loss = kept["loss"]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner and its certificate to one file, as :meth:`Learner.save` does."""
        header, arrays = _saving.described(self.model, _full_name(type(self.model)))
        arrays["accounts"] = self._ledger.record
        arrays["loss"] = np.array([self._loss])
        _files.write(path, {**header, "certificate": 1}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the learner and certificate of a file, exactly as they were saved."""
        header, arrays = _files.read(path)
        with _saving.refusing(path, "a learner with its certificate"):
            if header.get("certificate") != 1:
                raise ValueError("it holds no certificate: use onlinear.load")
            model = cast(Learner, _saving.rebuilt(header, arrays, Learner._classes))
            (loss,) = arrays["loss"]
            certified = cls.__new__(cls)
            certified.__setstate__(
                {"model": model, "accounts": arrays["accounts"], "loss": float(loss)}
            )
            if not loss >= 0:
                raise ValueError(f"it says the loss is {loss}")
            certified._check_untouched()
        return certified
