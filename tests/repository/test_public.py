"""The public surface: what is exported, documented and typed."""

import inspect
import re
import tomllib
from pathlib import Path

import pytest
from places import ROOT

import onlinear as ol
from onlinear import algorithms

FILES = sorted(Path(algorithms.__file__).parent.glob("[a-z]*.py"))


def test_all_is_the_public_names():
    public = {name for name in vars(ol) if not name.startswith("_")}
    by_their_own_import = {
        "algorithms",
        "papers",
        "river",
        "spark",
        "text",
    }  # or by other tests
    assert set(ol.__all__) == public - by_their_own_import
    assert len(ol.__all__) == len(set(ol.__all__))


def test_learners_maps_every_public_name_to_its_class():
    classes = {
        name: value
        for name, value in vars(ol).items()
        if inspect.isclass(value) and issubclass(value, ol.Learner) and value is not ol.Learner
    }
    assert classes == {**ol.LEARNERS, "Standardized": ol.Standardized}  # that one needs another
    assert all(learner.__name__ == name for name, learner in ol.LEARNERS.items())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_is_an_algorithm_with_equations_citation_and_class(file):
    text = file.read_text()
    docstring = text.split('"""')[1]
    assert "ŷ" in docstring or "w_t" in docstring, "the equations"
    assert re.search(r"(19|20)\d\d|thesis|Table|Algorithm|Theory", docstring), "the citation"
    assert file.stem.upper() in {name.upper() for name in ol.LEARNERS}
    assert re.search(r"^def init\(", text, re.M)
    assert re.search(r"^def step\(", text, re.M)


@pytest.mark.parametrize("name", sorted(ol.LEARNERS))
def test_a_learner_documents_every_parameter_its_cost_and_an_example(name):
    learner = ol.LEARNERS[name]
    docstring = inspect.getdoc(learner)
    for parameter in inspect.signature(learner).parameters:
        assert re.search(rf"^{parameter} : ", docstring, re.M), parameter
    assert "Examples\n--------" in docstring
    assert re.search(r"Costs?\s(O\(|a Cholesky)", docstring)


@pytest.mark.parametrize("name", sorted(ol.Filter._classes))
def test_a_filter_documents_every_parameter_its_cost_and_an_example(name):
    documented = inspect.getdoc(getattr(ol, name))
    for parameter in inspect.signature(getattr(ol, name)).parameters:
        assert re.search(rf"^{parameter} : ", documented, re.M), parameter
    assert "Examples\n--------" in documented
    assert re.search(r"Costs? ", documented)


@pytest.mark.parametrize("kernel", [ol.kernels.Linear, ol.kernels.Polynomial, ol.kernels.RBF])
def test_a_kernel_documents_every_parameter_and_an_example(kernel):
    documented = inspect.getdoc(kernel)
    for parameter in inspect.signature(kernel).parameters:
        assert re.search(rf"^{parameter} : ", documented, re.M), parameter
    assert ">>> " in documented


def test_the_page_of_learners_names_every_filter():
    page = (ROOT / "docs" / "learners.md").read_text()
    assert [name for name in ol.Filter._classes if f"`{name}`" not in page] == []


def test_state_and_parameter_tuples_have_names_of_their_own():
    """Two NamedTuples of one name fall into a slow path of the compiler, silently."""
    names = [
        match
        for file in Path(ol.__file__).parent.rglob("*.py")
        for match in re.findall(r"^class (\w+)\(NamedTuple\)", file.read_text(), re.M)
    ]
    assert len(names) == len(set(names))


def test_the_version_is_the_changelogs_newest():
    newest = re.search(r"^## \[(\S+)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert newest is not None
    assert newest.group(1) == ol.__version__


def test_the_page_of_learners_names_every_learner():
    page = (ROOT / "docs" / "learners.md").read_text()
    assert [name for name in ol.LEARNERS if f"`{name}`" not in page] == []


def test_the_readme_is_short_and_every_folder_of_the_package_is_explained():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 180
    entries = {
        entry.name + ("/" if entry.is_dir() else "")
        for entry in Path(ol.__file__).parent.iterdir()
        if entry.name != "__pycache__"
    }
    assert len(entries) <= 27
    page = (ROOT / "docs" / "architecture.md").read_text()
    assert [entry for entry in entries if f"| `{entry}`" not in page] == []


def test_the_page_on_guarantees_names_every_learner():
    page = (ROOT / "docs" / "guarantees.md").read_text()
    assert [name for name in ol.LEARNERS if not re.search(rf"`{name}[(`]", page)] == []


def test_the_page_of_errata_links_to_tests_that_exist():
    page = (ROOT / "docs" / "errata.md").read_text()
    tests = (ROOT / "tests" / "papers" / "test_errata.py").read_text()
    named = set(re.findall(r"\[`(test_\w+)`\]", page))
    written = set(re.findall(r"^def (test_\w+)", tests, re.M))
    assert named == written


def test_the_package_is_marked_as_typed_and_installs_its_command():
    assert (Path(ol.__file__).parent / "py.typed").exists()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"onlinear": "onlinear_command:main"}
