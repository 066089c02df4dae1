"""Read and write the state file of a bank, which is several learners run over the same rows.

The file holds what the state files of the single learners would hold.
"""

import os
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

from onlinear._learner.base import Learner, full_name
from onlinear._state_files import file_format, model_codec

__all__ = ["read", "save"]


class Learners(Iterable[Learner], Protocol):
    """The learners of a bank, and how many threads it may use."""

    threads: int | None


def save(bank: Learners, path: str | os.PathLike[str]) -> None:
    """Write all learners of a bank to one file."""
    header: dict[str, Any] = {"bank": [], "threads": bank.threads}
    arrays: dict[str, np.ndarray] = {}
    for k, model in enumerate(bank):
        about, own = model_codec.described(model, full_name(type(model)))
        header["bank"].append(about)
        arrays |= {f"{name} {k}": array for name, array in own.items()}
    file_format.write(path, header, arrays)


def read(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> tuple[list[Learner], int | None]:
    """Return the learners and the number of threads that a header and arrays describe."""
    models = []
    for k, about in enumerate(header["bank"]):
        own = {"state": arrays[f"state {k}"]} if f"state {k}" in arrays else {}
        models.append(model_codec.rebuilt(about, own, Learner._classes))
    return models, header["threads"]
