"""onlinear run and compare --task classify: labels of any type, probabilities, resumed runs."""

import json
import random
import re
import signal
import subprocess
import sys
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from command import Runs, pipe, run, spawn
from sklearn import metrics
from typer.testing import CliRunner

import onlinear as ol
from onlinear import losses
from onlinear._cli.app import app

GD = ("-m", "gd:loss=logistic", "-p", "eta=0.1")
TASK = ("-t", "y", "--task", "classify")
LOGISTIC = partial(ol.LogisticLASER, **{"c": 1000.0})  # as the command has it


def stream(rows=400, seed=0):
    """Return rows and whether each is spam."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 3))
    return X, rng.uniform(size=rows) < 1 / (1 + np.exp(-2 * X[:, 0]))


def lines_of(X, labels):
    rows = (
        ",".join([*map(repr, x), str(label)]) for x, label in zip(X.tolist(), labels, strict=True)
    )
    return "\n".join(["x0,x1,x2,y", *rows, ""])


def named(spam, classes=("ham", "spam")):
    return [classes[int(each)] for each in spam]


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Return a folder with mails.csv in it, which is the present one."""
    monkeypatch.chdir(tmp_path)
    X, spam = stream()
    (tmp_path / "mails.csv").write_text(lines_of(X, named(spam)))
    return tmp_path


def written(name="out.csv"):
    return pa.csv.read_csv(name).to_pydict()


# --- predictions ------------------------------------------------------------------------------


def test_classes_that_are_text_are_predicted_with_their_probability(data):
    X, spam = stream()
    said = run("mails.csv", *TASK, *GD, "-o", "out.csv")
    replay = ol.replay(ol.GD(eta=0.1, loss=losses.Logistic()), X, spam * 1.0)
    out = written()
    assert list(out) == ["row", "prediction", "P(spam)", "label"]
    assert out["P(spam)"] == replay.predictions.tolist()
    assert out["prediction"] == named(replay.predictions > 0.5)
    assert out["label"] == named(spam)
    accuracy = metrics.accuracy_score(out["label"], out["prediction"])
    loss = metrics.log_loss(spam, replay.predictions)
    assert f"accuracy {accuracy:.4g}, log loss {loss:.4g}, " in said
    late = slice(100, None)
    accuracy = metrics.accuracy_score(out["label"][late], out["prediction"][late])
    loss = metrics.log_loss(spam[late], replay.predictions[late])
    assert f"after the first 100 rows: accuracy {accuracy:.4g}, log loss {loss:.4g}" in said
    share = max(spam.mean(), 1 - spam.mean())
    most = named([spam.mean() > 0.5])[0]
    assert f"the most frequent class, {most}, has a share of {share:.4g}" in said
    before = np.cumsum(spam) - spam
    shares = (before + 0.5) / (np.arange(400) + 1)
    relative = metrics.log_loss(spam, replay.predictions) / metrics.log_loss(spam, shares)
    assert f"{relative:.4g} times that of predicting the shares so far" in said


def test_margins_are_written_as_margins(data):
    X, spam = stream()
    said = run("mails.csv", *TASK, "-m", "gd:loss=hinge", "-p", "eta=0.1", "-o", "out.csv")
    replay = ol.replay(ol.GD(eta=0.1, loss=losses.Hinge()), X, 2.0 * spam - 1)
    out = written()
    assert out["margin"] == replay.predictions.tolist()
    assert out["prediction"] == named(replay.predictions > 0)
    assert "log loss" not in said
    assert f"accuracy {replay.accuracy:.4g}\n" in said


LABELS = {
    "booleans": (("False", "True"), ("false", "true")),
    "numbers": (("2", "10.0"), ("2", "10")),
    "signs": (("-1", "1"), ("-1", "1")),
}


@pytest.mark.parametrize("kind", LABELS)
def test_classes_may_be_booleans_or_numbers(data, kind):
    X, spam = stream()
    given, names = LABELS[kind]
    (data / "other.csv").write_text(lines_of(X, named(spam, given)))
    run("mails.csv", *TASK, *GD, "-o", "out.csv")
    run("other.csv", *TASK, *GD, "-o", "other-out.csv")
    text = (data / "other-out.csv").read_text()
    expected = (data / "out.csv").read_text()
    for name, number in zip(("ham", "spam"), names, strict=True):
        expected = re.sub(rf"\b{name}\b", number, expected)
    assert text == expected


def test_every_way_in_gives_the_same_bytes(data):
    run("mails.csv", *TASK, *GD, "-o", "out.csv")
    expected = (data / "out.csv").read_text()
    text = (data / "mails.csv").read_text()
    table = pa.csv.read_csv("mails.csv")
    pa.parquet.write_table(table, "mails.parquet", row_group_size=90)
    labels = table["y"].combine_chunks().dictionary_encode()
    pa.parquet.write_table(table.set_column(3, "y", labels), "coded.parquet")
    (data / "mails.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    for path in ("mails.parquet", "coded.parquet", "mails.jsonl"):
        run(path, *TASK, *GD, "-o", "other.csv")
        assert (data / "other.csv").read_text() == expected
    assert pipe(text, *TASK, *GD, "--classes", "ham,spam") == expected


def test_the_order_of_the_classes_is_the_users(data):
    run("mails.csv", *TASK, *GD, "-o", "out.csv", "--classes", "spam,ham")
    run("mails.csv", *TASK, *GD, "-o", "sorted.csv")
    turned, plain = written(), written("sorted.csv")
    assert turned["prediction"][1:] == plain["prediction"][1:]  # the first is a tie
    np.testing.assert_allclose(turned["P(ham)"], 1 - np.array(plain["P(spam)"]), atol=1e-12)


def test_a_class_whose_name_needs_quotes_is_quoted(data):
    X, spam = stream()
    labels = named(spam, ('"one, two"', '"a ""b"""'))
    (data / "odd.csv").write_text(lines_of(X, labels))
    run("odd.csv", *TASK, *GD, "-o", "out.csv")
    out = written()
    assert list(out) == ["row", "prediction", "P(one, two)", "label"]
    assert set(out["label"]) == {"one, two", 'a "b"'}


def test_a_row_without_a_label_is_predicted_only(data):
    X, spam = stream()
    labels = named(spam)
    labels[10] = labels[200] = ""
    (data / "some.csv").write_text(lines_of(X, labels))
    said = run("some.csv", *TASK, *GD, "-o", "out.csv")
    assert "learnt 398, predicted only 2, skipped 0" in said
    out = written()
    assert out["label"][10] == ""
    assert out["prediction"][10] in ("ham", "spam")
    assert 0 < out["P(spam)"][200] < 1


def test_a_regression_with_another_loss_says_its_loss(data):
    X, spam = stream()
    (data / "numbers.csv").write_text(lines_of(X, X[:, 0] + spam))
    options = ("-t", "y", "-m", "gd:loss=quantile(0.9)", "-p", "eta=0.05")
    said = run("numbers.csv", *options, "-o", "out.csv", "--report", "r.html")
    model = ol.GD(eta=0.05, loss=losses.Quantile(0.9))
    replay = ol.replay(model, X, X[:, 0] + spam)
    assert f"mean loss by Quantile(tau=0.9) {replay.mean_loss:.6g}, " in said
    assert written()["prediction"] == replay.predictions.tolist()
    assert "squared loss" not in (data / "r.html").read_text()


# --- runs that are resumed --------------------------------------------------------------------


def test_killed_at_random_moments_and_resumed_the_output_is_the_same(data):
    X, spam = stream(30_000)
    (data / "mails.csv").write_text(lines_of(X, named(spam)))
    said = run("mails.csv", *TASK, *GD, "-o", "whole.csv")
    expected = (data / "whole.csv").read_bytes()
    options = ["mails.csv", *TASK, *GD, "-o", "out.csv", "--state", "m.onl"]
    options += ["--resume", "--snapshot-rows", "500"]
    rng, killed = random.Random(0), 0
    with Runs() as runs:
        while killed < 5:
            code, words = runs.interrupted(
                *options, signum=signal.SIGKILL, out=data / "out.csv", wait=rng.random() * 0.03
            )
            if code == 0:  # it was done before: start over
                (data / "m.onl").unlink()
                continue
            assert code == -signal.SIGKILL, words
            killed += 1
    again = run(*options)
    assert (data / "out.csv").read_bytes() == expected
    assert again.splitlines()[1:5] == said.splitlines()[1:5]


def test_the_report_of_a_resumed_run_is_that_of_one_that_was_not(data):
    text = (data / "mails.csv").read_text()
    run("mails.csv", *TASK, *GD, "--report", "whole.html")
    lines = text.splitlines(keepends=True)
    options = ("mails.csv", *TASK, *GD, "--report", "r.html", "--state", "m.onl", "--resume")
    for row in (50, 51, 300):
        broken = [*lines[: 1 + row], "oops\n", *lines[2 + row :]]
        (data / "mails.csv").write_text("".join(broken))
        run(*options, code=1)
    (data / "mails.csv").write_text(text)
    run(*options)
    assert (data / "r.html").read_text() == (data / "whole.html").read_text()


def test_a_run_keeps_its_task_and_classes(data):
    options = ("mails.csv", "-t", "y", "--state", "m.onl")
    run(*options, "--task", "classify", *GD)
    run(*options, "--resume")  # neither has to be repeated
    run(*options, "--resume", "--classes", "ham,spam")
    said = run(*options, "--resume", "--classes", "spam,ham", code=2)
    assert "--classes is spam, ham, but was ham, spam when the run began" in said
    said = run(*options, "--resume", "--task", "regress", code=2)
    assert "--task is regress, but was classify when the run began" in said


def test_a_class_that_comes_later_is_a_bad_row(data):
    options = ("mails.csv", *TASK, *GD, "--state", "m.onl", "-o", "out.csv")
    run(*options)
    with (data / "mails.csv").open("a") as file:
        file.write("1,2,3,eggs\n1,2,3,ham\n")
    said = run(*options, "--resume", code=1)
    assert said == (
        "onlinear: row 400 has none of the classes ham, spam (--classes lists them) in column 'y': "
        "'eggs' (--on-bad skip leaves such rows out); 400 rows are saved in m.onl: --resume "
        "continues from there\n"
    )
    said = run(*options, "--resume", "--on-bad", "skip")
    assert "learnt 401, predicted only 0, skipped 1" in said
    assert written()["prediction"][400] == ""


def test_standard_input_is_answered_row_by_row(data):
    process = spawn("-", *TASK, *GD, "--classes", "ham,spam", stdin=subprocess.PIPE)
    for line in (data / "mails.csv").read_text().splitlines(keepends=True)[:5]:
        process.stdin.write(line.encode())
        process.stdin.flush()
        if line.startswith("x0"):
            continue
        answer = process.stdout.readline()
        if answer.startswith(b"row"):
            assert answer == b"row,prediction,P(spam),label\n"
            answer = process.stdout.readline()
        assert answer.split(b",")[1] in (b"ham", b"spam")
    process.stdin.close()
    assert process.wait() == 0
    process.stdout.close()
    process.stderr.close()


# --- errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (
            ["mails.csv", "-t", "y"],
            2,
            "holds text such as 'ham', not numbers: if it holds classes,",
        ),
        (["mails.csv", *TASK, "-m", "auto"], 2, "needs a learner of classes, got Auto()"),
        (["mails.csv", *TASK, *GD, "--classes", "ham"], 2, "--classes ham: one class is too few"),
        (
            ["mails.csv", *TASK, *GD, "--classes", "ham,ham"],
            2,
            "each class must have a name of its",
        ),
        (
            ["mails.csv", *TASK, *GD, "--classes", "ham,egg"],
            1,
            "none of the classes ham, egg (--classes lists them) in column 'y': 'spam'",
        ),
        (
            ["mails.csv", "-t", "x0", "--task", "classify", *GD, "--drop", "y"],
            1,
            "than 100 classes",
        ),
        (["same.csv", *TASK, *GD], 2, "has only one class, 'ham': list all that may come"),
        (["three.csv", *TASK, *GD], 2, "the target has 3 (eggs, ham, spam): use"),
        (["mails.csv", "-t", "y", "--task", "regress", "--classes", "a,b"], 2, "--classes needs"),
        (["mails.csv", *TASK, "-m", "gd:loss=logistics"], 2, "did you mean logistic?"),
        (["mails.csv", *TASK, "-m", "gd:loss=huber(x)"], 2, "loss=huber(x): Huber needs"),
        (["truths.csv", *TASK, *GD, "--classes", "yes,no"], 2, "is true or false, not 'yes'"),
    ],
)
def test_what_cannot_be_is_one_line_and_the_right_exit_code(data, args, code, words):
    X, spam = stream()
    (data / "same.csv").write_text(lines_of(X, ["ham"] * 400))
    (data / "three.csv").write_text(lines_of(X, ["ham", "spam"] * 199 + ["eggs"] * 2))
    (data / "truths.csv").write_text(lines_of(X, spam))
    assert words in run(*args, code=code)


def test_the_classes_of_a_pipe_must_be_given(data):
    done = subprocess.run(
        [sys.executable, "-m", "onlinear", "run", "-", *TASK, *GD],
        input=(data / "mails.csv").read_bytes(),
        capture_output=True,
    )
    assert done.returncode == 2
    assert b"cannot be known before standard input ends: list them, --classes a,b" in done.stderr


# --- compare and inspect ----------------------------------------------------------------------


def test_compare_ranks_classifiers_by_mistakes_and_by_log_loss(data):
    X, spam = stream()
    models = "gd:loss=logistic,gd:loss=logistic:eta=0.1,gd:loss=hinge:eta=0.1"
    result = CliRunner().invoke(app, ["compare", "mails.csv", *TASK, "-m", models])
    assert result.exit_code == 0, result.output
    mistakes, log_loss = result.output.split("by log loss")
    for eta in (0.01, 0.1):
        name = r"GD\(eta=0\.1, loss=Logistic\(\)\)" if eta == 0.1 else r"GD\(loss=Logistic\(\)\)"
        replay = ol.replay(ol.GD(eta=eta, loss=losses.Logistic()), X, spam * 1.0)
        wrong = round(400 * (1 - replay.accuracy))
        found = re.search(rf"{name}, raw +([\d.]+) +([\d.]+)", mistakes)
        assert (float(found[1]), float(found[2])) == (
            wrong,
            pytest.approx(replay.accuracy, abs=1e-4),
        )
        found = re.search(rf"{name}, raw +([\d.]+) +([\d.]+)", log_loss)
        assert float(found[2]) == pytest.approx(replay.log_loss, rel=1e-3)
    assert "Hinge" in mistakes
    assert "Hinge" not in log_loss
    most = min(spam.sum(), 400 - spam.sum())
    assert (
        re.search(rf"most frequent class, in\s+hindsight +{most}\b", mistakes)
        or str(most) in mistakes
    )
    page = (data / "onlinear-compare.html").read_text()
    assert "Predicting y, by mistakes" in page


def test_inspect_shows_the_classes(data):
    run("mails.csv", *TASK, *GD, "--state", "m.onl")
    shown = json.loads(CliRunner().invoke(app, ["inspect", "m.onl", "--json"]).output)["run"]
    _, spam = stream()
    assert shown["classes"] == {"ham": 400 - spam.sum(), "spam": spam.sum()}
    assert 0.5 < shown["accuracy"] < 1
    assert 0 < shown["log loss"] < 0.7
    assert "run: classes: spam" in CliRunner().invoke(app, ["inspect", "m.onl"]).output


# --- classifiers ------------------------------------------------------------------------------


def three(rows=400):
    """Return rows in odd units, and one of three classes for each."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((rows, 3))
    places = (X + 0.3 * rng.standard_normal((rows, 3))).argmax(axis=1)
    return X * [1.0, 100.0, 0.01] + [0.0, 50.0, 0.0], places


@pytest.mark.parametrize("model", ["logisticlaser", "arow"])
def test_two_classes_are_predicted_by_a_standardized_classifier(data, model):
    X, spam = stream()
    said = run("mails.csv", "-t", "y", "-m", model, "-o", "out.csv", "--state", "m.onl")
    made = LOGISTIC() if model == "logisticlaser" else ol.AROW()
    replay = ol.replay(ol.Standardized(made), X, spam)
    out = written()
    assert out["P(spam)" if model == "logisticlaser" else "margin"] == replay.predictions.tolist()
    assert f"accuracy {replay.accuracy:.4g}" in said
    kept = ol.load("m.onl")
    assert kept.learner.classes == ("ham", "spam")


def test_the_default_is_logistic_regression_on_standardized_features(data):
    said = run("mails.csv", *TASK)
    assert said.startswith("Standardized(learner=LogisticLASER(c=1000.0, classes=")
    assert "(effect on the log-odds of y = spam of one standard deviation more):" in said


@pytest.mark.parametrize("raw", [(), ("--raw",)])
@pytest.mark.parametrize("model", ["logisticlaser:c=100", "arow"])
def test_several_classes_have_a_probability_or_margin_each(data, model, raw):
    X, places = three()
    names = ("ant", "bee", "cat")
    labels = [names[place] for place in places]
    (data / "three.csv").write_text(lines_of(X, labels))
    said = run("three.csv", *TASK, "-m", model, *raw, "-o", "out.csv")
    probable = model.startswith("logistic")
    made = LOGISTIC(c=100.0) if probable else ol.AROW()
    made.classes = names
    replay = ol.replay(made if raw else ol.Standardized(made), X, labels, engine="rank-one")
    out = written()
    word = "P" if probable else "margin"
    assert list(out) == ["row", "prediction", *(f"{word}({name})" for name in names), "label"]
    scores = np.column_stack([out[f"{word}({name})"] for name in names])
    assert scores.tolist() == replay.predictions.tolist()
    assert out["prediction"] == [names[k] for k in scores.argmax(axis=1)]
    assert f"accuracy {metrics.accuracy_score(labels, out['prediction']):.4g}" in said
    if probable:
        loss = metrics.log_loss(labels, scores, labels=names)
        assert f"log loss {loss:.4g}, " in said
        counts = np.cumsum(places[:, None] == np.arange(3), axis=0) - (
            places[:, None] == np.arange(3)
        )
        shares = (counts + 1 / 3) / (np.arange(400)[:, None] + 1)
        relative = loss / metrics.log_loss(labels, shares, labels=names)
        assert f"{relative:.4g} times that of predicting the shares so far" in said
    most = max(names, key=labels.count)
    assert f"the most frequent class, {most}, has a share of {labels.count(most) / 400:.4g}" in said


def test_a_run_of_several_classes_that_is_resumed_gives_the_same_bytes(data):
    X, places = three()
    lines = lines_of(X, places).splitlines(keepends=True)
    (data / "three.csv").write_text("".join(lines))
    said = run("three.csv", *TASK, "-o", "whole.csv", "--classes", "2,0,1")
    options = ("three.csv", *TASK, "--classes", "2,0,1", "-o", "out.csv", "--state", "m.onl")
    for rows in (1, 120, 121, 400):
        (data / "three.csv").write_text("".join(lines[: 1 + rows]))
        again = run(*options, "--resume")
    assert (data / "out.csv").read_bytes() == (data / "whole.csv").read_bytes()
    assert again.splitlines()[1:5] == said.splitlines()[1:5]
    assert ol.load("m.onl").learner.classes == (2, 0, 1)
    shown = json.loads(CliRunner().invoke(app, ["inspect", "m.onl", "--json"]).output)
    assert shown["run"]["classes"] == {str(k): int(np.sum(places == k)) for k in (2, 0, 1)}
    said = run(*options[:-2], "--report", "r.html", code=2)
    assert "--report needs a target of numbers or of two classes" in said


def test_a_model_goes_on_with_the_classes_it_has_learnt(data):
    X, _ = stream()
    run("mails.csv", *TASK, "--state", "m.onl")
    (data / "next.csv").write_text(lines_of(X[:50], ["spam"] * 50))
    run("next.csv", "-t", "y", "-m", "m.onl", "--task", "classify", "-o", "out.csv")
    assert set(written()["label"]) == {"spam"}
    words = "has learnt the classes ham, spam, not eggs, spam"
    said = run("next.csv", *TASK, "-m", "m.onl", "--classes", "eggs,spam", code=1)
    assert words in said


def test_compare_knows_several_classes_and_labels_before_the_row(data):
    X, places = three()
    (data / "three.csv").write_text(lines_of(X, places))
    result = CliRunner().invoke(app, ["compare", "three.csv", *TASK, "-m", "logisticlaser,arow"])
    assert result.exit_code == 0, result.output
    made = ol.Standardized(LOGISTIC(classes=(0, 1, 2)))
    replay = ol.replay(made, X, places, engine="rank-one")
    mistakes, log_loss = result.output.split("by log loss")
    assert f"{round(400 * (1 - replay.accuracy))}" in mistakes
    assert f"{replay.log_loss:.4f}"[:5] in log_loss
    result = CliRunner().invoke(app, ["compare", "mails.csv", *TASK])
    assert result.exit_code == 0, result.output
    assert "1 lag" in result.output
    assert "AROW(margin=0)" in result.output
    result = CliRunner().invoke(app, ["warm", "arow", "logisticlaser"])
    assert result.exit_code == 0, result.output
