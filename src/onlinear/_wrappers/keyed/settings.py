"""What is said of the models of many keys when they are made, and stays as it is."""

import os
import warnings
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from onlinear._engine.threads import usable_cores
from onlinear._validation import checks

__all__ = ["KeyedSettings", "Settled", "folder_here"]

MOST = 1024  # threads


class KeyedSettings(NamedTuple):
    """The parameters of :class:`onlinear.Keyed` but for its learner and late labels."""

    memory_limit: int | None = None
    max_age: int | timedelta | None = None
    spill: str | os.PathLike[str] | None = None
    pooled: bool = False
    threads: int | None = None

    def checked(self) -> Self:
        """Return them as plain numbers, or refuse them."""
        limit, age, threads = self.memory_limit, self.max_age, self.threads
        asked = checks.asked("Keyed", memory_limit=limit, pooled=self.pooled, threads=threads)
        if threads is not None:
            threads = checks.whole(asked, "threads", least=1, most=MOST)
        if self.spill is not None and not Path(self.spill).is_dir():
            raise ValueError(f"Keyed needs spill to be a folder that is there, got {self.spill!r}")
        return self._replace(
            memory_limit=None if limit is None else checks.whole(asked, "memory_limit", least=1),
            max_age=int(age) if isinstance(age, np.integer) else age,  # Ages looks at it
            pooled=checks.choice(asked, "pooled", (False, True)),
            threads=threads,
        )


def folder_here(spill: Any) -> Any:
    """Return the folder for what goes to disk, as it was said elsewhere, if it is here too."""
    if spill is None or Path(spill).is_dir():
        return spill
    warnings.warn(
        f"the folder {str(spill)!r}, for models that are sent to disk, is not here: they go to "
        "that of temporary files",
        RuntimeWarning,
        stacklevel=2,
    )
    return None


class Settled:
    """Has settings, to be read."""

    _settings: KeyedSettings

    @property
    def memory_limit(self) -> int | None:
        """Bytes of memory for models and their keys."""
        return self._settings.memory_limit

    @property
    def max_age(self) -> int | timedelta | None:
        """How long an unused model stays in memory."""
        return self._settings.max_age

    @property
    def spill(self) -> Any:
        """The folder for what is sent to disk."""
        return self._settings.spill

    @property
    def pooled(self) -> bool:
        """Whether a new key begins with the average of the others."""
        return self._settings.pooled

    @property
    def threads(self) -> int | None:
        """How many threads a replay may use."""
        return self._settings.threads

    def _cores(self) -> int:
        return self.threads or usable_cores()

    def _folder(self) -> str | None:
        return None if self.spill is None else os.fspath(self.spill)
