"""An extension of Griffe, with which mkdocstrings reads the sources.

The parameters of a learner or a feature map are attributes of its class. The base class
``Parameters`` makes the constructor from these attributes at run time, as NamedTuple does, so the
source has no constructor that Griffe could find. Short docstrings have an example without a
heading; this extension adds the heading.
"""

import inspect
import re
import sys
from typing import Any

import griffe

from onlinear._learner.parameters import Parameters

EXAMPLE = re.compile(r"^(?=>>> )", re.M)
CHOICES = re.compile(r"^(\w+ : )\{(.*?)\}", re.M)


class Reading(griffe.Extension):
    """Adds constructors that are not in the source, and the headings of examples."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change a docstring to the form of numpydoc that Griffe understands."""
        if obj.docstring is not None:
            text = CHOICES.sub(r"\1one of \2", obj.docstring.value)
            if not re.search(r"^Examples\n---", text, re.M):
                text = EXAMPLE.sub("Examples\n--------\n", text, count=1)
            obj.docstring.value = text

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Add the constructor of a class that has none in its source."""
        made = getattr(sys.modules.get(cls.module.path), cls.name, object)
        generated = issubclass(made, Parameters) or hasattr(made, "_fields")
        if "__init__" in cls.members or not generated:
            return
        parameters = [
            griffe.Parameter(
                each.name,
                kind=griffe.ParameterKind(each.kind.description),
                default=None if each.default is each.empty else repr(each.default),
            )
            for each in inspect.signature(made).parameters.values()
        ]
        given = griffe.Parameters(griffe.Parameter("self"), *parameters)
        cls.set_member("__init__", griffe.Function("__init__", parameters=given))
