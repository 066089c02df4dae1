"""Kernel feature maps for linear learners: random Fourier and Nyström features.

    RandomFourier(width=200, gamma=0.5)           features drawn at random
    Nystroem(RBF(gamma=0.5), landmarks=100)       similarities to landmarks, chosen from the rows
    Mapped(features, learner)                     a learner on mapped features

A kernel learner keeps every example, and a round costs O(n²) after n examples. A feature map gives
a fixed number of features φ(x) whose inner products approximate the kernel, φ(x)ᵀφ(z) ≈ K(x, z). A
linear learner on φ(x) therefore approximates the kernel learner, at a constant cost per round. Use
a feature map for long streams.
"""

from onlinear.features.fourier import RandomFourier
from onlinear.features.mapped import Mapped
from onlinear.features.nystroem import Nystroem

__all__ = ["Mapped", "Nystroem", "RandomFourier"]
