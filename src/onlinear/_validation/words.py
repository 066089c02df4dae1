"""Wording of error messages: choose "a" or "an", and describe a wrong argument."""

import re
from typing import Any

__all__ = ["described", "with_article"]

VOWELS = "AEIOUaeiou"
SPELLED_WITH_AN = "FHLMNRSX"  # an R, an S, but a T

PIPELINE = (
    "a pipeline of scikit-learn does not learn row by row. onlinear.Standardized(learner) and "
    "onlinear.Auto() scale row by row; or transform X first, and give the last step only"
)


def with_article(name: str) -> str:
    """Return a name with "a" or "an"; capitals without a vowel, such as RLS, are read as letters.

    >>> [with_article(name) for name in ("Auto", "Ridge", "RLS", "LASER", "SGDRegressor")]
    ['an Auto', 'a Ridge', 'an RLS', 'a LASER', 'an SGDRegressor']
    """
    capitals = re.match("[A-Z]+(?![a-z])|nd", name)  # also of ndarray
    letters = capitals is not None and not set(capitals[0]) & set(VOWELS)
    vowel = name[:1] in VOWELS or (letters and name[0].upper() in SPELLED_WITH_AN)
    return f"an {name}" if vowel else f"a {name}"


def described(value: Any) -> str:
    """Describe an object that was passed in place of a learner, with advice on what to pass.

    >>> described("LASER"), described(str)
    ('a str', 'the class str')
    """
    if isinstance(value, type):
        call = f": write {value.__name__}()" if hasattr(value, "get_params") else ""
        return f"the class {value.__name__}{call}"
    name = with_article(type(value).__name__)
    return f"{name}: {PIPELINE}" if hasattr(value, "named_steps") else name
