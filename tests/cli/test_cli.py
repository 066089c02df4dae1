"""The command: the demo, compare, mistakes, and that all of it is documented."""

import io
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import typer
from places import ROOT
from typer.testing import CliRunner

import onlinear as ol
from onlinear._cli import demo as _demo
from onlinear._cli.app import app
from onlinear._cli.progress import meter
from onlinear._cli.run_figures import RunFigures
from onlinear._cli.source import Place, Source
from onlinear._numerics import native

runner = CliRunner()
PAGE = ROOT / "docs" / "command.md"


def losses(output):
    """Return the losses of a printed table by learner."""
    found = re.findall(r"^\s*(\w+\([^)]*\)(?:, raw)?)\s+([\d,.]+)\s", output, re.M)
    return {name: float(loss.replace(",", "")) for name, loss in found}


def test_the_demo_shows_learners_beside_the_best_in_hindsight_on_two_streams(tmp_path, capfd):
    report = tmp_path / "demo.html"
    result = runner.invoke(app, ["demo", "--rows", "3000", "--report", str(report)])
    assert result.exit_code == 0, result.output
    assert (result.stderr, capfd.readouterr().err) == ("", ""), "progress that is no terminal's"
    turning, brain = result.output.split("EEG recording")
    for table in (turning, brain):
        found = losses(table)
        for name in ("Auto()", "LASER(c=30, shrink=False)", "RLS(forgetting=0.9)", "NLMS()"):
            assert found[name] < 0.9 * found["Ridge()"]
        for words in ("best fixed, in hindsight", "best drifting, in", "ceiling"):
            assert words in table
    X, y = ol.streams.rotating(3000, 10, 0.5, seed=0)
    proof = ol.certificate(ol.LASER(c=30, shrink=False), X, y)
    assert losses(turning)["LASER(c=30, shrink=False)"] == pytest.approx(proof.loss[-1], rel=1e-3)
    assert f"{proof.ceiling[-1]:,.1f}" in turning or f"{proof.ceiling[-1]:,.0f}" in turning
    assert "EEG recording" in report.read_text()
    assert str(report) in result.output.replace("\n", "")


def test_without_the_recording_or_a_second_core_the_demo_does_what_it_can(monkeypatch, tmp_path):
    monkeypatch.setattr(_demo, "brain", lambda: None)
    monkeypatch.setattr(_demo, "usable_cores", lambda: 1)
    monkeypatch.chdir(tmp_path)
    result = runner.invoke(app, ["demo", "--rows", "500"])
    assert result.exit_code == 0, result.output
    assert "EEG recording" not in result.output
    assert "Auto()" in result.output
    assert (tmp_path / "onlinear-demo.html").exists()


def stream_file(path, rows=400):
    X, y = ol.streams.rotating(rows, 3, 1.0, seed=1)
    lines = (
        "a,b,c,y",
        *(
            ",".join(map(repr, [*x, label]))
            for x, label in zip(X.tolist(), y.tolist(), strict=True)
        ),
    )
    path.write_text("\n".join(lines) + "\n")
    return X, y


def test_compare_gives_the_losses_of_replays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = stream_file(tmp_path / "data.csv")
    result = runner.invoke(
        app, ["compare", "data.csv", "-t", "y", "--models", "auto,laser:c=10:shrink=false,nlms,egu"]
    )
    assert result.exit_code == 0, result.output
    models = {
        "Auto()": ol.Auto(),
        "LASER(c=10, shrink=False)": ol.Standardized(ol.LASER(c=10, shrink=False)),
        "NLMS(), raw": ol.NLMS(),
    }
    found = losses(result.output)
    for name, model in models.items():
        assert found[name] == pytest.approx(ol.replay(model, X, y).cumulative_loss[-1], rel=1e-3)
    best = ol.hindsight.best_fixed(np.column_stack([X, np.ones(len(X))]), y)[-1]
    assert re.search(rf"best fixed, in hindsight +{best:,.1f}", result.output)
    assert "EGU(), raw stopped: EGU needs x_i ≥ 0" in result.output
    assert "Learners compared" in (tmp_path / "onlinear-compare.html").read_text()


def test_compare_gives_learners_the_labels_before_the_row_and_no_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = stream_file(tmp_path / "data.csv")
    monkeypatch.setattr("onlinear._cli.record_splitter.BLOCK", 1500)  # many blocks
    options = ["data.csv", "-t", "y", "--models", "auto:lags=0,laser:lags=2", "-m", "ridge:lags=1"]
    result = runner.invoke(app, ["compare", *options])
    assert result.exit_code == 0, result.output
    twice = np.column_stack([X[1:], y[:-1], np.concatenate([y[:1], y[:-2]])])
    models = {
        r"LASER\(shrink=False\), 2 lags": (ol.LASER(shrink=False), twice),
        r"Ridge\(\), 1 lag": (ol.Ridge(), twice[:, :-1]),
    }
    for name, (model, rows) in models.items():
        loss = y[0] ** 2 + ol.replay(ol.Standardized(model), rows, y[1:]).cumulative_loss[-1]
        shown = re.search(rf"{name} +([\d,.]+)", result.output)[1].replace(",", "")
        assert float(shown) == pytest.approx(loss, rel=1e-3)
    words = " ".join(result.output.split())
    assert "Auto also uses the last labels" in words
    assert "marked with lags" in words


@pytest.mark.parametrize(
    ("models", "words"),
    [
        (["--models", "auto", "laser"], "laser is a learner, not a file; separate learners by "),
        (["--models", "auto,", "laser:c=10"], "by commas: --models auto,laser:c=10"),
        (["--model", "lazer"], "did you mean laser?"),
        (["--models", "ridge:lags=9"], "ridge:lags=9 needs a whole number 0 ≤ lags ≤ 8"),
        (["--models", "ridge:lags=x"], "got lags=x"),
    ],
)
def test_compare_says_how_to_name_learners(tmp_path, monkeypatch, models, words):
    monkeypatch.chdir(tmp_path)
    stream_file(tmp_path / "data.csv")
    result = runner.invoke(app, ["compare", "data.csv", "-t", "y", *models])
    assert result.exit_code == 2
    assert words in result.stderr


def test_compare_skips_and_refuses_as_run_does(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stream_file(tmp_path / "data.csv")
    with (tmp_path / "data.csv").open("a") as file:
        file.write("1,2,x,3\n1,2,3,\n")
    result = runner.invoke(app, ["compare", "data.csv", "-t", "y", "--models", "ridge"])
    assert result.exit_code == 1
    assert result.stderr.startswith("onlinear: row 400 has no number in column 'c': 'x'")
    options = ["--models", "ridge", "--on-bad", "skip", "--raw"]
    result = runner.invoke(app, ["compare", "data.csv", "-t", "y", *options])
    assert result.exit_code == 0, result.output
    assert "400 rows, 3 inputs, 1 bad rows left out" in " ".join(result.output.split())
    result = runner.invoke(app, ["compare", "data.csv", "-t", "y", "--report", "data.csv"])
    assert result.exit_code == 2
    assert "would overwrite the data" in result.stderr
    result = runner.invoke(app, ["compare", "data.csv", "-t", "y", "--models", "ridge:b"])
    assert result.exit_code == 2
    assert "write name=value" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["demo", "--rows", "5"], "Invalid value for '--rows'"),
        (["demo", "--rows", "100", "--report", "no/such/x.html"], "there is no folder no/such"),
        (["demo", "--degrees", "nan"], "finite degrees"),
        (["dance"], "No such command"),
        (["run"], "Missing argument 'DATA'"),
    ],
)
def test_a_mistake_is_answered_in_words_without_a_traceback(arguments, words):
    done = runner.invoke(app, arguments)
    assert isinstance(done.exception, SystemExit)
    assert done.exit_code == (1 if "onlinear: " in done.stderr else 2)
    assert words in re.sub(r"[│╭╮╰╯─\s]+", " ", done.stderr)


def test_so_is_it_by_a_process_of_its_own():
    done = subprocess.run(
        [sys.executable, "-m", "onlinear", "demo", "--degrees", "nan"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert re.fullmatch(r"onlinear: .*finite degrees.*\n", done.stderr)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_shows_that_a_learner_is_being_started_and_no_rate_before_it_is(
    tmp_path, monkeypatch
):
    stream_file(tmp_path / "data.csv")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with meter(Source((str(tmp_path / "data.csv"),)), "LASER") as advance:
        assert "starting LASER" in terminal.getvalue()
        assert ("compiled once" in terminal.getvalue()) == (not native.there())
        advance(Place(), RunFigures(unlabelled=1000))
        ended = time.monotonic() + 30
        while "1,000 rows" not in terminal.getvalue():  # until the bar is drawn again
            assert time.monotonic() < ended
            time.sleep(0.01)
        assert "a second" not in terminal.getvalue()
        advance(Place(), RunFigures(unlabelled=2000))
    assert re.search(r"2,000 rows, [\d,]+ a second", terminal.getvalue())


def test_a_command_explains_itself():
    assert runner.invoke(app, ["--version"]).output.strip() == f"onlinear {ol.__version__}"
    overview = runner.invoke(app, ["--help"]).output
    for name, command in typer.main.get_command(app).commands.items():
        assert name in overview
        assert command.help
        for option in command.params:
            assert option.help, f"{name} does not explain {option.name}"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_can_complete_commands(shell):
    environment = {"_ONLINEAR_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_TEST_DISABLE": "1"}
    environment |= {"COMP_WORDS": "onlinear in", "COMP_CWORD": "1"}
    environment |= {"_TYPER_COMPLETE_ARGS": "onlinear in"}
    environment |= {"_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    done = runner.invoke(app, [], env=environment, prog_name="onlinear")
    assert "inspect" in done.output


def test_every_command_and_option_is_documented():
    page = PAGE.read_text()
    for name, command in typer.main.get_command(app).commands.items():
        heading = f"\n## onlinear {name}\n"
        assert heading in page, f"docs/command.md has no section on {name}"
        section = page.split(heading)[1].split("\n## ")[0]
        for option in command.params:
            for flag in (*option.opts, *option.secondary_opts):
                if flag.startswith("--") and flag != "--help":
                    assert f"`{flag}" in section, f"docs/command.md does not speak of {name} {flag}"


@pytest.mark.parametrize("delay", [0.02, 0.05, 0.15, 0.3])
def test_ctrl_c_while_the_package_is_loaded_is_one_line(delay):
    command = "import onlinear_command as c; print(1, flush=True); c.main()"
    process = subprocess.Popen(
        [sys.executable, "-c", command, "run", "nowhere.csv", "-t", "y"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.readline()
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode in (1, 130)  # 1: it was faster
    assert len(said.splitlines()) == 1, said


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals to ignore")
def test_ctrl_c_that_the_shell_ignores_ends_nothing(tmp_path):
    rows = "".join(f"{i % 7},{i % 5}\n" for i in range(20_000))
    (tmp_path / "d.csv").write_text("a,y\n" + rows)
    command = "import onlinear_command as c; print(1, flush=True); c.main()"
    process = subprocess.Popen(
        [sys.executable, "-c", command, "run", tmp_path / "d.csv", "-t", "y", "-m", "laser"],
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),  # as by trap '' INT
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.readline()
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.02)
    said, wrong = process.communicate()
    assert process.returncode == 0, wrong
    assert "learnt 20,000" in said + wrong
