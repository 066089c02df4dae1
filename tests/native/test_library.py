"""Code compiled ahead of time gives the numbers that Numba's gives, and needs no Numba."""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT
from table import SETTINGS

from onlinear._numerics import native

build = importlib.import_module("build") if native.there() else None

pytestmark = pytest.mark.skipif(not native.there(), reason="no library: needs a C compiler")

# every way of running a learner, as a digest of its predictions.
# NAME:bulk+bound leaves out the other ways
DIGESTS = """
import hashlib, sys
import numpy as np, scipy.sparse
from table import SETTINGS, make, stream
import onlinear as ol
X, labels = stream(150, 8)
wide = stream(150, 70)  # sums over many columns, in the order of no processor's vectors
keys = np.arange(150) % 4
for argument in sys.argv[1:]:
    name, _, only = argument.partition(":")
    codes = getattr(getattr(ol, name), "_codes", None)
    y = labels if codes is None else (labels > 0.5) * 1.0
    for k, params in enumerate(SETTINGS[name]):
        if "w0" in params:
            params = {**params, "w0": [1.0] * 8}
        def fresh():
            return make((name, params))
        def wanted(way):
            return not only or way in only.split("+")
        runs, model, far = [], fresh(), (wide[0], y)
        if wanted("single"):
            for x, label in zip(X[:20], y):
                runs.append(model.predict_one(x))
                model.learn_one(x, label)
        if wanted("tables"):
            runs.append(ol.replay(fresh(), X, y, engine="rank-one").predictions)
            runs.append(ol.replay(fresh(), scipy.sparse.csr_array(X), y).predictions)
            if not name.startswith("Kernel"):
                runs.append(ol.replay(ol.Bank([fresh(), fresh()]), X, y).predictions)
                runs.append(ol.Keyed(fresh()).replay(keys, X, y).predictions)
        if wanted("bulk") and (only or model._step.in_bulk):
            runs.append(ol.replay(fresh(), X, y, engine="bulk").predictions)
            if "w0" not in params:
                runs.append(ol.replay(fresh(), *far, engine="bulk").predictions)
        if wanted("bound"):
            runs.append(ol.certificate(fresh(), X, y).ceiling)
        for run in runs:
            print(name, k, hashlib.sha256(np.asarray(run).tobytes()).hexdigest())
"""


def ran(code, *arguments, folder=None, **environment):
    """Run code in a new process; return what it prints."""
    path = [*([str(folder)] if folder else []), str(ROOT / "tests" / "support")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), **environment}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *arguments],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


LEARNERS = os.environ.get("NATIVE_LEARNERS", "AAR:bulk,NLMS").split(",")  # or: all
if LEARNERS == ["all"]:
    LEARNERS = list(SETTINGS)


def test_the_bits_are_those_of_code_compiled_by_numba():
    """NATIVE_LEARNERS names more learners, or more ways, than those that are quick to compile."""
    ahead = ran(DIGESTS, *LEARNERS)
    assert ahead == ran(DIGESTS, *LEARNERS, ONLINEAR_NATIVE="0")
    assert {line.split()[0] for line in ahead.splitlines()} == {n.split(":")[0] for n in LEARNERS}
    assert len(ahead.splitlines()) > 20


# every other function of the library is left to Numba, by the sum of the letters of its name
MIXED = """
from onlinear._numerics import native
of_library, taken = native.function, set()
def function(name, make):
    half = sum(name.encode()) % 2
    taken.add(half)
    return of_library(name, make) if half else None
native.function = function
"""


def test_functions_of_the_library_and_of_numba_can_be_mixed():
    everywhere_both = "\nassert taken == {0, 1}\n"
    assert ran(DIGESTS, "NLMS") == ran(MIXED + DIGESTS + everywhere_both, "NLMS")


@pytest.fixture(scope="module")
def for_old_processors(tmp_path_factory):
    """Return a library for processors without AVX2; NATIVE_OLD names one with all functions."""
    if "NATIVE_OLD" in os.environ:
        return str(ROOT / os.environ["NATIVE_OLD"])
    if 2 not in build.PROCESSORS:
        pytest.skip("there is only one level of processors of this kind")
    library = tmp_path_factory.mktemp("old") / "_native.abi3.so"
    build.build(library, [2], 1, build.objects_folder(), only="nlms")
    return str(library)


def test_code_for_old_processors_gives_the_same_bits(for_old_processors):
    names = LEARNERS if "NATIVE_OLD" in os.environ else ["NLMS"]
    old = {"ONLINEAR_NATIVE": for_old_processors, "ONLINEAR_NATIVE_LEVEL": "2"}
    assert ran(DIGESTS, *names) == ran(DIGESTS, *names, **old)
    used = "import onlinear as ol; from onlinear._numerics import native; ol.NLMS()._step.one\n"
    assert ran(used + "print(native._level())", **old) == "2\n"


@pytest.fixture
def without_numba(tmp_path):
    """Return a folder that hides Numba."""
    for name in ("numba", "llvmlite"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError('hidden')")
    return tmp_path


def test_everything_shipped_works_without_numba(without_numba):
    assert ran(DIGESTS, *SETTINGS, folder=without_numba).count("\n") > 1000


def test_calls_of_single_functions_and_keys_of_data_frames_need_no_numba(without_numba):
    code = """
import numpy as np, onlinear as ol
keys, X, y = np.arange(6) % 3, np.ones((6, 2)), np.ones(6)
for array in (keys, X, y):
    array.flags.writeable = False  # like the columns of a DataFrame
print(len(ol.Keyed(ol.Ridge()).replay(keys, X, y).predictions))
for kernel in (ol.kernels.RBF(gamma=1.0), ol.kernels.Linear(), ol.kernels.Polynomial(2)):
    kernel(X, X[0])
ol.bregman.project_ball(X[0][::-1], 0.5)
"""
    assert ran(code, folder=without_numba) == "6\n"


def test_a_step_of_ones_own_without_numba_says_what_to_install(without_numba):
    shutil.copy(ROOT / "examples" / "own_learner.py", without_numba)
    code = """
import own_learner, onlinear as ol
kind = next(k for k in vars(own_learner).values() if isinstance(k, type)
            and issubclass(k, ol.Learner) and k.__module__ == "own_learner")
try:
    kind().learn_one([0.1, 0.2], 0.3)
except ImportError as error:
    print(error)
"""
    assert "pip install numba" in ran(code, folder=without_numba)


def test_an_edited_step_never_runs_the_code_of_the_old_one(tmp_path):
    shutil.copytree(ROOT / "src" / "onlinear", tmp_path / "onlinear", ignore=ignored)
    code = """
import onlinear as ol
from onlinear.algorithms import nlms
print(ol.__file__, hasattr(nlms.step.one, "py_func"), hasattr(nlms.step.chunk, "py_func"))
"""
    file, *by_numba = ran(code, folder=tmp_path).split()
    assert file.startswith(str(tmp_path))
    assert by_numba == ["False", "False"]  # from the library
    step = tmp_path / "onlinear" / "algorithms" / "nlms.py"
    text = step.read_text()
    assert "eta * (y - " in text
    step.write_text(text.replace("eta * (y - ", "2.0 * eta * (y - "))
    assert ran(code, folder=tmp_path).split() == [file, "True", "True"]  # to be compiled


def ignored(folder, names):
    return [name for name in names if name in ("__pycache__", "papers")]


def test_a_library_that_is_not_there_is_an_error(tmp_path):
    code = """
import onlinear as ol
try:
    ol.NLMS().learn_one([0.5, 0.5], 1.0)
except FileNotFoundError as error:
    print(error)
"""
    assert "ONLINEAR_NATIVE names no file" in ran(code, ONLINEAR_NATIVE=str(tmp_path / "none.so"))


def test_the_library_uses_the_stable_interface_of_python():
    names = native._library().names()
    assert {level for level, *_ in names} <= {1, 2, 3}
    assert len(names) > 200
    assert Path(os.environ["ONLINEAR_NATIVE"]).stat().st_size < 8_000_000
