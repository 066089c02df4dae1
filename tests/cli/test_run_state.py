"""onlinear run: the state is kept however a run ends, and the next run resumes from it."""

import json
import os
import random
import signal
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from command import COMMAND, Runs, lines_of, pipe, run, spawn, stream
from typer.testing import CliRunner

import onlinear as ol
from onlinear._cli.app import app

KILLS = int(os.environ.get("ONLINEAR_KILLS", "8"))  # of each run that is killed at random moments

resource = pytest.importorskip("resource", reason="needs signals and limits of POSIX")


def test_the_state_is_the_model(data):
    X, y = stream(400)
    run("data.csv", "-t", "y", "-m", "laser", "--state", "model.onl")
    model = ol.load("model.onl")
    replayed = ol.Standardized(ol.LASER(shrink=False))
    ol.replay(replayed, X, y)
    assert model.coef_.tolist() == replayed.coef_.tolist()
    assert list(model.feature_names_in_) == ["x0", "x1", "x2"]


def test_a_stream_that_has_grown_is_gone_on_with(data):
    whole = (data / "data.csv").read_text()
    run("data.csv", "-t", "y", "-o", "whole.csv")
    head = "".join(whole.splitlines(keepends=True)[:100])
    (data / "data.csv").write_text(head)
    options = ("data.csv", "-t", "y", "-o", "out.csv", "--state", "m.onl", "--resume")
    run(*options)
    (data / "data.csv").write_text(whole)
    run(*options)
    assert (data / "out.csv").read_text() == (data / "whole.csv").read_text()
    run(*options)  # nothing new
    assert (data / "out.csv").read_text() == (data / "whole.csv").read_text()


def test_columns_that_were_dropped_in_one_list_are_so_when_a_run_goes_on(data):
    options = ("data.csv", "-t", "y", "-m", "ridge", "--drop", "x0,x2", "--state", "m.onl")
    run(*options)
    run(*options, "--resume")
    assert list(ol.load("m.onl").feature_names_in_) == ["x1"]
    said = run(*options[:6], "x0", *options[7:], "--resume", code=2)
    assert "--drop is x0, but was x0, x2 when the run began" in said


def test_a_model_learns_on_from_a_file_in_another_stream(data):
    X, y = stream(400)
    run("data.csv", "-t", "y", "-m", "laser", "--raw", "--state", "m.onl")
    (data / "next.csv").write_text(lines_of(*stream(50, seed=5)))
    run("next.csv", "-t", "y", "-m", "m.onl", "-o", "out.csv")
    model = ol.LASER(shrink=False)
    ol.replay(model, X, y)
    expected = ol.replay(model, *stream(50, seed=5)).predictions
    assert pa.csv.read_csv("out.csv")["prediction"].to_pylist() == expected.tolist()
    other = (data / "next.csv").read_text().replace("x1", "z1")
    (data / "other.csv").write_text(other)
    assert "has learnt from the columns x0, x1, x2" in run(
        "other.csv", "-t", "y", "-m", "m.onl", code=1
    )


@pytest.mark.parametrize("model", ["ridge", "auto"])
def test_killed_at_random_moments_and_resumed_the_output_is_the_same(data, model):
    rows = 30_000
    X, y = stream(rows)
    labels = np.where(np.random.default_rng(2).random(rows) < 0.999, y, np.nan)
    text = lines_of(X, labels).replace("nan", "")
    (data / "data.csv").write_text(text)
    run("data.csv", "-t", "y", "-m", model, "-o", "whole.csv")
    expected = (data / "whole.csv").read_bytes()
    options = ["data.csv", "-t", "y", "-m", model, "-o", "out.csv", "--state", "m.onl"]
    options += ["--resume", "--snapshot-rows", "500"]
    rng, killed, reached = random.Random(model), 0, []
    places = KILLS // 2  # at least so many different ones: on a busy machine that takes more kills
    with Runs() as runs:
        while killed < KILLS or (len(set(reached)) <= places and killed < 5 * KILLS):
            wait = rng.random() * 0.03
            code, said = runs.interrupted(
                *options, signum=signal.SIGKILL, out=data / "out.csv", wait=wait
            )
            if code == 0:  # it was done before: start over
                (data / "m.onl").unlink()
                continue
            assert code == -signal.SIGKILL, said
            killed += 1
            reached.append((data / "out.csv").stat().st_size)
    run(*options)
    assert (data / "out.csv").read_bytes() == expected
    assert len(set(reached)) > places


def test_a_truncated_or_edited_state_is_refused(data):
    run("data.csv", "-t", "y", "-m", "ridge", "--state", "m.onl")
    whole = (data / "m.onl").read_bytes()
    for damaged in (whole[:-1], whole[: len(whole) // 2], b"", whole.replace(b"ridge", b"RIDGE")):
        edited = damaged if damaged != whole else whole.replace(b'"skipped": 0', b'"skipped": 1')
        (data / "m.onl").write_bytes(edited)
        said = run("data.csv", "-t", "y", "--state", "m.onl", "--resume", code=1)
        assert "m.onl is" in said
        assert (data / "m.onl").read_bytes() == edited


def small_disk(limit):
    """Return what makes files end at a size, as a full disk does."""

    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return limited


def test_a_full_disk_leaves_the_last_snapshot_and_the_run_goes_on_from_it(data):
    run("data.csv", "-t", "y", "-m", "ridge", "-o", "whole.csv")
    options = ["data.csv", "-t", "y", "-m", "ridge", "-o", "out.csv", "--state", "m.onl"]
    options += ["--resume", "--snapshot-rows", "50"]
    process = spawn(
        *options, preexec_fn=small_disk(8000), env={**os.environ, "NUMBA_CACHE_DIR": ""}
    )
    said = process.communicate()[1].decode()
    assert process.returncode == 1, said
    assert said.splitlines()[-1].startswith("onlinear: cannot write out.csv: File too large; ")
    assert ol.load("m.onl").rounds_ in range(50, 400, 50)
    run(*options)
    assert (data / "out.csv").read_bytes() == (data / "whole.csv").read_bytes()


def test_a_full_disk_keeps_the_snapshot_before(data, monkeypatch):
    from onlinear._state_files import file_format

    options = ["data.csv", "-t", "y", "-m", "ridge", "-o", "out.csv", "--state", "m.onl"]
    options += ["--snapshot-rows", "100"]
    write, written = file_format.replace, []

    def full(path, *content):
        written.append(path)
        if len(written) > 3:
            raise OSError(28, "No space left on device", str(path))
        write(path, *content)

    monkeypatch.setattr(file_format, "replace", full)
    said = run(*options, code=1)
    assert "cannot write m.onl: No space left on device; 200 rows are saved in m.onl" in said
    monkeypatch.undo()
    monkeypatch.chdir(data)
    assert ol.load("m.onl").rounds_ == 200
    run("data.csv", "-t", "y", "-m", "ridge", "-o", "whole.csv")
    run(*options, "--resume")
    assert (data / "out.csv").read_bytes() == (data / "whole.csv").read_bytes()


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_saves_and_a_run_goes_on(data, signum, code):
    header, *lines = (data / "data.csv").read_text().splitlines(keepends=True)
    options = ("-t", "y", "-m", "ridge", "--state", "m.onl", "--resume")
    process = spawn("-", *options, stdin=subprocess.PIPE)
    process.stdin.write((header + "".join(lines[:100])).encode())
    process.stdin.flush()
    out = [process.stdout.readline() for _ in range(101)]
    process.send_signal(signum)
    rest, said = process.communicate()
    assert process.returncode == code, said
    assert rest == b""
    assert said.decode() == (
        "onlinear: stopped; 100 rows are saved in m.onl: --resume continues from there\n"
    )
    joined = b"".join(out).decode() + pipe(header + "".join(lines[100:]), *options)
    run("data.csv", "-t", "y", "-m", "ridge", "-o", "whole.csv")
    assert joined == (data / "whole.csv").read_text()


def test_a_signal_in_the_middle_of_reading_ends_with_one_line(data):
    (data / "large.csv").write_text(lines_of(*stream(30_000)))
    options = ("large.csv", "-t", "y", "-m", "ridge", "--state", "m.onl", "--force")
    with Runs() as runs:
        for k, signum in enumerate([signal.SIGINT, signal.SIGTERM] * 3):
            out = data / f"{k}.csv"
            code, said = runs.interrupted(
                *options, "-o", out, signum=signum, out=out, wait=0.02 * k
            )
            assert code in (0, 128 + signum)  # it may have been done
            assert len(said.splitlines()) == (code != 0), said


def test_what_was_read_from_a_pipe_is_learnt_before_a_signal_ends_the_run(data):
    header, *lines = lines_of(*stream(20_000)).splitlines(keepends=True)
    process = spawn("-", "-t", "y", "--state", "m.onl", "-o", "out.csv", stdin=subprocess.PIPE)
    process.stdin.write(header.encode())
    sent, first = 0, True
    while process.poll() is None and sent < len(lines):
        try:
            process.stdin.write("".join(lines[sent : sent + 500]).encode())
            process.stdin.flush()
        except BrokenPipeError:
            break
        sent += 500
        if first and (data / "out.csv").exists() and (data / "out.csv").stat().st_size > 100:
            process.send_signal(signal.SIGINT)
            first = False
    process.stdin.close()
    process.wait()
    assert not first, "no signal was sent"
    assert process.returncode in (0, 130)
    rows = pa.csv.read_csv("out.csv")["row"].to_pylist()
    assert rows == list(range(len(rows)))
    assert ol.load("m.onl").rounds_ == len(rows) > 0
    process.stdout.close()
    process.stderr.close()


@pytest.mark.parametrize(("closed", "code"), [("2>&-", 0), ("2>&- >&-", 0), ("<&-", 0), (">&-", 0)])
def test_closed_streams_do_not_matter(data, closed, code):
    command = " ".join([*COMMAND, "run data.csv -t y -m ridge -o out.csv", closed])
    assert subprocess.run(["bash", "-c", command], capture_output=True).returncode == code
    assert len((data / "out.csv").read_text().splitlines()) == 401


def test_a_state_that_was_forged_is_refused_in_words(data):
    import hashlib

    run("data.csv", "-t", "y", "-m", "ridge", "--state", "m.onl", "--report", "r.html")
    magic, text, numbers = (data / "m.onl").read_bytes()[:-32].split(b"\n", 2)
    forgeries = [
        lambda h: h.update(run={}),
        lambda h: h.update(run=None),
        lambda h: h["run"].update(columns=None),
        lambda h: h["run"].update(place=[1, 0, 0, 400, 0]),
        lambda h: h["run"].update(place=[10**30, 0, 0, 400, 0]),
        lambda h: h["run"].update(place=[-1, 0, 0, 400, 0]),
        lambda h: h["run"].update(paths=""),
        lambda h: h["run"]["tally"].update(problems={"a": []}),
        lambda h: h["run"]["tally"].update(sums=[1e999, 0, 0, 0, 0]),
        lambda h: h["run"]["tally"].update(begun=None),
        lambda h: h["run"].update(bytes="many"),
        lambda h: h["run"]["story"].update(seen=7),
    ]
    for forge in forgeries:
        header = json.loads(text)
        forge(header)
        body = magic + b"\n" + json.dumps(header).encode() + b"\n" + numbers
        (data / "m.onl").write_bytes(body + hashlib.sha256(body).digest())
        run("data.csv", "-t", "y", "--state", "m.onl", "--report", "r.html", "--resume", code=1)
        shown = CliRunner().invoke(app, ["inspect", "m.onl"])
        assert shown.exception is None or isinstance(shown.exception, SystemExit), shown.exception


def test_a_compressed_or_columnar_file_that_has_changed_is_not_gone_on_with(data):
    import gzip

    for name, write in {
        "t.csv.gz": lambda X, y: (data / "t.csv.gz").write_bytes(
            gzip.compress(lines_of(X, y).encode())
        ),
        "t.parquet": lambda X, y: pa.parquet.write_table(
            pa.table({"x": X[:, 0], "y": y}), "t.parquet"
        ),
    }.items():
        write(*stream(100))
        options = (name, "-t", "y", "-m", "ridge", "--state", f"{name}.onl")
        run(*options)
        write(*stream(100, seed=1))
        assert "is not what was read before" in run(*options, "--resume", code=1)


def test_a_closed_pipe_ends_the_run_quietly_and_what_was_learnt_is_saved(data):
    header, *lines = (data / "data.csv").read_text().splitlines(keepends=True)
    process = spawn("-", "-t", "y", "-m", "ridge", "--state", "m.onl", stdin=subprocess.PIPE)
    process.stdin.write((header + lines[0]).encode())
    process.stdin.flush()
    assert process.stdout.readline() == b"row,prediction,label\n"
    process.stdout.readline()
    process.stdout.close()
    process.stdin.write("".join(lines[1:]).encode())
    process.stdin.close()
    assert process.wait() == 141
    assert process.stderr.read() == b""
    process.stderr.close()
    assert ol.load("m.onl").rounds_ == 400
