"""onlinear run: its predictions, its report, and what it refuses."""

import json
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from command import D, lines_of, pipe, run, spawn, stream
from typer.testing import CliRunner

import onlinear as ol
from onlinear._cli.app import app
from onlinear._state_files import file_format

# --- predictions ------------------------------------------------------------------------------


def test_predictions_are_those_of_a_replay(data):
    X, y = stream(400)
    said = run("data.csv", "-t", "y", "-m", "laser", "-p", "c=10", "-o", "out.csv")
    table = pa.csv.read_csv("out.csv")
    replay = ol.replay(ol.Standardized(ol.LASER(c=10, shrink=False)), X, y)
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
    said = run("some.csv", "-t", "y", "-m", "laser", "--raw", "-o", "out.csv")
    assert f"learnt {kept.sum()}, predicted only {400 - kept.sum()}, skipped 0" in said
    model = ol.LASER(shrink=False)
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


def test_the_summary_counts_bad_rows_of_more_kinds_than_it_lists(data):
    X, y = stream(400)
    lines = lines_of(X, y).splitlines(keepends=True)
    kinds = ["1,2\n", "a,2,3,4\n", "1,a,3,4\n", "1,2,a,4\n", "1,2,3,a\n", ",2,3,4\n", "1,,3,4\n"]
    for i, line in enumerate(kinds, start=1):
        lines[i] = line
    (data / "bad.csv").write_text("".join(lines))
    said = run("bad.csv", "-t", "y", "-m", "laser", "--raw", "--on-bad", "skip")
    counts = [
        int(line.rpartition(": ")[2].split(" (")[0])
        for line in said.splitlines()
        if line.startswith("skipped")
    ]
    assert len(counts) == 6
    assert sum(counts) == len(kinds)
    assert "skipped for 2 other reasons (listed by --report): 2" in said


def test_bad_rows_are_skipped_and_counted_if_asked(data):
    X, y = stream(400)
    lines = lines_of(X, y).splitlines(keepends=True)
    lines[1 + 10] = "1,2\n"
    lines[1 + 20] = "1,abc,3,4\n"
    lines[1 + 30] = "1,,3,4\n"
    lines[1 + 40] = "1,2,3,inf\n"
    (data / "bad.csv").write_text("".join(lines))
    said = run("bad.csv", "-t", "y", "-m", "laser", "--raw", "-o", "out.csv", "--on-bad", "skip")
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
    expected = ol.replay(ol.LASER(shrink=False), X[good], y[good]).predictions
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
    run("days.csv", "-t", "y", "--one-hot", "day", "-m", "laser:shrink=true", "-o", "out.csv")
    replay = ol.replay(ol.Standardized(ol.LASER()), np.hstack([X, ones]), y)
    assert pa.csv.read_csv("out.csv")["prediction"].to_pylist() == replay.predictions.tolist()


def test_run_and_compare_give_a_learner_the_same_columns_and_parameters(data):
    for spec, raw in (("laser", ()), ("laser:c=10", ()), ("ridge", ("--raw",)), ("nlms", ())):
        said = run("data.csv", "-t", "y", "-m", spec, *raw)
        relative = re.search(r"([\d.]+) times that of the running mean", said)[1]
        options = ["compare", "data.csv", "-t", "y", "-m", spec, *raw]
        shown = CliRunner().invoke(app, options).output
        assert re.search(rf" {relative} ", shown), (spec, relative, shown)


def test_a_run_that_an_earlier_release_began_is_gone_on_with(data):
    lines = (data / "data.csv").read_text().splitlines(keepends=True)
    (data / "data.csv").write_text("".join(lines[:200]))
    options = ("data.csv", "-t", "y", "-o", "out.csv", "--state", "m.onl")
    run(*options, "-m", "laser:shrink=true", "--raw")  # what "-m laser" meant before 0.11
    (data / "data.csv").write_text("".join(lines))
    run(*options, "-m", "laser", "--resume")
    expected = ol.replay(ol.LASER(), *stream(400)).predictions.tolist()
    assert pa.csv.read_csv("out.csv")["prediction"].to_pylist() == expected
    said = run(*options, "-m", "laser", "-p", "c=7", "--resume", code=2)
    assert "--model is Standardized(learner=LASER(c=7, shrink=False)), but was LASER()" in said


def jumping(rows):
    """Return a stream in which the weight of x1 jumps from 1 to 5 halfway."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, D))
    w = np.where(np.arange(rows) < rows // 2, 1.0, 5.0)
    return X, 2 * X[:, 0] + w * X[:, 1] + 0.1 * rng.standard_normal(rows)


@pytest.mark.parametrize("model", ["auto", "laser"])
def test_the_summary_says_which_weights_moved_and_when(data, model):
    text = lines_of(*jumping(3000))
    (data / "jump.csv").write_text(text)
    said = run("jump.csv", "-t", "y", "-m", model)
    moved = said[said.index("weights that moved most") :]
    found = re.search(
        r"^  x1: \+([\d.]+) in rows (\d+) to .*, \+([\d.]+) in rows ([\d,]+) to", moved, re.M
    )
    before, first, after, second = (float(number.replace(",", "")) for number in found.groups())
    assert (before, after) == (pytest.approx(1, abs=0.3), pytest.approx(5, abs=0.3))
    assert first < 1500 <= second
    assert moved.index("  x1: ") < moved.index("  x0: ")

    lines = text.splitlines(keepends=True)  # in pieces, and resumed: the same
    options = ("jump.csv", "-t", "y", "-m", model, "--state", "m.onl", "--snapshot-rows", "77")
    for rows in (1, 150, 2000, 3000):
        (data / "jump.csv").write_text("".join(lines[: 1 + rows]))
        again = run(*options, "--resume")
    assert moved.strip() in again
    report = run("jump.csv", "-t", "y", "-m", model, "--report", "r.html")
    assert "\n  x1: +" in report[report.index("weights that moved most") :]


def test_a_state_without_samples_of_the_weights_is_gone_on_with(data):
    options = ("data.csv", "-t", "y", "-m", "laser", "--state", "m.onl")
    run(*options)
    header, arrays = file_format.read("m.onl")
    del header["run"]["sampled"], arrays["run.weights"]  # as before 0.11
    file_format.write("m.onl", header, arrays)
    assert "moved" not in run(*options, "--resume")


def test_a_run_on_a_csv_loads_nothing_that_it_does_not_need(data):
    """Each of these would be a good part of the time of a run on a small file."""
    slow = "pandas", "pyarrow.compute", "pyarrow.parquet", "scipy", "matplotlib", "plotly", "rich"
    code = f"""if True:
        import sys
        from onlinear._cli.app import app
        app(["run", "data.csv", "-t", "y", "-o", "out.csv"], standalone_mode=False)
        print([name for name in {slow} if name in sys.modules])
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


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
        (text, {"y": "x1"}, 2, "--target is x1, but was y when the run began"),
        (text, {"ridge": "rls"}, 2, "RLS()), but was Standardized(learner=Ridge()) when the run"),
        (text, {"out.csv": "o.csv"}, 2, "--out is o.csv, but was out.csv when the run began"),
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
        (["data.csv", "-t", "z"], 2, "--target z: no such column"),
        (["data.csv", "-t", "y", "-m", "lazer"], 2, "did you mean laser?"),
        (
            ["data.csv", "-t", "y", "-m", "laser", "-p", "k=1"],
            2,
            "LASER has no parameter 'k'; it takes b, c",
        ),
        (["data.csv", "-t", "y", "-m", "rls", "-p", "forget=1"], 2, "did you mean forgetting?"),
        (["data.csv", "-t", "y", "-p", "on_bad=skip"], 2, "use --on-bad"),
        (["data.csv", "-t", "y", "-m", "laser:lags=2"], 2, "only onlinear compare gives past"),
        (["data.csv", "-t", "y", "-m", "auto", "laser"], 2, "onlinear compare takes several: --mo"),
        (
            ["data.csv", "-t", "y", "--models", "auto,laser"],
            2,
            "run takes one learner",
        ),
        (["data.csv", "-t", "y", "-m", "nlms", "--standardize"], 2, "needs a second-order learner"),
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
