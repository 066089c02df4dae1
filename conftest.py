"""Settings for every test, and for the examples in docstrings."""

import pytest
from hypothesis import settings

# the first example of a property may compile; the same examples on every machine
settings.register_profile("onlinear", deadline=None, derandomize=True)
settings.load_profile("onlinear")


def pytest_collection_modifyitems(items):
    """Begin with Spark, whose tests wait for processes of their own while others run."""
    items.sort(key=lambda item: item.path.name != "test_spark.py")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    """Let examples write files without leaving them behind."""
    monkeypatch.chdir(tmp_path)
