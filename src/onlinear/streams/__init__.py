"""Streams to try a learner on: generated ones, and the real sets of the papers."""

from onlinear.streams._synthetic import friedman, paired, rotating

__all__ = ["friedman", "paired", "rotating"]
