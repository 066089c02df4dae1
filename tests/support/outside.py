"""Learners in files outside of the package."""

import importlib.util
import math
import re
import sys
from pathlib import Path

import numpy as np
from table import stream

import onlinear as ol
from onlinear import algorithms


def outside(file: Path, name: str):
    """Import a file that is no part of the package."""
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def public_twin(name: str, folder: Path):
    """Import the very file of a learner of the package, with its imports from extend alone."""
    text = (Path(algorithms.__file__).parent / f"{name.lower()}.py").read_text()
    text = re.sub(r"from onlinear\._[\w.]+ import", "from onlinear.extend import", text)
    file = folder / f"public_{name.lower()}.py"
    file.write_text(text)
    return getattr(outside(file, file.stem), name)


def same_bits(name: str, folder: Path, d: int) -> bool:
    """Whether a learner and its public twin predict and are certified alike."""
    X, y = stream(100, d)  # enough for blocks
    both = getattr(ol, name), public_twin(name, folder)
    one, other = (ol.replay(learner(), X, y).predictions for learner in both)
    proofs = [ol.certificate(learner(), X, y).ceiling for learner in both]
    assert math.isfinite(proofs[0][-1])
    return np.array_equal(one, other) and np.array_equal(*proofs)
