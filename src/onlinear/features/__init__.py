"""Explicit features of a kernel, in front of any linear learner: for long streams.

    RandomFourier(width=200, gamma=0.5)           features drawn at random
    Nystroem(RBF(gamma=0.5), landmarks=100)       the first rows that are new enough
    Mapped(features, learner)                     the map in front of the learner

A kernel learner keeps every example, and a round costs O(n²) after n of them. A map gives features
φ(x) of fixed width with φ(x)ᵀφ(z) ≈ K(x, z), so that a linear learner of φ(x) is nearly the kernel
learner, and every round costs the same.
"""

from onlinear.features.fourier import RandomFourier
from onlinear.features.mapped import Mapped
from onlinear.features.nystroem import Nystroem

__all__ = ["Mapped", "Nystroem", "RandomFourier"]
