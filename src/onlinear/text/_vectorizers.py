"""TF-IDF vectors of unit length: ``CorpusTfidf`` for a corpus, ``OnlineTfidf`` for a stream.

    x_i = (1 + ln TF_i) · ln(N / DF_i),  x_i = 0 where TF_i = 0        x ← x / ‖x‖

TF_i is how often word i occurs in the document, DF_i how many of the N documents contain it. Words
in fewer than three documents are left out; a word in every document has weight ln 1 = 0. A document
is a row of zeros if all its words are left out or have weight 0. Rows are in CSR form, with sorted
columns and no stored zeros.

Cesa-Bianchi, Conconi & Gentile, Margin-based algorithms for information filtering, NIPS 2003,
section 4.1. The vectors here differ from those of the paper in two ways. The paper leaves out words
that "did not occur at least three times in the corpus"; here, at least three documents must contain
a word. The paper lemmatises words; :func:`words` does not (pass an ``analyzer`` that does).
"""

import copy
import os
from collections.abc import Iterable
from itertools import chain
from typing import Any, Self

import numpy as np

try:
    from scipy.sparse import csr_array
    from sklearn.base import BaseEstimator
    from sklearn.exceptions import NotFittedError
    from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
except ImportError as error:
    raise ImportError(
        'onlinear.text needs scikit-learn and SciPy: pip install "onlinear[text]"'
    ) from error

from onlinear._state_files import file_format, model_codec
from onlinear._validation.checks import LARGEST, number, whole
from onlinear.text._tokens import Analyzer, tokens, words
from onlinear.text._weights import occurrence, tfidf_rows

__all__ = ["CorpusTfidf", "OnlineTfidf", "words"]

WIDEST = 2**31 - 1  # the most columns that scikit-learn's hash supports


class CorpusTfidf(BaseEstimator):  # type: ignore[misc]
    """TF-IDF vectors with the words and document frequencies of a whole corpus.

    The vectors follow Cesa-Bianchi, Conconi & Gentile (NIPS 2003). ``CorpusTfidf`` is a
    scikit-learn transformer; ``fit`` ignores y.

    Parameters
    ----------
    min_documents : int, default 3
        Words that occur in fewer documents are left out, min_documents ≥ 1.
    analyzer : callable, optional
        Takes a document, returns the list of its words; by default :func:`words`.

    Attributes
    ----------
    vocabulary_ : dict
        The column of every word, in alphabetical order.
    n_documents_ : int
        N, the number of documents, including empty ones.
    document_frequencies_ : array
        DF of every column: how many documents contain its word.

    Examples
    --------
    >>> from onlinear.text import CorpusTfidf
    >>> tfidf = CorpusTfidf(min_documents=2)
    >>> X = tfidf.fit_transform(["wheat and corn", "corn, corn, oil", "crude oil", "the"])
    >>> tfidf.get_feature_names_out()
    array(['corn', 'oil'], dtype=object)
    >>> X.toarray().round(3)
    array([[1.   , 0.   ],
           [0.861, 0.509],
           [0.   , 1.   ],
           [0.   , 0.   ]])
    >>> import numpy as np
    >>> nonempty = np.diff(X.indptr) > 0  # the rows that are not all zeros
    >>> X[nonempty].shape
    (3, 2)
    """

    def __init__(self, min_documents: int = 3, analyzer: Analyzer | None = None) -> None:
        self.min_documents = min_documents
        self.analyzer = analyzer

    def fit(self, documents: Iterable[str], y: Any = None) -> Self:
        """Learn words and document frequencies from a corpus."""
        self._fit(documents)
        return self

    def fit_transform(self, documents: Iterable[str], y: Any = None) -> csr_array:
        """Learn from a corpus as ``fit`` does, and return its rows, in a single pass."""
        return self._weighted(self._fit(documents))

    def transform(self, documents: Iterable[str]) -> csr_array:
        """Return the rows of any documents, computed with the words, N and DF of the corpus."""
        counter = CountVectorizer(analyzer=list, vocabulary=self._fitted())
        return self._weighted(csr_array(counter.transform(tokens(self, documents))))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the word of every column."""
        return np.array(list(self._fitted()), dtype=object)

    def _fit(self, documents: Iterable[str]) -> csr_array:
        """Learn words and document frequencies; return the counts of the words that are kept."""
        least = whole(self, "min_documents", least=1)
        counter = CountVectorizer(analyzer=list)
        counts = csr_array(counter.fit_transform(tokens(self, documents)))
        frequencies = np.bincount(counts.indices, minlength=counts.shape[1])
        stay = frequencies >= least
        if not stay.any():
            raise ValueError(
                f"CorpusTfidf needs a word in at least min_documents={least} documents, "
                f"got none in {counts.shape[0]} documents"
            )
        names = counter.get_feature_names_out()[stay].tolist()
        self.vocabulary_ = {word: column for column, word in enumerate(names)}
        self.n_documents_ = int(counts.shape[0])
        self.document_frequencies_ = frequencies[stay]
        kept = counts[:, stay]
        kept.sort_indices()  # scikit-learn leaves them in the order of first occurrence
        return kept

    def _fitted(self) -> dict[str, int]:
        if not hasattr(self, "vocabulary_"):
            raise NotFittedError("This CorpusTfidf instance is not fitted yet: call fit first")
        return self.vocabulary_

    def _weighted(self, counts: csr_array) -> csr_array:
        return tfidf_rows(counts, self.n_documents_, self.document_frequencies_[counts.indices], 1)


class OnlineTfidf(BaseEstimator):  # type: ignore[misc]
    """TF-IDF vectors of a stream, with the document frequencies seen so far.

    New words keep appearing while the width of the vectors is fixed, so the column of a word is its
    hash. Words that share a column count as one (with the default width and 30,000 words, one word
    in nine does).

    A document is counted before it is weighted, so that each of its words occurs in at least one of
    the documents seen. Words in fewer than ``min_documents`` documents so far have weight 0, and so
    have words in all documents so far. The rows of the first documents are therefore zeros;
    ``X[np.diff(X.indptr) > 0]`` selects the rows that are not zero.

    Parameters
    ----------
    width : int, default 2**18
        The number of columns, 1 ≤ width < 2³¹; the counts take 8 bytes per column.
    min_documents : int, default 3
        Words that occur in fewer documents so far are left out, min_documents ≥ 1.
    analyzer : callable, optional
        Takes a document, returns the list of its words; by default :func:`words`.

    Examples
    --------
    >>> from onlinear.text import OnlineTfidf
    >>> tfidf = OnlineTfidf(min_documents=2)
    >>> for document in ["wheat and corn", "corn, corn, oil", "crude oil", "the"]:
    ...     tfidf.learn_one(document)
    >>> tfidf.transform_one("corn, corn, oil").data.round(3)
    array([0.861, 0.509])
    >>> tfidf.learn_transform(["more oil", "gold"]).shape  # count each, then vectorize it
    (2, 262144)
    >>> tfidf.save("words.onl")
    >>> OnlineTfidf.load("words.onl").n_documents_
    6
    """

    # DF of every column, then N: in one array, so that counting a document is a single write
    _counted: np.ndarray | None = None

    def __init__(
        self, width: int = 2**18, min_documents: int = 3, analyzer: Analyzer | None = None
    ) -> None:
        self.width = width
        self.min_documents = min_documents
        self.analyzer = analyzer

    def learn_one(self, document: str) -> None:
        """Count the words of a document."""
        self._count(self._hashed([document]))

    def transform_one(self, document: str) -> csr_array:
        """Return the vector (1 × width) of a document with the current counts; change nothing."""
        return self.transform([document])

    def transform(self, documents: Iterable[str]) -> csr_array:
        """Return the rows of documents, computed with the current counts; change nothing."""
        least = whole(self, "min_documents", least=1)
        counts, counted = self._hashed(documents), self._checked()
        return tfidf_rows(counts, counted[-1], counted[counts.indices], least)

    def learn_transform(self, documents: Iterable[str]) -> csr_array:
        """Count each document and then vectorize it, one document after the other.

        The rows are bit for bit those of ``learn_one`` and ``transform_one`` in turn, however the
        documents are split into calls. If one document is refused, none is counted.
        """
        least = whole(self, "min_documents", least=1)
        counts, counted = self._hashed(documents), self._checked()
        N = counted[-1] + 1 + np.arange(counts.shape[0])  # the N of each row when it is counted
        DF = counted[counts.indices] + occurrence(counts.indices)
        rows = tfidf_rows(counts, N, DF, least)
        self._count(counts)
        return rows

    @property
    def n_documents_(self) -> int:
        """N, the number of documents counted so far."""
        return int(self._checked()[-1])

    @property
    def document_frequencies_(self) -> np.ndarray:
        """A copy of DF: for each column, how many documents so far contain one of its words."""
        return self._checked()[:-1].copy()

    def _checked(self) -> np.ndarray:
        """Return the counts, zeros at first; refuse a width that has changed."""
        width = whole(self, "width", least=1)
        number(self, "width", least=1, most=WIDEST)
        if self._counted is None:
            return np.zeros(width + 1, dtype=np.int64)
        if self._counted.shape != (width + 1,):
            began = self._counted.size - 1
            raise ValueError(f"OnlineTfidf began with width={began} and keeps it, got {width=}")
        return self._counted

    def _hashed(self, documents: Iterable[str]) -> csr_array:
        """Return one row per document: how often the words of each column occur in it."""
        width = self._checked().size - 1
        found = tokens(self, documents)
        first = next(found, None)
        if first is None:  # scikit-learn refuses an empty list of documents
            return csr_array((0, width))
        hasher = HashingVectorizer(analyzer=list, n_features=width, alternate_sign=False, norm=None)
        return csr_array(hasher.transform(chain([first], found)))

    def _count(self, counts: csr_array) -> None:
        counted = self._checked()
        np.add.at(counted, np.append(counts.indices, np.full(counts.shape[0], -1)), 1)
        self._counted = counted

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # counting changes the array in place

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the counts to a state file (versioned, checksummed, not a pickle), atomically."""
        if self.analyzer is not None:
            raise ValueError(
                "OnlineTfidf needs analyzer=None to be saved, as a state file holds no code, got "
                f"analyzer={self.analyzer!r}: pickle it instead"
            )
        counted = self._checked()
        params = {"width": counted.size - 1, "min_documents": whole(self, "min_documents", least=1)}
        file_format.write(
            path, {"transformer": "OnlineTfidf", "params": params}, {"counted": counted}
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the object saved in a file, or raise a StateFileError."""
        header, arrays = file_format.read(path)
        with model_codec.refusing(path, "an OnlineTfidf"):
            if header.get("transformer") != "OnlineTfidf":
                raise ValueError("it holds something else")
            tfidf = cls(header["params"]["width"], header["params"]["min_documents"])
            whole(tfidf, "min_documents", least=1)
            tfidf._counted = arrays["counted"]
            counted = tfidf._checked()
            most = min(counted[-1], LARGEST)
            if not np.all((counted >= 0) & (counted <= most) & (counted == np.floor(counted))):
                raise ValueError(f"its counts are not whole numbers from 0 to N = {counted[-1]:g}")
            tfidf._counted = counted.astype(np.int64)
        return tfidf


model_codec.register_refusal("transformer", "it holds {}: use onlinear.text.OnlineTfidf.load")
