"""Settings for every test, and for the examples in docstrings."""

import pytest
from hypothesis import settings

# the first example of a property may compile; the same examples on every machine
settings.register_profile("onlinear", deadline=None, derandomize=True)
settings.load_profile("onlinear")

# what --fast leaves out: where the tests are, and what they try
SLOW = {
    "tests/test_spark.py": "Spark",
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
