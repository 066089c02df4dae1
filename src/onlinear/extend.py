"""Building blocks for writing your own learner.

A learner is two functions, ``init`` and ``step``, and a class that names its parameters. The step
predicts one row and learns its label; Numba compiles it. Such a class has ``predict_one``,
``learn_one``, ``save``, and the scikit-learn and river interfaces, and works with
``onlinear.replay``, ``Keyed``, ``Bank``, ``Late`` and ``load``. ``docs/extend.md`` is the guide;
``examples/own_learner.py`` is a template to copy, with a regret bound.

>>> import math
>>> from typing import NamedTuple
>>> from onlinear.extend import FINE, OVERFLOW, Algorithm, Learner, Step, axpy, dot, number, weights
>>> class LMSParams(NamedTuple):
...     eta: float
>>> def init(params, d):
...     return weights(d)  # the state: t, the number of rounds, and w = 0
>>> @Step
... def step(state, params, x, y, work):
...     t, w = state
...     m = dot(w, x)
...     if math.isnan(y):  # no label: predict, change nothing
...         return m, FINE
...     pace = params[0] * (y - m)
...     if not math.isfinite(pace * dot(x, x)):  # refuse before anything is written
...         return pace, OVERFLOW
...     axpy(pace, x, w)  # w ← w + η (y − xᵀw) x
...     t[0] += 1
...     return m, FINE
>>> class LMS(Learner):
...     eta: float = 0.01
...     algorithm = Algorithm(init, step)
...     def _params(self):
...         return LMSParams(number(self, "eta", above=0))
>>> model = LMS(eta=0.5)
>>> model.learn_one([1.0, 0.0], 2.0)
>>> model.predict_one([3.0, 0.0])
3.0

The learner
    ``Algorithm`` holds ``init``, ``step`` and the rules that rows must obey. ``Learner`` is the
    base class of learners, ``FirstOrder`` that of learners that follow the gradient of a
    :mod:`loss <onlinear.losses>`, and ``SecondOrder`` that of learners whose state has a covariance
    matrix S = Σ. A class with ``_poor_score = True`` may have R² < 0.5 on scikit-learn's test data.
    For other classes, such an R² makes ``check_regressors_train`` of ``check_estimator`` fail, with
    an ``AssertionError`` that has no text.
The step
    ``Step`` turns a function into a step, which returns a value and ``FINE``, ``OVERFLOW``, or
    ``DOMAIN + k`` if the row breaks rule k of the ``Algorithm``. The optional ``Bulk`` describes
    how rounds that update Σ are run on blocks of rows, which is faster with 64 columns or more.
Checks of parameters
    ``number``, ``whole``, ``limit`` (a positive number, or None for infinity) and ``choice`` check
    a parameter and return it. With ``asked``, the same four functions also check the arguments of a
    function. ``rate_for_range``, ``rate_for_loss`` and ``rate_for_horizon`` compute the learning
    rates with which the bound of a ``FirstOrder`` learner is least.
States
    ``weights`` returns the initial state ``Weights(t, w)``, and ``gaussian`` the initial state
    ``Gaussian(t, w, S)``. ``GAUSSIAN``, as ``Algorithm(..., follows=GAUSSIAN)``, lets
    ``Standardized`` rescale a ``Gaussian`` state.
Second-order rounds
    ``covariance_times`` sets work[0] to Σx, and ``learn`` updates w and Σ. ``learn_later`` is
    faster where Σ is large: it defers the update of Σ to the next round, or to ``settle``.
    ``moves`` returns the two numbers with which ``Bulk`` makes the same update as ``learn``.
Linear algebra
    ``kernel`` compiles a function that steps call; ``short`` also inlines it. Vectors: ``dot``,
    ``norm``, ``axpy``, ``scale``, ``extremes``, ``finite``; numbers: ``clipped``; symmetric
    matrices: ``symv``, ``add_square``, ``subtract_square``, ``shift``, ``reset``, ``trace``,
    ``observe``; factors: ``cholesky``, ``solve_lower``, ``solve_upper``.
Bounds
    ``Guarantee`` states the theorem of a learner, ``unknown`` says that a learner has no theorem.
    ``Account`` says how the bound is updated: by a ``Tally``, a step that sees only rows and
    labels. This step computes ``COMPARATOR``, ``FACTOR`` and ``EXTRA`` in the bound
    loss ≤ factor · comparator + extra. ``tallied`` and ``competitor`` create the state of a tally,
    ``compete`` updates the least loss in hindsight with a row, and ``enter`` writes comparator,
    factor and extra. ``broke`` notes that a hypothesis of the theorem fails, and ``lose`` that
    double precision does not suffice for the bound. ``Path`` is a sequence of predictors given as
    comparator; ``STAYS`` says that the comparator must not change. ``inside_ball``,
    ``scaled_down`` and ``cut_to`` are for bounds against comparators in a ball.
"""

from onlinear._engine.bulk import Bulk
from onlinear._engine.status import DOMAIN, FINE, OVERFLOW
from onlinear._engine.step import Step, Tally
from onlinear._learner.base import Algorithm, Learner
from onlinear._learner.bounds.guarantee import (
    COMPARATOR,
    EXTRA,
    FACTOR,
    STAYS,
    Guarantee,
    Path,
    broke,
    compete,
    competitor,
    cut_to,
    enter,
    inside_ball,
    lose,
    scaled_down,
    tallied,
    unknown,
)
from onlinear._learner.bounds.ledger import Account
from onlinear._learner.first_order import (
    FirstOrder,
    rate_for_horizon,
    rate_for_loss,
    rate_for_range,
)
from onlinear._learner.second_order import SecondOrder
from onlinear._numerics.linalg import (
    add_square,
    axpy,
    cholesky,
    clipped,
    dot,
    extremes,
    finite,
    kernel,
    norm,
    observe,
    reset,
    scale,
    shift,
    short,
    solve_lower,
    solve_upper,
    subtract_square,
    symv,
    trace,
)
from onlinear._updates.gaussian import (
    Gaussian,
    Weights,
    covariance_times,
    gaussian,
    learn,
    learn_later,
    moves,
    settle,
    weights,
)
from onlinear._updates.rescaling import GAUSSIAN
from onlinear._validation.parameters import asked, choice, limit, number, whole

__all__ = [
    "COMPARATOR",
    "DOMAIN",
    "EXTRA",
    "FACTOR",
    "FINE",
    "GAUSSIAN",
    "OVERFLOW",
    "STAYS",
    "Account",
    "Algorithm",
    "Bulk",
    "FirstOrder",
    "Gaussian",
    "Guarantee",
    "Learner",
    "Path",
    "SecondOrder",
    "Step",
    "Tally",
    "Weights",
    "add_square",
    "asked",
    "axpy",
    "broke",
    "choice",
    "cholesky",
    "clipped",
    "compete",
    "competitor",
    "covariance_times",
    "cut_to",
    "dot",
    "enter",
    "extremes",
    "finite",
    "gaussian",
    "inside_ball",
    "kernel",
    "learn",
    "learn_later",
    "limit",
    "lose",
    "moves",
    "norm",
    "number",
    "observe",
    "rate_for_horizon",
    "rate_for_loss",
    "rate_for_range",
    "reset",
    "scale",
    "scaled_down",
    "settle",
    "shift",
    "short",
    "solve_lower",
    "solve_upper",
    "subtract_square",
    "symv",
    "tallied",
    "trace",
    "unknown",
    "weights",
    "whole",
]
