"""The TF-IDF formula, which turns the word counts of documents into rows of norm 1."""

import math
from typing import Any

import numpy as np
from scipy.sparse import csr_array

__all__ = ["occurrence", "tfidf_rows"]


def tfidf_rows(counts: csr_array, N: Any, DF: np.ndarray, least: int) -> csr_array:
    """Return one row of TF-IDF weights for each document, given the word counts TF.

    N, the number of documents, is one number or one per row; DF, the number of documents that
    contain a word, has one entry per stored count. Words with DF < ``least`` have weight 0.

    Terms are added from left to right and logarithms taken one at a time, so a row computed alone
    is the same to the bit as in a table of many rows.

    >>> counts = csr_array([[3, 0, 1], [0, 2, 1]])
    >>> tfidf_rows(counts, N=2, DF=np.array([1, 2, 1, 2]), least=1).toarray()
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """
    rows = counts.shape[0]
    row = np.repeat(np.arange(rows), np.diff(counts.indptr))
    N = np.broadcast_to(N, rows)[row]
    stay = (least <= DF) & (DF < N)  # ln(N/DF) = 0 is not stored
    row = row[stay]
    x = (1 + _ln(counts.data[stay])) * _ln(N[stay] / DF[stay])  # (1 + ln TF) · ln(N/DF)
    x /= np.sqrt(np.bincount(row, x * x, minlength=rows))[row]  # x ← x / ‖x‖
    starts = np.append(0, np.cumsum(np.bincount(row, minlength=rows)))
    return csr_array((x, counts.indices[stay], starts), shape=counts.shape)


def _ln(values: np.ndarray) -> np.ndarray:
    return np.fromiter(map(math.log, values.tolist()), float, values.size)


def occurrence(columns: np.ndarray) -> np.ndarray:
    """Return, for each entry, how many entries up to and including it are equal to it.

    >>> occurrence(np.array([7, 5, 7, 7, 5]))
    array([1, 1, 2, 3, 2])
    """
    order = np.argsort(columns, kind="stable")
    grouped = columns[order]
    nth = np.empty_like(order)
    nth[order] = 1 + np.arange(order.size) - np.searchsorted(grouped, grouped)
    return nth
