"""Write an HTML page on each reproduced figure or table, and an index of the pages."""

import json
from pathlib import Path
from typing import Any

from onlinear import __version__
from onlinear._evaluation.html.page import Drawing, Links, Page, Part, Table, Words
from onlinear._state_files.file_format import replace
from onlinear.papers._harness.outcome import Outcome
from onlinear.papers._harness.pictures import drawn
from onlinear.papers._harness.scripts import NAMES, SECTIONS, script, words
from onlinear.papers._harness.study import Study

__all__ = ["INDEX", "write", "write_index", "write_not_run"]

INDEX = "index.html"


def write(folder: Path, name: str, outcome: Outcome, study: Study) -> None:
    """Write the page on a figure or table, with files of its pictures and numbers, to a folder."""
    title, sections = words(script(name))
    drawings, files = [], {}
    for number, (figure, caption) in enumerate(outcome.pictures, 1):
        stem = name if len(outcome.pictures) == 1 else f"{name}-{number}"
        svg = drawn(figure, "svg")
        replace(folder / f"{stem}.svg", svg)
        replace(folder / f"{stem}.pdf", drawn(figure, "pdf"))
        drawings.append(Drawing("", caption, svg))
        files[stem] = caption
    claim, protocol, reading = (Words(heading, sections[heading]) for heading in SECTIONS)
    seen = [Words("Further findings", "\n\n".join(outcome.remarks))] if outcome.remarks else []
    links = Links("", [("all figures and tables", INDEX), *_files(name, files)[1:]])
    tables = [*outcome.tables, *_verdict(outcome)]
    parts: list[Part] = [claim, protocol, *drawings, *tables, reading, *seen, links]
    Page(title, f"{outcome.verdict.capitalize()}. {_setting(study)}", parts).write(
        folder / f"{name}.html"
    )
    record = {
        "verdict": outcome.verdict,
        "run": _setting(study),
        "claims": [{**claim._asdict(), "holds": bool(claim.holds)} for claim in outcome.claims],
        "numbers": {key: float(value) for key, value in outcome.numbers.items()},
        "remarks": list(outcome.remarks),
        "pictures": files,
    }
    _put(folder, name, record)


def write_not_run(folder: Path, name: str, why: str) -> None:
    """Write a file that says why a figure or table was not run, unless it has results already."""
    if not (folder / f"{name}.json").exists():
        _put(folder, name, {"verdict": "not run", "why": why})


def write_index(folder: Path) -> Path:
    """Write an index page with the verdicts and pictures of all results; return its path."""
    rows, parts = [], []
    for name in NAMES:
        record = _got(folder, name)
        if record is None:
            continue
        title = words(script(name)).title
        claims = [claim for claim in record.get("claims", []) if not claim["ours"]]
        held = f"{sum(claim['holds'] for claim in claims)} of {len(claims)}" if claims else ""
        rows.append((title, record["verdict"], held, record.get("run", "")))
        parts.extend(_shown(folder, name, f"{title}: {record['verdict']}", record))
    columns = ("figure or table", "verdict", "claims that hold", "run")
    path = folder / INDEX
    lead = "What each figure and table of the five papers claims, what was run, and what came out."
    table = Table("Verdicts", columns, rows, words=4)
    pages = [(name, f"{name}.html") for name in NAMES if (folder / f"{name}.html").exists()]
    Page("The five papers, run again", lead, [table, Links("Pages", pages), *parts]).write(path)
    return path


def _shown(folder: Path, name: str, heading: str, record: dict[str, Any]) -> list[Part]:
    """Return the section of the index on a figure or table."""
    if record["verdict"] == "not run":
        return [Words(heading, record["why"])]
    parts: list[Part] = [Links(heading, _files(name, record["pictures"]))]
    for stem, caption in record["pictures"].items():
        drawing = folder / f"{stem}.svg"
        if drawing.exists():  # the file may have been deleted
            parts.append(Drawing("", caption, drawing.read_bytes()))
    return parts


def _files(name: str, pictures: dict[str, str]) -> list[tuple[str, str]]:
    """Return links to the page, the numbers and the pictures of a figure or table."""
    drawings = [f"{stem}.{form}" for stem in pictures for form in ("svg", "pdf")]
    shown = ((drawing, drawing) for drawing in drawings)
    return [("page", f"{name}.html"), ("numbers", f"{name}.json"), *shown]


def _verdict(outcome: Outcome) -> list[Table]:
    """Return tables that say which claims hold: one on the paper's claims, and one on our own."""
    tables = []
    for heading, column, ours in (
        (f"The verdict: {outcome.verdict}", "what the paper says", False),
        ("Beyond the paper", "corrections and further questions", True),
    ):
        rows = [
            (claim.words, "holds" if claim.holds else "does not hold", claim.found)
            for claim in outcome.claims
            if claim.ours is ours
        ]
        if rows:
            tables.append(Table(heading, (column, "here", "what was found"), rows, words=3))
    return tables


def _setting(study: Study) -> str:
    quick = ", a quick run on less data, for which not all statements below are true" * study.quick
    return f"At most {study.repeats} repeats from seed {study.seed}{quick}, onlinear {__version__}"


def _put(folder: Path, name: str, record: dict[str, Any]) -> None:
    text = json.dumps({"name": name, **record}, indent=1, ensure_ascii=False)
    replace(folder / f"{name}.json", f"{text}\n".encode())


def _got(folder: Path, name: str) -> dict[str, Any] | None:
    """Return the results that a run wrote to the folder on a figure or table; None if none did."""
    try:
        record: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        return {"verdict": "not run", "why": f"{name}.json is damaged ({error}): run it again"}
    return record
