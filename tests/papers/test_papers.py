"""The figures and tables of the papers: the frame they are run in, their pages and the command."""

import functools
import html
import io
import json
import os
import re
import sys
import types

import numpy as np
import pytest
from threadpoolctl import threadpool_info
from typer.testing import CliRunner

from onlinear._cli import paper as command
from onlinear._cli.app import app
from onlinear._engine import progress
from onlinear._evaluation.html.page import Table
from onlinear.papers import NAMES, Claim, Outcome, Picture, Study, script
from onlinear.papers._harness import pages
from onlinear.papers._harness import pictures as _pictures
from onlinear.papers._harness.scripts import SECTIONS, known, words
from onlinear.streams import DataNotFoundError
from onlinear.streams._published import DamagedDataError


def invoke(*arguments):
    return CliRunner().invoke(app, ["paper", *map(str, arguments)])


def picture(caption="a line"):
    figure, axes = _pictures.new(1, 2)
    rounds = np.arange(1, 11)
    curves = np.array([rounds, rounds + 1.0, rounds + 2.0])
    _pictures.band(axes[0, 0], rounds, curves, "means", _pictures.LOOKS[0])
    _pictures.plain(axes[0, 0], "title", "round", "loss")
    return Picture(figure, caption)


def outcome(*holds, pictures=1, words="LASER <b>wins</b>"):
    claims = [Claim(f"claim-{k}", words, held, f"{k} & {k}") for k, held in enumerate(holds)]
    table = Table("Losses", ("learner", "loss"), [("LASER", "1.0")])
    return Outcome(
        claims, [picture() for _ in range(pictures)], [table], {"loss": np.float64(1)}, ["seen"]
    )


@pytest.fixture
def scripts(monkeypatch):
    """Let the command run what a test says, by name; everything else has no data."""
    runs = {}

    def fake(name):
        def missing(study):
            raise DataNotFoundError(f"no data for {name}")

        return types.SimpleNamespace(run=runs.get(name, missing))

    monkeypatch.setattr(command, "script", fake)
    monkeypatch.setattr(command, "usable_cores", lambda: 1)
    return runs


# --- scripts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_script_says_claim_protocol_and_reading(name):
    title, sections = words(script(name))
    assert "\n" not in title
    assert re.search(r"(Fig|Table|sec|Theorem)s? ", title), "which figure or table it is"
    assert tuple(sections) == SECTIONS
    assert all(len(text) > 100 for text in sections.values())


def test_a_name_may_have_dots():
    assert known("LASER_fig-7.1") == "laser-fig-7-1"
    with pytest.raises(ValueError, match="no figure or table 'laser-fig-9'; there are laser-fig-3"):
        script("laser-fig-9")


@pytest.mark.parametrize(
    ("holds", "verdict"),
    [((True, True), "reproduced"), ((True, False), "in part"), ((False,), "not reproduced")],
)
def test_the_verdict_is_whether_all_some_or_none_hold(holds, verdict):
    assert outcome(*holds).verdict == verdict


def test_only_the_papers_claims_count():
    held, failed = outcome(True).claims[0], outcome(False).claims[0]
    assert Outcome([held, failed._replace(ours=True)]).verdict == "reproduced"
    assert Outcome([failed, held._replace(ours=True)]).verdict == "not reproduced"
    assert Outcome([held, failed, held._replace(ours=True)]).count == (1, 2)


# --- a study ------------------------------------------------------------------------------------


def test_parameters_are_tuned_on_a_stream_of_its_own():
    study = Study(repeats=50, seed=3)
    assert list(study.seeds) == list(range(3, 53))
    assert study.tuning_seed not in study.seeds


@pytest.mark.parametrize("wrong", [{"repeats": 1}, {"seed": -1}, {"repeats": 2.5}])
def test_a_study_checks_what_it_is_given(wrong):
    (name, value), *_ = wrong.items()
    with pytest.raises(ValueError, match=rf"whole number .*{name}={value}"):
        Study(**wrong)


@pytest.fixture(scope="module")
def two_hands():
    """Return a study with two processes, which take a while to start, and what it tells."""
    told = []
    study = Study(advance=lambda done, of: told.append((done, of)))
    with study.hands(2):
        yield study, told


def test_work_is_the_same_in_order_by_one_or_two_processes(two_hands):
    study, told = two_hands
    told_alone = []
    alone = Study(advance=lambda done, of: told_alone.append((done, of)))
    told.clear()
    results = [each.map(functools.partial(pow, 3), range(5)) for each in (alone, study)]
    assert results == [[1, 3, 9, 27, 81]] * 2
    assert told_alone == told == [(k, 5) for k in range(1, 6)]
    assert os.getpid() in alone.map(process, range(5))
    assert os.getpid() not in study.map(process, range(5))


def process(_):
    return os.getpid()


def test_what_the_work_raises_is_raised_at_once(two_hands):
    for study in (Study(), two_hands[0]):
        with pytest.raises(TypeError, match="bad operand"):
            study.map(abs, [1, "two", 3])


def test_a_process_keeps_blas_to_one_thread(two_hands):
    (threads,) = two_hands[0].map(blas_threads, [0])
    assert threads
    assert set(threads) == {1}


def blas_threads(_):
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


def test_a_bar_of_the_whole_silences_those_of_its_parts(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress.hushed(), progress.bar("replay") as advance:
        advance(1, 2)
    assert sys.stderr.getvalue() == ""
    with progress.bar("replay") as advance:
        advance(1, 2)
    assert "replay" in sys.stderr.getvalue()


class Terminal(io.StringIO):
    """A terminal to write to."""

    def isatty(self):
        return True


def test_processes_end_with_the_context_however_it_ends():
    study, workers = Study(), []

    def interrupted():
        with study.hands(2):
            study.map(abs, [1])
            workers.extend(study._pool._processes.values())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert workers
    assert not any(worker.is_alive() for worker in workers)
    assert study._pool is None


# --- pictures and pages -------------------------------------------------------------------------


def test_a_band_is_the_mean_and_its_confidence():
    axes = picture().figure.axes[0]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), np.arange(2, 12))
    (area,) = axes.collections
    low, high = area.get_paths()[0].get_extents().intervaly
    assert low == pytest.approx(2 - 1.96 / np.sqrt(3), abs=1e-4)
    assert high == pytest.approx(11 + 1.96 / np.sqrt(3), abs=1e-4)


def test_a_picture_is_vectors_and_the_same_each_time():
    svg, pdf = (_pictures.drawn(picture().figure, form) for form in ("svg", "pdf"))
    assert svg.startswith(b"<?xml")
    assert b"<image" not in svg
    assert pdf.startswith(b"%PDF")
    assert svg == _pictures.drawn(picture().figure, "svg")
    assert pdf == _pictures.drawn(picture().figure, "pdf")


def test_curves_can_be_told_apart_without_colour():
    assert len({str(look.linestyle) + look.marker for look in _pictures.LOOKS}) == 7


def test_a_page_has_words_numbers_pictures_and_verdict(tmp_path):
    pages.write(tmp_path, "arcor-fig-2", outcome(True, False, pictures=2), Study(repeats=7))
    page = (tmp_path / "arcor-fig-2.html").read_text()
    title = html.escape(words(script("arcor-fig-2")).title)
    for text in (title, "In part. At most 7 repeats from seed 0", "LASER &lt;b&gt;wins&lt;/b&gt;"):
        assert text in page
    assert '<th scope="col" class="number">loss</th>' in page, "a heading stands over its numbers"
    headings = re.findall("<h2><bdi>(.*?)</bdi></h2>", page)
    assert headings == [
        *SECTIONS[:2],
        "Losses",
        "The verdict: in part",
        SECTIONS[2],
        "Further findings",
    ]
    assert page.count("data:image/svg+xml;base64,") == 2
    for file in ("arcor-fig-2-1.svg", "arcor-fig-2-2.pdf"):
        assert (tmp_path / file).stat().st_size
        assert f'href="{file}"' in page
    record = json.loads((tmp_path / "arcor-fig-2.json").read_text())
    assert record["numbers"] == {"loss": 1.0}
    assert [claim["holds"] for claim in record["claims"]] == [True, False]


def test_the_index_has_all_that_is_in_the_folder(tmp_path):
    pages.write(tmp_path, "arcor-fig-2", outcome(True), Study(repeats=7))
    pages.write(tmp_path, "laser-fig-7-1", outcome(False, pictures=2), Study(repeats=9))
    pages.write_not_run(tmp_path, "cirr-table-3", "no <network>")
    pages.write_not_run(tmp_path, "arcor-fig-2", "an earlier page stays")
    page = pages.write_index(tmp_path).read_text()
    assert page.count("data:image/svg+xml;base64,") == 3
    for text in ("reproduced", "not reproduced", "no &lt;network&gt;", "1 of 1", "0 of 1"):
        assert text in page
    assert "an earlier page stays" not in page
    order = [page.index(f'href="{name}.html"') for name in ("laser-fig-7-1", "arcor-fig-2")]
    assert order == sorted(order)
    for file in re.findall('href="([^"]*)"', page)[1:]:
        assert (tmp_path / file).exists(), file


def test_what_is_ours_stands_apart_from_what_the_paper_says(tmp_path):
    run = outcome(True, False)
    ours = run.claims[1]._replace(ours=True)
    mixed = Outcome([run.claims[0], ours], run.pictures, run.tables)
    pages.write(tmp_path, "arcor-fig-2", mixed, Study(repeats=7))
    page = (tmp_path / "arcor-fig-2.html").read_text()
    paper, beyond = page.index("The verdict: reproduced"), page.index("Beyond the paper")
    assert paper < page.index("0 &amp; 0") < beyond < page.index("1 &amp; 1")
    assert "1 of 1" in pages.write_index(tmp_path).read_text()


def test_the_index_does_without_what_was_taken_away_or_damaged(tmp_path):
    for name in ("arcor-fig-2", "laser-fig-7-1"):
        pages.write(tmp_path, name, outcome(True), Study(repeats=7))
    (tmp_path / "arcor-fig-2.svg").unlink()
    (tmp_path / "laser-fig-7-1.json").write_text("{")
    page = pages.write_index(tmp_path).read_text()
    assert "data:image" not in page
    assert "laser-fig-7-1.json is damaged" in page


# --- the command --------------------------------------------------------------------------------


def test_without_a_name_there_is_a_list():
    result = invoke()
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == list(NAMES)


def test_pages_are_written_and_verdicts_printed(scripts, tmp_path):
    seen = []
    scripts["laser-fig-7-1"] = lambda study: seen.append(study) or outcome(True, False)
    folder = tmp_path / "a" / "b"
    result = invoke("laser-fig-7.1", "--repeats", 5, "--seed", 2, "--quick", "--out", folder)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "laser-fig-7-1: in part (1 of 2 claims hold)",
        f"index: {folder / 'index.html'}",
    ]
    assert (seen[0].repeats, seen[0].seed, seen[0].quick, seen[0].download) == (5, 2, True, True)
    assert (folder / "laser-fig-7-1.html").exists()


def test_one_without_data_is_an_error_and_of_all_it_is_left_out(scripts, tmp_path):
    alone = invoke("cirr-table-3", "--out", tmp_path)
    assert alone.exit_code == 1
    assert "onlinear: no data for cirr-table-3" in alone.stderr
    scripts["laser-fig-3-1"] = lambda study: outcome(True)
    result = invoke("--all", "--offline", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "laser-fig-3-1: reproduced (1 of 1 claims hold)" in result.stdout
    assert result.stdout.count("not run") == len(NAMES) - 1
    assert (tmp_path / "index.html").read_text().count("no data for") == len(NAMES) - 1


def test_damaged_data_leave_out_what_needs_them(scripts, tmp_path):
    def damaged(study):
        raise DamagedDataError("friedman.csv.gz is damaged")

    scripts["cirr-table-2"] = damaged
    scripts["laser-fig-3-1"] = lambda study: outcome(True)
    result = invoke("cirr-table-2", "laser-fig-3-1", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[:2] == [
        "cirr-table-2: not run. friedman.csv.gz is damaged",
        "laser-fig-3-1: reproduced (1 of 1 claims hold)",
    ]
    alone = invoke("cirr-table-2", "--out", tmp_path)
    assert alone.exit_code == 1
    assert alone.stderr == "onlinear: friedman.csv.gz is damaged\n"


def test_a_process_that_is_killed_is_one_line(scripts, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "usable_cores", lambda: 2)
    scripts["arcor-fig-2"] = lambda study: study.map(os._exit, [9, 9])
    result = invoke("arcor-fig-2", "--out", tmp_path)
    assert result.exit_code == 1
    assert "arcor-fig-2: a worker process was killed (out of memory?)" in result.stderr


def test_a_run_that_is_stopped_leaves_the_pages_that_are_done(scripts, tmp_path):
    def stopped(study):
        raise KeyboardInterrupt

    scripts["laser-fig-3-1"] = lambda study: outcome(True)
    scripts["laser-table-4-1"] = stopped
    result = invoke("--all", "--out", tmp_path)
    assert result.exit_code == 130
    assert "laser-fig-3-1" in (tmp_path / "index.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["laser-fig-9"], "there is no figure or table 'laser-fig-9'; there are"),
        (["--all", "arcor-fig-2"], "use either --all or names, got --all and arcor-fig-2"),
        (["--all", "--repeats", "1"], "Invalid value for '--repeats'"),
    ],
)
def test_what_cannot_be_done_is_refused(arguments, message):
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_where_nothing_can_be_written_is_said(scripts, tmp_path):
    scripts["arcor-fig-2"] = lambda study: outcome(True)
    (tmp_path / "file").write_text("")
    result = invoke("arcor-fig-2", "--out", tmp_path / "file")
    assert result.exit_code == 1
    assert "file" in result.stderr
