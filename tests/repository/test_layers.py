"""The layers of the package: a module imports from its own part and from layers below, only."""

import ast
from collections.abc import Iterator
from importlib.util import resolve_name

import pytest
from places import ROOT

LAYERS = (  # lowest first; the parts of one layer do not import each other
    ("_numerics", "_state_files"),
    ("_engine", "bregman"),
    ("_validation",),
    ("kernels", "losses", "sets", "streams", "text"),
    ("_updates",),
    ("_learner",),
    ("extend",),
    ("hindsight", "algorithms", "features", "scaling"),
    ("_wrappers",),
    ("_evaluation", "filtering", "river", "spark"),
    ("onlinear",),  # onlinear/__init__.py
    ("papers",),
    ("_cli",),
    ("__main__", "onlinear_command"),  # the two entrances of the command
)
LAYER = {part: layer for layer, parts in enumerate(LAYERS, 1) for part in parts}


def part_of(module: str) -> str:
    """Return the file or folder of the package that a module is in."""
    first, _, rest = module.partition(".")
    return rest.partition(".")[0] if first == "onlinear" and rest else first


def imported(text: str, package: str) -> Iterator[str]:
    """Yield what a module of ``package`` imports, wherever in its text, as dotted names."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = resolve_name("." * node.level + (node.module or ""), package)
            yield from (f"{source}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and node.args:  # importlib.import_module("onlinear.…")
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            name = getattr(node.args[0], "value", None)
            if called in ("import_module", "__import__", "LateModule") and isinstance(name, str):
                yield resolve_name(name, package)


def imports_below(source) -> dict[str, set[str]]:
    """Return what each module in a folder imports."""
    found = {}
    for file in source.rglob("*.py"):
        *folders, name = file.relative_to(source).with_suffix("").parts
        package = ".".join(folders)
        module = package if name == "__init__" else f"{package}.{name}"
        found[module] = set(imported(file.read_text(), package))
    return found


def faults(imports: dict[str, set[str]]) -> list[str]:
    """Return in words what is against the layers."""
    found = []
    for module, names in sorted(imports.items()):
        own = part_of(module)
        if own not in LAYER:
            found.append(f"{module} is in no layer: give {own!r} a place in LAYERS")
            continue
        for name in sorted(names):
            if name.partition(".")[0] not in ("onlinear", "onlinear_command"):
                continue  # of another distribution
            other = part_of(name)
            other = other if other in LAYER else "onlinear"  # a name of onlinear/__init__.py
            if own != other and LAYER[own] <= LAYER[other]:
                found.append(
                    f"{module} (layer {LAYER[own]}) imports {name} (layer {LAYER[other]}): "
                    "only layers below its own are allowed"
                )
    return found


def test_no_module_imports_from_its_own_layer_or_from_above():
    found = faults(imports_below(ROOT / "src"))
    assert not found, "\n".join(found)


def test_no_part_is_in_two_layers():
    assert len(LAYER) == sum(map(len, LAYERS))


@pytest.mark.parametrize(
    "text",
    [
        "import onlinear",
        "import onlinear._wrappers.late.late as late",
        "from onlinear import _wrappers",
        "from onlinear import LASER",
        "from onlinear import *",
        "from onlinear._wrappers.late import late",
        "from .. import _wrappers",
        "from .._wrappers.late.late import Late",
        "from ..kernels import RBF",
        "def later():\n    from onlinear.papers import thesis",
        "if TYPE_CHECKING:\n    from onlinear._updates import gaussian",
        "from onlinear.bregman import squared",  # of the same layer
        'importlib.import_module("onlinear._wrappers.late.late")',
        '__import__("onlinear._wrappers")',
    ],
)
def test_an_upward_import_is_found_however_it_is_written(text):
    (said,) = faults({"onlinear._engine.planted": set(imported(text, "onlinear._engine"))})
    assert said.startswith("onlinear._engine.planted (layer 2) imports onlinear")
    assert said.endswith("only layers below its own are allowed")


def test_imports_from_the_same_part_from_below_and_from_elsewhere_are_allowed():
    text = (
        "import numpy, river.base\nfrom . import step\nfrom .step import Step\n"
        "from onlinear._numerics import jit\nfrom .._state_files.key_codec import encode\n"
    )
    assert faults({"onlinear._engine.planted": set(imported(text, "onlinear._engine"))}) == []


def test_a_folder_without_a_layer_is_found(tmp_path):
    (tmp_path / "onlinear" / "attic").mkdir(parents=True)
    (tmp_path / "onlinear" / "attic" / "__init__.py").write_text("from . import box\n")
    (tmp_path / "onlinear" / "attic" / "box.py").write_text("")
    said = faults(imports_below(tmp_path))
    assert said[0] == "onlinear.attic is in no layer: give 'attic' a place in LAYERS"
    assert len(said) == 2
