"""The online linear regression algorithms, one module each; ``LEARNERS`` maps names to classes."""

from onlinear._learner.base import Learner
from onlinear.algorithms.aar import AAR
from onlinear.algorithms.arcor import ARCOR
from onlinear.algorithms.arow import AROW
from onlinear.algorithms.arowr import AROWR
from onlinear.algorithms.auto import Auto
from onlinear.algorithms.cirr import CIRR
from onlinear.algorithms.crrls import CRRLS
from onlinear.algorithms.driftnetwork import DriftNetwork
from onlinear.algorithms.eg import EG
from onlinear.algorithms.egpm import EGPM
from onlinear.algorithms.egu import EGU
from onlinear.algorithms.gd import GD
from onlinear.algorithms.kernelaar import KernelAAR
from onlinear.algorithms.kernelarcor import KernelARCOR
from onlinear.algorithms.kernelcrrls import KernelCRRLS
from onlinear.algorithms.kernelgd import KernelGD
from onlinear.algorithms.kernellaser import KernelLASER
from onlinear.algorithms.kernelwemm import KernelWEMM
from onlinear.algorithms.laser import LASER
from onlinear.algorithms.logisticlaser import LogisticLASER
from onlinear.algorithms.nlms import NLMS
from onlinear.algorithms.ogd import OGD
from onlinear.algorithms.ons import ONS
from onlinear.algorithms.oslog import OSLOG
from onlinear.algorithms.pnorm import PNorm
from onlinear.algorithms.ridge import Ridge
from onlinear.algorithms.rls import RLS
from onlinear.algorithms.wemm import WEMM

__all__ = [
    "AAR",
    "ARCOR",
    "AROW",
    "AROWR",
    "CIRR",
    "CRRLS",
    "EG",
    "EGPM",
    "EGU",
    "GD",
    "LASER",
    "LEARNERS",
    "NLMS",
    "OGD",
    "ONS",
    "OSLOG",
    "RLS",
    "WEMM",
    "Auto",
    "DriftNetwork",
    "KernelAAR",
    "KernelARCOR",
    "KernelCRRLS",
    "KernelGD",
    "KernelLASER",
    "KernelWEMM",
    "LogisticLASER",
    "PNorm",
    "Ridge",
]

LEARNERS: dict[str, type[Learner]] = {
    name: globals()[name] for name in __all__ if name != "LEARNERS"
}
