"""Regret bounds of the theorems, computed row by row from the rows and labels of a stream."""
