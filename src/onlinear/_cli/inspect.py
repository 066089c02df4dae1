"""``onlinear inspect``: print what a state file holds."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from onlinear._cli.class_figures import restored
from onlinear._cli.errors import printable
from onlinear._evaluation.certified import Certified
from onlinear._learner.base import Learner
from onlinear._learner.loading import load
from onlinear._state_files import file_format
from onlinear._state_files.model_codec import plain, refusing
from onlinear.algorithms import Auto

__all__ = ["described", "show"]

SHOWN = 20  # how many weights are listed


def described(path: str) -> dict[str, Any]:
    """Return what a state file holds, as a dict for JSON; raise an error if it is damaged."""
    header, numbers = file_format.summary(path)
    found: dict[str, Any] = {
        "file": path,
        "bytes": Path(path).stat().st_size,
        "checksum": "right",
        "holds": _kind(header),
        "numbers": numbers,
    }
    if found["holds"] == "models by key":
        found |= _keyed(load(path))
    if found["holds"] in ("learner", "certified learner"):
        certified = Certified.load(path) if "certificate" in header else None
        model = certified.model if certified is not None else load(path)
        if isinstance(model, Learner):
            found |= _learner(model)
        if certified is not None:
            found["certificate"] = {
                "loss": certified.loss,
                "comparator": certified.comparator,
                "ceiling": certified.ceiling if certified.holds else None,
                "failed": certified.failed,
            }
    if "run" in header:
        with refusing(path, "a run"):
            found["run"] = _run(header["run"])
    return found


def _kind(header: dict[str, Any]) -> str:
    if "certificate" in header:
        return "certified learner"
    if "keyed" in header:
        return "models by key"
    for kind in ("learner", "transformer", "filter", "bank", "map"):
        if kind in header:
            return kind
    return "unknown"


def _keyed(keyed: Any) -> dict[str, Any]:
    """Return what to print about a ``Keyed``: the learner that keys start with, and counts."""
    return {
        "model": repr(keyed._models.initial),
        "keys": len(keyed),
        "events": keyed.events_,
        "skipped": keyed.n_skipped_,
        "late labels": {name.replace("_", " "): n for name, n in keyed.late_._asdict().items()},
    }


def _learner(model: Learner) -> dict[str, Any]:
    """Return what to print about a learner: parameters, numbers of rows, weights, and more."""
    found: dict[str, Any] = {
        "learner": type(model).__name__,
        "model": repr(model),
        "params": {name: plain(value) for name, value in model._to_plain().items()},
        "rounds": 0,
        "skipped": model.n_skipped_,
    }
    if model._state is None:
        return found
    names = model._names or [f"column {j}" for j in range(model.n_features_in_)]
    found |= {"rounds": model.rounds_, "inputs": len(names)}
    try:
        weights = np.asarray(model.coef_, dtype=float)
        if weights.ndim > 1:  # a row for each class
            return found
        found["weights"] = dict(zip(names, weights.tolist(), strict=True))
    except (AttributeError, ValueError, TypeError):  # a kernel learner has no weights
        pass
    if hasattr(model, "intercept_"):
        found["intercept"] = float(model.intercept_)
    if isinstance(model, Auto) and model.rounds_:
        found["explanation"] = model.explain()
    return found


def _run(run: dict[str, Any]) -> dict[str, Any]:
    """Return what to print about the run of ``onlinear run`` that wrote a state file."""
    tally, columns = restored(run["tally"]), run["columns"]
    return {
        "files": run["paths"],
        "target": columns["target"],
        "dropped": columns["dropped"],
        "one-hot": {name: len(values) for name, values in columns["categories"].items()},
        "learnt": tally.learnt,
        "predicted only": tally.unlabelled,
        "skipped": tally.skipped,
        **tally.shown(),
        "predictions": run["out"],
        "problems": {words: numbers[0] for words, numbers in tally.problems.items()},
    }


def show(path: str, *, as_json: bool) -> None:
    """Print what a state file holds."""
    found = described(path)
    if as_json:
        print(json.dumps(found, indent=2))
        return
    console = Console(highlight=False, soft_wrap=True)
    weights = found.pop("weights", {})
    explanation = found.pop("explanation", None)
    table = Table(show_header=False, box=None)
    for name, value in _lines(found):
        table.add_row(name, _shown(value))
    console.print(table)
    if weights:
        order = sorted(weights, key=lambda name: -abs(weights[name]))
        listed = Table("input", "weight", title="weights, the largest first", title_justify="left")
        for name in order[:SHOWN]:
            listed.add_row(_shown(name), f"{weights[name]:.6g}")
        if len(order) > SHOWN:
            listed.add_row(f"… {len(order) - SHOWN} more", "")
        console.print(listed)
    if explanation:
        console.print(escape(printable(explanation)))


def _shown(text: str) -> str:
    return escape(printable(text.replace("\n", "\\n")))


def _lines(found: dict[str, Any], under: str = "") -> list[tuple[str, str]]:
    """Return the entries of a nested dict as a flat list of pairs of texts, name and value.

    The name of an entry of an inner dict begins with the name of that dict, as in "run: skipped".
    """
    lines: list[tuple[str, str]] = []
    for name, value in found.items():
        if isinstance(value, dict):
            lines += _lines(value, f"{under}{name}: ") if value else []
        elif value not in (None, []):
            text = ", ".join(map(str, value)) if isinstance(value, list) else value
            lines.append((_shown(under + name), f"{text:,}" if type(text) is int else str(text)))
    return lines
