"""Online filtering with partial feedback: a filter sees only the labels of rows it forwards."""

from onlinear.filtering._filter import Filter
from onlinear.filtering._replay import FilterReplay, filter_replay
from onlinear.filtering.apple import AppleTasting
from onlinear.filtering.laser import LaserFilter
from onlinear.filtering.perceptron import Perceptron
from onlinear.filtering.pridge import PRidgeFilter
from onlinear.filtering.ridge import RidgeFilter
from onlinear.filtering.simple import SimpleFilter

__all__ = [
    "AppleTasting",
    "Filter",
    "FilterReplay",
    "LaserFilter",
    "PRidgeFilter",
    "Perceptron",
    "RidgeFilter",
    "SimpleFilter",
    "filter_replay",
]
