"""A learner that carries its certificate: in bulk, or row by row for as long as the stream runs."""

import contextlib
import copy
import os
from collections.abc import Callable, Iterator
from functools import partial
from math import nan
from typing import Any, Self, cast

import numpy as np

from onlinear._engine.threads import BLAS_THREADS_PAY, beside, blas_threads, usable_cores
from onlinear._evaluation.certificate import Certificate, given, reason, within
from onlinear._evaluation.replay import Engine, replay
from onlinear._learner.base import FLOAT, Learner, _full_name
from onlinear._learner.bounds.guarantee import (
    AT,
    BROKEN,
    COMPARATOR,
    EXTRA,
    FACTOR,
    LOSSES,
    ROWS,
    Path,
)
from onlinear._learner.bounds.ledger import Ledger
from onlinear._learner.parameters import _same
from onlinear._learner.replay_result import Replay
from onlinear._state_files import file_format, model_codec
from onlinear._validation import checks

__all__ = ["Certified", "certificate"]

WORTH_A_THREAD = 50_000  # entries of a table from which it pays to keep accounts in a thread


def certificate(
    model: Learner, X: Any, y: Any, comparator: Any = None, *, engine: Engine = "auto"
) -> Certificate:
    """Replay a stream and show, at every round, the loss beside hindsight's and the ceiling.

    The comparator and the ceiling are computed from the rows and labels alone, never from the
    learner's state or predictions, and cost about as much as the replay does, beside which they are
    computed where there is a second core (O(d²) a round; for the learners whose round is O(d), that
    is 4 to 20 times the learner itself, unless a comparator is given). The model learns, as in
    :func:`onlinear.replay`.

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
    engine : {"auto", "rank-one", "bulk"}, default "auto"
        As in :func:`onlinear.replay`, of the learner and of its accounts (whose rows go one by one
        where they cannot be taken in bulk).

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
    return Certified(model, _search=comparator is None)._replay(X, y, comparator, engine)


class Certified:
    """A learner together with its certificate, for streams that do not end.

    Predicts and learns as the learner, ``model``, does. The figures are those of
    :func:`certificate` (bit for bit with ``engine="rank-one"``), and are saved with the learner.
    ``replay`` costs one to two times the learner's own; row by row, where Python's calls weigh more
    than the arithmetic, it is several times.

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
        self._params = copy.deepcopy(model._plain_params())
        self._guarantee = model._guarantee(_search)
        self._ledger = Ledger(self._guarantee.account)
        self._loss = 0.0
        self._power = 0.0  # the sum of the squared labels
        self._seen = 0  # rows, learnt or skipped
        self._ended = 0  # the row that ended the bound, if one did
        self._settings = model._call

    # --- the round ----------------------------------------------------------------------------

    def predict_one(self, x: Any) -> float:
        """Predict the label of one row; never changes anything."""
        return self.model.predict_one(x)

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn the label of one row, and enter it into the accounts."""
        self._check_untouched()
        with self._all_or_nothing():
            prediction, skipped = self.model.predict_one(x), self.model.n_skipped_
            self.model.learn_one(x, y)
            if self.model.n_skipped_ == skipped:
                label = y if y.__class__ is float else checks.label(y)
                plain = x.__class__ is np.ndarray and x.dtype is FLOAT
                intact = self._intact
                self._ledger.add_one(x if plain else checks.row(x, None), label)
                if intact and not self._intact:
                    self._ended = self._seen
                self._loss += (label - prediction) ** 2
                self._power += label**2
            self._seen += 1

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Undo everything if the block fails or is interrupted."""
        begun, record = self._ledger.state is not None, self._ledger.record
        totals = self._loss, self._power, self._seen, self._ended
        try:
            with self.model._all_or_nothing():
                yield
        except BaseException:
            if begun:
                self._ledger.record = record
            else:
                self._ledger.state = None
            self._loss, self._power, self._seen, self._ended = totals
            raise

    @property
    def _intact(self) -> bool:
        """Whether no hypothesis has failed."""
        return self._ledger.state is None or self._ledger.state[1][BROKEN] == 0

    def replay(self, X: Any, y: Any, *, engine: Engine = "auto") -> Certificate:
        """Replay a stream, going on from here; return the certificate of its rounds.

        The losses and ceilings are those since the first row this object saw. ``engine`` is that
        of :func:`certificate`.
        """
        return self._replay(X, y, None, engine)

    def _replay(
        self,
        X: Any,
        y: Any,
        comparator: Any,
        engine: Engine,
        rounds: Callable[[], Replay] | None = None,
    ) -> Certificate:
        """Replay a stream; ``rounds`` does the learner's own part, if not :func:`replay`."""
        self._check_untouched()
        table, names = checks.table(X)
        path = None
        if comparator is not None:
            labels = checks.labels(y, len(table))
            path = given(comparator, table, labels, names, type(self.model).__name__)
        with self._all_or_nothing():
            before = self.comparator, self.ceiling
            first = self.rounds_ if self._intact else None
            rounds = rounds or (lambda: replay(self.model, X, y, engine=engine))
            run, tallies = self._run_beside(rounds, y, table, names, engine)
            learnt = np.ones(len(table), dtype=bool)
            learnt[run.bad_rows] = False
            if tallies is None and learnt.any():
                rows = slice(None) if learnt.all() else learnt
                tallies = self._ledger.add(table[rows], run.labels[rows], names, _account(engine))
            if tallies is None:
                tallies = np.zeros((EXTRA + 1, 0))
            if path is not None and not learnt.all() and learnt.any():
                path = path.of(learnt)
            return self._certificate(run, tallies, path, learnt, before, first)

    def _run_beside(
        self,
        rounds: Callable[[], Replay],
        y: Any,
        table: np.ndarray,
        names: list[str] | None,
        engine: Engine,
    ) -> tuple[Replay, np.ndarray | None]:
        """Replay the stream, and if there is a core for it keep the accounts in a thread meanwhile.

        They see the rows and labels only. If the learner skips some, they are to be kept again.
        """
        small, wide = table.size < WORTH_A_THREAD, table.shape[1] >= BLAS_THREADS_PAY
        if small or wide or usable_cores() == 1:
            return rounds(), None
        labels, ledger = checks.labels(y, len(table)), self._ledger.twin()
        in_bulk = ledger.account.step.takes_bulk(table, _account(engine), ledger.account.owner)
        ledger.compile(table, labels, in_bulk=in_bulk)  # here, where Ctrl-C ends it
        add = partial(ledger.add, table, labels, names, _account(engine))
        limit = blas_threads(table.shape[1]) if in_bulk else contextlib.nullcontext()
        with limit, beside(lambda advance: add(progress=advance)) as account:
            run = rounds()
            if run.bad_rows.size:
                return run, None
            tallies = account.result()
        self._ledger = ledger
        return run, tallies

    def _certificate(
        self,
        run: Replay,
        tallies: np.ndarray,
        path: Path | None,
        learnt: np.ndarray,
        before: tuple[float, float],
        first: int | None,
    ) -> Certificate:
        """Return the certificate of rows with these tallies, and count them.

        ``before`` has the comparator and the ceiling before them, ``first`` how many rows had been
        learnt, or None if the bound had already ended.
        """
        guarantee, ended = self._guarantee, self._end(learnt, first)
        failed = self.failed
        if path is None:
            words = guarantee.statement, guarantee.comparator
            comparator = tallies[COMPARATOR]
            ceiling = tallies[FACTOR] * comparator + tallies[EXTRA]
        else:
            words = guarantee.given, "loss of the given u"
            comparator = path.loss
            ceiling, outside = guarantee.price(path, tallies)
            astray = int(np.flatnonzero(learnt)[np.argmax(outside)]) if outside.any() else None
            if astray is not None and (ended is None or astray < ended):
                ended = astray
                u = _short(path.u[min(int(np.argmax(outside)), len(path.u) - 1)])
                failed = f"the bound is against {guarantee.paths}; row {ended} has u = {u}"
        if not learnt.all():  # a row that was left out leaves the figures as they were
            since = np.cumsum(learnt)
            comparator = np.concatenate([before[:1], comparator])[since]
            ceiling = np.concatenate([before[1:], ceiling])[since]
        if ended is not None:
            ceiling = np.array(ceiling)
            ceiling[ended:] = np.nan
        loss = run.losses if learnt.all() else np.nan_to_num(run.losses, nan=0.0)
        if self._loss > 0:
            loss = np.array(loss)
            loss[0] += self._loss
        loss, start = np.cumsum(loss), self._seen
        power, squares = self._power, run.labels**2 if learnt.all() else run.labels[learnt] ** 2
        if squares.size:
            squares[0] += power
            self._power = float(np.cumsum(squares)[-1])
        self._loss, self._seen = float(loss[-1]), start + loss.size
        name = repr(self.model)
        return Certificate(
            loss, comparator, ceiling, name, *words, failed, ended, start, power, run
        )

    def _end(self, learnt: np.ndarray, first: int | None) -> int | None:
        """Return the row where the bound ends, of those just learnt; None if it does not."""
        row: int | None = None if self._intact else 0
        if row is not None and first is not None:
            assert self._ledger.state is not None
            row = int(np.flatnonzero(learnt)[int(self._ledger.state[1][AT]) - first])
            self._ended = self._seen + row
        return row if self._guarantee.known else 0

    def _check_untouched(self) -> None:
        """Refuse to go on if the learner was changed by other hands."""
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
        return bool(within(self.loss, self.ceiling, self._power))

    @property
    def regret(self) -> float:
        """How far the loss exceeds the comparator."""
        return self.loss - self.comparator

    @property
    def failed(self) -> str | None:
        """Why no bound applies, or None if one does; rows are counted from the first, 0."""
        if self._ledger.state is None:
            return None if self._guarantee.known else self._guarantee.statement
        return reason(self._guarantee, self._ledger.state[1], self._ended)

    @property
    def theorem(self) -> str:
        """The bound in words."""
        return self._guarantee.statement

    @property
    def against(self) -> str:
        """The comparator in words."""
        return self._guarantee.comparator

    def __repr__(self) -> str:
        """Show the figures."""
        figures = f"loss {self.loss:.6g}, comparator {self.comparator:.6g}"
        if self.failed is None:
            figures += f", ceiling {self.ceiling:.6g}: {'holds' if self.holds else 'BROKEN'}"
        else:
            figures += f"; {self.failed}"
        return f"<Certified {self.model!r} after {self.rounds_} rounds: {figures}>"

    # --- saving -------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Return the learner and the accounts: what pickle and deepcopy keep."""
        totals = np.array([self._loss, self._power, self._seen, self._ended])
        return {"model": self.model, "accounts": self._ledger.record, "totals": totals}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Take the learner and the accounts back."""
        model = kept["model"]
        self.model = model
        self._params = copy.deepcopy(model._plain_params())
        self._guarantee = model._guarantee()
        self._ledger = Ledger(self._guarantee.account)
        if kept["accounts"].size:
            self._ledger.begin(model.n_features_in_)
            self._ledger.record = kept["accounts"]
        loss, power, seen, ended = kept["totals"]
        self._loss, self._power = float(loss), float(power)
        self._seen, self._ended = int(seen), int(ended)
        self._settings = None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner and its certificate to one file, as :meth:`Learner.save` does."""
        header, arrays = model_codec.described(self.model, _full_name(type(self.model)))
        file_format.write(path, {**header, "certificate": 1}, arrays | self._described())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the learner and certificate of a file, exactly as they were saved."""
        header, arrays = file_format.read(path)
        with model_codec.refusing(path, "a learner with its certificate"):
            if header.get("certificate") != 1:
                raise ValueError("it holds no certificate: use onlinear.load")
            model = cast(Learner, model_codec.rebuilt(header, arrays, Learner._classes))
            return cls._restored(model, arrays)

    def _described(self) -> dict[str, np.ndarray]:
        """Return the accounts as arrays for a state file, the learner being described apart."""
        kept = self.__getstate__()
        return {"accounts": kept["accounts"], "totals": kept["totals"]}

    @classmethod
    def _restored(cls, model: Learner, arrays: dict[str, np.ndarray]) -> Self:
        """Return the certificate of a learner from the arrays of a state file, or refuse them."""
        loss, power, seen, ended = totals = arrays["totals"]
        if not (0 <= loss < np.inf and 0 <= power < np.inf and 0 <= ended <= seen):
            raise ValueError(f"it says {loss} was lost in {seen} rows, the {ended}. the last")
        certified = cls.__new__(cls)
        certified.__setstate__({"model": model, "accounts": arrays["accounts"], "totals": totals})
        certified._check_untouched()
        certified._check_accounts()
        return certified

    def _check_accounts(self) -> None:
        """Refuse accounts that no sequence of rows leads to."""
        if self._ledger.state is None:
            return
        tally, notes, *rest = self._ledger.state
        known = -len(LOSSES) <= notes[BROKEN] <= len(self._guarantee.hypotheses)
        if not (np.isfinite(notes).all() and np.all(notes[[ROWS, BROKEN, AT]] % 1 == 0) and known):
            raise ValueError(f"its accounts note {notes}")
        figures = tally if self._intact and self._guarantee.known else np.zeros(1)
        if not all(np.isfinite(array).all() for array in (figures, *rest)):
            raise ValueError("its accounts have numbers that are not finite")


def _account(engine: Engine) -> Engine:
    """Return the engine of the accounts: rows go one by one where they cannot be taken in bulk."""
    return "auto" if engine == "bulk" else engine


def _short(u: np.ndarray) -> str:
    """Return weights in few characters."""
    return np.array2string(u, precision=4, threshold=6, edgeitems=2)


model_codec.register_refusal(
    "certificate", "it holds a learner with its certificate: use Certified.load"
)
