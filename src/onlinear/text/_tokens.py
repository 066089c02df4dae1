"""Split documents into words, and check that every document is a str."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from sklearn.feature_extraction.text import CountVectorizer

__all__ = ["Analyzer", "tokens", "words"]

Analyzer = Callable[[str], Iterable[str]]
ANALYZE = CountVectorizer(
    lowercase=False,  # done below, together with the digits
    stop_words="english",
    token_pattern=r"#+(?:[.,]#+)+|[\w#]{2,}",  # a number with commas and points, or a word
).build_analyzer()


def words(document: str) -> list[str]:
    """Return the words of a document: in lower case, digits as ``#``, English stop words left out.

    A word is two or more letters, digits or underscores in a row; a number keeps the commas and
    points between its digits, so 155,221 and 340,118 both become ``###,###``. (A ``#`` in the
    document separates words.) Splitting and stop words are scikit-learn's; words are not
    lemmatised.

    >>> words("The week's arrivals were 155,221 bags of 60 kilos, up 5.9 pct.")
    ['week', 'arrivals', '###,###', 'bags', '##', 'kilos', '#.#', 'pct']
    """
    if not isinstance(document, str):
        raise TypeError(f"words needs a str, got {document!r:.60}")
    return list(ANALYZE(re.sub(r"\d", "#", document.lower().replace("#", " "))))


def tokens(owner: Any, documents: Iterable[str]) -> Iterator[list[str]]:
    """Yield, for each document (a str), the list of words that ``owner.analyzer`` finds in it."""
    analyze = words if owner.analyzer is None else owner.analyzer
    if not callable(analyze):
        raise ValueError(
            f"{type(owner).__name__} needs analyzer to be None or a function from a document to "
            f"the list of its words, got analyzer={analyze!r}"
        )
    one = isinstance(documents, (str, bytes, Mapping)) or hasattr(type(documents), "columns")
    if one or not isinstance(documents, Iterable):
        raise TypeError(
            "documents needs an iterable of str, such as a list or one column of a table, got a "
            f"single {type(documents).__name__}"
        )
    for position, document in enumerate(documents):
        if not isinstance(document, str):
            raise TypeError(f"document {position} needs to be a str, got {document!r:.60}")
        found = analyze(document)
        listed = [] if isinstance(found, str) else list(found)
        if isinstance(found, str) or not all(isinstance(word, str) for word in listed):
            raise TypeError(
                f"analyzer needs to return a list of str, got {found!r:.60} for document {position}"
            )
        yield listed
