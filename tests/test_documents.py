"""What the README, the guide and the guide for contributors show is true."""

import doctest
import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from table import state, stream

import onlinear as ol

ROOT = Path(__file__).parent.parent
GUIDE = sorted(f"docs/guide/{file.name}" for file in (ROOT / "docs" / "guide").glob("*.md"))


def blocks(document: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), re.S)


def shown(block: str) -> list[str]:
    """What a block says that it prints: beside a print, or in comments below it."""
    lines: list[str] = []
    below = False
    for line in block.splitlines():
        if beside := re.match(r"print\(.*?\)\s+# (.*)$", line):
            lines.append(beside[1])
        elif below and line.startswith("#"):
            lines.append(line[2:])
            continue
        below = beside is None and line.strip().startswith("print(")
    return lines


@pytest.mark.parametrize("document", ["README.md", "docs/index.md", *GUIDE])
def test_a_document_prints_what_it_says(document, capsys):
    """Each print gives the text shown, or the number before a colon, to the digits shown."""
    space: dict = {}
    for block in blocks(document):
        exec(block, space)
        printed = capsys.readouterr().out.splitlines()
        for line, text in zip(printed, shown(block), strict=True):
            number = re.match(r"(\d+\.\d+)(:|$)", text)
            if number:
                digits = len(number.group(1).split(".")[1])
                assert f"{float(line):.{digits}f}" == number.group(1)
            else:
                assert line == text


def test_the_first_page_has_the_commands_of_the_readme():
    commands = re.findall(r"```bash\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[:2]
    assert commands == re.findall(r"```bash\n(.*?)```", (ROOT / "docs/index.md").read_text(), re.S)


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
