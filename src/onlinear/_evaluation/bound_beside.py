"""Compute the bound of a certificate in a second thread while the replay runs."""

import contextlib
from collections.abc import Callable
from functools import partial

import numpy as np

from onlinear._engine.threads import BLAS_THREADS_PAY, beside, blas_threads, usable_cores
from onlinear._evaluation.accounts import Accounts
from onlinear._evaluation.replay import Engine
from onlinear._learner.replay_result import Replay

__all__ = ["engine_of_bound", "run_beside"]

WORTH_A_THREAD = 50_000  # entries of X from which a second thread saves time


def run_beside(
    accounts: Accounts,
    rounds: Callable[[], Replay],
    labels: np.ndarray,
    table: np.ndarray,
    names: list[str] | None,
    engine: Engine,
) -> tuple[Replay, np.ndarray | None]:
    """Replay the stream, and compute the bound in another thread if there is a core for it.

    ``rounds`` runs the replay. Return the result of ``rounds``, and an array with the comparator,
    factor and extra of the bound loss ≤ factor · comparator + extra after each row. The array is
    None if the caller still has to compute it, because there is only one core, the table is small
    or wide, or the learner has skipped rows.
    """
    small, wide = table.size < WORTH_A_THREAD, table.shape[1] >= BLAS_THREADS_PAY
    if small or wide or usable_cores() == 1:
        return rounds(), None
    ledger = accounts.ledger.twin()
    engine = engine_of_bound(engine)
    in_bulk = ledger.account.step.takes_bulk(table, engine, ledger.account.owner)
    ledger.compile(table, labels, in_bulk=in_bulk)  # in this thread, so that Ctrl-C works
    add = partial(ledger.add, table, labels, names, engine)
    limit = blas_threads(table.shape[1]) if in_bulk else contextlib.nullcontext()
    with limit, beside(lambda advance: add(progress=advance)) as account:
        run = rounds()
        if run.bad_rows.size:
            return run, None
        tallies = account.result()
    accounts.ledger = ledger
    return run, tallies


def engine_of_bound(engine: Engine) -> Engine:
    """Return the engine for the bound: "auto" in place of "bulk", which some bounds cannot use."""
    return "auto" if engine == "bulk" else engine
