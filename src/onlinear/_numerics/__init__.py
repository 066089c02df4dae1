"""Compiled numerical functions: linear algebra, loops over vectors, and how they are compiled."""
