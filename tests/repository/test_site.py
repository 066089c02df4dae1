"""The site: a page for each algorithm, no page that cannot be found, no link that leads nowhere."""

import doctest
import re
import sys
from itertools import chain
from pathlib import Path

import pytest
from places import ROOT

import onlinear as ol

pytest.importorskip("docstring_parser", reason='the pages need it: pip install -e ".[docs]"')

sys.path.insert(0, str(ROOT / "docs" / "_hooks"))

from site_pages import figures, links, pages

NAMES = sorted([*ol.LEARNERS, "Standardized", *pages.algorithms().keys() & ol.Filter._classes])
WRITTEN = sorted(file.relative_to(ROOT).as_posix() for file in (ROOT / "docs").rglob("*.md"))
LINK = re.compile(r"\]\(([^)\s#:]+)(#[^)\s]*)?\)")


class Rises(ol.Learner):
    """A learner that the site has never heard of.

    Costs O(1) a round.
    """

    algorithm = ol.Ridge.algorithm

    def _params(self):
        return ol.Ridge()._params()


def anchors(markdown: str) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", links.FENCE.sub("", markdown), re.M)
    return {links.slug(title) for title in titles}


def navigated(entries: list) -> list[str]:
    values = chain.from_iterable(entry.values() for entry in entries)
    return list(
        chain.from_iterable(
            [value] if isinstance(value, str) else navigated(value) for value in values
        )
    )


def test_every_learner_and_filter_has_a_page():
    assert sorted(pages.algorithms()) == NAMES
    assert set(ol.filtering.__all__) - {"Filter", "FilterReplay", "filter_replay"} <= set(NAMES)
    listed = [f"algorithms/{name.lower()}.md" for name in NAMES]
    assert sorted(navigated(pages.navigation())) == sorted(["algorithms/index.md", *listed])


@pytest.mark.parametrize("name", NAMES)
def test_a_page_has_what_the_docstrings_say(name):
    text = pages.page(name, "As seen.")
    for heading in ("Use", "Example", "Guarantee", "Source"):
        assert f"\n## {heading}\n" in text
    assert f"{name.lower()}-dark.svg" in text
    assert "As seen." in text
    assert "*Cost:* " in text
    assert ">>> " in text
    assert not re.search(r":(mod|class|func|meth):", text)
    if name != "Standardized":
        assert "\n## Equations\n\n" in text
        assert re.search(r"```text\n\S", text), "equations as a block"
        assert "\n*Source:* " in text


@pytest.mark.parametrize("name", NAMES)
def test_the_page_on_guarantees_speaks_of_every_algorithm(name):
    found = pages.bounds(name)
    assert found
    known = anchors((ROOT / "docs" / "guarantees.md").read_text())
    assert {links.slug(bound.section) for bound in found} <= known


def test_the_list_has_every_algorithm_and_what_it_is_for():
    text = pages.index_page()
    assert [name for name in NAMES if f"[`{name}`]({name.lower()}.md)" not in text] == []
    assert re.search(r"a truth that drifts \| \[`LASER`\]", text)


def test_a_learner_that_is_new_gets_a_page_and_a_figure(monkeypatch):
    monkeypatch.setitem(ol.LEARNERS, "Rises", Rises)
    assert "[`Rises`](rises.md)" in pages.index_page()
    assert "algorithms/rises.md" in navigated(pages.navigation())
    picture = figures.drawing(Rises)
    assert "**Rises() " in picture.caption
    assert "There is no ceiling: no bound is known for Rises" in picture.caption


@pytest.mark.parametrize("name", ["LASER", "ARCOR", "RidgeFilter"])
def test_a_figure_comes_in_two_forms_and_its_caption_has_the_runs_numbers(name):
    svg, caption = figures.drawing(getattr(ol, name))
    for form, colours in figures.FORMS.items():
        assert colours[figures.INK] in svg[form]
        assert figures.INK not in svg[form]
        assert "fill: #ffffff" not in svg[form], "no background"
    if name == "LASER":
        X, y = ol.streams.rotating(2000, 6, 0.5)
        proof = ol.certificate(ol.LASER(c=30.0, shrink=False), X, y)
        assert f"shrink=False) {proof.loss[-1]:.4g}**" in caption
        assert f"ceiling is {proof.ceiling[-1]:.4g}" in caption


@pytest.mark.parametrize("document", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", *WRITTEN])
def test_links_between_files_lead_somewhere(document):
    text = "".join(links.FENCE.split((ROOT / document).read_text())[::2])
    for path, anchor in LINK.findall(text):
        target = (ROOT / document).parent / path
        assert target.exists(), path
        if anchor and target.suffix == ".md":
            assert anchor[1:] in anchors(target.read_text()), (path, anchor)


def test_the_examples_of_links_are_true():
    assert doctest.testmod(links) == (0, 2)


@pytest.mark.parametrize("document", [file for file in WRITTEN if "/guide/" in file])
def test_code_in_the_guide_fits_the_page(document):
    code = "".join(links.FENCE.split((ROOT / document).read_text())[1::2])
    assert [line for line in code.splitlines() if len(line) > 88] == []


@pytest.mark.parametrize("document", WRITTEN)
def test_links_between_pages_lead_somewhere(document):
    """In the site a file outside of docs/ is shown by a page of its own, or an algorithm's."""
    text, page = (ROOT / document).read_text(), document.removeprefix("docs/")
    known = {**links.MIRRORED, **pages.files()}
    made = {*known.values(), *(file.removeprefix("docs/") for file in WRITTEN)}
    made |= {f"source/{file}.md" for file in links.linked_files(text, document, known)}
    moved = "".join(links.FENCE.split(links.relinked(text, document, page, known))[::2])
    for path, _ in LINK.findall(moved):
        target = (Path("/site", page).parent / path).as_posix()
        resolved = links.normpath(target).removeprefix("/site/")
        assert resolved in made or (ROOT / "docs" / resolved).is_file(), path


def test_every_written_page_is_in_the_navigation():
    yaml = pytest.importorskip("yaml", reason="the navigation is YAML: pip install mkdocs-material")
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    made = {"changelog.md", "contributing.md", "algorithms/index.md"}
    assert set(navigated(nav)) - made == {file.removeprefix("docs/") for file in WRITTEN}


def test_the_site_is_built_without_a_warning_and_asks_nobody_else(tmp_path):
    build = pytest.importorskip(
        "mkdocs.commands.build", reason='the site needs MkDocs: pip install -e ".[docs]"'
    )
    from mkdocs.config import load_config

    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path), strict=True)
    config.plugins.on_startup(command="build", dirty=False)
    build.build(config)
    html = {file: file.read_text() for file in tmp_path.rglob("*.html")}
    assert len(list((tmp_path / "algorithms" / "figures").glob("*.svg"))) == 2 * len(NAMES)
    assert {f"algorithms/{name.lower()}.html" for name in NAMES} <= {
        file.relative_to(tmp_path).as_posix() for file in html
    }
    fetched = re.compile(r"<(?:script|img|iframe)[^>]* src=\"?https?:|<link[^>]* href=\"?https?:")
    assert [file.name for file, text in html.items() if fetched.search(text)] == []
