"""Every release's state files are read and go on as they did; the learners predict what they did.

The files were written by tests/data/releases/write.py, once for each release.
"""

import csv
import json
import platform
import pydoc
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from table import CASES, IDS, make, manhattan

import onlinear as ol

TESTS = next(folder for folder in Path(__file__).resolve().parents if folder.name == "tests")
RELEASES = TESTS / "data" / "releases"
FOLDERS = sorted(path.parent for path in RELEASES.glob("*/expected.json"))
KNOWN = {folder: json.loads((folder / "predictions.json").read_text()) for folder in FOLDERS}
EXPECTED = {folder: json.loads((folder / "expected.json").read_text()) for folder in FOLDERS}
STREAM = ("X", "y", "later X", "later y")
TABLE = dict(zip(IDS, CASES, strict=True))

answer = runpy.run_path(str(RELEASES / "write.py"))["answer"]

# Bit for bit with glibc on x86-64; elsewhere exp, log and cos are those of another libm, whose last
# bit may differ. The kernel of the table's own takes NumPy's exp, which differs with the processor.
EXACT = platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc"
NEARLY = {name for name, (_, params) in TABLE.items() if params.get("kernel") is manhattan}

every_release = pytest.mark.parametrize(
    "folder", [pytest.param(folder, id=folder.name) for folder in FOLDERS]
)


def every(names):
    """Run a test on what each release has by these names."""
    pairs = [(folder, name) for folder in FOLDERS for name in names(folder)]
    params = [pytest.param(*pair, id=f"{pair[0].name}-{pair[1]}") for pair in pairs]
    return pytest.mark.parametrize(("folder", "name"), params)


def learners(folder):
    return [name for name in KNOWN[folder] if name not in STREAM]


def same(got, expected, exact=EXACT, of=""):
    """Refuse what differs; a dict may have more entries than it had."""
    if isinstance(expected, dict):
        for name, theirs in expected.items():
            same(got[name], theirs, exact, f"{of}[{name!r}]")
    elif isinstance(expected, list):
        assert len(got) == len(expected), of
        for i, (mine, theirs) in enumerate(zip(got, expected, strict=True)):
            same(mine, theirs, exact, f"{of}[{i}]")
    elif isinstance(expected, float) and not exact:
        assert got == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True), of
    else:
        assert repr(got) == repr(expected), of


def goes_on(model, folder, name):
    """Whether a learner that knows the stream predicts what comes after it as it did."""
    known, exact = KNOWN[folder], EXACT and name not in NEARLY
    X, y = known["later X"], known[name].get("later y", known["later y"])
    same(model.predict_one(X[0]), known[name]["next"], exact)
    same(ol.replay(model, X, y).predictions.tolist(), known[name]["later"], exact)
    return True


def test_a_release_is_here():
    assert "0.9" in [folder.name for folder in FOLDERS]


@every_release
def test_no_file_of_a_release_is_missing(folder):
    names = {*EXPECTED[folder], *(f"learner-{name}.onl" for name in learners(folder))}
    assert {path.name for path in folder.glob("*.onl")} == names


@every(lambda folder: [name for name in learners(folder) if name in TABLE])
def test_a_learner_predicts_from_scratch_what_it_did(folder, name):
    known, model = KNOWN[folder], make(TABLE[name])
    labels = known[name].get("y", known["y"])
    predictions = ol.replay(model, known["X"], labels).predictions.tolist()
    same(predictions, known[name]["predictions"], EXACT and name not in NEARLY)
    assert goes_on(model, folder, name)


@every(learners)
def test_a_learner_of_a_file_goes_on_as_it_did(folder, name):
    assert goes_on(ol.load(folder / f"learner-{name}.onl"), folder, name)


@every(lambda folder: EXPECTED[folder])
def test_what_a_file_holds_answers_as_it_did(folder, name):
    expected = EXPECTED[folder][name]
    if "onlinear.text" in expected["load"]:
        pytest.importorskip("sklearn")
    model = pydoc.locate(expected["load"])(folder / name)
    for *question, answered in expected["questions"]:
        same(answer(model, *question), answered, of=question)


@every_release
def test_the_command_resumes_a_run_of_a_release(folder, tmp_path):
    for name in ("run.onl", "stream.csv", "p.csv"):
        shutil.copy(folder / name, tmp_path)
    command = [sys.executable, "-m", "onlinear", *EXPECTED[folder]["run.onl"]["command"]]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    same(numbers(tmp_path / "p.csv"), numbers(folder / "p-whole.csv"))


def numbers(path):
    """Return the rows of a file of predictions, an empty field being None."""
    header, *rows = csv.reader(path.read_text().splitlines())
    return [header, *([float(field) if field else None for field in row] for row in rows)]
