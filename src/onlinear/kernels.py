"""Kernel functions (Mercer kernels) for the kernel learners, which are nonlinear in x.

    Linear()                                K(x, z) = xᵀz
    Polynomial(degree=2, coef0=1.0)         K(x, z) = (gamma·xᵀz + coef0)^degree
    RBF(gamma=None)                         K(x, z) = exp(−gamma·‖x − z‖²)

A custom kernel is any function ``K(Z, x)`` that takes stored rows Z, shape (n, d), and one row x,
and returns the n values K(z_i, x). A custom kernel is called from Python once per round (twice by
``KernelGD`` once its budget is full); the kernels ``Linear``, ``Polynomial`` and ``RBF`` are
compiled.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from onlinear._numerics.linalg import dot, kernel
from onlinear._state_files import named_values
from onlinear._validation.checks import number, whole

__all__ = ["RBF", "Kernel", "Linear", "Polynomial", "RowKernel", "register"]

MOST_DEGREE = 1000  # one kernel value takes ``degree`` multiplications

LINEAR, POLYNOMIAL, GAUSSIAN, GIVEN = range(4)

RowKernel = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Kernel:
    """A compiled kernel; its parameters are checked at first use.

    Calling a kernel with rows Z and one row x gives the values K(z_i, x).
    """

    def numbers(self, d: int) -> tuple[float, float, float, float]:
        """Return the kernel as four numbers for compiled code: kind, gamma, coef0 and degree.

        ``d`` is the number of columns of the rows.
        """
        raise NotImplementedError

    def __call__(self, Z: Any, x: Any) -> np.ndarray:
        """Return K(z_i, x) for every row z_i of Z."""
        Z, x = (np.require(each, np.float64, ["C", "A", "W"]) for each in (Z, x))
        if Z.ndim != 2 or x.shape != Z.shape[1:]:
            raise ValueError(
                f"a kernel needs rows Z (n, d) and one row x (d,), got {Z.shape} and {x.shape}"
            )
        out = np.empty(len(Z))
        similarities(np.array(self.numbers(x.size)), Z, len(Z), x, out)
        return out


@dataclass(frozen=True)
class Linear(Kernel):
    """K(x, z) = xᵀz: with this kernel, a kernel learner predicts like its linear counterpart.

    >>> from onlinear.kernels import Linear
    >>> Linear()([[1.0, 2.0], [0.0, 1.0]], [3.0, 4.0])
    array([11.,  4.])
    """

    def numbers(self, d: int) -> tuple[float, float, float, float]:
        """Return the kernel as four numbers for compiled code: kind, gamma, coef0 and degree."""
        return float(LINEAR), 1.0, 0.0, 1.0


@dataclass(frozen=True)
class Polynomial(Kernel):
    """K(x, z) = (gamma·xᵀz + coef0)^degree: its features are products of at most ``degree`` inputs.

    Parameters
    ----------
    degree : int, default 2
        A whole number, 1 ≤ degree ≤ 1000.
    coef0 : float, default 1.0
        Weight of the products of fewer than ``degree`` inputs, coef0 ≥ 0.
    gamma : float, default 1.0
        Scale of the inner product, gamma > 0.

    Examples
    --------
    >>> from onlinear.kernels import Polynomial
    >>> Polynomial(degree=2)([[1.0, 2.0]], [3.0, 4.0])
    array([144.])
    """

    degree: int = 2
    coef0: float = 1.0
    gamma: float = 1.0

    def numbers(self, d: int) -> tuple[float, float, float, float]:
        """Return the kernel as four numbers for compiled code: kind, gamma, coef0 and degree."""
        return (
            float(POLYNOMIAL),
            number(self, "gamma", above=0),
            number(self, "coef0", least=0),
            float(whole(self, "degree", least=1, most=MOST_DEGREE)),
        )


@dataclass(frozen=True)
class RBF(Kernel):
    """K(x, z) = exp(−gamma·‖x − z‖²), the Gaussian kernel: rows are similar if they are close.

    Parameters
    ----------
    gamma : float or None, default None
        1 over the squared distance at which the similarity falls to 1/e, gamma > 0; None means 1/d
        for rows of d inputs, a value that suits inputs of unit size.

    Examples
    --------
    >>> from onlinear.kernels import RBF
    >>> RBF(gamma=1.0)([[1.0], [2.0]], [1.0])
    array([1.        , 0.36787944])
    """

    gamma: float | None = None

    def numbers(self, d: int) -> tuple[float, float, float, float]:
        """Return the kernel as four numbers for compiled code: kind, gamma, coef0 and degree."""
        gamma = 1.0 / d if self.gamma is None else number(self, "gamma", above=0)
        return float(GAUSSIAN), gamma, 0.0, 1.0


@kernel
def similarity(form, z, x):
    """Return K(z, x) for the kernel that ``form`` describes, as ``Kernel.numbers`` returns it."""
    kind, gamma, coef0, degree = form[0], form[1], form[2], form[3]
    if kind == GAUSSIAN:
        total = 0.0
        for j in range(x.size):
            total += (z[j] - x[j]) * (z[j] - x[j])
        return math.exp(-gamma * total)
    inner = dot(z, x)
    if kind == LINEAR:
        return inner
    base = gamma * inner + coef0
    power = 1.0
    for _ in range(int(degree)):
        power *= base
    return power


@kernel
def similarities(form, Z, n, x, out):
    """Write K(z_i, x) to out[i] for the first n rows z_i of Z."""
    for i in range(n):
        out[i] = similarity(form, Z[i], x)


def checked(owner: Any, name: str = "kernel") -> Kernel | RowKernel:
    """Return the kernel given as a parameter of ``owner``; raise an error if it is no kernel."""
    given = getattr(owner, name)
    if isinstance(given, type) or not callable(given):
        raise ValueError(
            f"{type(owner).__name__} needs a {name} such as onlinear.kernels.RBF(gamma=0.5), or a "
            f"function of rows Z and a row x that returns K(z_i, x), got {name}={given!r}"
        )
    return given  # type: ignore[no-any-return]


def numbers(given: Kernel | RowKernel, d: int) -> tuple[float, float, float, float]:
    """Return a kernel as four numbers for compiled code; the kind of a custom kernel is GIVEN."""
    return given.numbers(d) if isinstance(given, Kernel) else (float(GIVEN), 1.0, 0.0, 1.0)


def evaluated(given: RowKernel, Z: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return a custom kernel's values K(z_i, x) for the rows z_i of Z.

    Raise an error unless they are one finite number per row.
    """
    values = np.asarray(given(Z, x), dtype=np.float64)
    if values.shape != (len(Z),):
        raise ValueError(
            f"a kernel needs to return a number for each of the {len(Z)} rows of Z, "
            f"got shape {values.shape} from {given!r}"
        )
    if not np.isfinite(values).all():
        bad = values[~np.isfinite(values)][0]
        raise ValueError(f"a kernel needs to return finite numbers, got {bad} from {given!r}")
    return values


# --- state files: kernels are stored by name, never as code ------------------------------------

BUILT_IN: dict[str, type[Kernel]] = {k.__name__: k for k in (Linear, Polynomial, RBF)}
_registered: dict[str, RowKernel] = {}


def register(function: RowKernel) -> RowKernel:
    """Register a custom kernel, as a decorator, so that its learners can be saved and loaded.

    A kernel is registered under its module and name. State files contain only these two names,
    and loading uses only kernels that are registered in this process.

    >>> import numpy as np
    >>> from onlinear import kernels
    >>> @kernels.register
    ... def laplacian(Z, x):
    ...     return np.exp(-np.abs(Z - x).sum(axis=1))
    """
    _registered[f"{function.__module__}.{function.__qualname__}"] = function
    return function


def plain(given: Any) -> dict[str, Any]:
    """Return a kernel as a dict for a state file; refuse a function that is not registered."""
    if type(given) in BUILT_IN.values():
        return named_values.plain(given)
    for name, function in _registered.items():
        if function is given:
            return {"registered": name}
    raise ValueError(
        "a custom kernel needs onlinear.kernels.register(kernel) before it is saved or "
        f"loaded, got {given!r}"
    )


def rebuilt(described: dict[str, Any]) -> Kernel | RowKernel:
    """Return the kernel that a state file describes; a custom one must be registered already."""
    if "name" in described:
        return named_values.rebuilt(described, BUILT_IN)  # type: ignore[no-any-return]
    name = described["registered"]
    if name not in _registered:
        raise ValueError(
            f"no kernel is registered as {name!r} (call onlinear.kernels.register first)"
        )
    return _registered[name]
