"""The immutable settings of ``Keyed``."""

import os
import warnings
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from onlinear._engine.segments import Segments
from onlinear._engine.threads import usable_cores
from onlinear._validation import checks
from onlinear._wrappers.keyed.record_cache import AT_LEAST, OVERHEAD

__all__ = ["KeyedSettings", "existing_folder"]

MOST_THREADS = 1024
FEWEST_MODELS = 16  # the memory limit must have room for this many models


class KeyedSettings(NamedTuple):
    """The parameters of ``Keyed`` except ``model``, ``clock`` and those for delayed labels."""

    memory_limit: int | None = None
    max_age: int | timedelta | None = None
    spill: str | os.PathLike[str] | None = None
    pooled: bool = False
    threads: int | None = None

    def checked(self) -> Self:
        """Return the settings, with whole numbers as ints; refuse invalid settings."""
        limit, age, threads = self.memory_limit, self.max_age, self.threads
        asked = checks.asked("Keyed", memory_limit=limit, pooled=self.pooled, threads=threads)
        if threads is not None:
            threads = checks.whole(asked, "threads", least=1, most=MOST_THREADS)
        if self.spill is not None and not Path(self.spill).is_dir():
            raise ValueError(f"Keyed needs spill to be a folder that exists, got {self.spill!r}")
        return self._replace(
            memory_limit=None if limit is None else checks.whole(asked, "memory_limit", least=1),
            max_age=int(age) if isinstance(age, np.integer) else age,  # AgeLimit checks it
            pooled=checks.choice(asked, "pooled", (False, True)),
            threads=threads,
        )

    @property
    def cores(self) -> int:
        """How many threads a run over a table uses at most."""
        return self.threads or usable_cores()

    @property
    def folder(self) -> str | None:
        """The folder for models on disk; None means the folder for temporary files."""
        return None if self.spill is None else os.fspath(self.spill)

    def capacity(self, size: int) -> int | None:
        """Return how many models of ``size`` numbers each fit in memory; None means no limit."""
        if self.memory_limit is None:
            if self.max_age is None:
                return None
            return int(checks.physical_memory() / 2) // (8 * size)
        each = Segments(size).stride + OVERHEAD
        asked = checks.asked("Keyed", memory_limit=self.memory_limit)
        least = AT_LEAST + FEWEST_MODELS * each
        limit = checks.whole(asked, "memory_limit", least=least)
        return int(min(limit, checks.physical_memory()) - AT_LEAST) // each


def existing_folder(spill: Any) -> Any:
    """Return the folder ``spill`` if it exists on this machine; otherwise warn and return None."""
    if spill is None or Path(spill).is_dir():
        return spill
    warnings.warn(
        f"the folder {str(spill)!r}, to which models are spilled, does not exist here: the folder "
        "for temporary files is used instead",
        RuntimeWarning,
        stacklevel=2,
    )
    return None
