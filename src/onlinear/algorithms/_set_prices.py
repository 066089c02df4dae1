"""The prices of comparators in a constraint set, as :mod:`onlinear.algorithms._set_bound` says."""

import math
from dataclasses import dataclass

import numpy as np

from onlinear._learner.bounds.best_in_set import divergences, misses
from onlinear._learner.bounds.guarantee import MOVES, Path
from onlinear._learner.constrained import Constrained
from onlinear._numerics.linalg import kernel
from onlinear._updates.constrained_step import POWER, RECORDS, SETS, rebound, with_custom
from onlinear._updates.p_norms import exponent
from onlinear._updates.projections import EUCLIDEAN, P_NORM, POSITIVE, SHARES
from onlinear.sets import Ball, Box, Custom
from onlinear.sets._values import BALL, BOX, FLOOR, GIVEN, LENGTH, NUMBER, VECTOR, heights

__all__ = ["Prices", "last_of"]

NEAR = 1e-9  # relative: how far from its set a given comparator may be


@kernel
def last_of(form):
    """Return where the record of the last set of a form begins."""
    start = RECORDS
    for _ in range(int(form[SETS]) - 1):
        start += int(form[start + LENGTH])
    return start


@dataclass(frozen=True, eq=False)
class Prices:
    """The prices of comparators for a learner whose weights stay in a set."""

    model: Constrained

    def first(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        """Return θ and the weights with which the learner starts; θ is ln w for shares."""
        fresh = type(self.model)(**self.model.get_params(deep=False))
        fresh._begin(d)
        theta, w = fresh._state[1].reshape(-1), fresh._state[-1].reshape(-1)
        if self.model._geometry == SHARES:
            theta = theta - np.log(np.exp(theta).sum())
        return theta.copy(), w.copy()

    def of(self, path: Path, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the price P of comparators up to each round, and where they are not allowed.

        The latter are 1 where comparators are outside, MOVES where they only must not have changed.
        ``u`` has the comparators of ``path`` as weights of the learner's geometry.
        """
        form = self.model._form()
        u = np.ascontiguousarray(u)
        first, w1 = self.first(path.X.shape[1])
        prices = np.empty(len(u))
        divergences(form, u, first, w1, prices)
        prices = prices + (u - u[0]) @ first
        moves = u[:-1] - u[1:]
        costs = np.zeros(len(moves))
        some = np.abs(moves).max(axis=1, initial=0.0) > 0
        costs[some] = self._heights(form, np.ascontiguousarray(moves[some]))
        drift = np.concatenate([[0.0], np.cumsum(costs)])
        outside = path.ever(self._missed(u) > NEAR)
        if self.model._custom() is not None:
            outside = outside | path.ever(self._led_astray(path, u))
        outside = outside | np.where(np.isinf(drift), MOVES, 0)
        return np.broadcast_to(prices + drift, path.y.shape), outside

    def limited(self) -> bool:
        """Whether activations of rows ≥ 0 have an upper limit, over weights in the last set."""
        model, last = self.model, self.model._members()[-1]
        if model._geometry == SHARES or model._last():  # the ball of a radius
            return True
        if model._geometry == P_NORM:
            return isinstance(last, Ball)
        if isinstance(last, Box):
            return bool(np.isfinite(last.limits()[1]).all())
        return last.bounded and not isinstance(last, Custom)

    def still(self) -> str:
        """Return why comparators must not change, and what to do: the supremum h is infinite."""
        model, found = self.model, self.model._members()
        last = ("the last set, " if len(found) > 1 else "the set ") + f"{found[-1]!r}"
        last += "," * (len(found) > 1)
        if isinstance(found[-1], Custom):
            why = f"{last} has no function support: give it one"
        elif model._geometry in (SHARES, POSITIVE):
            why = f"{last} has no least weight above 0: add an alpha"
        else:
            kind = "a ball" if model._geometry == P_NORM else "bounded"
            why = f"{last} is not {kind}: add a radius"
        return f"weights that stay the same, since {why}"

    def _missed(self, u: np.ndarray) -> np.ndarray:
        """Return by how much comparators miss the sets; a floor α/n is not among the sets."""
        model = self.model
        form, missed = model._form(), np.empty(len(u))
        last = last_of.py_func(form)
        if form[last] == FLOOR:
            form = form[:last].copy()
            form[SETS] -= 1
            form[1] = min(form[1], form[SETS])
        measure = misses
        custom = model._custom()
        if custom is not None:
            measure = rebound(misses, excess=with_custom(custom)["excess"])
        measure(form, u, np.empty((4, u.shape[1])), missed)
        return missed

    def _heights(self, form: np.ndarray, moves: np.ndarray) -> np.ndarray:
        """Return h(v) = sup ∇F(w)ᵀv of each move v, over the weights w in the last set."""
        model = self.model
        geometry, last = model._geometry, last_of.py_func(form)
        kind, number, n = form[last], form[last + NUMBER], moves.shape[1]
        if kind == FLOOR:
            share = 0.5 if geometry == SHARES else 1.0
            return np.asarray(share * math.log(n / number) * np.abs(moves).sum(axis=1))
        custom = model._members()[-1]
        if kind == GIVEN and isinstance(custom, Custom):
            if custom.support is None:
                return np.full(len(moves), math.inf)
            return np.array([float(custom.support(move)) for move in moves])
        if geometry == P_NORM and kind == BALL:
            p = exponent.py_func(form[POWER], n)
            return np.asarray(number * np.linalg.norm(moves, ord=p / (p - 1), axis=1))
        out = np.full(len(moves), math.inf)
        if geometry == POSITIVE and kind == BOX:
            form = form.copy()
            with np.errstate(divide="ignore"):
                form[last + VECTOR :] = np.log(form[last + VECTOR :])
            heights(form, last, moves, out)
        elif geometry == EUCLIDEAN:
            heights(form, last, moves, out)
        return out

    def _led_astray(self, path: Path, u: np.ndarray) -> np.ndarray:
        """Return in which rounds a projection leads the weights away from the comparator u_t.

        A custom projection can be wrong; D(u_t, w) must not be larger after it than before.
        """
        model = type(self.model)(**self.model.get_params(deep=False))
        model._begin(path.X.shape[1])
        own, plain = model._step, model.algorithm.step
        numbers, work = model._numbers(), model._work
        wrong = np.zeros(path.y.size, dtype=bool)
        for i, (x, y) in enumerate(zip(path.X, path.y, strict=True)):
            x, state = np.ascontiguousarray(x), tuple(model._state)
            moved = tuple(array.copy() for array in state)
            plain.one(moved, numbers[:-1], x, y, plain.work(x.size), True, 0)
            own.one(state, numbers, x, y, work, True, 0)
            v = u[min(i, len(u) - 1)]
            before, after = (self._distance(each[1].reshape(-1), v) for each in (moved, state))
            wrong[i] = after > before + NEAR * (1.0 + abs(before))
        return wrong

    def _distance(self, theta: np.ndarray, u: np.ndarray) -> float:
        """Return D(u, w) − F(u) for the weights w that belong to θ."""
        geometry = self.model._geometry
        if geometry == SHARES:
            top = theta.max()
            dual = float(top + np.log(np.exp(theta - top).sum()))
        elif geometry == POSITIVE:
            dual = float(np.exp(theta).sum())
        else:
            p = exponent.py_func(self.model._power(), theta.size)
            dual = 0.5 * float(np.linalg.norm(theta, ord=p)) ** 2
        return dual - float(theta @ u)
