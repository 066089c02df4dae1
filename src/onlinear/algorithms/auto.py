"""Auto: LASERs of several adaptation speeds, combined by learnt weights; needs no tuning.

    p_k = y₁ + uᵀw_k          four LASERs, not shrunk, c = 1, 10³, 10⁶, 10⁹, of u = [1, x
                              standardized], and the running mean of y; clipped to the range of y
    p̄  = mean of the p_k
    f   = (p_k − p̄, y_{t−1} − p̄, e_{t−1}, y_{t−2} − p̄, e_{t−2})
    ŷ   = p̄ + Σ_i ω_i v_iᵀf    two ridges on f, one with fixed and one with drifting weights

The p_k are the predictions of the experts, y₁ is the first label, e_t is Auto's error in round t,
v_i are the weights of ridge i, and ω_i is the share of ridge i in the mixture of the two (learnt by
exponential weights with fixed share). Columns are standardized by :mod:`onlinear._updates.units`,
experts are combined by :mod:`onlinear.algorithms._auto.combination`, and outlying entries of x are
replaced by :mod:`onlinear.algorithms._auto.outliers`. A label farther than 10σ·2^m from the
prediction is clipped to that distance, where σ² is a running mean of squared errors, and m is the
number of labels clipped without a break just before. As the clipping distance doubles with every
clipped label, genuine level shifts are still learned. A label far outside the range of labels seen
so far is skipped, unless another label was far outside the range recently. If one of the first ten
labels is an extreme outlier, the learner starts over and learns the other nine. One round is
implemented in :mod:`onlinear.algorithms._auto.rounds`.

Experts: Moroshko & Crammer 2013; fixed share: Herbster & Warmuth 1998.
"""

import copy
import math
from typing import Any, Literal, Self

import numpy as np

from onlinear._engine.step import FINE, Outcome, Step
from onlinear._engine.transaction import atomic
from onlinear._learner.base import Algorithm, Learner
from onlinear._learner.bounds.guarantee import Guarantee, unknown
from onlinear._learner.notebook import Text
from onlinear._learner.rounds import rows_taken
from onlinear._numerics.linalg import scale
from onlinear._validation import checks
from onlinear.algorithms._auto.bound import guarantee
from onlinear.algorithms._auto.check import check_states
from onlinear.algorithms._auto.combination import SUMS
from onlinear.algorithms._auto.experts import GIVEN, STANDARD
from onlinear.algorithms._auto.explain import explained
from onlinear.algorithms._auto.labels import DROPPED, SIZE
from onlinear.algorithms._auto.outliers import EARLY
from onlinear.algorithms._auto.readout import (
    Regret,
    beliefs_of,
    line_of,
    names_of_experts,
    regret_of,
    weights_of_experts,
)
from onlinear.algorithms._auto.rounds import (
    LARGEST,
    MEANS,
    MOST_LAGS,
    NUMBERS,
    RIDGES,
    begin,
    issue_ticket,
    learn_label,
    predicted,
    refused,
    scratch,
    split_scratch,
)
from onlinear.algorithms._auto.state import AutoParams, AutoState

__all__ = ["Auto"]

DRIFTS = (0.0, 1e-5)  # variance added to the ridges' weights per row
FARTHEST = 1e3 * LARGEST  # far above any difference of labels and predictions up to LARGEST


def init(params: AutoParams, d: int) -> AutoState:
    """Return the state before the first row."""
    experts, ridges, past = params.c.size, params.drifts.size, 2 * int(params.lags)
    features = experts + 1 + past
    correctors = experts if params.guaranteed else 0
    arrays = (
        np.zeros(1),
        np.zeros(experts),
        np.zeros((experts, d + 1)),
        np.zeros((experts, d + 1, d + 1)),
        np.zeros(2),
        *np.zeros((7, d)),
        np.zeros((2, d)),
        np.zeros(SIZE),
        np.zeros(past),
        np.zeros((ridges, features)),
        np.zeros((ridges, features, features)),
        np.zeros(ridges),
        np.zeros(SUMS),
        *np.zeros((2, experts + 1)),
        np.zeros((EARLY, d + 1)),
        np.zeros(correctors),
        np.zeros((correctors, correctors)),
    )
    begin.py_func(arrays)
    return AutoState(*arrays)


@Step.with_scratch(scratch)
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    d, F = x.size, state[RIDGES].shape[1]
    value, rule = refused(x, y, d)
    if rule != FINE:
        return value, rule
    ticket, tidy, values, room = split_scratch(work, d, F)
    issue_ticket(state, x, room[0], room[1], tidy, ticket)
    prediction = predicted(state, ticket, room)
    if not math.isnan(y):
        learn_label(state, params, ticket, y, tidy, values, room)
    return prediction, FINE


@Step.with_scratch(scratch)
def step_delayed(state, params, x, y, work):
    """Learn a delayed label; ``x`` is the array (ticket) recorded when its row was predicted."""
    d, F = state[MEANS].size, state[RIDGES].shape[1]
    value, rule = refused(x, y, d)
    if rule != FINE:
        return value, rule
    ticket, tidy, values, room = split_scratch(work, d, F)
    scale(1.0, x, ticket)
    learn_label(state, params, ticket, y, tidy, values, room)
    return 0.0, FINE


class Auto(Learner):
    """Online linear regression without tuning: adapts to drift, and handles scaling and intercept.

    Auto is the right choice for most streams. Auto combines four LASER learners of different
    adaptation speeds, and also uses the last labels and errors as features. Shifting or rescaling a
    column, or the labels, makes no difference, and a single outlier in x or y does little harm.
    Entries and labels may have sizes from 10⁻¹⁴⁰ to 10¹⁰⁰; a column that varies by far less than
    10⁻¹⁴⁰ counts as constant. Costs O(d²) per round, about ten times as much as LASER.

    ``predict_one`` predicts the next row of the stream, and uses the last labels. ``predict`` and
    ``score`` take rows from anywhere: they use x only, and leave the past labels and errors out of
    the combination. So ``predict`` of the next row is usually worse than ``predict_one``. To score
    a stream, use :func:`onlinear.replay`.

    Parameters
    ----------
    lags : int, default 2
        How many past labels and errors are used as features, 0 ≤ lags ≤ 8; 0 uses x only.
    units : {"free", "given"}, default "free"
        "given" adds experts that use the columns without scaling. Experts without scaling suit
        columns that are known to have comparable units, so that their weights drift by similar
        amounts.
    guaranteed : bool, default False
        Correct predictions so that the squared loss has a bound on every stream: it is at most that
        of Auto without the correction, or that of any of its LASERs, plus costs that
        :func:`onlinear.certificate` computes. The correction changes predictions little.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import onlinear as ol
    >>> X, y = ol.streams.rotating(rows=2000, d=5, degrees=1.0)
    >>> run = ol.replay(ol.Auto(), [1e6, 1.0, 1.0, 1.0, 1e-6] * X, y)
    >>> still = ol.replay(ol.Ridge(), X, y)
    >>> bool(run.losses.mean() < 0.3 * still.losses.mean())
    True
    """

    lags: int = 2
    units: Literal["free", "given"] = "free"
    guaranteed: bool = False

    algorithm = Algorithm(
        init,
        step,
        (
            f"needs |x_i| ≤ {LARGEST:g}, got x_i = {{value:g}}",
            f"needs |y| ≤ {LARGEST:g}, got y = {{value:g}}",
        ),
    )
    _square = 4
    _of_state = ("lags", "units", "guaranteed")

    def _params(self) -> AutoParams:
        lags = checks.whole(self, "lags", least=0, most=MOST_LAGS)
        given = checks.choice(self, "units", ("free", "given")) == "given"
        c = STANDARD + GIVEN if given else STANDARD
        corrects = checks.choice(self, "guaranteed", (True, False))
        return AutoParams(float(lags), np.array(c), np.array(DRIFTS), float(corrects))

    def _matrices(self) -> int:
        return self._params().c.size

    def _check_states(self, stack: Any) -> None:
        super()._check_states(stack)
        check_states(stack, LARGEST)

    def _guarantee(self, search: bool = True) -> Guarantee:
        params = self._params()
        if params.guaranteed:
            return guarantee(params._replace(guaranteed=0.0), init)
        return unknown("Auto", "Auto without guaranteed=True")  # but see regret_

    # --- tables ---------------------------------------------------------------------------------

    def _for_tables(self) -> Self:
        """Return a copy of the learner in which past labels and errors have the weight 0.

        Past labels and errors belong to the last rows learnt, and say nothing about the rows of a
        table.
        """
        if not self._learnt().past.size:
            return self
        model = copy.copy(self)
        state = model._learnt()
        state.V[:, state.rounds.size + 1 :] = 0.0
        state.correction[:] = 0.0  # of predictions that use past labels and errors
        return model

    # --- delayed labels ------------------------------------------------------------------------

    def _ticket(self, x: Any) -> np.ndarray:
        model = self
        if self._state is None:
            model = type(self)(**self.get_params())
            model._begin(checks.width(x))
        state, params, work = model._call or model._prepare()
        work = np.zeros_like(work)  # not shared: a signal handler may predict another row
        row = checks.row(x, model.n_features_in_, model._names)
        model._one(state, params, row, math.nan, work, False, 0)  # writes the ticket first
        size = model.n_features_in_ + model._state.V.shape[1] + NUMBERS
        return np.array(work.ravel()[:size])

    @atomic
    def learn_late(self, kept: Any, y: Any) -> None:
        """Learn a delayed label, given the array that :meth:`remember` returned for its row.

        The combination is learnt from the experts' predictions and the past labels as they were
        when the row was predicted. So the combination of the experts adapts to the delay of the
        labels.
        """
        lags, c, *_ = self._numbers()
        features = 1 + c.size + 2 * int(lags)
        ticket, label = checks.row(kept, None, what="kept"), checks.label(y)
        d = ticket.size - features - NUMBERS
        known = d if self._state is None else self.n_features_in_
        if (
            d < 1
            or d != known
            or ticket[-1] != d
            or not np.abs(ticket[d:]).max() <= FARTHEST  # x itself is checked by the step
        ):
            raise ValueError(
                "Auto.learn_late needs the array that remember returned, for the same columns, "
                f"lags and units, got {ticket.size} numbers"
            )
        if self._state is None:
            with rows_taken(self, d, None):
                self.learn_late(kept, y)
            return
        state, params, work = self._call or self._prepare()
        value, rule = step_delayed.one(state, params, ticket, label, work, True, 0)
        if rule:
            if self.on_bad == "raise":
                raise self._refusal(Outcome(0, rule, value), ticket[:d], in_table=False)
            self.n_skipped_ += 1

    # --- what was learnt ----------------------------------------------------------------------

    @property
    @atomic
    def coef_(self) -> np.ndarray:
        """The weights of the columns in :meth:`predict_one`, in the original units."""
        return self._line()[1:]

    @property
    @atomic
    def rounds_(self) -> int:
        """How many rows were learnt, outliers included."""
        return super().rounds_ + int(self._learnt().labels[DROPPED])

    @property
    @atomic
    def intercept_(self) -> float:
        """The prediction of :meth:`predict_one` for a row of zeros, if nothing is clipped."""
        return float(self._line()[0])

    def _line(self) -> np.ndarray:
        state, _ = self._learnt(), self._numbers()  # raises if lags or units were changed
        return line_of(state)

    @property
    @atomic
    def regret_(self) -> Regret:
        """The losses of Auto, its experts and their best combination; a bound on the weighted loss.

        >>> import onlinear as ol
        >>> X, y = ol.streams.rotating(rows=500, d=3)
        >>> regret = ol.Auto().fit(X, y).regret_
        >>> regret.weighted <= regret.ceiling
        True
        """
        return regret_of(self._learnt(), self._numbers()[1])

    def _names_of_experts(self) -> list[str]:
        return names_of_experts(self._numbers()[1])

    def _weights_of_experts(self) -> tuple[np.ndarray, np.ndarray]:
        state, _ = self._learnt(), self._numbers()
        return weights_of_experts(state)

    @atomic
    def explain(self) -> str:
        """Describe in words and a table how fast the relationship changed, and which expert leads.

        The speed is that over all rows learnt, and is computed from the experts' weights in the
        best fixed combination. The leading expert is the one with the least error in about the last
        hundred rows.

        >>> import onlinear as ol
        >>> X, y = ol.streams.rotating(rows=500, d=3, degrees=3.0)
        >>> print(ol.Auto().fit(X, y).explain().splitlines()[0])
        Auto has learnt 500 rows of 3 columns.
        """
        state, c = self._learnt(), self._numbers()[1]
        return Text(explained(beliefs_of(state, c, self.rounds_, self.n_features_in_)))
