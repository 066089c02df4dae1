"""Parameters as annotated fields of a class, with scikit-learn's get_params and set_params."""

import dataclasses
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np

from onlinear._engine.transaction import Guarded

__all__ = ["Nested", "Parameters"]


@dataclass_transform(field_specifiers=(dataclasses.field,))
@dataclasses.dataclass(eq=False, repr=False)
class Parameters(Guarded):
    """A class whose annotated fields are its parameters; subclasses become dataclasses."""

    _parameters: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        """Make the subclass a dataclass."""
        super().__init_subclass__()
        dataclasses.dataclass(eq=False, repr=False)(cls)
        cls._parameters = frozenset(field.name for field in dataclasses.fields(cls))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name (scikit-learn's convention)."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def _plain_params(self) -> dict[str, Any]:
        """Return the parameters, with nested learners replaced by their parameters."""
        params = self.get_params(deep=True)
        return {name: value for name, value in params.items() if not hasattr(value, "get_params")}

    def set_params(self, **params: Any) -> Self:
        """Change parameters, not the learnt state; the next round checks and uses new values."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}: it has {', '.join(known)}"
                )
            setattr(self, name, value)
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; the next round checks and uses the new value of a parameter."""
        if name in self._parameters:
            self._set_parameter(name, value)
        else:
            object.__setattr__(self, name, value)

    def _set_parameter(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        self.__dict__.pop("_call", None)

    def __repr__(self) -> str:
        """Show the parameters that differ from their defaults."""
        shown = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in sorted(dataclasses.fields(self), key=lambda f: bool(f.kw_only))
            if not _same(getattr(self, field.name), field.default)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


class Nested(Parameters):
    """A class whose parameters may have parameters of their own, named as in ``learner__c``."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name and, if deep, nested ones such as ``learner__c``."""
        params = super().get_params()
        for name, part in list(params.items()) if deep else ():
            inner = part.get_params() if hasattr(part, "get_params") else {}
            params |= {f"{name}__{key}": value for key, value in inner.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Change parameters, also nested ones such as ``learner__c=10``."""
        for name in sorted(params, key=lambda name: "__" in name):  # nested parameters last
            part, _, inner = name.partition("__")
            if inner and part in self._parameters:
                getattr(self, part).set_params(**{inner: params[name]})
                setattr(self, part, getattr(self, part))
            else:
                super().set_params(**{name: params[name]})
        return self


def _same(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, bool) is isinstance(b, bool) and np.array_equal(a, b))
