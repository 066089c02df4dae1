"""Parse the SGML files of Reuters-21578 into stories, in order of date."""

import csv
import gzip
import hashlib
import html
import re
import tarfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from onlinear.streams._published import DamagedDataError, damaged

__all__ = ["Story", "read_archive", "read_table"]

Story = tuple[str, frozenset[str]]  # title and body, topics

STORY = re.compile(r"<REUTERS[^>]*\bNEWID=\"(\d+)\"[^>]*>(.*?)</REUTERS>", re.DOTALL)
DATE = re.compile(r"<DATE>\s*(\d{1,2}-[A-Za-z]{3}-\d{4}\s+\d{1,2}:\d\d:\d\d)")
TAGS = re.compile(r"<[^>]*>")
CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


def read_archive(path: Path, sha256: str) -> list[Story]:
    """Return the stories of ``reuters21578.tar.gz`` that have a date and a text, sorted by date.

    The text of a story is its title and body, or all its text if it has no body.
    """
    with path.open("rb") as file:
        _check(path, hashlib.file_digest(file, "sha256").hexdigest(), sha256)
    found: list[tuple[datetime, int, Story]] = []
    with tarfile.open(path) as archive:
        for member in archive.getmembers():
            part = archive.extractfile(member) if member.name.endswith(".sgm") else None
            if part is not None:
                found.extend(_stories(part.read().decode("latin-1")))
    found.sort(key=lambda story: story[:2])
    return [story for _, _, story in found]


def _stories(text: str) -> Iterator[tuple[datetime, int, Story]]:
    for number, story in STORY.findall(text):
        date = DATE.search(story)
        title, body = (_plain(_part(story, tag)) for tag in ("TITLE", "BODY"))
        words = f"{title} {body}".strip() if body else _plain(_part(story, "TEXT"))
        if date is None or not words:
            continue
        when = datetime.strptime(" ".join(date[1].split()).title(), "%d-%b-%Y %H:%M:%S")
        topics = frozenset(re.findall("<D>(.*?)</D>", _part(story, "TOPICS")))
        yield when, int(number), (words, topics)


def _part(story: str, tag: str) -> str:
    """Return the text inside the first element with this tag, or an empty string."""
    found = re.search(rf"<{tag}\b[^>]*>(.*?)</{tag}>", story, re.DOTALL)
    return found[1] if found else ""


def _plain(part: str) -> str:
    """Return text without tags and control characters, with entities decoded and single spaces."""
    return " ".join(CONTROL.sub(" ", html.unescape(TAGS.sub(" ", part))).split())


def read_table(path: Path, sha256: str) -> list[Story]:
    """Return the stories in a table with columns title, body and topics; verify its checksum."""
    csv.field_size_limit(2**31 - 1)
    digest = hashlib.sha256()
    with damaged(path), gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
        for row in rows:
            digest.update("\x1f".join((row["title"], row["body"], row["topics"], "")).encode())
    _check(path, digest.hexdigest(), sha256)
    return [
        (f"{row['title']} {row['body']}", frozenset(filter(None, row["topics"].split("|"))))
        for row in rows
    ]


def _check(path: Path, digest: str, sha256: str) -> None:
    if digest != sha256:
        raise DamagedDataError(
            f"{path} is not the expected copy of Reuters-21578: SHA-256 {digest}, not {sha256}"
        )
