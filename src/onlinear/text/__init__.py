"""TF-IDF vectors of norm 1, for a whole corpus or for a stream of documents."""

from onlinear.text._tokens import words
from onlinear.text._vectorizers import CorpusTfidf, OnlineTfidf

__all__ = ["CorpusTfidf", "OnlineTfidf", "words"]
