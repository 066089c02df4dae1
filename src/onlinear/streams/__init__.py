"""Streams to try a learner on: generated ones, and the real sets of the papers."""

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
