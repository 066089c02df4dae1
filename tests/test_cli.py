"""The command."""

import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import onlinear as ol
from onlinear.cli import app

runner = CliRunner()


def test_the_demo_prints_every_learner_beside_the_best_in_hindsight(tmp_path):
    picture = tmp_path / "demo.png"
    result = runner.invoke(
        app, ["demo", "--rows", "3000", "--picture", str(picture)], env={"COLUMNS": "120"}
    )
    assert result.exit_code == 0, result.output
    for name in ("LASER(c=30)", "RLS(forgetting=0.9)", "ARCOR(q=1.5)", "NLMS()", "Ridge()"):
        assert name in result.output
    assert "best fixed" in result.output
    assert "best drifting" in result.output
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert str(picture) in result.output.replace("\n", "")


def test_the_learners_for_drift_beat_ridge_in_the_demo():
    result = runner.invoke(app, ["demo", "--rows", "3000"], env={"COLUMNS": "120"})
    losses = {
        match[0].strip(): float(match[1].replace(",", ""))
        for match in re.findall(r"│ (\S[^│]*?\)) +│ +([\d,.]+) │", result.output)
    }
    assert losses["LASER(c=30, shrink=False)"] < 0.2 * losses["Ridge()"]
    assert len(losses) == 7


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["demo", "--rows", "5"], "Invalid value for '--rows'"),
        (["demo", "--picture", "no/such/folder/x.png"], "cannot write no/such/folder/x.png"),
        (["demo", "--picture", "x.xyz"], "Format 'xyz' is not supported"),
        (["demo", "--degrees", "nan"], "finite degrees"),
        (["dance"], "No such command"),
    ],
)
def test_a_mistake_is_answered_in_words_without_a_traceback(arguments, words):
    done = subprocess.run(
        [sys.executable, "-m", "onlinear", *arguments], capture_output=True, text=True
    )
    assert done.returncode != 0
    assert words in re.sub(r"[│╭╮╰╯─\s]+", " ", done.stderr)
    assert "Traceback" not in done.stderr


def test_there_is_no_progress_bar_in_a_pipe():
    done = subprocess.run(
        [sys.executable, "-m", "onlinear", "demo", "--rows", "500"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert done.stderr == ""


def test_version_and_help():
    assert runner.invoke(app, ["--version"]).output.strip() == f"onlinear {ol.__version__}"
    text = runner.invoke(app, ["--help"]).output
    assert "demo" in text
    for command in app.registered_commands:
        assert command.callback is not None
        assert command.callback.__doc__
