"""Hostile streams that try to break a bound, with settings and comparators that it allows.

Everything is drawn from one generator, so that a seed determines a case.
"""

import math

import hostile_sets
import numpy as np
from slow_losses import LOSSES, labels_for

import onlinear as ol
from onlinear.kernels import RBF, Linear, Polynomial

CERTIFIED = (
    "AAR",
    "ARCOR",
    "AROW",
    "AROWR",
    "Auto",
    "CIRR",
    "CRRLS",
    "DriftNetwork",
    "EG",
    "EGPM",
    "EGU",
    "GD",
    "KernelAAR",
    "KernelARCOR",
    "KernelCRRLS",
    "KernelGD",
    "KernelLASER",
    "KernelWEMM",
    "LASER",
    "LogisticLASER",
    "NLMS",
    "OGD",
    "ONS",
    "OSLOG",
    "PNorm",
    "RLS",
    "Ridge",
    "WEMM",
)
# first-order learners with other losses, as "learner loss"
WITH_LOSS = (
    *(f"{name} {loss}" for name in ("GD", "EG", "EGPM", "PNorm") for loss in list(LOSSES)[1:]),
    "EGU Quantile",
)
ANY_RATE = ("Absolute", "Hinge", "Insensitive", "Quantile")  # losses with a bound at every rate
# learners whose weights stay in a set, with a random loss
WITH_SET = tuple(f"{name} within" for name in hostile_sets.IN_SETS)


def random_rows(rng, rows, d):
    X = rng.normal(size=(rows, d))
    return X, X @ rng.normal(size=d) + rng.normal(size=rows) * rng.choice([0, 0.1, 3])


def rotating(rng, rows, d):
    X = rng.normal(size=(rows, d))
    angle = np.arange(rows) * rng.choice([0.003, 0.05, 0.5])
    truth = np.cos(angle[:, None] + np.arange(d))
    return X, np.sum(X * truth, axis=1)


def switching(rng, rows, d):
    X = rng.normal(size=(rows, d))
    segments = np.sort(rng.integers(0, 4, size=rows))
    return X, np.sum(X * 3 * rng.normal(size=(4, d))[segments], axis=1)


def collinear(rng, rows, d):
    X = rng.normal(size=(rows, 1)) * rng.normal(size=d) + rng.choice([0, 1e-6]) * rng.normal(
        size=(rows, d)
    )
    return X, rng.normal(size=rows)


def heavy_tailed(rng, rows, d):
    return rng.standard_t(1.2, size=(rows, d)), rng.standard_t(1.2, size=rows)


def late_burst(rng, rows, d):
    """Nothing for long, then everything at once."""
    X, y = np.zeros((rows, d)), np.zeros(rows)
    X[-rows // 4 :] = np.sign(rng.normal(size=(rows - rows * 3 // 4, d)))
    y[-rows // 4 :] = rng.choice([-1, 1])
    X[:, 0] += 1e-3
    return X, y


def repeated(rng, rows, d):
    """The same row, with labels that first agree and then change sign."""
    X = np.tile(rng.normal(size=d), (rows, 1))
    return X, np.where(np.arange(rows) < rng.integers(1, rows), 1.0, -1.0)


def one_hot(rng, rows, d):
    return np.eye(d)[rng.integers(d, size=rows)], rng.choice([-1.0, 1.0], size=rows)


KINDS = (
    random_rows,
    rotating,
    switching,
    collinear,
    heavy_tailed,
    late_burst,
    repeated,
    one_hot,
)


def adversary(make, X, y, rng):
    """Return labels chosen after each prediction, as far from it as the range allows."""
    model, low, high = make(), float(y.min()), float(y.max())
    chosen = np.empty_like(y)
    stubborn = rng.choice([0.0, 0.3])  # how often the label of the stream is kept
    for i, x in enumerate(X):
        prediction = model._number_one(x)
        far = low if prediction > (low + high) / 2 else high
        chosen[i] = y[i] if rng.uniform() < stubborn else far
        model.learn_one(x, float(chosen[i]))
    return chosen


def setting(name, rng, X, y):
    """Return parameters of a learner for which X and y are in its domain."""
    if name.startswith("Kernel"):
        return in_kernel_space(name, rng, X, y)
    longest, largest = float(np.max(np.sum(X * X, axis=1))), float(np.abs(y).max())
    reach, spread = float(np.abs(X).max()), float(np.max(np.ptp(X, axis=1)))
    any_size = float(10 ** rng.uniform(-2, 2))
    maybe = rng.choice([True, False])
    clip = max(largest, 1e-9) if maybe else None
    if name in ("AAR", "Ridge"):
        return {"b": any_size, "clip": clip}
    if name == "Auto":
        units = str(rng.choice(["free", "given"]))
        return {"lags": int(rng.integers(4)), "units": units, "guaranteed": True}
    if name == "LASER":
        c = float(10 ** rng.uniform(-2, 3))
        return {"b": any_size, "c": c, "clip": clip, "shrink": bool(rng.choice([True, False]))}
    if name == "AROW":
        b = float(10 ** rng.uniform(-1, 1))
        return {"r": any_size, "b": b, "classes": (-1.0, 1.0)}
    if name == "LogisticLASER":
        c = float(10 ** rng.uniform(-2, 3)) if maybe else math.inf
        return {"b": any_size, "c": c, "reach": float(rng.choice([0.3, 1.0, 4.0, 9.0]))}
    if name == "AROWR":
        return {"r": any_size, "b": float(10 ** rng.uniform(-1, 1))}
    if name == "RLS":
        forgetting = float(rng.choice([0.3, 0.7, 0.9, 0.99, 1.0]))
        way = [{}, {"shrink": True}, {"hint": "last"}][rng.integers(3)]
        return {"forgetting": forgetting, "b": any_size, "clip": clip, **way}
    if name == "CRRLS":
        forgetting = float(rng.choice([0.3, 0.7, 0.9, 0.99, 1.0]))
        return {"forgetting": forgetting, "reset_every": int(rng.integers(1, 60))}
    if name == "WEMM":
        ratio = float(rng.choice([1.01, 1.5, 10]))
        least = 1.1 * len(y) * longest * ratio / (ratio - 1) + 1e-6  # the c for which all χ < 1
        c = float(least * 10 ** rng.uniform(0, 2)) if maybe else math.inf
        return {"b": longest * ratio + 1e-6, "weight": float(rng.choice([1, 1, 1.3, 5])), "c": c}
    if name == "ARCOR":
        q = float(rng.choice([1, 1.3, 2, 4, math.inf]))
        return {"r": any_size, "radius": float(10 ** rng.uniform(-1, 1)), "q": q}
    if name == "DriftNetwork":
        radius = float(10 ** rng.uniform(-1, 1)) if maybe else math.inf
        return {"r": any_size, "radius": radius, "C": int(rng.integers(1, 5))}
    if name in ("CIRR", "OSLOG"):
        floor = float(rng.choice([1e-12, 0, 1e-3]))
        forgetting = float(rng.choice([0.5, 0.9, 0.99, 1.0, 1.0]))
        return {"a": any_size, "floor": floor, "forgetting": forgetting, "clip": clip}
    if name == "PNorm":
        p = [None, 2.0, 3.0, 8.0][rng.integers(4)]
        power = max(2.0, 2.0 * math.log(X.shape[1])) if p is None else p
        size = (power - 1) * float(np.max(np.linalg.norm(X, ord=power, axis=1))) ** 2
        radius = float(10 ** rng.uniform(-1, 1)) if maybe else None
        eta = float(rng.choice([0.02, 0.25, 0.9])) / (size + 1e-9)
        return {"p": p, "eta": eta, "radius": radius}
    if name == "GD":
        radius = float(10 ** rng.uniform(-1, 1)) if maybe else None
        return {"eta": float(rng.choice([0.02, 0.25, 0.95])) / (longest + 1e-9), "radius": radius}
    if name == "OGD":
        eta = float(rng.choice([0.02, 0.25, 0.7])) / (longest + 1e-9)
        if not maybe:
            return {"eta": eta}
        radius = float(10 ** rng.uniform(-1, 1))
        return {"eta": eta, "schedule": str(rng.choice(["sqrt", "constant"])), "radius": radius}
    if name == "NLMS":
        return {"eta": float(rng.choice([0.1, 1, 1.8])), "epsilon": float(rng.choice([0, 0.1]))}
    if name == "ONS":
        radius = float(10 ** rng.uniform(-1, 1))
        most = 0.5 / (radius * math.sqrt(longest) + largest + 1e-9) ** 2
        return {
            "radius": radius,
            "gamma": most * float(rng.choice([0.99, 0.3])),
            "epsilon": any_size,
        }
    alpha = float(rng.choice([0.01, 0.5, 1])) if maybe else None
    if name == "EG":
        eta = (
            None
            if rng.choice([True, False])
            else float(rng.choice([0.1, 3.9])) / (spread**2 + 1e-9)
        )
        if rng.uniform() < 0.3:  # at any rate
            eta = float(rng.choice([0.1, 3.9, 100.0])) / (spread**2 + 1e-9)
            return {"X": spread + 1e-9, "alpha": alpha, "eta": eta, "implicit": True}
        return {"X": spread + 1e-9, "alpha": alpha, "eta": eta}
    if name == "EGPM":
        U = float(10 ** rng.uniform(-1, 1))
        eta = (
            None
            if rng.choice([True, False])
            else float(rng.choice([0.05, 0.95])) / (U * reach + 1e-9) ** 2
        )
        return {"U": U, "X": reach + 1e-9, "alpha": alpha, "eta": eta}
    Y = largest + 1e-9
    eta = None if rng.choice([True, False]) else 0.1 / (reach + 1e-9) / Y
    if rng.uniform() < 0.3:
        eta = float(rng.choice([0.1, 3.0, 100.0])) / (reach + 1e-9) / Y
        return {"X": reach + 1e-9, "Y": Y, "alpha": alpha, "eta": eta, "implicit": True}
    return {"X": reach + 1e-9, "Y": Y, "alpha": alpha, "eta": eta}


def in_kernel_space(name, rng, X, y):
    """Return a kernel and parameters of a kernel learner for which X and y are in its domain."""
    longest, largest = float(np.max(np.sum(X * X, axis=1))), float(np.abs(y).max())
    scale = float(np.median(np.sum(X * X, axis=1))) + 1e-12 * longest + 1e-300
    kernel = [
        RBF(gamma=float(10 ** rng.uniform(-1, 1)) / scale),
        Linear(),
        Polynomial(int(rng.integers(2, 4)), coef0=float(rng.choice([0, 1])), gamma=1 / scale),
    ][rng.integers(3)]
    own = max(float(kernel(x[None], x)[0]) for x in X) + 1e-12
    any_size = own * float(10 ** rng.uniform(-3, 2))
    clip = max(largest, 1e-9) if rng.choice([True, False]) else None
    radius = float(10 ** rng.uniform(-1, 1)) * (largest + 1e-9) / math.sqrt(own)
    forgetting = float(rng.choice([0.7, 0.9, 0.99, 1.0]))
    every = int(rng.integers(1, 60 if forgetting > 0.8 else 20))
    if name == "KernelCRRLS" and own > 1e3:  # its prior variance is 1
        kernel = RBF(gamma=1 / scale)
    return {
        "KernelAAR": {"b": any_size, "clip": clip},
        "KernelARCOR": {
            "r": any_size,
            "radius": radius,
            "q": float(rng.choice([1, 1.3, 2, 4, math.inf])),
        },
        "KernelCRRLS": {"forgetting": forgetting, "reset_every": every},
        "KernelGD": {
            "eta": float(rng.choice([0.02, 0.25, 0.95])) / own,
            "radius": radius if rng.choice([True, False]) else None,
        },
        "KernelLASER": {
            "b": any_size,
            "c": own * float(10 ** rng.uniform(-2, 4)),
            "clip": clip,
            "shrink": bool(rng.choice([True, False])),
        },
        "KernelWEMM": {"b": own * float(rng.choice([1.01, 1.5, 10]))},
    }[name] | {"kernel": kernel}


def with_loss(params, name, loss, rng, X, y):
    """Return parameters of a first-order learner for a loss; rates are those its bound allows."""
    params = {key: value for key, value in params.items() if key != "implicit"}  # for squares only
    R2 = {  # of a row
        "GD": lambda: float(np.max(np.sum(X * X, axis=1))),
        "EG": lambda: float(np.max(np.ptp(X, axis=1))) ** 2 / 4,
        "EGPM": lambda: (params["U"] * float(np.abs(X).max())) ** 2,
        "PNorm": lambda: 0.95 / setting_rate(params, X),
        "EGU": lambda: float(X.max()),
    }[name]()
    most = {"SquaredHinge": 0.5, "Mistakes": 2.0}.get(loss, 5.0)  # the largest ηR²
    if loss == "Poisson":
        params["radius"] = float(10 ** rng.uniform(-1, 0)) / (math.sqrt(R2) + 1e-9)
        top = {"EG": float(np.abs(X).max()), "EGPM": math.sqrt(R2)}.get(name, 1.0)
        most = 1 / max(math.exp(top), float(y.max()))
        if name in ("EG", "EGPM"):
            del params["radius"]
    rate = float(rng.choice([0.02, 0.3, 0.95])) * most / (R2 + 1e-9)
    return {**params, "eta": rate, "loss": LOSSES[loss]}


def setting_rate(params, X):
    """Return .95/R² for PNorm, where R² = (p − 1) max‖x‖_p²."""
    p = max(2.0, 2.0 * math.log(X.shape[1])) if params["p"] is None else params["p"]
    return 0.95 / ((p - 1) * float(np.max(np.linalg.norm(X, ord=p, axis=1))) ** 2 + 1e-9)


def case(name, seed):
    """Return a function that makes the learner, and a hostile stream for it."""
    rng = np.random.default_rng([seed, sum(map(ord, name))])
    name, _, loss = name.partition(" ")
    rows, d = int(rng.integers(2, 120)), int(rng.integers(1, 7))
    X, y = KINDS[seed % len(KINDS)](rng, rows, d)
    if name == "EGU":
        X, y = np.abs(X), np.abs(y)
    if seed % 3 == 0:  # other units
        X, y = X * 10 ** rng.uniform(-4, 4), y * 10 ** rng.uniform(-4, 4)
    constrained = loss == "within"
    if constrained:
        known = ("Square", "Quantile") if name == "EGU" else hostile_sets.LOSSES_IN_SETS
        loss = str(rng.choice(known))
        loss = "" if loss == "Square" else loss
    if loss == "Poisson" and name in ("EG", "EGPM"):
        X = X / max(1.0, float(np.abs(X).max()))  # a limit on the activation is needed
    classes = {"AROW": "Hinge", "LogisticLASER": "Logistic"}.get(name)
    if loss or classes:
        y = labels_for(loss or classes, y, rng)
    X, y = np.ascontiguousarray(X), np.ascontiguousarray(y)
    params = setting(name, rng, X, y)
    if loss:
        params = with_loss(params, name, loss, rng, X, y)
    if constrained:
        if params.pop("implicit", False):  # its bound is for the whole simplex or box, any rate
            params["eta"] = None
        if loss in ANY_RATE and params.get("eta") and seed % 4 == 1:  # steps far outside the set
            params["eta"] *= 10 ** rng.uniform(0, 1 if name == "EGU" else 4)  # EGU's overflow
        params["within"] = hostile_sets.within(name, params, rng, X, y)

    def make():
        return ol.LEARNERS[name](**params)

    if seed // len(KINDS) % 2:
        y = adversary(make, X, y, rng)
    return make, X, y


def path(name, model, X, y, rng):
    """Return a sequence u_t inside the class the learner's bound is against, or None."""
    rows, d = X.shape
    name = name.partition(" ")[0]
    params = model.get_params()
    segments = np.sort(rng.integers(0, 3, size=rows))
    if params.get("within") is not None:
        return hostile_sets.path(model, params, segments)
    if name.startswith("Kernel"):
        return functions(name, params, X, y, segments, rng)
    if name in ("Auto", "CIRR", "DriftNetwork", "OSLOG"):
        return None
    if name == "LASER":
        return ol.hindsight.drifting_path(X, y, params["b"], params["c"])
    if name == "LogisticLASER":
        u = rng.normal(size=(3, d))[segments if params["c"] < math.inf else np.zeros(rows, int)]
        far = float(np.abs(np.sum(u * X, axis=1)).max())
        return u * (params["reach"] * rng.choice([1.0, 0.3]) / max(far, 1e-300))
    if name == "CRRLS" or (name == "RLS" and params["forgetting"] < 1):
        return (rng.normal(size=(3, d)) * 10 ** rng.uniform(-1, 2))[segments]
    if name in ("GD", "ARCOR", "PNorm") or (name == "OGD" and params["radius"]):
        u = rng.normal(size=(3, d))
        if params["radius"] is None:
            return u[np.zeros(rows, dtype=int)]
        q = 2.0
        if name == "PNorm":
            p = max(2.0, 2.0 * math.log(d)) if params["p"] is None else params["p"]
            q = p / (p - 1)
        sizes = np.linalg.norm(u, ord=q, axis=1)
        u *= params["radius"] / np.maximum(params["radius"], sizes)[:, None]
        return u[segments]
    if name in ("EG", "EGU", "EGPM"):
        alpha = params["alpha"]
        p = rng.dirichlet(np.full(d, 0.3), size=3)
        mixed = (alpha or 0.0) * rng.integers(2)  # if 0, some weights may be below alpha/n
        if name == "EGPM":
            u = params["U"] * p * rng.choice([-1, 1], size=p.shape) * (1 - mixed)
        elif name == "EG":
            u = (1 - mixed) * p + mixed / d
        else:
            u = p
        return u[segments if alpha else np.zeros(rows, dtype=int)]
    u = np.linalg.lstsq(X, y, rcond=None)[0]
    if name == "ONS":
        u *= min(1.0, params["radius"] / max(np.linalg.norm(u), 1e-300))
    return np.tile(u, (rows, 1))


def functions(name, params, X, y, segments, rng):
    """Return functions (V, beta) inside the class the kernel learner's bound is against."""
    kernel, radius = params["kernel"], params.get("radius")
    V = X[rng.choice(len(X), size=min(5, len(X)), replace=False)]
    at_rows = np.column_stack([kernel(X, v) for v in V])
    best = np.linalg.lstsq(at_rows, y, rcond=1e-6)[0]
    beta = best + rng.choice([0, 0.3]) * np.abs(best).max() * rng.normal(size=(3, len(V)))
    if radius is not None and math.isfinite(radius):
        K = np.column_stack([kernel(V, v) for v in V])
        sizes = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", beta, K, beta), 0)) * (1 + 1e-6)
        sizes = sizes + 1e-6 * np.sqrt(np.trace(K)) * np.abs(beta).max()  # of what cancels
        beta *= radius / np.maximum(radius, sizes)[:, None]
    fixed = name in ("KernelAAR", "KernelWEMM") or (name == "KernelGD" and radius is None)
    fixed = fixed or (name == "KernelARCOR" and math.isinf(params["radius"]))
    return V, beta[0] if fixed else beta[segments]


def ended(proof):
    """Whether the bound ended because double precision was exhausted, which is no violation."""
    return proof.failed is not None and "double precision" in proof.failed


def broken_bounds(name, seed):
    """Return the violations found in the certificates of a case; there should be none."""
    make, X, y = case(name, seed)
    proof = ol.certificate(make(), X, y)
    wrong = []
    if proof.failed and not ended(proof):
        wrong.append(f"no bound: {proof.failed}")
    elif not proof.holds[: proof.failed_from].all():
        wrong.append(f"best in hindsight: {proof}")
    u = path(name, make(), X, y, np.random.default_rng(seed))
    if u is not None:
        proof = ol.certificate(make(), X, y, comparator=u)
        if proof.failed and not ended(proof):
            wrong.append(f"no bound for the path: {proof.failed}")
        elif not proof.holds[: proof.failed_from].all():
            wrong.append(f"given path: {proof}")
    return [f"{make()!r}, seed {seed}: {each}" for each in wrong]
