"""Compiled arithmetic: linear algebra, vector loops, BLAS and the JIT; knows no learner."""
