"""Re-export all checks of input, so that other packages import the checks from one module."""

from onlinear._validation.memory import fits, holds, physical_memory, within_half
from onlinear._validation.numbers import sparse
from onlinear._validation.parameters import LARGEST, asked, choice, limit, number, whole
from onlinear._validation.refusals import NotFittedError, not_fitted, refusal
from onlinear._validation.tables import (
    any_table,
    finite_rows,
    label,
    labels,
    numeric_row,
    row,
    row_names,
    same_columns,
    same_index,
    same_names,
    sparse_row,
    sparse_table,
    table,
    width,
)
from onlinear._validation.words import described, with_article

__all__ = [
    "LARGEST",
    "NotFittedError",
    "any_table",
    "asked",
    "choice",
    "described",
    "finite_rows",
    "fits",
    "holds",
    "label",
    "labels",
    "limit",
    "not_fitted",
    "number",
    "numeric_row",
    "physical_memory",
    "refusal",
    "row",
    "row_names",
    "same_columns",
    "same_index",
    "same_names",
    "sparse",
    "sparse_row",
    "sparse_table",
    "table",
    "whole",
    "width",
    "with_article",
    "within_half",
]
