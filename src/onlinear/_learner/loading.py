"""Load a learner or filter from a state file."""

import os
from pathlib import Path
from typing import Any

from onlinear._learner.base import Learner
from onlinear._state_files import model_codec

__all__ = ["load"]


def load(path: str | os.PathLike[str], *, spill: str | os.PathLike[str] | None = None) -> Any:
    """Return the learner (with its feature map, if any) or filter that was saved to a state file.

    A file that is truncated, altered, or not a state file is refused with a
    :class:`onlinear.StateFileError`. A state that no sequence of rounds can produce is refused as
    well, as far as this can be checked. Nothing in a file is ever executed. A custom learner is
    found by the name of its module and class, so import or define it first.

    Parameters
    ----------
    path : path
        The state file, which must be a regular file.
    spill : path or None, default None
        The folder in which a :class:`onlinear.Keyed` keeps models that do not fit in memory; None
        means the folder for temporary files. The folder ``spill`` is never taken from the state
        file.
    """
    if spill is not None and not Path(spill).is_dir():
        raise ValueError(f"load needs spill to be a folder that exists, got {spill!r}")
    settings = {} if spill is None else {"spill": spill}
    return model_codec.load(path, Learner._classes, **settings)
