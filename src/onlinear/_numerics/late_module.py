"""Import a module, such as Numba (which takes half a second), only when it is first used."""

import importlib
from typing import Any

__all__ = ["LateModule"]


class LateModule:
    """A module that is imported when one of its attributes is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        """Return the attribute of the module, which is imported first if necessary."""
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        value = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, value)
        return value
