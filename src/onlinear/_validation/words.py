"""Words for messages."""

__all__ = ["a"]

VOWELS = "AEIO"
SPELT_WITH_A_VOWEL = "FHLMNRSX"  # as in "an RLS": letters that are spoken with a vowel first


def a(name: str) -> str:
    """Return a class name with its article.

    >>> [a(name) for name in ("Auto", "LASER", "RLS", "Ridge")]
    ['an Auto', 'a LASER', 'an RLS', 'a Ridge']
    """
    first, second = name[:1].upper(), name[1:2]
    spelt = name[:2].isupper() and first in SPELT_WITH_A_VOWEL and second not in VOWELS + "UY"
    return f"an {name}" if first in VOWELS or spelt else f"a {name}"
