"""Compile learners ahead of their first use."""

import time

import numpy as np

from onlinear._cli.model_names import learner
from onlinear._evaluation.replay import replay
from onlinear._numerics import jit

__all__ = ["compile_ahead"]


def compile_ahead(names: list[str]) -> str:
    """Compile learners, for single rows and for tables; return a sentence on what was done."""
    models = [(name, standardize) for name in names for standardize in (None, False)]
    for name, standardize in models:
        learner(name, standardize=standardize)  # raises if there is no such learner
    X, y = np.full((3, 2), 0.1), np.array([0.0, 1.0, 0.0])  # labels that all learners allow
    began, before = time.perf_counter(), jit.compiled_now()
    for name, standardize in models:
        model = learner(name, standardize=standardize)
        model.predict_one(X[0])
        model.learn_one(X[0], y[0])
        replay(model, X, y)
        model.predict(X)
    count = jit.compiled_now() - before
    if not count:
        return "nothing to compile: the compiled code is already there"
    functions = "function" if count == 1 else "functions"
    return f"compiled {count} {functions} in {time.perf_counter() - began:.0f} s"
