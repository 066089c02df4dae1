"""The sources are formatted, free of lint, and typed."""

import subprocess
import sys

import pytest
from places import ROOT


@pytest.mark.parametrize("tool", ["mypy", "ruff check", "ruff format --check"])
def test_a_tool_finds_nothing(tool):
    command = [sys.executable, "-m", *tool.split()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
