"""Compiled numerical kernels: linear algebra, vector loops, BLAS, and just-in-time compilation."""
