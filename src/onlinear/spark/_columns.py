"""The columns of a Spark query by role (key, features, target, order), and their checks."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from onlinear._learner.base import Learner
from onlinear._learner.classifier import Classifier
from onlinear._validation.checks import described

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Columns", "names_of"]


class Columns(NamedTuple):
    """The columns of a Spark query by role: key, features, target and order."""

    key: list[str]
    features: list[str]
    target: str
    order: list[str]

    @classmethod
    def checked(
        cls, df: Any, model: Any, key: Any, features: Any, target: Any, order: Any, output: Any
    ) -> Self:
        """Return a query's columns by role; refuse wrong arguments before Spark runs the query."""
        who = "predict_and_learn" if output is not None else "stationary_fit"
        _check_kinds(who, df, model)
        if isinstance(features, str):
            raise TypeError(f"{who} needs features as a list of columns, got {features!r}")
        if not isinstance(target, str):
            raise TypeError(f"{who} needs target to be a column, got {target!r}")
        columns = cls(
            names_of(who, "key", key) if output is not None else [],
            names_of(who, "features", features),
            target,
            [] if order is None else names_of(who, "order", order),
        )
        columns._check_names(who, df.columns, output)
        columns._check_types(who, df, words=isinstance(model, Classifier))
        return columns

    def _by_role(self) -> Iterator[tuple[str, str]]:
        for name in self.key:
            yield "key", name
        for name in self.features:
            yield "features", name
        yield "target", self.target
        for name in self.order:
            yield "order", name

    def _check_names(self, who: str, there: list[str], output: Any) -> None:
        twice = sorted({name for name in there if there.count(name) > 1})
        if twice:
            raise ValueError(f"{who} needs unique column names, the DataFrame has {twice} twice")
        for role, name in self._by_role():
            if name not in there:
                raise ValueError(
                    f"{who} needs {role} among the columns {there} of the DataFrame, got {name!r}"
                )
        for role, names in (("features", self.features), ("key", self.key)):
            if self.target in names:
                raise ValueError(
                    f"{who} needs a target that is not among {role}, got {self.target!r}"
                )
        if output is None:
            return
        if not isinstance(output, str) or not output:
            raise TypeError(f"{who} needs output to be a name for a column, got {output!r}")
        if output.lower() in (name.lower() for name in there):  # Spark ignores case
            raise ValueError(f"{who} needs a new name for output, got {output!r}, which exists")

    def _check_types(self, who: str, df: "DataFrame", *, words: bool) -> None:
        """Refuse columns of types that do not suit their role; ``words`` allows text as target."""
        from pyspark.sql import types as kinds
        from pyspark.sql.types import AtomicType, BooleanType, NumericType, StringType

        spans = kinds.DayTimeIntervalType, kinds.YearMonthIntervalType
        times = kinds.TimestampType, kinds.TimestampNTZType, *spans
        for role, name in self._by_role():
            kind = df.schema[name].dataType
            text = f"got {name!r} of type {kind.simpleString()}"
            if role == "target" and words and isinstance(kind, StringType):
                continue
            if role in ("features", "target") and not isinstance(kind, (NumericType, BooleanType)):
                raise TypeError(f"{who} needs numbers or booleans for {role}, {text}")
            if not isinstance(kind, AtomicType):
                raise TypeError(f"{who} needs plain values for {role}, {text}")
            if role == "key" and isinstance(kind, times):
                raise TypeError(f"{who} needs a key that is not a time (a date is fine), {text}")
            if role == "order" and isinstance(kind, spans):
                raise TypeError(f"{who} needs an order that is not an interval, {text}")


def _check_kinds(who: str, df: Any, model: Any) -> None:
    try:
        from pyspark.sql import DataFrame
    except ImportError as error:
        raise ImportError('onlinear.spark needs pyspark: pip install "onlinear[spark]"') from error
    if not isinstance(df, DataFrame):
        got = f"{type(df).__module__}.{type(df).__name__}"
        raise TypeError(f"{who} needs a Spark DataFrame, got {got}")
    if not isinstance(model, Learner):
        raise TypeError(f"{who} needs a learner, such as LASER(), got {described(model)}")
    model._check_one(who)


def names_of(who: str, role: str, names: Any) -> list[str]:
    """Return one or more column names as a list; refuse duplicates, and anything but names."""
    listed = [names] if isinstance(names, str) else names
    listed = list(listed) if isinstance(listed, (list, tuple)) else []
    if not listed or not all(isinstance(name, str) for name in listed):
        raise TypeError(f"{who} needs {role} to be names of columns, got {names!r}")
    for name in listed:
        if listed.count(name) > 1:
            raise ValueError(f"{who} needs each column of {role} once, got {name!r} twice")
    return listed
