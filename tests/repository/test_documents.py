"""What the README, the guide and the guide for contributors show is true."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from documents import blocks, shown
from places import ROOT

from onlinear._numerics import jit, native

GUIDE = sorted(f"docs/guide/{file.name}" for file in (ROOT / "docs" / "guide").glob("*.md"))


def is_shell(block: str) -> bool:
    return re.search(r"^(onlinear|cat|\S*python3?) ", block, re.M) is not None


def on_one_core() -> None:
    """Keep a command from starting workers, each of which would load the package again."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])


def do(block: str) -> None:
    """Run what is to be typed at a shell, unless it installs something; figures on less data."""
    if any(words in block for words in ("pip install", "benchmarks/", "--install-completion")):
        return
    block = re.sub(r"^onlinear paper \S+", r"\g<0> --quick --repeats 2", block, flags=re.M)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", block],
        env={**os.environ, "PATH": path},
        preexec_fn=on_one_core,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def nothing_is_compiled(monkeypatch, tmp_path):
    """Fail on a call that Numba would have to compile: wheels contain all that documents show."""
    if not native.there():
        return
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba" / "__init__.py").write_text('raise ImportError("Numba is not needed")')
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)  # for what a shell runs

    def compile_now(function, sources, options):
        pytest.fail(f"Numba would have to compile {function.__name__}")

    as_usual = jit._just_in_time

    def undo():
        """Let Numba compile what a reader's own code needs."""
        monkeypatch.setattr(jit, "_just_in_time", as_usual)

    monkeypatch.setattr(jit, "_just_in_time", compile_now)
    return undo


@pytest.mark.parametrize("document", ["README.md", "docs/index.md", *GUIDE])
def test_a_document_prints_what_it_says(document, capsys, nothing_is_compiled):
    """Each print gives the text shown, or the number before a colon, to the digits shown."""
    space: dict = {}
    for block in blocks(document, "(?:python|bash)"):
        if is_shell(block):
            do(block)
            continue
        if "ol.extend.kernel" in block and nothing_is_compiled:
            nothing_is_compiled()
        exec(block, space)
        printed = capsys.readouterr().out.splitlines()
        for line, text in zip(printed, shown(block), strict=True):
            number = re.match(r"(\d+\.\d+)(:|$)", text)
            if number:
                digits = len(number.group(1).split(".")[1])
                assert f"{float(line):.{digits}f}" == number.group(1)
            else:
                assert line == text


@pytest.mark.usefixtures("nothing_is_compiled")
def test_the_page_on_the_command_is_true_of_the_table_of_the_guide():
    space: dict = {}
    exec(blocks("docs/guide/first-stream.md")[0], space)
    first, *_, writing = blocks("docs/guide/classification.md")
    exec(first + writing, {})
    for block in blocks("docs/command.md", "bash"):
        do(block)


def test_the_first_page_of_the_site_installs_and_shows_the_demo_as_the_readme_does():
    (command,) = blocks("README.md", "bash")[0].strip().splitlines()
    steps = command.replace(".venv/bin/", "").replace("-q ", "").split(" && ")
    (block,) = blocks("docs/index.md", "bash")
    lines = block.strip().splitlines()
    assert [line for line in lines if line != "source .venv/bin/activate"] == steps
    assert steps[-1] == "onlinear demo"
