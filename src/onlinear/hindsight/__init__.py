"""The best predictors in hindsight, with which learners are compared.

best fixed       min over u            of  b‖u‖² + Σ (y_s − uᵀx_s)²
best drifting    min over u_1..u_T     of  b‖u_1‖² + c Σ‖u_{s+1} − u_s‖² + Σ (y_s − u_sᵀx_s)²
best shifting    min over k segments   of  Σ (y_s − u_sᵀx_s)², u constant on a segment
best sparse      min over u            of  2a‖u‖₁ + Σ (y_s − uᵀx_s)²

In round s, x_s is the row and y_s its label; b, c and a are penalties, and k is a number of
segments.
"""

from onlinear.hindsight._running import Running
from onlinear.hindsight.drift import squared_drift, total_drift
from onlinear.hindsight.drifting import BestDrifting, best_drifting, drifting_path
from onlinear.hindsight.fixed import BestFixed, best_fixed
from onlinear.hindsight.shifting import Shifting, best_shifting
from onlinear.hindsight.sparse import Sparse, best_sparse

__all__ = [
    "BestDrifting",
    "BestFixed",
    "Running",
    "Shifting",
    "Sparse",
    "best_drifting",
    "best_fixed",
    "best_shifting",
    "best_sparse",
    "drifting_path",
    "squared_drift",
    "total_drift",
]
