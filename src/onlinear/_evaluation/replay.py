"""``replay``: predict and then learn every row of an array or DataFrame, in a compiled loop."""

from typing import Any, Literal, cast, overload

import numpy as np

from onlinear._engine.progress import bar
from onlinear._learner.bank_replay import BankReplay
from onlinear._learner.base import Learner
from onlinear._learner.class_replay import ClassReplay
from onlinear._learner.classifier import Classifier
from onlinear._learner.replay_result import Replay
from onlinear._validation import checks
from onlinear._wrappers.bank.bank import Bank
from onlinear.features import Mapped

__all__ = ["Engine", "replay"]

Engine = Literal["auto", "rank-one", "bulk"]


@overload
def replay(model: Bank, X: Any, y: Any, *, engine: Engine = "auto") -> BankReplay: ...
@overload
def replay(
    model: Classifier, X: Any, y: Any, *, engine: Engine = "auto"
) -> Replay | ClassReplay: ...
@overload
def replay(model: Learner | Mapped, X: Any, y: Any, *, engine: Engine = "auto") -> Replay: ...
def replay(
    model: Learner | Mapped | Bank, X: Any, y: Any, *, engine: Engine = "auto"
) -> Replay | BankReplay | ClassReplay:
    """Predict each row, then learn its label, in order; the model is changed in place.

    The replay continues from the model's current state and gives the results of calling
    ``predict_one`` and ``learn_one`` row by row: bit for bit, or up to rounding (see ``engine``). A
    replay is all or nothing: on a bad row, or on Ctrl-C, the model is left as it was before the
    call (with ``on_bad="skip"``, bad rows are skipped and counted instead). On a terminal, a replay
    of more than two seconds shows a progress bar.

    Parameters
    ----------
    model : Learner, features.Mapped or Bank
        A learner, a learner with a feature map, or a bank of learners (whose result is a
        :class:`BankReplay`).
    X : array, list of rows, DataFrame, or sparse matrix
        One row per round. X may be any DataFrame that narwhals supports (column names are kept and
        checked), and any matrix or array of ``scipy.sparse``.
    y : array or Series
        One label per row. A classifier's labels may be of any type; the replay has its predictions
        (probabilities or margins of the second class) and the labels as numbers. With more than two
        classes, the result is a :class:`ClassReplay`.
    engine : {"auto", "rank-one", "bulk"}, default "auto"
        "rank-one" works row by row, and gives bit for bit the results of single calls. "bulk" works
        on blocks of rows with matrix products, for second-order learners and dense rows. The
        predictions of "bulk" equal those of "rank-one" to within 1e-10 of the largest prediction,
        unless the stream is so ill-conditioned that rounding the rows to float64 changes the
        predictions by more than that. "auto" is "bulk" where "bulk" is faster (from 64 columns),
        else "rank-one".

    Examples
    --------
    >>> import numpy as np
    >>> import onlinear as ol
    >>> X = np.array([[1.0], [1.0], [1.0]])
    >>> run = ol.replay(ol.Ridge(), X, [1.0, 1.0, 1.0])
    >>> run.predictions
    array([0.        , 0.5       , 0.66666667])
    """
    if isinstance(model, Bank):
        with bar("replay") as advance:
            columns, labels, skipped = model._run(X, y, learn=True, progress=advance, engine=engine)
        models = model._models
        loss = tuple(each._loss for each in models)
        return BankReplay(columns, labels.T.copy(), skipped, tuple(map(repr, models)), loss)
    if not isinstance(model, (Learner, Mapped)):
        own = "; it has a replay of its own" if hasattr(model, "replay") else ""
        if isinstance(model, (list, tuple)):
            own = ": put several into onlinear.Bank([...])"
        raise TypeError(f"replay needs a learner, got {checks.described(model)}{own}")
    with bar("replay") as advance:
        predictions, labels, bad = model._run(X, y, learn=True, progress=advance, engine=engine)
    skipped = np.array(bad, dtype=np.intp)
    if predictions.ndim == 2:
        return cast(Classifier, model)._replayed(predictions, labels.copy(), skipped)
    return Replay(predictions, labels.copy(), skipped, model._loss)
