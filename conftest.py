"""Settings for every test, and for the examples in docstrings."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import scipy.linalg  # noqa: F401 (so that its BLAS is loaded)
from hypothesis import settings
from threadpoolctl import threadpool_limits

# the first example of a property may compile; the same examples on every machine
settings.register_profile("onlinear", deadline=None, derandomize=True)
settings.load_profile("onlinear")

# for the small matrices of slow textbook forms, the threads of BLAS only wait for each other: three
# times the work in one process, ten times the time in several workers
threadpool_limits(1, user_api="blas")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # in the processes that tests start

# processes that tests start keep their bytecode, as those of an installed package do: without it,
# each of them spends a second on compiling the package's source
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def _build_native_code():
    """Compile the package's functions ahead of time, as for a wheel, unless this was done before.

    ``ONLINEAR_NATIVE=0`` lets Numba compile them while the tests run.
    """
    if "ONLINEAR_NATIVE" in os.environ or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return
    if sys.platform == "win32" or shutil.which(os.environ.get("CC", "cc")) is None:
        print("no C compiler: Numba compiles while the tests run")
        return
    command = "import build; print(build.kept_library() or 0)"
    folder = Path(__file__).parent / "native"
    built = subprocess.run(
        [sys.executable, "-c", command], cwd=folder, stdout=subprocess.PIPE, text=True, check=True
    )
    os.environ["ONLINEAR_NATIVE"] = built.stdout.splitlines()[-1]


_build_native_code()

# what --fast leaves out: where the tests are, and what they try
SLOW = {
    "tests/test_spark.py": "Spark",
    "tests/papers/": "the figures, tables and errata of the papers",
    "src/onlinear/papers/": "examples in their docstrings",
    "tests/repository/test_documents.py": "examples in the README and the docs",
    "tests/repository/test_site.py": "the site",
    "tests/repository/test_benchmarks.py": "the benchmarks, on little data",
    "tests/cli/": "the command",
    "tests/engine/test_engine.py": "the cache of compiled code, in new processes",
    "tests/engine/test_transaction.py::test_whatever": "calls that signals interrupt",
    "tests/native/": "code compiled ahead of time beside code that Numba compiles",
    "tests/repository/test_lint.py": "lint and types (just check has them)",
    "tests/algorithms/test_mutants.py": "learners broken on purpose",
    "tests/algorithms/test_faults_of_others.py": "faults that other packages have",
    "tests/streams/test_real_data.py": "real data sets",
    "tests/wrappers/late/test_late.py::test_rows_that_wait_take": "memory of waiting rows",
    "tests/test_river.py": "river",
    "tests/test_bregman.py::test_the_ellipsoid_projection": "projections by slow optimisers",
    "tests/algorithms/test_golden.py::test_the_projection": "the same",
    "tests/updates/test_shrinkage.py::test_predictions_are_those": "CIRR and OSLOG at length",
}


def pytest_addoption(parser):
    """Add --fast."""
    parser.addoption("--fast", action="store_true", help="leave out the slowest tests, and say so")


def pytest_terminal_summary(terminalreporter, config):
    """Say what --fast left out."""
    if config.getoption("--fast"):
        terminalreporter.section("left out by --fast")
        for where, what in SLOW.items():
            terminalreporter.line(f"{where}: {what}")


def pytest_collection_modifyitems(config, items):
    """Begin with Spark, whose tests wait for processes of their own while others run."""
    items.sort(key=lambda item: item.path.name != "test_spark.py")
    if config.getoption("--fast"):
        slow = [item for item in items if item.nodeid.startswith(tuple(SLOW))]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in set(slow)]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    """Let examples write files without leaving them behind."""
    monkeypatch.chdir(tmp_path)
