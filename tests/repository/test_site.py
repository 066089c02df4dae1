"""The site: a page for each algorithm, no page that cannot be found, no link that leads nowhere."""

import doctest
import pkgutil
import re
import sys
from itertools import chain
from pathlib import Path

import pytest
from places import ROOT

import onlinear as ol

pytest.importorskip("platformdirs", reason='the pages need it: pip install -e ".[docs]"')

sys.path.insert(0, str(ROOT / "docs" / "_hooks"))

from site_pages import api, figures, links, mathematics, pages

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
    for heading in ("Use", "Guarantee", "Source"):
        assert f"\n## {heading}\n" in text
    assert f"{name.lower()}-dark.svg" in text
    assert "As seen." in text
    assert f"\n::: onlinear.{name}\n" in text
    if name != "Standardized":
        assert "\n## Equations\n\n" in text
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
    assert re.search(r"\| drift \| \[`LASER`\]", text)


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


def test_figures_are_drawn_once_until_a_source_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(figures.platformdirs, "user_cache_path", lambda name: tmp_path / name)

    def drawn(cls):
        figures.drawing.cache_clear()
        figures._folder.cache_clear()
        return figures.drawing(cls)

    first, draws = drawn(ol.Ridge), []
    monkeypatch.setattr(figures, "_drawn", lambda cls: draws.append(cls) or first)
    assert drawn(ol.Ridge) == first
    assert draws == []
    assert drawn(Rises) == drawn(Rises) == first
    assert draws == [Rises, Rises]  # its source is not in the package
    (tmp_path / "changed.py").write_text("")
    monkeypatch.setattr(figures.scenes, "__file__", str(tmp_path / "changed.py"))
    assert drawn(ol.Ridge) == first
    assert draws == [Rises, Rises, ol.Ridge]
    figures.drawing.cache_clear()
    figures._folder.cache_clear()


@pytest.mark.parametrize("document", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", *WRITTEN])
def test_links_between_files_lead_somewhere(document):
    text = "".join(links.FENCE.split((ROOT / document).read_text())[::2])
    for path, anchor in LINK.findall(text):
        target = (ROOT / document).parent / path
        assert target.exists(), path
        if anchor and target.suffix == ".md":
            assert anchor[1:] in anchors(target.read_text()), (path, anchor)


@pytest.mark.parametrize("module", [links, mathematics])
def test_the_examples_of_the_hooks_are_true(module):
    assert doctest.testmod(module) == (0, 2)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("xᵀN_tx", "xᵀN<sub>t</sub>x"),
        ("Λ_i⁻¹ = i^(q−1) + 1", "Λ<sub>i</sub>⁻¹ = i<sup>q−1</sup> + 1"),
        ("w^±_i", "w<sup>±</sup><sub>i</sub>"),
        ("min_u(λ_max, Σ_ii)", "min<sub>u</sub>(λ<sub>max</sub>, Σ<sub>ii</sub>)"),
        ("‖u_t+1 − u_t‖", "‖u<sub>t+1</sub> − u<sub>t</sub>‖"),
        ("theorem_5, best_fixed, n_features_in_, regret_", None),
        ("<code>w_t</code>, <pre>w_t</pre>, <h3>w_t</h3>", None),
    ],
)
def test_mathematics_gets_its_scripts_and_names_stay(text, html):
    assert mathematics.typeset(text) == (html or text)


def test_a_block_of_equations_is_aligned_at_the_signs_and_a_block_of_text_stays():
    block = '<div class="language-text highlight"><pre><span></span><code>{}</code></pre></div>'
    shown = mathematics.typeset(
        block.format("ŷ   = xᵀw          χ &lt; 1,  w₀ = 0\nforward if ŷ ≥ 0\n")
    )
    assert re.findall(r"<td[^>]*>(.*?)</td>", shown) == [
        *("ŷ", "=", "xᵀw", "χ &lt; 1,&emsp;w₀ = 0"),
        "forward if ŷ ≥ 0",
    ]
    assert mathematics.typeset(block.format("a_b  = c\n")) == block.format("a_b  = c\n")


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
    made = {"changelog.md", "contributing.md", "algorithms/index.md", "api/index.md"}
    assert set(navigated(nav)) - made == {file.removeprefix("docs/") for file in WRITTEN}


def test_the_reference_has_every_public_module_and_says_what_each_name_is():
    modules = {module.name for module in pkgutil.iter_modules(ol.__path__)}
    public = {name for name in modules if not name.startswith("_")}
    assert set(api.MODULES) == public - {"algorithms"}  # whose names are in onlinear itself
    index = api.files()["api/index.md"]
    for module, names in api.public_names().items():
        for name in names:
            assert re.search(rf"^\| \[`{name}`\]\[.*?\] \| \S+ ", index, re.M), (module, name)


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
    for file, text in html.items():  # no mathematics is left as it was typed
        if "source" not in file.relative_to(tmp_path).parts:
            bare = re.sub(r"<(code|pre|script|style).*?</\1>|<[^>]*>", "", text, flags=re.S)
            assert re.search(r"\w[_^]\{.*", bare) is None, file
    links_of_index = re.compile(r'href="([^"]*)#(onlinear\.[\w.]+)"')
    entries = {
        path
        for file, path in links_of_index.findall(html[tmp_path / "api" / "index.html"])
        if f'id="{path}"' in html[(tmp_path / "api" / file).resolve()]
    }
    for module, names in api.public_names().items():
        for name in names:
            assert {f"{module}.{name}", f"onlinear.{name}"} & entries, f"{module}.{name}"
    laser = html[tmp_path / "algorithms" / "laser.html"]
    assert "xᵀw<sub>t−1</sub> / (1 + χ)</td>" in laser
    assert ">from_drift</span>" in laser
    assert 'id="onlinear.LASER.fit"' not in laser  # every learner has it:
    assert 'id="onlinear.Learner.fit"' in html[tmp_path / "api" / "learners.html"]
    assert "pytest" not in html[tmp_path / "index.html"]
