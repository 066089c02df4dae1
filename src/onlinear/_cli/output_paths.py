"""Check the paths of output files before anything is written."""

import os
from collections.abc import Mapping
from pathlib import Path

from onlinear._cli.errors import DataError, UsageError
from onlinear._cli.source import Source

__all__ = ["check_outputs"]


def check_outputs(source: Source, wanted: Mapping[str, str | os.PathLike[str] | None]) -> None:
    """Refuse paths that overwrite the data or each other, or lie in no existing folder."""
    taken = {os.path.realpath(path): f"the data, {path}" for path in source.paths}
    for option, path in wanted.items():
        if path is None or path == "-":
            continue
        real = os.path.realpath(path)
        if real in taken:
            raise UsageError(f"{option} {path} would overwrite {taken[real]}")
        if not Path(real).parent.is_dir():
            raise DataError(f"cannot write {path}: there is no folder {Path(path).parent}")
        if Path(real).exists() and not Path(real).is_file() and option != "--out":
            raise DataError(f"cannot write {path}: it is not an ordinary file")
        taken[real] = option
