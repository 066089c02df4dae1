"""Values of parameters, what the classes may be, and messages about classes and labels."""

import re

import pyarrow as pa
import pyarrow.csv
import pytest
from command import lines_of, run, stream
from typer.testing import CliRunner

import onlinear as ol
from onlinear import losses
from onlinear._cli.app import app
from onlinear._cli.model_names import learner
from onlinear._cli.row_faults import quoted

X, NUMBERS = stream(400)
POSITIVE = NUMBERS > 0
TASK = ("-t", "y", "--task", "classify")


def labelled(path, negative, positive):
    """Write a file in which the label says whether a number is positive."""
    labels = [(negative, positive)[int(each)] for each in POSITIVE]
    rows = [",".join([*map(repr, x), y]) for x, y in zip(X.tolist(), labels, strict=True)]
    path.write_text("\n".join(["x0,x1,x2,y", *rows, ""]))


def compared(*args):
    result = CliRunner().invoke(app, ["compare", *args], terminal_width=200)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Return a folder with data.csv (numbers) and mails.csv (ham, spam), which is the present."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(lines_of(X, NUMBERS))
    labelled(tmp_path / "mails.csv", "ham", "spam")
    return tmp_path


# --- values of parameters ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [(".5", 0.5), ("5.", 5.0), ("+.5e1", 5.0), ("+5", 5), ("7", 7), ("1e3", 1000.0)],
)
def test_a_number_may_begin_or_end_with_its_point(text, value):
    found = learner("gd", [f"eta={text}"]).eta
    assert (found, type(found)) == (value, type(value))


def test_a_negative_number_may_begin_with_its_point(data):
    assert "got eta=-0.1" in run("data.csv", "-t", "y", "-m", "gd:eta=-.1", code=2)


def test_such_numbers_are_read_wherever_a_parameter_is_given(data):
    assert "LASER(c=0.5, " in run("data.csv", "-t", "y", "--model", "laser:c=.5")
    assert "Ridge(b=0.5)" in run("data.csv", "-t", "y", "-m", "ridge", "-p", "b=.5")
    assert learner("gd", ["loss=quantile(.9)"]).loss == losses.Quantile(0.9)
    assert "LASER(c=0.5, " in compared("data.csv", "-t", "y", "-m", "laser:c=.5,ridge")


def test_classes_are_no_parameter_of_the_command(data):
    said = run("mails.csv", *TASK, "-m", "logisticlaser:classes=ham", code=2)
    assert "has no parameter 'classes'; list the classes with the option --classes" in said


# --- which targets hold classes ---------------------------------------------------------------


def test_a_saved_classifier_needs_no_task(data):
    run("mails.csv", "-t", "y", "-m", "arow", "--state", "m.onl")
    run("mails.csv", "-t", "y", "-m", "m.onl", "-o", "out.csv")
    assert set(pa.csv.read_csv("out.csv")["label"].to_pylist()) == {"ham", "spam"}
    said = run("mails.csv", "-t", "y", "-m", "m.onl", "--task", "regress", code=2)
    assert "holds text such as 'spam', not numbers: if it holds classes, use --task cl" in said


def test_a_saved_classifier_keeps_a_class_whose_name_has_a_comma(data):
    labelled(data / "odd.csv", '"one, two"', "three")
    run("odd.csv", "-t", "y", "-m", "arow", "--state", "m.onl")
    run("odd.csv", "-t", "y", "-m", "m.onl", "-o", "out.csv")
    assert set(pa.csv.read_csv("out.csv")["label"].to_pylist()) == {"one, two", "three"}


def test_fractions_are_classes_unless_the_task_is_regression(data):
    labelled(data / "parts.csv", "0.25", "0.75")
    run("parts.csv", "-t", "y", "-m", "logisticlaser", "-o", "out.csv")
    assert set(pa.csv.read_csv("out.csv")["prediction"].to_pylist()) == {0.25, 0.75}
    run("parts.csv", "-t", "y", "-m", "logisticlaser", "--task", "regress", "-o", "soft.csv")
    model = ol.Standardized(ol.LogisticLASER(c=1000.0))
    soft = ol.replay(model, X, 0.25 + 0.5 * POSITIVE).predictions.tolist()
    assert pa.csv.read_csv("soft.csv")["prediction"].to_pylist() == soft


def test_classes_that_cannot_be_are_refused(data):
    for command in (["run", "mails.csv", *TASK], ["compare", "mails.csv", *TASK]):
        result = CliRunner().invoke(app, [*command, "--classes", ""])
        assert result.exit_code == 2
        assert "--classes is empty: list the classes" in result.output
    labelled(data / "dates.csv", "2024-01-01", "2024-01-02")
    said = run("dates.csv", *TASK, code=2)
    assert "holds times, but classes are text, true and false, or numbers" in said


def test_classes_that_differ_by_spaces_or_case_are_counted_in_a_warning(data):
    labelled(data / "spelt.csv", " Yes", "yes")
    said = run("spelt.csv", *TASK)
    yes = sum(POSITIVE)
    assert (
        "onlinear: warning: the target 'y' has classes that differ only by spaces or upper case: "
        f"' Yes' ({400 - yes} rows) and 'yes' ({yes} rows)\n"
    ) in said
    assert f"has a share of {max(yes, 400 - yes) / 400:.4g}" in said  # they remain two classes
    assert "warning" not in run("mails.csv", *TASK)


# --- messages about labels --------------------------------------------------------------------


def test_a_refused_label_names_the_learner_and_the_way_out(data):
    labelled(data / "codes.csv", "1", "2")
    hint = "(if the target holds classes, use --task classify)"
    for model, words in (
        ("arow", "onlinear: AROW needs labels −1 and 1, got y = "),
        ("logisticlaser", "onlinear: LogisticLASER needs labels from 0 to 1, got y = 2"),
        ("gd:loss=logistic", "onlinear: GD needs labels "),
    ):
        said = run("codes.csv", "-t", "y", "-m", model, "--task", "regress", code=1)
        assert words in said
        assert hint in said
        assert "accuracy" in run("codes.csv", *TASK, "-m", model)
    said = compared("codes.csv", "-t", "y", "--task", "regress", "-m", "ridge,logisticlaser")
    assert "stopped: LogisticLASER needs labels from 0 to 1" in " ".join(said.split())


def test_an_example_that_is_cut_is_closed(data):
    text = '"Go until jurong point, crazy.. Available"'
    labelled(data / "long.csv", text, text)
    said = run("long.csv", "-t", "y", code=2)
    found = re.search(r"such as ('.*?'),", said)[1]
    assert found == "'Go until jurong point, craz…'"
    assert quoted("\x1b" * 40, 30) == "'" + r"\x1b" * 6 + "…'"
    assert quoted([1.5] * 20, 12) == "[1.5, 1.5, …"


# --- the table of compare ---------------------------------------------------------------------


def test_mistakes_and_parameters_are_shown_as_whole_numbers(data):
    said = compared("mails.csv", *TASK, "-m", "logisticlaser,logisticlaser:c=100,arow")
    mistakes, log_loss = said.split("by log loss")
    rows = re.findall(r"\)\s+(\S+)\s+(\S+)\s+(\S+)", mistakes)
    assert len(rows) == 3
    for count, accuracy, over in rows:
        assert re.fullmatch(r"\d+", count)
        assert re.fullmatch(r"[+−]?\d+", over)
        assert float(accuracy) == pytest.approx(1 - int(count) / 400, abs=1e-4)
    assert "LogisticLASER(c=1000)" in mistakes
    assert "LogisticLASER(c=100)" in mistakes
    assert "." in re.search(r"\)\s+(\S+)", log_loss)[1]
