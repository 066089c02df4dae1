"""Checks of parameters, tables, rows, labels and the memory needed, and their error messages."""
