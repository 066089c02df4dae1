"""Sparse rows, and how their results are compared with those of dense rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from table import stream_of

import onlinear as ol

either_way = pytest.mark.parametrize(
    "learner", [ol.NLMS, ol.Ridge]
)  # with a sparse step, and without


def holes(rows=40, seed=0, case=("", {})):
    """Return a stream in which half of the entries, and rows 0, 5 and the last, are zero."""
    X, y = stream_of(case, rows, seed=seed)
    X[np.random.default_rng(seed).random(X.shape) < 0.5] = 0.0
    X[[0, 5, -1]] = 0.0
    return X, y


def same(model, a, b):
    """Compare the results of a learner on sparse and on dense rows."""
    if model._local():
        assert_allclose(a, b, rtol=1e-12, atol=1e-15)
    else:
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


class Foreign:
    """A matrix of another package: columns unsorted, entry (0, 2) in two parts, a stored zero."""

    def __init__(self):
        self.data = np.array([4.0, 0.5, 1.0, 0.25, 2.0, 0.0])
        self.indices = np.array([3, 2, 0, 2, 1, 0])
        self.indptr = np.array([0, 4, 4, 6])
        self.shape = (3, 4)
        for array in (self.data, self.indices, self.indptr):
            array.flags.writeable = False

    def tocsr(self):
        return self


def wide(rows):
    rng = np.random.default_rng(0)
    columns, numbers = rng.integers(0, 10**6, size=10 * rows), rng.normal(size=10 * rows)
    S = sparse.csr_array((numbers, columns, np.arange(0, 10 * rows + 1, 10)), (rows, 10**6))
    return S, rng.normal(size=rows)
