"""Learners broken on purpose: a wrong sign, a wrong Σ, a wrong projection.

A mutant is the learner's own step with some of the compiled functions it calls replaced by wrong
ones; the step itself runs as plain Python. Its guarantee is that of the correct learner.
"""

from types import FunctionType

from plain_python import python

import onlinear as ol
from onlinear._engine import loops
from onlinear._engine.step import Step
from onlinear._numerics import linalg
from onlinear._updates import ball_projection, dual, dual_projection, gaussian, p_norms, segments
from onlinear.algorithms import (
    _forgetting,
    _shrunk_activation,
    cirr,
    driftnetwork,
    eg,
    gd,
    kernelcrrls,
    wemm,
)
from onlinear.algorithms._auto import correction


class Interpreted(Step):
    """A step run by the interpreter."""

    @property
    def one(self):
        return rebound(loops.single, one=self._once)

    @property
    def _once(self):
        unguarded = {"GUARDED": False, "flat": lambda state: ((), ())}  # usual numbers only
        return rebound(loops.one, step=self.function, **unguarded)

    @property
    def chunk(self):
        return rebound(loops.chunk, one=self._once)


def rebound(function, **names):
    """Return the function with some of its global names rebound."""
    function = getattr(function, "py_func", function)
    return FunctionType(function.__code__, {**function.__globals__, **names}, function.__name__)


def mutant(learner, **names):
    """Return the class of a learner whose step calls other kernels."""
    step = learner.algorithm.step
    broken = Interpreted(rebound(step.function, **names), step.scratch)
    algorithm = learner.algorithm._replace(step=broken)
    return type("Broken" + learner.__name__, (learner,), {"algorithm": algorithm})


def misset(learner, **wrong):
    """Return the class of a learner whose step gets other parameters than it was given."""

    def _numbers(self):
        params = self._params()
        return tuple(params._replace(**{k: f(getattr(params, k)) for k, f in wrong.items()}))

    return type("Misset" + learner.__name__, (learner,), {"_numbers": _numbers})


# --- wrong kernels --------------------------------------------------------------------------


def backwards(a, x, y):
    """axpy the wrong way round."""
    linalg.axpy(-a, x, y)


def nothing(*_):
    """Leave everything as it is."""
    return False


def following(**names):
    """Return LASER's way of learning with other kernels."""
    return rebound(gaussian.follow_later, **names)


def forgetting(learn):
    """Return the way in which RLS and CR-RLS learn, with another update."""
    return rebound(
        _forgetting.forget, learn_and_fade=rebound(_forgetting.learn_and_fade, learn=learn)
    )


def learn_backwards(state, x, e, v, chi, r, u):
    return gaussian.learn(state, x, -e, v, chi, r, u)


def stay_uncertain(state, x, e, v, chi, r, u):
    """w is learnt and Σ is not."""
    t, w, S = state
    return gaussian.learn((t, w, S.copy()), x, e, v, chi, r, u)


def grow_certain_twice(state, x, e, v, chi, r, u):
    """w is learnt from one observation and Σ from two."""
    S = state[2]
    twice = S.copy()
    linalg.observe(twice, x, v.copy(), chi, r / 2, u)
    rule = gaussian.learn(state, x, e, v, chi, r, u)
    S[...] = twice
    return rule


def grow_certain_at_once(state, x, e, v, chi, r, u):
    """Σ collapses, and there is nothing more to learn."""
    rule = gaussian.learn(state, x, e, v, chi, r, u)
    state[2][...] *= 1e-3
    return rule


def answer_backwards(kappa, m, chi, y):
    """The weights move away from the label."""
    a, rest, weight, miss = _shrunk_activation.answer(kappa, m, chi, y)
    return a, rest, weight, -miss


def observe_too_much(S, x, v, chi, r, u):
    """Σ collapses."""
    linalg.observe(S, x, v, chi, r, u)
    S *= 1e-3


def learn_away(state, params, x, y, work):
    """An ARCOR learns twice its prediction less the label."""
    m = float(state[1] @ x)
    return driftnetwork._learn(state, params, x, 2 * m - y, work)


def learn_and_freeze(state, params, x, y, work):
    """Its Σ collapses."""
    done = driftnetwork._learn(state, params, x, y, work)
    state[2][...] *= 1e-3
    return done


def drift_backwards(a, S, x):
    return linalg.shift_and_round(-a, S, x)


def stand_still(state, c, x, v):
    """χ without drift, and no drift to add."""
    return linalg.dot(x, v), 0.0


def project_too_far(S, w, radius, work):
    """Onto a ball a tenth as large."""
    ball_projection.project_ellipsoid(S, w, 0.1 * radius, work)


def tenfold_norm(a):
    """Everything beyond a tenth of the radius seems outside."""
    return 10.0 * linalg.norm(a)


def tenfold_p_norm(a, p):
    """Like :func:`tenfold_norm`."""
    return 10.0 * p_norms.p_norm(a, p)


def level(w, alpha):
    """Project on the middle of the simplex."""
    w[:] = 1.0 / w.size
    return True


def later(wrong):
    """Return a wrong ``learn`` in the place of ``learn_later``."""

    def learn(state, x, e, chi, r, *rest):
        v, u = rest[-1][:2]
        return wrong(state, x, e, v, chi, r, u)

    return learn


def observe_nothing(S, x, v, chi, r, u):
    """v is the gain as if Σ had been updated, but Σ stays."""
    v *= 1.0 / (r + chi)


def correcting(**names):
    """Return the class of an Auto that corrects its predictions with other kernels.

    All of it runs as plain Python: kernels that return arrays can be called by compiled code only.
    """
    step, done = L["Auto"].algorithm.step, {}
    broken = Interpreted(python(step.function, done), step.scratch)
    done[correction.learn_to_correct.py_func].__globals__.update(names)
    algorithm = L["Auto"].algorithm._replace(step=broken)
    return type("BrokenAuto", (L["Auto"],), {"algorithm": algorithm})


def remember_backwards(state, drift, b, budget, x, e, pivot, work):
    """The label is learnt on the wrong side of the prediction."""
    return dual.remember(state, drift, b, budget, x, -e, pivot, work)


def extend_backwards(alpha, L, Z, n, rows, x, gain, root, q, c):
    """f moves away from the label."""
    segments.extend(alpha, L, Z, n, rows, x, -gain, root, q, c)


def doubt(state, drift, b, budget, x, e, pivot, work):
    """A row counts as if its noise were a hundred times as large."""
    return dual.remember(state, drift, b, budget, x, e, 100.0 * pivot, work)


def collapse(alpha, L, Z, n, rows, x, gain, root, q, c):
    """f hardly moves, as if Σ were a thousandth."""
    segments.extend(alpha, L, Z, n, rows, x, 1e-3 * gain, root, q, c)


def project_all_the_way(L, rows, r, alpha, p, length, radius, work):
    """Onto a ball a tenth as large."""
    return dual_projection.project(L, rows, r, alpha, p, length, 0.1 * radius, work)


# --- the mutants ----------------------------------------------------------------------------

L = ol.LEARNERS
SIGN = {
    **{
        name: mutant(L[name], learn_later=later(learn_backwards))
        for name in ("AAR", "AROW", "AROWR", "Ridge")
    },
    "ARCOR": mutant(L["ARCOR"], learn=learn_backwards),
    "Auto": correcting(axpy=backwards),
    "DriftNetwork": mutant(L["DriftNetwork"], _learn=learn_away),
    "LASER": mutant(L["LASER"], follow_later=following(learn_given=later(learn_backwards))),
    "LogisticLASER": mutant(L["LogisticLASER"], answer=answer_backwards),
    **{name: mutant(L[name], forget=forgetting(learn_backwards)) for name in ("RLS", "CRRLS")},
    "CIRR": mutant(L["CIRR"], absorb=rebound(cirr.absorb, axpy=backwards)),
    "OSLOG": mutant(L["OSLOG"], absorb=rebound(cirr.absorb, axpy=backwards)),
    **{name: mutant(L[name], axpy=backwards) for name in ("NLMS", "ONS", "PNorm")},
    "WEMM": mutant(
        L["WEMM"],
        axpy=backwards,
        learn_weighted=rebound(wemm.learn_weighted, learn_given=later(learn_backwards)),
    ),
    **{
        name: mutant(L[name], descend=rebound(gd.descend, axpy=backwards)) for name in ("GD", "OGD")
    },
    **{name: misset(L[name], eta=lambda eta: -eta) for name in ("EG", "EGPM", "EGU", "KernelGD")},
    **{
        name: mutant(L[name], remember=remember_backwards)
        for name in ("KernelAAR", "KernelLASER", "KernelWEMM")
    },
    "KernelARCOR": mutant(L["KernelARCOR"], extend=extend_backwards),
    "KernelCRRLS": mutant(
        L["KernelCRRLS"], advance=rebound(kernelcrrls.advance, extend=extend_backwards)
    ),
}
COVARIANCE = {
    "AAR": mutant(L["AAR"], learn_later=later(stay_uncertain)),
    "ARCOR": mutant(L["ARCOR"], learn=grow_certain_at_once),
    "AROW": mutant(L["AROW"], learn_later=later(grow_certain_at_once)),
    "AROWR": mutant(L["AROWR"], learn_later=later(grow_certain_twice)),
    "Auto": correcting(observe=observe_nothing),
    "DriftNetwork": mutant(L["DriftNetwork"], _learn=learn_and_freeze),
    "LASER": mutant(L["LASER"], follow_later=following(shift_and_round=drift_backwards)),
    "LogisticLASER": mutant(L["LogisticLASER"], learn_given=later(grow_certain_at_once)),
    **{name: mutant(L[name], forget=forgetting(grow_certain_twice)) for name in ("RLS", "CRRLS")},
    "Ridge": mutant(L["Ridge"], learn_later=later(grow_certain_twice)),
    "CIRR": mutant(L["CIRR"], absorb=rebound(cirr.absorb, add_square=nothing)),
    "OSLOG": mutant(L["OSLOG"], absorb=rebound(cirr.absorb, add_square=nothing)),
    "ONS": mutant(L["ONS"], observe=observe_too_much),
    "WEMM": mutant(L["WEMM"], put_off=nothing),
}
PROJECTION = {
    "ARCOR": mutant(L["ARCOR"], project_ellipsoid=project_too_far),
    "ONS": mutant(L["ONS"], project_ellipsoid=project_too_far),
    "GD": mutant(L["GD"], descend=rebound(gd.descend, norm=tenfold_norm)),
    "PNorm": mutant(L["PNorm"], p_norm=tenfold_p_norm),
    **{
        name: mutant(L[name], exponentiate=rebound(eg.exponentiate, lift_simplex=level))
        for name in ("EG", "EGPM")
    },
    "EGU": misset(L["EGU"], alpha=lambda alpha: 1.0),
    "KernelARCOR": mutant(L["KernelARCOR"], project=project_all_the_way),
}
KERNEL_COVARIANCE = {
    **{
        name: mutant(L[name], remember=doubt) for name in ("KernelAAR", "KernelLASER", "KernelWEMM")
    },
    "KernelARCOR": mutant(L["KernelARCOR"], extend=collapse),
    "KernelCRRLS": mutant(L["KernelCRRLS"], advance=rebound(kernelcrrls.advance, extend=collapse)),
}
FORGOTTEN_DRIFT = mutant(L["LASER"], drifted=stand_still)
NEVER_RESET = mutant(L["ARCOR"], start_afresh_if_too_certain=nothing)
REPELLED = mutant(L["RLS"], drawn=lambda m, hint, chi: m - (hint - m) * chi / (1.0 + chi))
NEVER_FADED = {
    name: mutant(L[name], absorb=rebound(cirr.absorb, fade=nothing)) for name in ("CIRR", "OSLOG")
}
NEVER_RESET_IN_KERNEL_SPACE = mutant(L["KernelARCOR"], too_certain=nothing)
