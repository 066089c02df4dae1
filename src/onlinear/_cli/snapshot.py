"""Snapshots of an ``onlinear run``: a state file with the model and everything needed to resume.

A snapshot is an ordinary state file: :func:`onlinear.load` returns the model. What is needed to
resume the run is in the file's header, under the key ``run``, and in the arrays whose names begin
with ``run.`` and ``story.``.
"""

import dataclasses
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from onlinear._cli.class_figures import restored
from onlinear._cli.columns import Columns
from onlinear._cli.errors import DataError
from onlinear._cli.moved_weights import WeightSamples
from onlinear._cli.predictions_file import Output
from onlinear._cli.recording import Telling
from onlinear._cli.run_figures import RunFigures
from onlinear._cli.source import Place, Source
from onlinear._cli.target_classes import NO_CLASSES, Classes
from onlinear._learner.base import Learner, full_name
from onlinear._state_files import file_format, model_codec

__all__ = ["SavedRun", "Snapshot", "read"]

VERSION = 1


@dataclass(frozen=True)
class SavedRun:
    """A run read from a snapshot."""

    model: Learner
    columns: Columns
    place: Place
    tally: RunFigures
    paths: list[str]
    mark: str
    out: str | None
    bytes: int
    story: tuple[dict[str, Any], dict[str, np.ndarray]] | None
    samples: WeightSamples

    def check(self, source: Source) -> Place:
        """Return the place in a source to resume from; refuse a source that has changed."""
        if source.piped or self.paths == ["-"]:
            return Place(total=self.place.number)  # standard input: all rows are new
        file = self.place.file
        same = [Path(path).name for path in source.paths[: file + 1]] == [
            Path(path).name for path in self.paths[: file + 1]
        ]
        if not same or source.mark(self.place) != self.mark:
            given = source.paths[min(file, len(source.paths) - 1)]
            raise DataError(
                f"{given} is not what was read before the snapshot ({self.paths[file]} up to row "
                f"{self.place.number}): to train this model on other data, start with --model "
                "and the state file"
            )
        return self.place


class Snapshot:
    """Saves a run to a file every ``rows`` rows, and at least every ``seconds`` seconds."""

    def __init__(self, path: str | None, rows: int, seconds: float) -> None:
        self.path, self.rows, self.seconds = path, rows, seconds
        self._saved_rows, self._saved_at = 0, time.monotonic()

    @property
    def saved(self) -> int:
        """How many rows had been seen when the state was last saved."""
        return self._saved_rows

    def due(self, rows: int) -> bool:
        """Whether a snapshot is due, now that ``rows`` rows have been read."""
        return (
            self.path is not None
            and rows > self._saved_rows
            and (
                rows - self._saved_rows >= self.rows
                or time.monotonic() - self._saved_at >= self.seconds
            )
        )

    def ahead(self, rows: int) -> int:
        """Return how many more rows may be learnt after ``rows`` rows before a snapshot is due."""
        return max(self._saved_rows + self.rows - rows, 1) if self.path else self.rows

    def begin(self, rows: int) -> None:
        """Begin to count rows and seconds towards the next snapshot now, after ``rows`` rows."""
        self._saved_rows, self._saved_at = rows, time.monotonic()

    def write(
        self,
        model: Learner,
        columns: Columns,
        source: Source,
        place: Place,
        tally: RunFigures,
        output: Output,
        telling: Telling,
        samples: WeightSamples,
    ) -> None:
        """Flush the predictions to disk, then write the state file atomically."""
        if self.path is None:
            return
        size = output.settle()
        about = {
            "version": VERSION,
            "columns": dataclasses.asdict(columns),
            "place": list(place),
            "tally": tally.described(),
            "paths": list(source.paths),
            "mark": source.mark(place),
            "out": output.path,
            "bytes": size,
        }
        try:
            _write(self.path, model, about, telling, samples)
        except OSError as error:
            raise DataError(f"cannot write {self.path}: {error.strerror}") from None
        except ValueError as error:
            raise DataError(f"cannot write {self.path}: {error}") from None
        self.begin(tally.rows)


def _classes(kept: Any) -> Classes:
    """Return the saved classes of the target; none if an older release saved the run."""
    names, text = kept
    return Classes(tuple(map(str, names)), bool(text))


def _samples(columns: int, run: dict[str, Any], arrays: dict[str, np.ndarray]) -> WeightSamples:
    """Return the saved samples of the weights; no samples if an older release saved the run."""
    if "sampled" not in run:
        return WeightSamples(columns)
    return WeightSamples.restored(columns, run["sampled"], arrays["run.weights"])


def _write(
    path: str, model: Learner, about: dict[str, Any], telling: Telling, samples: WeightSamples
) -> None:
    header, arrays = model_codec.described(model, full_name(type(model)))
    story, (sampled, weights) = telling.described(), samples.described()
    header["run"] = {**about, "story": None if story is None else story[0], "sampled": sampled}
    arrays["run.weights"] = weights
    told = {} if story is None else {f"story.{k}": v for k, v in story[1].items()}
    file_format.write(path, header, {**arrays, **told})


def read(path: str) -> SavedRun:
    """Return the run that a snapshot holds; refuse a state file that holds only a model."""
    header, arrays = file_format.read(path)
    run = header.get("run")
    if not isinstance(run, dict):
        raise DataError(f"{path} holds a model but no run to resume: start one with --model {path}")
    with model_codec.refusing(path, "a run"):
        model = model_codec.rebuilt(header, arrays, Learner._classes)
        if run["version"] != VERSION:
            raise ValueError(f"its run has version {run['version']!r}, not {VERSION}")
        columns = run["columns"]
        told = {k.removeprefix("story."): v for k, v in arrays.items() if k.startswith("story.")}
        roles = Columns(
            str(columns["target"]),
            tuple(map(str, columns["numbers"])),
            {str(k): tuple(map(str, v)) for k, v in columns["categories"].items()},
            tuple(map(str, columns["truths"])),
            tuple(map(str, columns["dropped"])),
            _classes(columns.get("classes", NO_CLASSES)),
        )
        kept = SavedRun(
            model,
            roles,
            Place(*(model_codec.count(number) for number in run["place"])),
            restored(run["tally"]),
            list(map(str, run["paths"])),
            str(run["mark"]),
            None if run["out"] is None else str(run["out"]),
            model_codec.count(run["bytes"]),
            None if run["story"] is None else (run["story"], told),
            _samples(len(roles.names), run, arrays),
        )
        if not 0 <= kept.place.file < len(kept.paths):
            raise ValueError(f"its run is in file {kept.place.file} of {len(kept.paths)}")
        if kept.place.number != kept.tally.rows:
            raise ValueError(f"its run is at row {kept.place.number} after {kept.tally.rows} rows")
    return kept
