"""Turn links between files of the repository, which work on GitHub, into links of the site.

A file of ``docs/``, the changelog and CONTRIBUTING.md are pages of the site; a link to the README
leads to the first page. A link to the source file of an algorithm leads to the page of the
algorithm. Any other file of the repository is shown as it is, on a page under ``source/``.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from posixpath import dirname, join, normpath, relpath

__all__ = ["MIRRORED", "ROOT", "Pages", "linked_files", "relinked", "slug", "source_page"]

ROOT = Path(__file__).parents[3]

Pages = dict[str, str]  # the page of each file of the repository that has one

MIRRORED: Pages = {  # files outside docs/ that are pages
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
}

FENCE = re.compile(r"(^ *```.*?^ *```)", re.M | re.S)
LINK = re.compile(r"(\[(?P<text>[^\]]*)\])\((?P<path>[^)\s#:]+)(?P<anchor>#[^)\s]*)?\)")


def slug(title: str, separator: str = "-") -> str:
    """Return the anchor of a heading, as GitHub makes it.

    >>> slug("Vaits & Crammer 2011: ARCOR")
    'vaits--crammer-2011-arcor'
    """
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", separator)


def _outside_code(markdown: str, change: Callable[[str], str]) -> str:
    parts = FENCE.split(markdown)
    return "".join(part if FENCE.match(part) else change(part) for part in parts)


def _target(match: re.Match[str], file: str) -> str:
    """Return the file of the repository that a link in ``file`` leads to."""
    return normpath(join(dirname(file), match["path"]))


def _page(file: str, pages: Pages) -> str:
    """Return the page that shows a file of the repository."""
    if file in pages:
        return pages[file]
    return file.removeprefix("docs/") if file.startswith("docs/") else f"source/{file}.md"


def linked_files(markdown: str, file: str, pages: Pages) -> Iterator[str]:
    """Yield the files outside ``docs/`` that ``file`` links to and that have no page yet."""
    for part in FENCE.split(markdown):
        if not FENCE.match(part):
            for match in LINK.finditer(part):
                target = _target(match, file)
                if _page(target, pages).startswith("source/") and (ROOT / target).is_file():
                    yield target


def relinked(markdown: str, file: str, page: str, pages: Pages) -> str:
    """Return the text of ``file``, which becomes ``page``, with links from page to page.

    >>> relinked("[a](docs/auto.md#units)", "CHANGELOG.md", "changelog.md", {})
    '[a](auto.md#units)'
    """

    def moved(match: re.Match[str]) -> str:
        target = _target(match, file)
        if match["path"].startswith("/") or not (ROOT / target).exists():
            return match[0]  # the build reports the broken link
        anchor, to = match["anchor"] or "", _page(target, pages)
        if test := re.fullmatch(r"`(test_\w+)`", match["text"]):
            anchor = f"#{test[1]}"
        if target == "README.md":
            anchor = ""  # the site's first page has other headings
        return f"{match[1]}({relpath(to, dirname(page) or '.')}{anchor})"

    return _outside_code(markdown, lambda part: LINK.sub(moved, part))


def source_page(file: str) -> str:
    """Return the page that shows a file of code, with a heading for each of its tests."""
    code = (ROOT / file).read_text()
    parts = re.split(r"^(?=(?:@.*\n)*def test_)", code, flags=re.M)
    blocks = []
    for part in parts:
        if test := re.search(r"^def (test_\w+)", part, re.M):
            blocks.append(f'## `{test[1]}` {{ id="{test[1]}" }}\n')
        blocks.append(f"````python\n{part.strip()}\n````\n")
    return "\n".join(["---\nsearch:\n  exclude: true\n---\n", f"# `{file}`\n", *blocks])
