"""Data streams to try a learner on: synthetic ones, and the real data sets of the papers."""

from onlinear.streams._real import DataNotFoundError, Documents, Table, Vectors, load
from onlinear.streams._synthetic import friedman, paired, rotating, shifting

__all__ = [
    "DataNotFoundError",
    "Documents",
    "Table",
    "Vectors",
    "friedman",
    "load",
    "paired",
    "rotating",
    "shifting",
]
