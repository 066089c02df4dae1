"""Nyström features of a kernel, from landmarks that are chosen as rows arrive.

    φ(x) = L⁻¹k,  k_i = K(z_i, x)          LLᵀ = (K(z_i, z_j))_ij, the landmarks' Gram matrix
    r(x) = K(x, x) − ‖φ(x)‖²               the residual: what the landmarks do not explain

Until all landmarks are chosen, a row with r(x) > novelty·K(x, x) becomes the next landmark: its φ
has √r(x) in a new coordinate, and is the next row of L. A new landmark does not change the other
coordinates of φ, so the weights that a learner on φ has learnt stay valid. A row that will become a
landmark has √r(x) in the new coordinate already when its label is predicted. So a row has the same
features when its label is predicted and when the label is learnt.

φ(x)ᵀφ(z) = K(x, z) exactly if x or z is a landmark. As long as every row becomes a landmark, a
linear learner on φ(x) makes exactly the predictions of the kernel learner.

Williams & Seeger, NIPS 2000; the choice of landmarks is a Cholesky factorisation with pivots in the
order of the rows (Fine & Scheinberg, JMLR 2001; Engel, Mannor & Meir, IEEE TSP 2004, use the same
test of whether a row is new).
"""

import math
import numbers
from typing import Any

import numpy as np

from onlinear import kernels
from onlinear._engine.status import DOMAIN, FINE, OVERFLOW
from onlinear._numerics.linalg import ROUNDING, dot, kernel
from onlinear._updates.dual import check_factor, solve_columns, solve_rows
from onlinear._validation.checks import number, table, whole
from onlinear._validation.states import check_counts
from onlinear.features._map import FeatureMap
from onlinear.features._steps import Mapping, PreparedMapping
from onlinear.kernels import GIVEN, RBF, Kernel, RowKernel, similarities, similarity

__all__ = ["Nystroem"]

SURE = 10.0  # a residual of at most this many times its rounding error counts as 0
NEGLIGIBLE = 1e-12  # negative residuals below this share of K(x, x) are ignored


@Mapping.with_scratch(2)
def step(state, params, x, y, work):
    """Compute φ of one row; make the row a landmark if its residual is large and it has a label."""
    phi, count, L, Z = state
    novelty, form = params
    n = int(count[0])
    if form[0] == GIVEN:  # a Python kernel has written k to φ and K(x, x) to the scratch
        own = work[0, 0]
    else:
        similarities(form, Z, n, x, phi)
        own = similarity(form, x, x)
    solve_rows(L, n, phi)
    rest = own - dot(phi[:n], phi[:n])
    if not math.isfinite(rest):
        return own, OVERFLOW
    below = rest < -NEGLIGIBLE * own or own < 0.0
    new = n < phi.size and rest > novelty * own
    if below or new:
        noise = SURE * rounding_of_residual(L, n, phi, own, work[1])
        if own < 0.0 or rest < -noise:
            return rest, DOMAIN
        new = new and rest > noise
    for j in range(n, phi.size):
        phi[j] = 0.0
    if not new:
        return 0.0, FINE
    phi[n] = math.sqrt(rest)
    if not math.isnan(y):
        start = n * (n + 1) // 2
        for j in range(n + 1):
            L[start + j] = phi[j]
        for j in range(x.size):
            Z[n, j] = x[j]
        count[0] = n + 1
    return 1.0, FINE


@kernel
def rounding_of_residual(L, n, q, own, alpha):
    """Return a bound on the rounding error of the residual K(x, x) − qᵀq, where q = φ(x).

    The residual is part of the Cholesky factorisation of the Gram matrix K of x and the n
    landmarks. Because of rounding, the computed factor is that of K + E, where the entries of E are
    of the order of ε√(K_ii·K_jj) and ε is the machine precision. The residual then has the error
    vᵀEv, where v = (1, −α) and α = L⁻ᵀq.
    """
    for i in range(n):
        alpha[i] = q[i]
    solve_columns(L, n, alpha)
    total = own
    start = 0
    for i in range(n):
        row = L[start : start + i + 1]
        total += alpha[i] * alpha[i] * dot(row, row)
        start += i + 1
    return ROUNDING * (3 + n) * total


class Nystroem(FeatureMap):
    """Nyström features of any kernel; the landmarks are the first rows that are new enough.

    The inner product of the features of a row and of a landmark is exactly their kernel value. The
    number of features is ``landmarks`` from the start, and the features of landmarks not yet chosen
    are 0. Costs O(m² + m·d) per row with m landmarks. Once all landmarks are chosen, later rows do
    not change the map.

    Parameters
    ----------
    kernel : onlinear.kernels.Kernel or callable, default RBF()
        The kernel K: ``Linear()``, ``Polynomial(...)``, ``RBF(...)``, or a function of rows Z and a
        row x that returns the values K(z_i, x) for the rows z_i of Z.
    landmarks : int or array of rows, default 100
        How many landmarks to choose, landmarks ≥ 1; or the landmarks themselves. A given landmark
        that is not new (see ``novelty``) is replaced by a row of the stream.
    novelty : float, default 1e-6
        A row x is new if its residual r(x) is more than novelty·K(x, x), 0 ≤ novelty < 1, and more
        than the residual's rounding error.

    Examples
    --------
    >>> import onlinear as ol
    >>> features = ol.features.Nystroem(ol.kernels.RBF(gamma=1.0), landmarks=3)
    >>> for x in ([0.0], [1.0], [1.0], [2.0]):
    ...     features.learn_one(x)
    >>> features.landmarks_.tolist()
    [[0.0], [1.0], [2.0]]
    >>> inner = features.transform_one([1.0]) @ features.transform_one([0.5])
    >>> round(float(inner), 6), round(float(features.kernel([[1.0]], [0.5])[0]), 6)
    (0.778801, 0.778801)
    """

    kernel: Kernel | RowKernel = RBF()
    landmarks: Any = 100
    novelty: float = 1e-6

    step = step
    rules = ("needs a kernel that is an inner product, got a residual K(x, x) − ‖φ‖² = {value:g}",)
    fixed = ("kernel", "landmarks")

    # --- parameters ---------------------------------------------------------------------------

    def _given(self) -> np.ndarray | None:
        """Return the landmarks given by the user, or None if the user gave only their number."""
        if self.landmarks is None or isinstance(self.landmarks, (numbers.Number, str, bytes)):
            return None
        rows, _ = table(self.landmarks, "landmarks")
        if not np.isfinite(rows).all():
            row = int(np.argmin(np.isfinite(rows).all(axis=1)))
            raise ValueError(f"Nystroem needs finite landmarks, got {rows[row]} in row {row}")
        return rows

    def _width(self) -> int:
        if self._state is not None:
            return len(self._state[-1])
        given = self._given()
        return whole(self, "landmarks", least=1) if given is None else len(given)

    def _numbers(self) -> tuple[Any, ...]:
        self._width()
        form = kernels.numbers(
            kernels.checked(self), 1 if self._state is None else self.n_features_in_
        )
        return number(self, "novelty", least=0, below=1), np.array(form)

    def _to_plain(self) -> dict[str, Any]:
        given = self._given()
        rows = {} if given is None else {"landmarks": given.tolist()}
        return {**super()._to_plain(), **rows, "kernel": kernels.plain(self.kernel)}

    @classmethod
    def _from_plain(cls, params: dict[str, Any]) -> dict[str, Any]:
        rows = params["landmarks"]
        given = {"landmarks": table(rows, "landmarks")[0]} if isinstance(rows, list) else {}
        return {**params, **given, "kernel": kernels.rebuilt(params["kernel"])}

    # --- state --------------------------------------------------------------------------------

    def _shapes(self, d: int) -> tuple[tuple[int, ...], ...]:
        m = self._width()
        return (1,), (m * (m + 1) // 2,), (m, d)

    def _begin(self, d: int, names: list[str] | None) -> None:
        given = self._given()
        if given is not None and given.shape[1] != d:
            raise ValueError(
                f"Nystroem needs landmarks of {d} columns, as the rows have, got {given.shape[1]}"
            )
        super()._begin(d, names)
        if given is not None:
            for _ in self._blocks(given, learn=True):
                pass

    def _mark(self) -> int:
        return int(self._state[0][0])

    def _back_to(self, mark: int) -> None:
        count, L, Z = self._state
        L[mark * (mark + 1) // 2 :] = 0.0
        Z[mark:] = 0.0
        count[0] = mark

    def _check_state(self) -> None:
        super()._check_state()
        (count,), L, Z = self._state
        check_counts("landmarks were chosen", count, 0, len(Z))
        check_factor(L, int(count))

    @property
    def _step(self) -> Mapping:
        return step if isinstance(self.kernel, Kernel) else PreparedMapping(step, self._before)

    def _before(self, state: Any, x: np.ndarray, work: np.ndarray) -> None:
        """Evaluate a user's kernel and write the values where the step reads them."""
        phi, count, _, Z = state
        n = int(count[0])
        values = kernels.evaluated(self.kernel, np.vstack([Z[:n], x]), x)
        phi[:n], work[0, 0] = values[:n], values[n]

    @property
    def landmarks_(self) -> np.ndarray:
        """A copy of the landmarks chosen so far."""
        count, _, Z = self._begun()
        return Z[: int(count[0])].copy()  # type: ignore[no-any-return]
