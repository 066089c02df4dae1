"""Data for the command."""

import pytest
from command import lines_of, stream


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Return a folder with data.csv in it, which is the present one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(lines_of(*stream(400)))
    return tmp_path
