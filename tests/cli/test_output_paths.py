"""No output overwrites an input or another output, by whatever name the file is given."""

import os
import subprocess
from pathlib import Path

import pytest
from command import COMMAND, run
from typer.testing import CliRunner

import onlinear as ol
from onlinear._cli.app import app

posix = pytest.mark.skipif(os.name != "posix", reason="needs links and redirection of POSIX")
RUN = ["run", "data.csv", "-t", "y", "-m", "ridge"]


@pytest.fixture
def kept(data):
    """Return a folder with data, a model, and links to both; nothing in it may change."""
    run("data.csv", "-t", "y", "-m", "ridge", "--state", "m.onl")
    for link, file in {"hard.csv": "data.csv", "hard.onl": "m.onl"}.items():
        os.link(file, link)
    Path("soft.csv").symlink_to("data.csv")
    Path("soft.onl").symlink_to("m.onl")
    Path("dangling").symlink_to("new.csv")
    Path("folder").mkdir()
    Path("alias").symlink_to("folder")
    return data


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@posix
@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([*RUN, "-o", "hard.csv"], "--out hard.csv would overwrite the data, data.csv"),
        ([*RUN, "-o", "soft.csv"], "--out soft.csv would overwrite the data, data.csv"),
        ([*RUN, "-o", "folder/../data.csv"], "would overwrite the data, data.csv"),
        ([*RUN, "--report", "hard.csv"], "--report hard.csv would overwrite the data"),
        ([*RUN, "--state", "hard.csv", "--force"], "--state hard.csv would overwrite the data"),
        ([*RUN[:-1], "m.onl", "-o", "m.onl"], "--out m.onl would overwrite the model, m.onl"),
        ([*RUN[:-1], "m.onl", "-o", "hard.onl"], "would overwrite the model, m.onl"),
        ([*RUN[:-1], "soft.onl", "--report", "m.onl"], "would overwrite the model, soft.onl"),
        ([*RUN[:-1], "m.onl", "--state", "hard.onl", "-o", "m.onl", "--force"], "overwrite --"),
        ([*RUN, "-o", "new.csv", "--report", "dangling"], "dangling would overwrite --out"),
        ([*RUN, "-o", "folder/a", "--state", "alias/a"], "alias/a would overwrite --out"),
        (["compare", *RUN[1:4], "--report", "hard.csv"], "--report hard.csv would overwrite"),
        (["compare", *RUN[1:4], "--report", "soft.csv"], "--report soft.csv would overwrite"),
    ],
)
def test_an_output_that_is_an_input_or_another_output_is_refused(kept, args, words):
    before = contents(kept)
    done = CliRunner().invoke(app, args)
    assert done.exit_code == 2, done.output
    assert words in done.stderr
    assert contents(kept) == before


@posix
@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("run data.csv -t y -m ridge -o - >> data.csv", "standard output would overwrite the data"),
        ("run - -t y -m ridge -o data.csv < data.csv", "overwrite the data, standard input"),
        ("run data.csv -t y -m ridge --report log > log", "--report log would overwrite standard"),
        ("inspect m.onl >> m.onl", "standard output would overwrite the state, m.onl"),
    ],
)
def test_so_is_a_redirected_stream(kept, command, words):
    before = contents(kept)
    shell = " ".join(map(str, COMMAND)) + " " + command
    done = subprocess.run(shell, shell=True, capture_output=True, text=True)
    assert done.returncode == 2
    assert words in done.stderr
    assert {**contents(kept), "log": b""} == {**before, "log": b""}


@posix
def test_standard_output_by_its_path_is_standard_output(data):
    run("data.csv", "-t", "y", "-m", "ridge", "-o", "1.csv")
    shell = " ".join(COMMAND) + " run data.csv -t y -m ridge -o /dev/stdout > 2.csv"
    subprocess.run(shell, shell=True, check=True, capture_output=True)
    assert (data / "2.csv").read_bytes() == (data / "1.csv").read_bytes()


def test_a_model_may_be_saved_over_itself_and_devices_may_be_written_to(data):
    run("data.csv", "-t", "y", "-m", "ridge", "--state", "m.onl")
    run("data.csv", "-t", "y", "-m", "m.onl", "--state", "m.onl", "--force", "-o", os.devnull)
    assert ol.load("m.onl").rounds_ == 800


def test_the_demo_says_at_once_that_it_cannot_write(monkeypatch):
    monkeypatch.setattr("onlinear._cli.demo.run", lambda *_: pytest.fail("it ran first"))
    done = CliRunner().invoke(app, ["demo", "--report", "no/such/x.html"])
    assert done.exit_code == 1
    assert "there is no folder no/such" in done.stderr
