"""Documents as TF-IDF vectors of length 1: of a whole corpus, or of a stream that goes on."""

from onlinear.text._tokens import words
from onlinear.text._vectorizers import CorpusTfidf, OnlineTfidf

__all__ = ["CorpusTfidf", "OnlineTfidf", "words"]
