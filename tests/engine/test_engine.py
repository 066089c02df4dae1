"""The compiled code: kept between processes, never stale, and the same numbers as plain Python."""

import importlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from plain_python import python
from table import CASES, IDS, make, stream

import onlinear as ol
from onlinear import hindsight
from onlinear._engine import step as _engine
from onlinear._learner.bounds.ledger import Ledger
from onlinear._numerics import jit, linalg, native
from onlinear._wrappers.keyed.event_loop import event_loop

SOURCE = Path(ol.__file__).parent
PROGRAM = """
import onlinear as ol
from onlinear.algorithms import nlms
model = ol.NLMS()
model.learn_one([1.0, 2.0], 3.0)
weight = model.coef_[0]
run = ol.replay(model, [[1.0, 1.0]], [1.0])
step = nlms.step
hits = sum(sum(f.stats.cache_hits.values()) for f in (step.one, step.chunk))
misses = sum(sum(f.stats.cache_misses.values()) for f in (step.one, step.chunk))
print(hits, misses, weight, float(run.predictions[0]))
"""


def run_copy(folder: Path, program: str = PROGRAM) -> list[str]:
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


def test_the_second_process_finds_the_compiled_code_and_an_edit_is_never_missed(
    copy_of_the_package,
):
    package = copy_of_the_package / "onlinear"
    hits, misses, *answer = run_copy(copy_of_the_package)
    assert (hits, misses) == ("0", "2")
    hits, misses, *again = run_copy(copy_of_the_package)
    assert (hits, misses) == ("2", "0")
    assert again == answer
    # an edit of the learner, then one of a kernel it imports
    edit(package / "algorithms" / "nlms.py", "pace = eta * (y", "pace = 2.0 * eta * (y")
    hits, misses, *doubled = run_copy(copy_of_the_package)
    assert (hits, misses) == ("0", "2")
    assert float(doubled[0]) == 2 * float(answer[0])
    axpy = 'y + a·x."""\n    _added('
    edit(package / "_numerics" / "vectors.py", axpy + "a,", axpy + "3.0 * a,")
    hits, misses, *tripled = run_copy(copy_of_the_package)
    assert (hits, misses) == ("0", "2")
    assert float(tripled[0]) == 3 * float(doubled[0])


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


ALONE = """
import numpy as np
from onlinear._numerics.linalg import norm
print(norm(np.array([3.0, 4.0])), *(sum(n.values()) for n in norm._alone.stats[1:]))
"""


def test_a_kernel_called_from_python_is_kept_between_processes_too(copy_of_the_package):
    assert run_copy(copy_of_the_package, ALONE) == ["5.0", "0", "1"]
    assert run_copy(copy_of_the_package, ALONE) == ["5.0", "1", "0"]


UNKNOWN = """
from onlinear._numerics import link_only
assert link_only.KNOWN
link_only.KNOWN = {known}
import numpy as np
import onlinear as ol
rng = np.random.default_rng(0)
run = ol.replay(ol.Ridge(), rng.normal(size=(40, 3)), rng.normal(size=40))
print(run.predictions.tobytes().hex())
"""


def test_kernels_that_are_only_linked_give_the_bits_of_kernels_compiled_as_usual(tmp_path):
    """So a release of Numba that is not known to work that way changes no number."""
    for known in (True, False):
        copy = tmp_path / str(known)
        shutil.copytree(SOURCE, copy / "onlinear", ignore=shutil.ignore_patterns("__pycache__"))
    linked, usual = (
        run_copy(tmp_path / str(known), UNKNOWN.format(known=known)) for known in (True, False)
    )
    assert linked == usual


def test_arrays_that_may_not_be_written_need_no_other_code(monkeypatch):
    monkeypatch.setattr(native, "there", lambda: False)
    step = _engine.Step(ol.NLMS.algorithm.step.function)  # not compiled yet
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


SPARSE = """
from scipy import sparse
import onlinear as ol
from onlinear.algorithms import eg, nlms
X = sparse.csr_array([[1.0, 0.0, 0.5]])
ol.NLMS().fit(X, [1.0])
ol.EG().fit(X, [1.0])
forms = nlms.step.gathered, eg.step.chunk
for stats in (form.stats for form in forms):
    print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
print(*(sorted({"one", "chunk", "gathered"} & set(vars(nlms.step)))))
"""


def test_the_forms_for_sparse_rows_are_kept_too_and_made_only_when_used(copy_of_the_package):
    assert run_copy(copy_of_the_package, SPARSE) == ["0", "1", "0", "1", "gathered"]
    assert run_copy(copy_of_the_package, SPARSE) == ["1", "0", "1", "0", "gathered"]


BULK = """
import numpy as np
import onlinear as ol
from onlinear.algorithms import aar
X = np.random.default_rng(0).normal(size=(200, 64))
run = ol.replay(ol.AAR(), X, X[:, 0], engine="bulk")
stats = aar.step.bulk.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()), run.predictions[-1])
"""


def test_the_compiled_blocks_are_kept_between_processes(copy_of_the_package):
    hits, misses, answer = run_copy(copy_of_the_package, BULK)
    assert (hits, misses) == ("0", "1")
    assert run_copy(copy_of_the_package, BULK) == ["1", "0", answer]


BANK = """
import onlinear as ol
from onlinear.algorithms import nlms
for count in (1, 2, 5):  # compiled once for any number of models
    bank = ol.Bank([ol.NLMS() for _ in range(count)])
    bank.learn_one([1.0, 2.0], 3.0)
    ol.replay(bank, [[1.0, 1.0]], [1.0])
for stats in (form.stats for form in (nlms.step.each, nlms.step.chunk)):
    print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def test_the_forms_for_banks_are_kept_too_one_for_any_number_of_models(copy_of_the_package):
    assert run_copy(copy_of_the_package, BANK) == ["0", "1", "0", "1"]
    assert run_copy(copy_of_the_package, BANK) == ["1", "0", "1", "0"]


LEARNER = """
import math
import numpy as np
import onlinear as ol
import middle
from helper import SHIFT, TABLE, pace
from onlinear._engine.step import FINE, Step
from onlinear._learner.base import Algorithm, Learner
from onlinear._updates.gaussian import weights

@Step
def step(state, params, x, y, work):
    t, w = state
    if not math.isnan(y):
        w[0] += pace(y) + SHIFT + TABLE[0] + middle.distant()
    return w[0], FINE

class Mine(Learner):
    algorithm = Algorithm(lambda params, d: weights(d), step)
    def _params(self):
        return ()

model = Mine()
model.learn_one([1.0], 1.0)
hits = sum(step.one.stats.cache_hits.values())
"""


def test_an_edit_of_a_file_that_a_step_imports_from_is_never_missed(copy_of_the_package):
    helper, mine = copy_of_the_package / "helper.py", copy_of_the_package / "mine.py"
    mine.write_text(LEARNER)
    program = "import mine; print(mine.hits, mine.model.coef_[0])"
    (copy_of_the_package / "middle.py").write_text("from far import distant\n")
    far = copy_of_the_package / "far.py"
    far.write_text("import numba\n\n@numba.njit\ndef distant():\n    return 0.0\n")
    text = (
        "import numpy as np\nfrom onlinear._numerics.linalg import kernel\nSHIFT = 0.5\n"
        "TABLE = np.array([0.0])\n\n@kernel\ndef pace(y):\n"
    )
    helper.write_text(text + "    return 2.0 * y\n")
    assert run_copy(copy_of_the_package, program) == ["0", "2.5"]
    assert run_copy(copy_of_the_package, program) == ["1", "2.5"]
    helper.write_text(text + "    return 7.0 * y\n")
    assert run_copy(copy_of_the_package, program) == ["0", "7.5"]
    edit(helper, "SHIFT = 0.5", "SHIFT = 0.25")
    assert run_copy(copy_of_the_package, program) == ["0", "7.25"]
    edit(helper, "np.array([0.0])", "np.array([1.0])")
    assert run_copy(copy_of_the_package, program) == ["0", "8.25"]
    edit(far, "return 0.0", "return 10.0")
    assert run_copy(copy_of_the_package, program) == ["0", "18.25"]
    assert run_copy(copy_of_the_package, program) == ["1", "18.25"]


TWO = """
import math
from onlinear._engine.step import FINE, Step
from onlinear._learner.base import Algorithm, Learner
from onlinear._updates.gaussian import weights

def learner(pace):
    def step(state, params, x, y, work):
        t, w = state
        if not math.isnan(y):
            w[0] += pace * y
        return w[0], FINE

    class Mine(Learner):
        algorithm = Algorithm(lambda params, d: weights(d), Step(step))
        def _params(self):
            return ()

    model = Mine()
    model.learn_one([1.0], 1.0)
    return model.coef_[0]
"""


NESTED = """
import math
from conf import FACTOR, Mode
from onlinear.extend import FINE, Algorithm, Learner, Step, weights

@Step
def step(state, params, x, y, work):
    def scaled(a):
        return a * FACTOR
    t, w = state
    if not math.isnan(y):
        w[0] += scaled(y) + Mode.A.value
    return w[0], FINE

class Mine(Learner):
    algorithm = Algorithm(lambda params, d: weights(d), step)
    def _params(self):
        return ()
"""


def test_an_edit_is_not_missed_in_a_nested_function_an_enum_or_before_the_first_call(
    copy_of_the_package,
):
    (copy_of_the_package / "nested.py").write_text(NESTED)
    conf = copy_of_the_package / "conf.py"
    conf.write_text("import enum\nFACTOR = 2.0\nclass Mode(enum.Enum):\n    A = 0.5\n")
    program = (
        "import nested; m = nested.Mine(); m.learn_one([1.0], 1.0); print(m.coef_[0], "
        "sum(nested.step.one.stats.cache_hits.values()))"
    )
    assert run_copy(copy_of_the_package, program) == ["2.5", "0"]
    assert run_copy(copy_of_the_package, program) == ["2.5", "1"]
    edit(conf, "2.0", "3.0")
    assert run_copy(copy_of_the_package, program) == ["3.5", "0"]
    edit(conf, "0.5", "0.25")
    assert run_copy(copy_of_the_package, program) == ["3.25", "0"]
    late = (
        "import pathlib, nested; file = pathlib.Path(nested.__file__); "
        "file.write_text(file.read_text().replace('a * FACTOR', 'a * FACTOR * 10.0')); "
    )
    assert run_copy(copy_of_the_package, late + program)[0] == "3.25"  # what it had imported
    assert run_copy(copy_of_the_package, program)[0] == "30.25"


def test_two_steps_of_one_name_in_one_file_are_two(copy_of_the_package):
    (copy_of_the_package / "two.py").write_text(TWO)
    program = "import two; print(two.learner(2.0), two.learner(3.0), two.learner(2.0))"
    for _ in range(2):
        assert run_copy(copy_of_the_package, program) == ["2.0", "3.0", "2.0"]


def test_without_a_writable_folder_it_compiles_in_every_process(monkeypatch):
    from onlinear.algorithms import nlms

    def no_locator(*args, **kwargs):
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(native, "there", lambda: False)
    monkeypatch.setattr("numba.core.dispatcher.Dispatcher.enable_caching", no_locator)
    jit._warn_once.cache_clear()
    step = _engine.Step(nlms.step.function)
    w = np.zeros(1)
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR"):
        step.one((np.zeros(1), w), (1.0, 0.0), np.ones(1), 3.0, step.work(1), True, 0)
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
    X, y = stream(15)
    model = make(case)
    expected = ol.replay(model, X, y).predictions
    plain = make(case)
    plain._begin(X.shape[1])
    step = python(plain.algorithm.step.function, {})
    predictions = []
    for row, label in zip(X, y, strict=True):
        if isinstance(plain._step, _engine.Prepared):  # a kernel from outside
            plain._step.before(plain._state, row, plain._work)
        value, rule = step(tuple(plain._state), plain._numbers(), row, float(label), plain._work)
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


def test_the_first_cached_call_of_a_process_is_quick(copy_of_the_package):
    """The compiled code is read, not made: a generous limit, the benchmark has the figure."""
    program = (
        "import time\nimport onlinear as ol\nmodel = ol.LASER()\nbegan = time.perf_counter()\n"
        "model.learn_one([1.0, 2.0], 3.0)\nprint(time.perf_counter() - began)\n"
    )
    cold = float(run_copy(copy_of_the_package, program)[0])
    warm = float(run_copy(copy_of_the_package, program)[0])
    assert warm < cold / 2


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
