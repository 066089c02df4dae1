"""Feature maps, and learners on them, that several test files use."""

import numpy as np
import pytest
from table import manhattan, stream

import onlinear as ol
from onlinear.features import Mapped, Nystroem, RandomFourier
from onlinear.kernels import RBF, Polynomial

X, Y = stream(60)
MAPS = {
    "waves": lambda: RandomFourier(width=14, gamma=0.7, seed=5),
    "landmarks": lambda: Nystroem(RBF(gamma=2.0), landmarks=12, novelty=0.05),
    "all landmarks": lambda: Nystroem(Polynomial(2), landmarks=70),
    "given landmarks": lambda: Nystroem(RBF(), landmarks=X[[3, 3, 9, 20]]),
    "own kernel": lambda: Nystroem(manhattan, landmarks=9, novelty=0.3),
}
LEARNERS = {
    "AAR": lambda **bad: ol.AAR(b=0.2, **bad),
    "LASER": lambda **bad: ol.LASER(c=5.0, shrink=False, **bad),
    "NLMS": lambda **bad: ol.NLMS(**bad),
    "KernelAAR": lambda **bad: ol.KernelAAR(b=0.3, budget=20, **bad),  # whose state grows
}
each_map = pytest.mark.parametrize("features", MAPS)
each_learner = pytest.mark.parametrize("learner", LEARNERS)


def make(features="landmarks", learner="AAR", **bad):
    return Mapped(MAPS[features](), LEARNERS[learner](**bad))


def record(part):
    return b"" if part._state is None else part._record.tobytes()


def bits(model):
    return record(model.features), record(model.learner)


def gram(kernel, A, B):
    return np.array([kernel(A, b) for b in B]).T
