"""Validation of input: parameters, tables, rows, labels and memory, with error messages."""
