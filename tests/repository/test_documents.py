"""What the README, the guide and the guide for contributors show is true."""

import doctest
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from documents import blocks, shown
from places import ROOT
from table import state, stream

import onlinear as ol

GUIDE = sorted(f"docs/guide/{file.name}" for file in (ROOT / "docs" / "guide").glob("*.md"))


def is_shell(block: str) -> bool:
    return re.search(r"^(onlinear|cat|\S*python3?) ", block, re.M) is not None


def do(block: str) -> None:
    """Run what is to be typed at a shell, unless it installs something."""
    if any(words in block for words in ("pip install", "benchmarks/", "--install-completion")):
        return
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", block],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("document", ["README.md", "docs/index.md", *GUIDE])
def test_a_document_prints_what_it_says(document, capsys):
    """Each print gives the text shown, or the number before a colon, to the digits shown."""
    space: dict = {}
    for block in blocks(document, "(?:python|bash)"):
        if is_shell(block):
            do(block)
            continue
        exec(block, space)
        printed = capsys.readouterr().out.splitlines()
        for line, text in zip(printed, shown(block), strict=True):
            number = re.match(r"(\d+\.\d+)(:|$)", text)
            if number:
                digits = len(number.group(1).split(".")[1])
                assert f"{float(line):.{digits}f}" == number.group(1)
            else:
                assert line == text


def test_the_page_on_the_command_is_true_of_the_table_of_the_guide():
    space: dict = {}
    exec(blocks("docs/guide/first-stream.md")[0], space)
    for block in blocks("docs/command.md", "bash"):
        do(block)


def test_the_first_page_has_the_commands_of_the_readme():
    assert blocks("README.md", "bash")[:2] == blocks("docs/index.md", "bash")


def test_the_skeleton_for_a_new_algorithm_is_a_whole_learner(tmp_path):
    (skeleton,) = blocks("CONTRIBUTING.md")
    file = tmp_path / "lms.py"
    file.write_text(skeleton)
    spec = importlib.util.spec_from_file_location("lms", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules["lms"] = module
    spec.loader.exec_module(module)
    X, y = stream(50)
    assert doctest.testmod(module) == (0, 3)
    model = module.LMS(eta=0.3).fit(X, y)
    singly = module.LMS(eta=0.3)
    w = np.zeros(5)
    for row, label in zip(X, y, strict=True):
        w += 0.3 * (label - w @ row) * row
        singly.learn_one(row, label)
    np.testing.assert_allclose(model.coef_, w, rtol=1e-9)
    assert state(singly) == state(model)
    model.save("lms.onl")
    assert state(ol.load("lms.onl")) == state(model)
