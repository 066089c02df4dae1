"""Streams to try learners on: synthetic ones, and real data sets from papers on the algorithms."""

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
