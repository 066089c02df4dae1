"""The functions that MkDocs calls while it builds the site."""

import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from site_pages import api, figures, links, mathematics, pages

ROLE = re.compile(r":(?:attr|class|func|meth|mod):<code>~?([\w.]+)</code>")  # in docstrings
PAGES = {**links.MIRRORED, **pages.files()}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the generated pages to the navigation, and make anchors as GitHub does."""
    config.mdx_configs["toc"] = {**config.mdx_configs.get("toc", {}), "slugify": links.slug}
    assert config.nav is not None
    for entry in config.nav:
        if "Algorithms" in entry:
            entry["Algorithms"] = pages.navigation()
        if "API" in entry:
            entry["API"] = api.navigation()
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages and figures, and a page for each file that pages link to."""

    def add(uri: str, content: str) -> None:
        files.append(File.generated(config, uri, content=content))

    texts = {f"docs/{file.src_uri}": file.content_string for file in files.documentation_pages()}
    for file, uri in links.MIRRORED.items():
        texts[file] = (links.ROOT / file).read_text()
        if uri != "index.md":
            add(uri, texts[file])
    shown = set(PAGES) - set(links.MIRRORED) - {"src/onlinear/algorithms"}
    for file, text in texts.items():
        shown.update(links.linked_files(text, file, PAGES))
    for file in sorted(shown):
        add(f"source/{file}.md", links.source_page(file))
    for uri, text in api.files().items():
        add(uri, text)
    add("algorithms/index.md", pages.index_page())
    for name, cls in pages.algorithms().items():
        picture = figures.drawing(cls)
        add(f"algorithms/{name.lower()}.md", pages.page(name, picture.caption))
        for form, svg in picture.svg.items():
            add(f"algorithms/figures/{name.lower()}-{form}.svg", svg)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links between files of the repository into links between pages of the site."""
    uri = page.file.src_uri
    if uri == "index.md":
        page.meta["hide"] = ["navigation", "toc"]  # the first page uses the whole width
    if uri.startswith(("algorithms/", "api/", "source/")):
        return markdown
    mirrored = {page: file for file, page in links.MIRRORED.items() if page != "index.md"}
    return links.relinked(markdown, mirrored.get(uri, f"docs/{uri}"), uri, PAGES)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Typeset equations, and link the names that docstrings refer to with their entries."""
    if page.file.src_uri.startswith("source/"):
        return html
    return mathematics.typeset(ROLE.sub(_reference, html))


def _reference(role: re.Match[str]) -> str:
    path = role[1]
    name = path if "._" in path else path.removeprefix("onlinear.")
    return f'<autoref identifier="{path}" optional><code>{name}</code></autoref>'
