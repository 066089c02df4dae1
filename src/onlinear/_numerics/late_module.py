"""A module that is imported late, such as Numba, which takes half a second to import."""

import importlib
from typing import Any

__all__ = ["LateModule"]


class LateModule:
    """A module that is imported when something of it is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        """Return what the module has by this name."""
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        value = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, value)
        return value
