"""Values that state files hold as a class name and numbers, never as code: kernels and losses.

Such a value is a frozen dataclass whose fields are numbers.
"""

from dataclasses import fields
from typing import Any

from onlinear._state_files import model_codec

__all__ = ["plain", "rebuilt"]


def plain(value: Any) -> dict[str, Any]:
    """Return a value as a dict of its class name and its fields, for a state file."""
    numbers = {field.name: model_codec.plain(getattr(value, field.name)) for field in fields(value)}
    return {"name": type(value).__name__, **numbers}


def rebuilt(described: dict[str, Any], classes: dict[str, Any]) -> Any:
    """Return the value, of one of ``classes``, that a dict from a state file describes."""
    parameters = {key: value for key, value in described.items() if key != "name"}
    return classes[described["name"]](**parameters)
