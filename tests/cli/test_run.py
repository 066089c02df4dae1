"""onlinear run: what it writes, and that nothing is lost however it ends."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import onlinear as ol
from onlinear._cli.app import app

COMMAND = [sys.executable, "-m", "onlinear"]
D = 3


def stream(rows, d=D, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, d))
    w = np.cumsum(rng.standard_normal((rows, d)) * 0.02, axis=0)
    return X, (X * w).sum(axis=1) + 0.1 * rng.standard_normal(rows)


def lines_of(X, y):
    header = ",".join([*(f"x{j}" for j in range(X.shape[1])), "y"])
    rows = (",".join(map(repr, row)) for row in np.column_stack([X, y]).tolist())
    return "\n".join([header, *rows, ""])


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Return a folder with data.csv in it, which is the present one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(lines_of(*stream(400)))
    return tmp_path


def run(*args, stdin=None, code=0):
    """Run the command here; return what it said."""
    result = CliRunner().invoke(app, ["run", *map(str, args)], input=stdin)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    if code:
        assert len(result.stderr.splitlines()) == 1, result.stderr
    return result.output


def spawn(*args, **options):
    return subprocess.Popen(
        [*COMMAND, "run", *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def pipe(text, *args, code=0):
    """Run the command on standard input; return what came out."""
    done = subprocess.run(
        [*COMMAND, "run", "-", *map(str, args)], input=text.encode(), capture_output=True
    )
    assert done.returncode == code, done.stderr
    return done.stdout.decode()


# --- predictions ------------------------------------------------------------------------------


def test_predictions_are_those_of_a_replay(data):
    X, y = stream(400)
    said = run("data.csv", "-t", "y", "-m", "laser", "-p", "c=10", "-o", "out.csv")
    table = pa.csv.read_csv("out.csv")
    replay = ol.replay(ol.LASER(c=10), X, y)
    assert table["row"].to_pylist() == list(range(400))
    assert table["prediction"].to_pylist() == replay.predictions.tolist()
    assert table["label"].to_pylist() == y.tolist()
    assert f"mean squared error {replay.cumulative_loss[-1] / 400:.6g}" in said


def test_every_way_in_gives_the_same_bytes(data):
    X, y = stream(400)
    text = (data / "data.csv").read_text()
    run("data.csv", "-t", "y", "-o", "out.csv")
    expected = (data / "out.csv").read_text()
    names = [f"x{j}" for j in range(D)]
    table = pa.table({**{n: X[:, j] for j, n in enumerate(names)}, "y": y})
    pa.parquet.write_table(table, "data.parquet", row_group_size=90)
    (data / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    header, *lines = text.splitlines(keepends=True)
    (data / "1.csv").write_text(header + "".join(lines[:150]))
    (data / "2.csv").write_text(header + "".join(lines[150:]))
    for paths in (["data.parquet"], ["data.jsonl"], ["1.csv", "2.csv"]):
        run(*paths, "-t", "y", "-o", "other.csv")
        assert (data / "other.csv").read_text() == expected
    assert pipe(text, "-t", "y") == expected


def test_a_row_without_a_label_is_predicted_only(data):
    X, y = stream(400)
    kept = np.random.default_rng(1).random(400) < 0.5
    labels = np.where(kept, y, np.nan)
    (data / "some.csv").write_text(lines_of(X, labels).replace("nan", ""))
    said = run("some.csv", "-t", "y", "-m", "laser", "-o", "out.csv")
    assert f"learnt {kept.sum()}, predicted only {400 - kept.sum()}, skipped 0" in said
    model = ol.LASER()
    expected = []
    for x, label in zip(X, labels, strict=True):
        expected.append(model.predict_one(x))
        if not np.isnan(label):
            model.learn_one(x, label)
    table = pa.csv.read_csv("out.csv")
    assert table["prediction"].to_pylist() == expected
    assert table["label"].null_count == 400 - kept.sum()


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_standard_input_is_answered_row_by_row(data, format):
    header, *lines = (data / "data.csv").read_text().splitlines(keepends=True)
    if format == "jsonl":
        names = header.strip().split(",")
        rows = [dict(zip(names, map(float, line.split(",")), strict=True)) for line in lines]
        header, lines = "", [json.dumps(row) + "\n" for row in rows]
    process = spawn("-", "-t", "y", "-m", "ridge", "--format", format, stdin=subprocess.PIPE)
    process.stdin.write(header.encode())
    for row, line in enumerate(lines[:5]):
        process.stdin.write(line.encode())
        process.stdin.flush()
        if row == 0:
            assert process.stdout.readline() == b"row,prediction,label\n"
        assert process.stdout.readline().startswith(b"%d," % row)  # before the next row is there
    process.stdin.close()
    assert process.wait() == 0
    process.stdout.close()
    process.stderr.close()


def test_bad_rows_are_skipped_and_counted_if_asked(data):
    X, y = stream(400)
    lines = lines_of(X, y).splitlines(keepends=True)
    lines[1 + 10] = "1,2\n"
    lines[1 + 20] = "1,abc,3,4\n"
    lines[1 + 30] = "1,,3,4\n"
    lines[1 + 40] = "1,2,3,inf\n"
    (data / "bad.csv").write_text("".join(lines))
    said = run("bad.csv", "-t", "y", "-m", "laser", "-o", "out.csv", "--on-bad", "skip")
    assert "learnt 396, predicted only 0, skipped 4" in said
    for words in (
        "skipped: another number of values than 4: 1 (row 10)",
        "skipped: no number in column 'x1': 1 (row 20)",
        "skipped: no value in column 'x1': 1 (row 30)",
        "skipped: infinity in column 'y': 1 (row 40)",
    ):
        assert words in said
    good = np.ones(400, dtype=bool)
    good[[10, 20, 30, 40]] = False
    predictions = np.array(pa.csv.read_csv("out.csv")["prediction"].to_numpy())
    expected = ol.replay(ol.LASER(), X[good], y[good]).predictions
    assert predictions[good].tolist() == expected.tolist()
    assert np.isnan(predictions[~good]).all()


def test_a_row_that_breaks_a_rule_of_the_learner_is_named(data):
    X, y = map(np.abs, stream(100))
    y[57] = -1.0
    (data / "rule.csv").write_text(lines_of(X * 0.1, y))
    said = run("rule.csv", "-t", "y", "-m", "egu", "-o", "out.csv", code=1)
    assert "in row 57" in said
    assert len((data / "out.csv").read_text().splitlines()) == 1 + 57


def test_categories_and_standardised_learners(data):
    X, y = stream(300)
    days = [("mon", "tue", "wed")[i % 3] for i in range(300)]
    ones = np.array([[day == name for name in ("mon", "tue", "wed")] for day in days], float)
    text = "x0,x1,x2,y,day\n" + "".join(
        ",".join(map(repr, [*x.tolist(), float(label)])) + f",{day}\n"
        for x, label, day in zip(X, y, days, strict=True)
    )
    (data / "days.csv").write_text(text)
    run("days.csv", "-t", "y", "--one-hot", "day", "-m", "laser", "--standardize", "-o", "out.csv")
    replay = ol.replay(ol.Standardized(ol.LASER()), np.hstack([X, ones]), y)
    assert pa.csv.read_csv("out.csv")["prediction"].to_pylist() == replay.predictions.tolist()


# --- state ------------------------------------------------------------------------------------


def test_the_state_is_the_model(data):
    X, y = stream(400)
    run("data.csv", "-t", "y", "-m", "laser", "--state", "model.onl")
    model = ol.load("model.onl")
    replayed = ol.LASER()
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
    assert "--drop is x0, and was x0, x2 when the run began" in said


def test_a_model_learns_on_from_a_file_in_another_stream(data):
    X, y = stream(400)
    run("data.csv", "-t", "y", "-m", "laser", "--state", "m.onl")
    (data / "next.csv").write_text(lines_of(*stream(50, seed=5)))
    run("next.csv", "-t", "y", "-m", "m.onl", "-o", "out.csv")
    model = ol.LASER()
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
    rows, kills = (60_000, 14) if model == "ridge" else (40_000, 6)
    X, y = stream(rows)
    labels = np.where(np.random.default_rng(2).random(rows) < 0.999, y, np.nan)
    text = lines_of(X, labels).replace("nan", "")
    (data / "data.csv").write_text(text)
    run("data.csv", "-t", "y", "-m", model, "-o", "whole.csv")
    expected = (data / "whole.csv").read_bytes()
    options = ["data.csv", "-t", "y", "-m", model, "-o", "out.csv", "--state", "m.onl"]
    options += ["--resume", "--snapshot-rows", "500"]
    rng, killed, reached = random.Random(model), 0, []
    while killed < kills:
        process = spawn(*options)
        size = (data / "out.csv").stat().st_size if (data / "out.csv").exists() else 0
        while process.poll() is None:  # wait until it writes, then a little more
            if (data / "out.csv").exists() and (data / "out.csv").stat().st_size != size:
                break
            time.sleep(0.001)
        time.sleep(rng.random() * 0.03)
        process.kill()
        process.communicate()
        if process.returncode == 0:  # it was done before: start over
            (data / "m.onl").unlink()
            continue
        killed += 1
        reached.append((data / "out.csv").stat().st_size)
    run(*options)
    assert (data / "out.csv").read_bytes() == expected
    assert len(set(reached)) > kills // 2  # they were killed in different places


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

    def full(path, content):
        written.append(path)
        if len(written) > 3:
            raise OSError(28, "No space left on device", str(path))
        write(path, content)

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
    assert joined == pipe("".join([header, *lines]), "-t", "y", "-m", "ridge")


def test_a_signal_in_the_middle_of_reading_ends_with_one_line(data):
    (data / "large.csv").write_text(lines_of(*stream(30_000)))
    for k, signum in enumerate([signal.SIGINT, signal.SIGTERM] * 3):
        process = spawn(
            "large.csv", "-t", "y", "-m", "ridge", "-o", f"{k}.csv", "--state", "m.onl", "--force"
        )
        while process.poll() is None and not (data / f"{k}.csv").exists():
            time.sleep(0.001)
        time.sleep(0.02 * k)
        process.send_signal(signum)
        _, said = process.communicate()
        assert process.returncode in (0, 128 + signum)  # it may have been done
        assert len(said.decode().splitlines()) == (process.returncode != 0), said


def test_what_was_read_from_a_pipe_is_learnt_before_a_signal_ends_the_run(data):
    header, *lines = lines_of(*stream(60_000)).splitlines(keepends=True)
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


# --- errors -----------------------------------------------------------------------------------


def test_a_malformed_row_ends_the_run_with_all_before_it_saved(data):
    lines = (data / "data.csv").read_text().splitlines(keepends=True)
    good = lines[1 + 123]
    lines[1 + 123] = "oops,1,2,3\n"
    (data / "data.csv").write_text("".join(lines))
    options = ("data.csv", "-t", "y", "-m", "ridge", "-o", "out.csv", "--state", "m.onl")
    said = run(*options, code=1)
    assert said == (
        "onlinear: row 123 has no number in column 'x0': 'oops' (--on-bad skip leaves such rows "
        "out); 123 rows are saved in m.onl: --resume continues from there\n"
    )
    lines[1 + 123] = good
    (data / "data.csv").write_text("".join(lines))
    run(*options, "--resume")
    run("data.csv", "-t", "y", "-m", "ridge", "-o", "whole.csv")
    assert (data / "out.csv").read_text() == (data / "whole.csv").read_text()


def test_the_report_of_a_run_that_was_interrupted_is_that_of_one_that_was_not(data):
    text = (data / "data.csv").read_text()
    run("data.csv", "-t", "y", "--report", "whole.html")
    lines = text.splitlines(keepends=True)
    for row in (50, 51, 300):
        broken = [*lines[: 1 + row], "oops\n", *lines[2 + row :]]
        (data / "data.csv").write_text("".join(broken))
        options = ("data.csv", "-t", "y", "--report", "r.html", "--state", "m.onl", "--resume")
        run(*options, code=1)
    (data / "data.csv").write_text(text)
    run(*options)
    assert (data / "r.html").read_text() == (data / "whole.html").read_text()
    said = run("data.csv", "-t", "y", "--report", "r.html", "-m", "m.onl", code=2)
    assert "--report needs a run from its first row" in said


def test_a_bad_row_without_a_label_is_no_label_of_zero(data):
    X, y = stream(300)
    text = lines_of(X, y + 1000)
    (data / "far.csv").write_text(text + "oops,1,2,\n")
    run("far.csv", "-t", "y", "-m", "ridge", "--report", "r.html", "--on-bad", "skip")
    assert "y: has 0" not in (data / "r.html").read_text()


def test_bad_rows_are_in_the_report_once(data):
    with (data / "data.csv").open("a") as file:
        file.write("1,2,oops,4\n1,2,,4\n")
    run("data.csv", "-t", "y", "--report", "r.html", "--on-bad", "skip")
    page = (data / "r.html").read_text()
    assert page.count("no number in column &#x27;x2&#x27;") == 1
    assert page.count("no value in column &#x27;x2&#x27;") == 1
    assert "not a finite number" not in page


def test_other_columns_files_and_settings_are_refused_when_going_on(data):
    options = ["data.csv", "-t", "y", "-m", "ridge", "-o", "out.csv", "--state", "m.onl"]
    run(*options)
    state, out = (data / "m.onl").read_bytes(), (data / "out.csv").read_bytes()
    text = (data / "data.csv").read_text()
    changes = [
        (text.replace("x1", "z1", 1), {}, 1, "not those the run began with: missing 'x1'"),
        (text.replace("x2,y", "x2,y,z", 1), {}, 1, "not those the run began with: new 'z'"),
        (text.replace(".1", ".2"), {}, 1, "data.csv is not what was read before the snapshot"),
        (text, {"y": "x1"}, 2, "--target is x1, and was y when the run began"),
        (text, {"ridge": "laser"}, 2, "--model is LASER(), and was Ridge() when the run began"),
        (text, {"out.csv": "o.csv"}, 2, "--out is o.csv, and was out.csv when the run began"),
    ]
    for content, changed, code, words in changes:
        (data / "data.csv").write_text(content)
        said = run(*(changed.get(option, option) for option in options), "--resume", code=code)
        assert words in said
        assert (data / "m.onl").read_bytes() == state
        assert (data / "out.csv").read_bytes() == out
    (data / "data.csv").write_text(text)
    (data / "out.csv").write_bytes(out[:50])
    assert "has 50 bytes, fewer than" in run(*options, "--resume", code=1)
    assert "--resume continues it, --force starts over" in run(*options, code=2)
    run(*options, "--force")
    assert (data / "out.csv").read_bytes() == out


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["nowhere.csv", "-t", "y"], 1, "there is no file nowhere.csv"),
        (["empty.csv", "-t", "y"], 1, "empty.csv is empty"),
        (["data.csv", "-t", "z"], 2, "--target z: there is no such column"),
        (["data.csv", "-t", "y", "-m", "lazer"], 2, "did you mean laser?"),
        (["data.csv", "-t", "y", "-m", "laser", "-p", "k=1"], 2, "LASER has on_bad, b, c"),
        (["data.csv", "-t", "y", "-m", "laser", "-p", "c=-1"], 2, "got c=-1"),
        (["data.csv", "-t", "y", "-m", "laser", "-p", "c"], 2, "write name=value"),
        (["data.csv", "-t", "y", "--resume"], 2, "--resume needs --state"),
        (["data.csv", "-t", "y", "-o", "p.parquet"], 2, "predictions are written as CSV"),
        (["data.csv", "-t", "y", "-o", "no/where.csv"], 1, "cannot write no/where.csv"),
        (["data.csv", "-t", "y", "-o", "data.csv"], 2, "would overwrite the data"),
        (["data.csv", "-t", "y", "-o", "a", "--state", "./a"], 2, "would overwrite --out"),
        (["data.csv", "-t", "y", "--report", "."], 1, "cannot write .: it is not an ordinary file"),
        (["data.csv", "-t", "y", "--report", "/proc/r.html"], 1, "/proc/r.html"),
        (["data.csv", "-t", "y", "--state", "no/m.onl"], 1, "cannot write no/m.onl"),
        (["header.csv", "-t", "y"], 1, "header.csv has no rows"),
    ],
)
def test_what_cannot_be_is_one_line_and_the_right_exit_code(data, args, code, words):
    (data / "empty.csv").write_text("")
    (data / "header.csv").write_text("x,y\n")
    assert words in run(*args, code=code)


def test_a_name_with_control_characters_does_nothing_to_a_terminal(data):
    text = (data / "data.csv").read_text().replace("x1", "x\x1b[31m")
    lines = text.splitlines(keepends=True)
    lines[5] = "1,,2,3\n"
    (data / "evil.csv").write_text("".join(lines))
    said = run("evil.csv", "-t", "y", code=1)
    assert "\x1b" not in said
    run("evil.csv", "-t", "y", "--on-bad", "skip", "--state", "m.onl")
    shown = CliRunner().invoke(app, ["inspect", "m.onl"])
    assert shown.exit_code == 0
    assert "\x1b[31m" not in shown.output
    assert "x\\x1b[31m" in shown.output


# --- inspect ----------------------------------------------------------------------------------


def test_inspect_says_what_a_state_file_holds(data):
    X, y = stream(400)
    run("data.csv", "-t", "y", "--state", "run.onl", "-o", "out.csv")
    ol.LASER(c=7.0).fit(X, y).save("laser.onl")
    watched = ol.Certified(ol.AAR())
    watched.replay(X, y)
    watched.save("watched.onl")
    ol.Bank([ol.AAR(), ol.LASER()]).save("bank.onl")
    for name, expected in {
        "run": ["Auto()", "400", "out.csv", "Recently, the relationship"],
        "laser": ["LASER(c=7.0)", "column 2"],
        "watched": ["certified learner", "AAR()", "certificate: loss"],
        "bank": ["bank"],
    }.items():
        result = CliRunner().invoke(app, ["inspect", f"{name}.onl"])
        assert result.exit_code == 0, result.output
        for words in expected:
            assert words in result.output
        assert json.loads(CliRunner().invoke(app, ["inspect", f"{name}.onl", "--json"]).output)
    (data / "laser.onl").write_bytes((data / "laser.onl").read_bytes()[:-1])
    result = CliRunner().invoke(app, ["inspect", "laser.onl"])
    assert result.exit_code == 1
    assert "truncated or altered" in result.stderr


def test_inspect_says_what_models_by_key_are_in_a_file(data):
    keyed = ol.Keyed(ol.Ridge())
    keyed.replay(["a", "b", "a"], [[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0])
    keyed.predict_one("c", [1.0], id=7)
    keyed.save("keyed.onl")
    found = json.loads(CliRunner().invoke(app, ["inspect", "keyed.onl", "--json"]).output)
    assert (found["holds"], found["model"]) == ("models by key", "Ridge()")
    assert (found["keys"], found["events"], found["late labels"]["waiting"]) == (2, 3, 1)
    assert "models by key" in CliRunner().invoke(app, ["inspect", "keyed.onl"]).output
