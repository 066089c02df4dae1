"""The kernels used in tests of kernels, feature maps and kernel learners."""

import pytest
from table import manhattan

from onlinear.kernels import RBF, Linear, Polynomial

KERNELS = [Linear(), Polynomial(3, coef0=0.5, gamma=2.0), RBF(), RBF(gamma=3.0), manhattan]
each_kernel = pytest.mark.parametrize(
    "kernel", KERNELS, ids=lambda kernel: getattr(kernel, "__name__", repr(kernel))
)
