"""Random Fourier features, which approximate the RBF kernel.

    φ(x) = √(2/width) · [cos w_1ᵀx, sin w_1ᵀx, cos w_2ᵀx, sin w_2ᵀx, …],   w_j ~ N(0, 2·gamma·I)
    φ(x)ᵀφ(z) = (2/width) Σ cos w_jᵀ(x − z),   on average K(x, z) = exp(−gamma·‖x − z‖²)

φ(x)ᵀφ(z) is a mean of width/2 draws, so its error falls as 1/√width. With pairs of cosine and sine,
the variance of φ(x)ᵀφ(z) is (1 + K⁴ − 2K²)/width, where K = K(x, z). If all features had the form
cos(w_jᵀx + phase), with random phases, the variance would be larger, (1 + K⁴/2 − K²)/width, and
‖φ(x)‖² would not be K(x, x) = 1.

Rahimi & Recht, NIPS 2007; the variances are those of Sutherland & Schneider, UAI 2015.
"""

import math
from typing import Any

import numpy as np

from onlinear._engine.status import FINE, OVERFLOW
from onlinear._numerics.linalg import dot
from onlinear._validation.checks import number, whole
from onlinear.features._map import FeatureMap
from onlinear.features._steps import Mapping

__all__ = ["RandomFourier"]


@Mapping.with_scratch(0)
def step(state, params, x, y, work):
    """Write the features φ(x) of one row x to the state."""
    phi, W = state
    (scale,) = params
    for j in range(W.shape[0]):
        angle = dot(W[j], x)
        if not math.isfinite(angle):
            return angle, OVERFLOW
        phi[2 * j] = scale * math.cos(angle)
        phi[2 * j + 1] = scale * math.sin(angle)
    return 0.0, FINE


class RandomFourier(FeatureMap):
    """Random Fourier features: their inner products equal the RBF kernel on average.

    The only thing that the map learns from the rows is their number of columns. Costs O(width·d)
    per row.

    Parameters
    ----------
    width : int, default 200
        Number of features, even, width ≥ 2; the error of the approximation falls as 1/√width.
    gamma : float or None, default None
        The gamma of the kernel exp(−gamma·‖x − z‖²), gamma > 0. None means 1/d for rows of d
        inputs, which suits inputs whose values are of the order of 1.
    seed : int, default 0
        Seed of the random draw, seed ≥ 0: the same seed gives the same map.

    Examples
    --------
    >>> import onlinear as ol
    >>> features = ol.features.RandomFourier(width=2000, gamma=0.5)
    >>> x, z = [1.0, 0.0], [0.0, 0.5]
    >>> features.learn_one(x)
    >>> round(float(features.transform_one(x) @ features.transform_one(z)), 3)
    0.521
    >>> round(float(ol.kernels.RBF(gamma=0.5)([x], z)[0]), 3)
    0.535
    """

    width: int = 200
    gamma: float | None = None
    seed: int = 0

    step = step
    fixed = ("width", "gamma", "seed")

    def _width(self) -> int:
        if self._state is not None:
            return 2 * len(self._state[0])
        width = whole(self, "width", least=2)
        if width % 2:
            raise ValueError(f"RandomFourier needs an even width, got width={width}")
        return width

    def _scale(self, d: int) -> float:
        """Return the standard deviation √(2·gamma) of the random frequencies w_j."""
        gamma = 1.0 / d if self.gamma is None else number(self, "gamma", above=0)
        return math.sqrt(2.0 * gamma)

    def _numbers(self) -> tuple[Any, ...]:
        self._scale(1)
        whole(self, "seed", least=0)
        return (math.sqrt(2.0 / self._width()),)

    def _shapes(self, d: int) -> tuple[tuple[int, ...], ...]:
        return ((self._width() // 2, d),)

    def _initial(self, d: int) -> tuple[np.ndarray, ...]:
        (shape,) = self._shapes(d)
        drawn = np.random.default_rng(whole(self, "seed", least=0)).standard_normal(shape)
        return (self._scale(d) * drawn,)

    @property
    def frequencies_(self) -> np.ndarray:
        """A copy of the frequencies w_j, one per row."""
        return self._begun()[0].copy()  # type: ignore[no-any-return]
