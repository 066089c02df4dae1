"""A template for your own learner: the least mean squares filter, with a regret bound.

    ŷ  = xᵀw,  w₁ = 0
    w ← w + η (y − xᵀw) x                      for rows with η‖x‖² < 2

For the bound, let u be any weights, e = y − xᵀw, v = y − xᵀu, and w' the weights after the round.
Then

    ‖u − w‖² − ‖u − w'‖² = η(2 − η‖x‖²) e² − 2η ev ≥ η(2 − η‖x‖² − a) e² − η v²/a

The inequality holds for every a > 0, since 2ev ≤ ae² + v²/a. Let R be the largest η‖x‖² and
a = (2 − R)/2. Summing over all rows, the left side is at most ‖u‖², so

    Σ e² ≤ 4/(2 − R)² · (Σ v² + (2 − R)/(2η)·‖u‖²) ≤ 4/(2 − R)² · (Σ v² + ‖u‖²/η)

Widrow & Hoff, 1960. The least mean squares filter is in the package as ``GD(eta=η/2)``.

    python examples/own_learner.py
"""

import math
import tempfile
from typing import NamedTuple

import numpy as np

from onlinear.extend import (
    DOMAIN,
    FACTOR,
    FINE,
    OVERFLOW,
    Account,
    Algorithm,
    Guarantee,
    Learner,
    Path,
    Step,
    Tally,
    axpy,
    compete,
    competitor,
    dot,
    enter,
    lose,
    number,
)

__all__ = ["LMS"]


# --- the learner --------------------------------------------------------------------------------


class LMSParams(NamedTuple):
    """The step size."""

    eta: float


class LMSState(NamedTuple):
    """The number of rounds, which comes first, and the weights."""

    t: np.ndarray
    w: np.ndarray


def init(params: LMSParams, d: int) -> LMSState:
    """Return the initial state, w = 0."""
    return LMSState(np.zeros(1), np.zeros(d))


@Step
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    t, w = state
    (eta,) = params
    m = dot(w, x)
    if math.isnan(y):  # no label: predict, change nothing
        return m, FINE
    reach = eta * dot(x, x)
    pace = eta * (y - m)
    if not math.isfinite(pace * reach):  # refuse before the state is changed
        return reach, OVERFLOW
    if reach >= 2.0:
        return reach, DOMAIN  # rule 0 of the Algorithm; DOMAIN + 1 would be rule 1
    axpy(pace, x, w)  # w ← w + η (y − xᵀw) x
    t[0] += 1
    return m, FINE


TOO_LONG = "needs eta·‖x‖² < 2, or its steps overshoot, got eta·‖x‖² = {value:g}"


# --- the bound: optional ------------------------------------------------------------------------


@Tally
def bound(state, params, x, y, work):
    """Update the bound with a row and its label; it never uses the learner's state."""
    tally, notes, t, w, S, sums = state
    (eta,) = params
    gain, _, rule = compete((t, w, S), math.inf, x, y, work)  # min over u of Σ v² + ‖u‖²/η
    if rule != FINE:
        return lose(tally, notes, rule, gain)
    sums[0] += gain
    sums[1] = max(sums[1], eta * dot(x, x))  # R
    return enter(tally, notes, sums[0], 4.0 / (2.0 - sums[1]) ** 2, 0.0)


# --- the class ----------------------------------------------------------------------------------


class LMS(Learner):
    """The least mean squares filter.

    Costs O(d) per round.

    Parameters
    ----------
    eta : float, default 0.01
        Step size, eta > 0. Rows need eta·‖x‖² < 2.
    on_bad : {"raise", "skip"}, default "raise"
        Whether a bad row raises an error, or is skipped and counted in ``n_skipped_``.

    Examples
    --------
    >>> model = LMS(eta=0.5)
    >>> model.learn_one([1.0, 0.0], 2.0)
    >>> model.coef_
    array([1., 0.])
    """

    eta: float = 0.01

    algorithm = Algorithm(init, step, (TOO_LONG,))
    _poor_score = True  # it learns too slowly for scikit-learn's check of R² > 0.5

    def _params(self) -> LMSParams:
        return LMSParams(number(self, "eta", above=0))

    def _guarantee(self, search: bool = True) -> Guarantee:
        (eta,) = self._params()

        def begin(d: int) -> tuple[np.ndarray, ...]:
            return *competitor(d, 1 / eta), np.zeros(2)

        def price(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return tally[FACTOR] * (path.loss + path.squares / eta), path.moved

        return Guarantee(
            statement="loss ≤ 4/(2 − R)² · comparator, R = max η‖x‖²",
            comparator=f"min over u of loss of u + {1 / eta:g}·‖u‖²",
            account=Account("LMS", begin, bound, (eta,)),
            given=f"loss ≤ 4/(2 − R)² · (loss of u + {1 / eta:g}·‖u‖²), R = max η‖x‖²",
            price=price,
        )


# --- try it ------------------------------------------------------------------------------------


def main() -> None:
    """Run the learner on a stream, check its bound, save and load it, and use it per key."""
    import onlinear as ol

    X, y = ol.streams.rotating(rows=5000, d=4, degrees=0.01)
    run = ol.replay(LMS(eta=0.03), X, y)
    print(
        f"replay:       RMSE {run.rmse:.3f}, after 1000 rows {run[1000:].rmse:.3f}, R² {run.r2:.3f}"
    )

    proof = ol.certificate(LMS(eta=0.03), X, y)
    print(f"certificate:  loss {proof.loss[-1]:.1f}, at most {proof.ceiling[-1]:.1f}")
    print(f"              {proof.theorem}")
    print(f"              comparator {proof.comparator[-1]:.1f}: {proof.against}")
    print(f"              holds in every round: {proof.holds.all()}")

    model = LMS(eta=0.03).fit(X[:2500], y[:2500])
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/lms.onl")
        loaded = ol.load(f"{folder}/lms.onl")
    rest = ol.replay(loaded, X[2500:], y[2500:])
    same = np.array_equal(rest.predictions, run[2500:].predictions)
    print(f"save, load:   {loaded} goes on with the same bits: {same}")

    keys = np.arange(5000) % 3
    sensors = ol.Keyed(LMS(eta=0.03))
    each = sensors.replay(keys, X, y)
    print("keyed:        RMSE of each key", *(f"{each[keys == key].rmse:.3f}" for key in range(3)))


if __name__ == "__main__":
    main()
