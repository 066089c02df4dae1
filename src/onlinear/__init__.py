"""Online linear regression for data whose relationships drift.

>>> import onlinear as ol
>>> model = ol.LASER(b=1.0, c=100.0)
>>> model.predict_one([1.0, 2.0])
0.0
>>> model.learn_one([1.0, 2.0], 3.0)
"""

from onlinear import (
    algorithms,
    bregman,
    extend,
    features,
    filtering,
    hindsight,
    kernels,
    losses,
    scaling,
    sets,
    streams,
)
from onlinear._evaluation.certificate import Certificate
from onlinear._evaluation.certified import Certified, certificate
from onlinear._evaluation.regret_plot import regret_plot
from onlinear._evaluation.replay import replay
from onlinear._evaluation.report.report import report
from onlinear._learner.bank_replay import BankReplay
from onlinear._learner.base import Learner
from onlinear._learner.class_replay import ClassReplay
from onlinear._learner.loading import load
from onlinear._learner.measures import Calibration
from onlinear._learner.merging import merge
from onlinear._learner.replay_result import Replay
from onlinear._state_files.file_format import StateFileError
from onlinear._validation.checks import NotFittedError
from onlinear._wrappers.bank.bank import Bank
from onlinear._wrappers.keyed.keyed import Keyed, KeyStatistics
from onlinear._wrappers.late.late import Late
from onlinear._wrappers.late.pending import LateCounts
from onlinear.algorithms import *  # noqa: F403 (every learner, as its __all__ lists them)
from onlinear.filtering import (
    AppleTasting,
    Filter,
    FilterReplay,
    LaserFilter,
    Perceptron,
    PRidgeFilter,
    RidgeFilter,
    SimpleFilter,
    filter_replay,
)
from onlinear.scaling import Standardized

__version__ = "0.15.0"

__all__ = [
    "AppleTasting",
    "Bank",
    "BankReplay",
    "Calibration",
    "Certificate",
    "Certified",
    "ClassReplay",
    "Filter",
    "FilterReplay",
    "KeyStatistics",
    "Keyed",
    "LaserFilter",
    "Late",
    "LateCounts",
    "Learner",
    "NotFittedError",
    "PRidgeFilter",
    "Perceptron",
    "Replay",
    "RidgeFilter",
    "SimpleFilter",
    "Standardized",
    "StateFileError",
    "bregman",
    "certificate",
    "extend",
    "features",
    "filter_replay",
    "filtering",
    "hindsight",
    "kernels",
    "load",
    "losses",
    "merge",
    "regret_plot",
    "replay",
    "report",
    "scaling",
    "sets",
    "streams",
]
__all__ += algorithms.__all__
