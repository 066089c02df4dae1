"""The compiled code: kept between processes, never stale, and the same numbers as plain Python."""

import gc
import importlib
import math
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import CellType, FunctionType

import numpy as np
import pytest
from plain_python import python
from table import CASES, IDS, make, stream, stream_of

import onlinear as ol
from onlinear import hindsight
from onlinear._engine import step as _engine
from onlinear._learner.bounds.ledger import Ledger
from onlinear._numerics import jit, linalg, native
from onlinear._wrappers.keyed.event_loop import event_loop

SOURCE = Path(ol.__file__).parent


def run_copy(folder: Path, program: str) -> list[str]:
    """Run a program in a new process on the copy of the package in ``folder``."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"ONLINEAR_NATIVE": "0"}  # compiled by Numba
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def edit(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


@pytest.fixture
def copy_of_the_package(tmp_path):
    shutil.copytree(SOURCE, tmp_path / "onlinear", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def tiny(state, params, x, y, work):
    """A step that is quick to compile: the weight is the sum of the labels."""
    if not math.isnan(y):
        state[1][0] += y
    return state[1][0], _engine.FINE


FORMS = """
import math
import numpy as np
from scipy import sparse
import onlinear as ol
from helper import pace
from onlinear._numerics import blas
from onlinear._numerics.jit import compiled, compiled_now
from onlinear._numerics.linalg import norm
from onlinear.extend import FINE, Algorithm, Learner, Step, weights

def learner(factor, local):
    @Step
    def step(state, params, x, y, work):
        t, w = state
        if not math.isnan(y):
            w[0] += factor * pace(y)
        return w[0], FINE

    class Mine(Learner):
        algorithm = Algorithm(lambda params, d: weights(d), step)
        def _params(self):
            return ()
        def _local(self):
            return local

    return Mine

Local, Other = learner(2.0, True), learner(3.0, False)  # two steps of one name in one file
local, other = (kind.algorithm.step for kind in (Local, Other))

def learnt(kind):
    model = kind()
    model.learn_one([1.0], 1.0)
    return model.coef_[0]

def template(V, S):
    add(1.0, V, V.shape[0], V.shape[1], S)

blas.load()  # SciPy's, whose addresses differ from process to process
squares = compiled(template, "squares", (template,), __name__, {}, add=blas.add_squares)
"""
EVERY_FORM = """
from forms import *
X = sparse.csr_array([[1.0, 0.0, 0.5]])
sparsely = [float(kind().fit(X, [1.0]).coef_[0]) for kind in (Local, Other)]
assert "one" not in vars(local) and "chunk" not in vars(local) and "one" not in vars(other)
for count in (1, 2, 5):  # compiled once for any number of models
    bank = ol.Bank([Other() for _ in range(count)])
    bank.learn_one([1.0, 2.0], 3.0)
    ol.replay(bank, [[1.0, 1.0]], [1.0])
S = np.zeros((2, 2))
squares(np.array([[3.0, 4.0]]), S)
singly = [float(learnt(kind)) for kind in (Local, Other)]
forms = local.gathered, other.chunk, other.each, local.one, other.one, norm._alone, squares
print(*sparsely, *singly, norm(np.array([3.0, 4.0])), *S[1], compiled_now())
print(*(sum(form.stats.cache_hits.values()) for form in forms))
print(*(sum(form.stats.cache_misses.values()) for form in forms))
"""


def test_the_second_process_finds_the_compiled_code_and_an_edit_is_never_missed(
    copy_of_the_package,
):
    """Of single rounds, tables, sparse rows, banks, kernels called from Python, and BLAS."""
    (copy_of_the_package / "forms.py").write_text(FORMS)
    helper = copy_of_the_package / "helper.py"
    helper.write_text("from onlinear.extend import kernel\n\n@kernel\ndef pace(y):\n    return y\n")
    answer = ["2.0", "3.0", "2.0", "3.0", "5.0", "12.0", "16.0"]
    none, all_seven = ["0"] * 7, ["1"] * 7
    cold = run_copy(copy_of_the_package, EVERY_FORM)
    assert cold == [*answer, "7", *none, *all_seven]
    assert list((copy_of_the_package / "onlinear").rglob("*.nbi"))  # the cache is beside it
    warm = run_copy(copy_of_the_package, EVERY_FORM)
    assert warm == [*answer, "0", *all_seven, *none]
    edit(helper, "return y", "return 10.0 * y")
    program = "import forms; print(forms.learnt(forms.Local), forms.local.one.stats.cache_hits)"
    assert run_copy(copy_of_the_package, program) == ["20.0", "Counter()"]


EDITED = """
from pathlib import Path
import onlinear
from onlinear._engine.step import Step
from onlinear._numerics.fingerprint import _foundation
from onlinear.algorithms import nlms

def name():
    _foundation.cache_clear()  # as in a new process
    return Step(nlms.step.function).one.py_func.__name__

names = [name(), name()]
for path, old, new in [
    ("algorithms/ridge.py", "import ", "import  "),
    ("_updates/gaussian.py", "import ", "import  "),  # the learner uses it, its step does not
    ("algorithms/nlms.py", "pace = eta * (y", "pace = 2.0 * eta * (y"),
    ("_numerics/vectors.py", "_added(a,", "_added(3.0 * a,"),
    ("_numerics/link_only.py", "import ", "import  "),  # how kernels are compiled
]:
    file = Path(onlinear.__file__).parent / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    names.append(name())
print(*names)
"""


def test_code_has_a_new_name_after_an_edit_of_its_learner_or_of_a_kernel_and_no_other(
    copy_of_the_package,
):
    first, again, *others_edited, learner, kernel, compiler = run_copy(copy_of_the_package, EDITED)
    assert {again, *others_edited} == {first}
    assert len({first, learner, kernel, compiler}) == 4


def test_how_a_kernel_is_compiled_does_not_hang_on_its_first_caller():
    """What a kernel does not say, Numba would take from there."""
    kernels = {
        f"{module}.{name}": value.targetoptions
        for module in [name for name in sys.modules if name.startswith("onlinear.")]
        for name, value in vars(sys.modules[module]).items()
        if isinstance(value, jit.Kernel)
    }
    assert len(kernels) > 100
    said = {"error_model", "fastmath", "forceinline"}
    assert [name for name, options in kernels.items() if not said <= set(options)] == []


def compiled_anew(kernel: jit.Kernel, done: dict) -> jit.Kernel:
    """Return a copy of a kernel and of all that it calls, which Numba has not compiled yet."""
    if kernel not in done:
        function, names = kernel.py_func, {}

        def copy(value):
            return compiled_anew(value, done) if isinstance(value, jit.Kernel) else value

        cells = tuple(CellType(copy(cell.cell_contents)) for cell in function.__closure__ or ())
        own = function.__name__, function.__defaults__, cells
        done[kernel] = jit.Kernel(
            FunctionType(function.__code__, names, *own), kernel.targetoptions
        )
        names |= {name: copy(value) for name, value in function.__globals__.items()}
    return done[kernel]


def test_kernels_that_are_only_linked_give_the_bits_of_kernels_compiled_as_usual(monkeypatch):
    """So a release of Numba that is not known to work that way changes no number."""
    from onlinear._numerics import link_only, numba_compiler

    assert link_only.KNOWN
    monkeypatch.setattr(link_only, "KNOWN", False)
    kernels: dict = {}
    anew = compiled_anew(linalg.observe, kernels).py_func
    again = numba_compiler.entry(anew, jit.OPTIONS, cache=False)
    results = []
    for observe in (linalg.observe, again):
        S, v, u = np.eye(7), np.empty(7), np.empty(7)
        for x in np.random.default_rng(0).normal(size=(20, 7)) * np.logspace(-3, 9, 20)[:, None]:
            linalg.symv(S, x, v)
            observe(S, x, v, linalg.dot(x, v), 0.3, u)
        results.append((S.tobytes(), v.tobytes(), u.tobytes()))
        assert np.isfinite(S).all()
    assert results[0] == results[1]
    made = [vars(each)["dispatcher"] for each in kernels.values() if "dispatcher" in vars(each)]
    assert len(made) > 3
    assert link_only.Compiler not in [each._compiler.pipeline_class for each in made]


def test_arrays_that_may_not_be_written_need_no_other_code(monkeypatch):
    monkeypatch.setattr(native, "there", lambda: False)
    step = _engine.Step(tiny)  # not compiled yet
    monkeypatch.setattr(ol.NLMS, "algorithm", ol.NLMS.algorithm._replace(step=step))
    X, y = stream(10)
    fixed = X.copy(), y.copy()
    for array in fixed:
        array.flags.writeable = False
    keyed = ol.Keyed(ol.NLMS())
    for rows, labels in ((X, y), (X, fixed[1]), (fixed[0], y), fixed):
        ol.replay(ol.NLMS(), rows, labels)
        ol.replay(ol.Bank([ol.NLMS()]), rows, labels)
        keyed.learn_one("a", rows[0], labels[0])
        keyed.replay(np.arange(10), rows, labels)
    assert len(step.chunk.signatures) == len(step.around(event_loop).signatures) == 1


BULK = """
import numpy as np
import onlinear as ol
from onlinear.algorithms import aar
X = np.random.default_rng(0).normal(size=(200, 64))
run = ol.replay(ol.AAR(), X, X[:, 0], engine="bulk")
stats = aar.step.bulk.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()), run.predictions[-1])
"""


@pytest.mark.skipif(native.there(), reason="blocks take long to compile: just test-jit tests them")
def test_the_compiled_blocks_are_kept_between_processes(copy_of_the_package):
    hits, misses, answer = run_copy(copy_of_the_package, BULK)
    assert (hits, misses) == ("0", "1")
    assert run_copy(copy_of_the_package, BULK) == ["1", "0", answer]


@pytest.fixture
def name_of_code(tmp_path, monkeypatch):
    """Return a function that imports a file anew and returns the name of its compiled round.

    Numba's cache finds compiled code by this name.
    """
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def name_of(module: str, between=lambda: None) -> str:
        for file in tmp_path.glob("*.py"):
            monkeypatch.delitem(sys.modules, file.stem, raising=False)
        importlib.invalidate_caches()
        step = importlib.import_module(module).step
        between()
        return step.one.py_func.__name__

    return name_of


STEP = """
import math
import own_middle
from own_helper import FACTOR, SHIFT, TABLE, Mode, pace
from onlinear.extend import FINE, Step

@Step
def step(state, params, x, y, work):
    def scaled(a):
        return a * FACTOR
    t, w = state
    if not math.isnan(y):
        w[0] += scaled(pace(y)) + Mode.A.value + SHIFT + TABLE[0] + own_middle.distant()
    return w[0], FINE
"""
HELPER = """
import enum
import numpy as np
from onlinear.extend import kernel
FACTOR = 2.0
SHIFT = 0.5
TABLE = np.array([0.0])
class Mode(enum.Enum):
    A = 0.25

@kernel
def pace(y):
    return 2.0 * y
"""
FAR = """
import numba

@numba.njit
def distant():
    return 0.0
"""


def test_an_edit_of_a_file_that_a_step_imports_from_is_never_missed(tmp_path, name_of_code):
    """A kernel, numbers, an array, an enum, a name in a nested function, a file imported by it."""
    (tmp_path / "own_step.py").write_text(STEP)
    (tmp_path / "own_middle.py").write_text("from own_far import distant\n")
    helper, far = tmp_path / "own_helper.py", tmp_path / "own_far.py"
    helper.write_text(HELPER)
    far.write_text(FAR)
    names = [name_of_code("own_step")]
    for file, before, after in [
        (helper, "return 2.0 * y", "return 7.0 * y"),
        (helper, "SHIFT = 0.5", "SHIFT = 0.1"),
        (helper, "np.array([0.0])", "np.array([1.0])"),
        (helper, "FACTOR = 2.0", "FACTOR = 3.0"),
        (helper, "A = 0.25", "A = 0.75"),
        (far, "return 0.0", "return 9.0"),
    ]:
        edit(file, before, after)
        names.append(name_of_code("own_step"))
        assert name_of_code("own_step") == names[-1]
    assert len(set(names)) == 7


def test_an_edit_between_import_and_first_call_is_not_missed(tmp_path, name_of_code):
    """What was imported before the edit is compiled, but the next process does not find it."""
    file = tmp_path / "own_step.py"
    file.write_text(
        "from onlinear.extend import FINE, Step\n\n"
        "@Step\ndef step(state, params, x, y, work):\n    return 2.0 * state[1][0], FINE\n"
    )
    before = name_of_code("own_step")
    late = name_of_code("own_step", lambda: edit(file, "2.0", "3.0"))
    assert len({before, late, name_of_code("own_step")}) == 3


OWN = """
import math
from typing import NamedTuple
from onlinear.extend import FINE, Algorithm, Learner, Step, weights

class Params(NamedTuple):
    eta: float

def init(params, d):
    return weights(d)

@Step
def step(state, params, x, y, work):
    return {value}, FINE

class Own(Learner):
    eta: float = 1.0
    algorithm = Algorithm(init, step)
    def _params(self):
        return Params(1.0)

def predicted():
    return Own().predict_one([1.0])
"""


def test_a_step_is_not_taken_for_that_of_another_learner_in_the_cache(tmp_path):
    """Numba counts functions from 1 in each process; the count was all that told steps apart."""
    for name, value in {"one": 1.0, "two": 2.0}.items():
        (tmp_path / f"{name}.py").write_text(OWN.format(value=value))
    path = os.pathsep.join([str(tmp_path), str(SOURCE.parent)])
    environment = {**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for names in (["one"], ["one", "two"], ["two", "one"]):
        program = "; ".join(f"import {n}; print({n}.predicted())" for n in names)
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True
        )
        assert done.stdout.split() == [{"one": "1.0", "two": "2.0"}[n] for n in names], done.stderr


def test_the_garbage_collector_pauses_only_while_something_is_compiled():
    """Also if compiling fails; and it stays off if the user has turned it off."""
    import numba
    from numba.core import event

    from onlinear._numerics import numba_compiler  # registers what pauses the collector

    seen = []

    class Watch(event.Listener):
        def on_start(self, event):
            seen.append(gc.isenabled())

        def on_end(self, event):
            pass

    assert numba_compiler.announcement is not None
    with event.install_listener("numba:compile", Watch()):
        assert numba.njit(lambda x: x + 1.0)(1.0) == 2.0
        with pytest.raises(numba.TypingError):
            numba.njit(lambda x: x.nothing)(1.0)
        assert gc.isenabled()
        gc.disable()
        try:
            numba.njit(lambda x: x + 2.0)(1.0)
            assert not gc.isenabled()
        finally:
            gc.enable()
    assert seen == [False, False, False]


def test_where_code_can_be_compiled_ahead_the_tests_use_it():
    if os.environ.get("ONLINEAR_NATIVE") == "0" or shutil.which("cc") is None:
        pytest.skip("the tests run on code that Numba compiles")
    assert native.there()


def test_without_a_writable_folder_it_compiles_in_every_process(monkeypatch):
    def no_locator(*args, **kwargs):
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(native, "there", lambda: False)
    monkeypatch.setattr("numba.core.dispatcher.Dispatcher.enable_caching", no_locator)
    jit._warn_once.cache_clear()
    step = _engine.Step(tiny)
    w = np.zeros(1)
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR"):
        step.one((np.zeros(1), w), (), np.ones(1), 3.0, step.work(1), True, 0)
    assert w[0] == 3.0


def test_a_step_typed_at_a_prompt_works_without_a_cache():
    space: dict = {}
    exec(
        "import math\n"
        "def step(state, params, x, y, work):\n"
        "    (w,) = state\n"
        "    if not math.isnan(y):\n"
        "        w[0] += y\n"
        "    return w[0], 0\n",
        space,
    )
    step = _engine.Step(space["step"])
    space["step"].__module__ = "__main__"
    w = np.zeros(1)
    assert step.one((w,), (), np.zeros(2), 5.0, step.work(2), True, 0) == (5.0, _engine.FINE)
    assert w[0] == 5.0


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_compiled_and_plain_python_give_the_same_bits(case, monkeypatch):
    """Each kernel replaced by the Python it was compiled from, down to the last."""
    X, y = stream_of(case, 15)
    model = make(case)
    expected = ol.replay(model, X, y).predictions
    plain = make(case)
    plain._begin(X.shape[1])
    step = python(plain.algorithm.step.function, {})
    predictions = []
    for row, label in zip(X, y, strict=True):
        if isinstance(plain._step, _engine.Prepared):  # a kernel from outside
            plain._step.before(plain._state, row, plain._work)
        value, rule = step(
            tuple(plain._state), plain._numbers(), row, model._label(label), plain._work
        )
        assert rule == _engine.FINE
        predictions.append(value)
    np.testing.assert_array_equal(np.array(predictions), expected)
    assert plain._record.tobytes() == model._record.tobytes()


ACCOUNTS = {
    **{name: make(case)._guarantee().account for name, case in zip(IDS, CASES, strict=True)},
    "best fixed": hindsight.BestFixed().account,
    "best drifting": hindsight.BestDrifting().account,
    "given comparator": ol.GD()._guarantee(search=False).account,
}


@pytest.mark.parametrize("name", ACCOUNTS)
def test_compiled_and_plain_python_keep_the_same_accounts(name):
    X, y = stream(15)
    account = ACCOUNTS[name]
    ledger = Ledger(account)
    ledger.add(X, y)
    state, work = account.init(X.shape[1]), account.step.work(X.shape[1])
    step = python(account.step.function, {})
    for row, label in zip(X, y, strict=True):
        assert step(tuple(state), account.params, row, float(label), work)[1] == _engine.FINE
    assert [a.tobytes() for a in state] == [a.tobytes() for a in ledger.state]


def test_importing_onlinear_imports_no_optional_or_slow_package():
    program = (
        "import sys, onlinear\n"
        "print([m for m in ('sklearn', 'river', 'scipy', 'pandas', 'matplotlib', 'plotly', 'rich',"
        " 'typer', 'narwhals', 'pyarrow', 'numba', 'llvmlite') if m in sys.modules])"
    )
    assert run_copy(SOURCE.parent, program) == ["[]"]


def test_a_long_replay_is_run_in_blocks(monkeypatch):
    """So that Ctrl-C is answered; the blocks grow while they are quick."""
    monkeypatch.setattr(_engine, "BLOCK_SECONDS", 0.0)
    rows: list[int] = []
    X, y = stream(3 * _engine.FIRST_BLOCK)
    ol.Ridge()._run(X, y, learn=True, progress=lambda row, _: rows.append(row))
    assert rows == [_engine.FIRST_BLOCK * i for i in (1, 2, 3)]
    monkeypatch.setattr(_engine, "BLOCK_SECONDS", time.monotonic())
    rows.clear()
    ol.Ridge()._run(X, y, learn=True, progress=lambda row, _: rows.append(row))
    assert rows == [_engine.FIRST_BLOCK, 3 * _engine.FIRST_BLOCK]


def test_a_large_observation_is_taken_in_parts():
    """Σ − vvᵀ/(1+χ) alone would leave nothing, or less, of 1 − 1 where 1e-16 is right."""
    x = np.array([1e8, 1.0])
    S, v, u = np.eye(2), np.empty(2), np.empty(2)
    linalg.symv(S, x, v)
    linalg.observe(S, x, v, linalg.dot(x, v), 1.0, u)
    exact = np.array([[2.0, -1e8], [-1e8, 1e16 + 1.0]]) / (1e16 + 2.0)  # (I + xxᵀ)⁻¹
    np.testing.assert_allclose(S, exact, rtol=1e-9)
    np.testing.assert_allclose(v, x / (1e16 + 2.0), rtol=1e-3)  # the gain, (I + xxᵀ)⁻¹x


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 17, 23, 40])
def test_a_pivot_that_is_rounding_is_raised(n):
    """Of two equal columns the second has nothing of its own: 0, or less, is left of its pivot."""
    A = np.random.default_rng(n).normal(size=(n + 3, n + 1))
    A[:, n] = A[:, n // 2]
    S = A.T @ A
    U, raised = S.copy(), S.copy()
    assert linalg.cholesky(U, 0.0, 1e-10)
    assert linalg.cholesky(raised, 1e-3, 0.0)
    np.testing.assert_allclose(U[n, n] ** 2, 1e-10 * S[n, n], rtol=1e-3)
    np.testing.assert_allclose(raised[n, n] ** 2, 1e-3, rtol=1e-12)
    U, raised = np.triu(U), np.triu(raised)
    np.testing.assert_allclose((U.T @ U)[:n, :n], S[:n, :n], rtol=1e-12, atol=1e-12 * n)
    np.testing.assert_allclose(raised[:n, :n], U[:n, :n], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 17, 18, 35, 70])
def test_kernels_are_the_linear_algebra_they_name(n):
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(2, n))
    A = rng.normal(size=(n, n))
    S = A @ A.T + np.eye(n)
    out = np.empty(n)
    np.testing.assert_allclose(linalg.dot(a, b), a @ b, rtol=1e-12, atol=1e-13)
    linalg.symv(S, a, out)
    np.testing.assert_allclose(out, S @ a, rtol=1e-12, atol=1e-12)
    U = S.copy()
    assert linalg.cholesky(U, 0.0, 0.0)
    U = np.triu(U)
    np.testing.assert_allclose(U.T @ U, S, rtol=1e-12, atol=1e-12)
    x = b.copy()
    linalg.solve_lower(U, x)
    linalg.solve_upper(U, x)
    np.testing.assert_allclose(S @ x, b, rtol=1e-9, atol=1e-12)
    assert not linalg.cholesky(-S, 0.0, 0.0)
    assert linalg.finite(a)
    for bad in (np.nan, np.inf):
        c = a.copy()
        c[n // 2] = bad
        assert not linalg.finite(c)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("A, B = 1.0, 2.0", "A, B = 2.0, 1.0"),
        ("A = B = np.zeros((2, 3))", "A = B = np.zeros((3, 2))"),
        ("A, B = len, max", "A, B = max, len"),
    ],
)
def test_a_constant_of_another_file_counts_by_its_name(before, after, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_step.py").write_text("from own_numbers import A, B\n\ndef f(x): return A, B\n")
    marks = []
    for line in (before, after, before):
        (tmp_path / "own_numbers.py").write_text(f"import numpy as np\n{line}\n")
        for name in ("own_step", "own_numbers"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        marks.append(jit.fingerprint(importlib.import_module("own_step").f))
    assert marks[0] == marks[2]
    assert marks[0] != marks[1]
