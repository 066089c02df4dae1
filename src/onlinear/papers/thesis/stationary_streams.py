"""Streams whose true weights do not drift, and the losses and bounds of learners on them."""

from typing import NamedTuple

import numpy as np

import onlinear as ol
from onlinear.papers.thesis.stationary_bounds import Seen, bounds

__all__ = [
    "KINDS",
    "LEARNERS",
    "SIZES",
    "STRONG",
    "B",
    "Curves",
    "checkpoints",
    "look",
    "one_row",
    "stream",
]

B, D = 2.0, 5
STRONG = 10.0  # another b, with which the factor b/(b − 1) is near 1
Curves = dict[str, np.ndarray]  # bounds and regrets at the checkpoints, or sizes, by name


class Kind(NamedTuple):
    """A kind of stream: the norm of its true weights u, and the size and decay of its noise.

    The noise of round t is uniform, with absolute values up to ``noise``·t^−``fades``.
    """

    length: float
    noise: float
    fades: float = 0.0


KINDS = {
    "linear": Kind(1.0, 0.0),
    "large labels": Kind(10.0, 0.5),
    "noisy": Kind(1.0, 1.0),
    "small labels": Kind(0.0, 0.1),
    "fading noise": Kind(1.0, 1.0, 0.5),
}
LEARNERS = {"AAR": "Vovk, Forster", "AROWR": "Crammer et al.", "WEMM": "Theorem 5"}
SIZES = (
    "S, largest loss of u",
    "A, largest loss of AROWR",
    "Y²",
    "(U + Y)²",
    "L, loss of u",
    f"A with b = {STRONG:g}",
)


def stream(kind: Kind, rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of length 1, their labels, and the true weights u."""
    rng = np.random.default_rng(seed)
    X, u = rng.normal(size=(rows, D)), rng.normal(size=D)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    u *= kind.length / np.linalg.norm(u)
    size = kind.noise * np.arange(1.0, rows + 1) ** -kind.fades
    return X, X @ u + size * rng.uniform(-1, 1, size=rows), u


def checkpoints(rows: int) -> np.ndarray:
    """Return the rounds at which bounds are evaluated: ten per power of ten, from round 10 on."""
    return np.asarray(np.rint(10 ** np.arange(1, np.log10(rows) + 0.05, 0.1)), dtype=int)


def look(rows: int, item: tuple[str, int]) -> Curves:
    """Return bounds, regrets and certificates at checkpoints of a stream, and its SIZES at the end.

    ``item`` is the name of the kind of stream, and the seed.
    """
    kind, seed = item
    X, y, u = stream(KINDS[kind], rows, seed)
    models = (ol.AAR(b=B, clip=float(np.abs(y).max())), ol.AROWR(r=1.0, b=B), ol.WEMM(b=B))
    proofs = [ol.certificate(model, X, y, comparator=u) for model in models]
    losses, own = (y - X @ u) ** 2, proofs[1].run.losses
    norm = float(np.linalg.norm(u))
    at = checkpoints(rows)
    each = [bounds(Seen(losses[:t], norm, D, np.abs(y[:t]).max(), own[:t].max()), B) for t in at]
    seen = {name: np.array([row[name] for row in each]) for name in each[0]}
    for name, proof in zip(LEARNERS, proofs, strict=True):
        seen[f"{name}: regret"] = proof.regret[at - 1]
        seen[f"{name}: certificate"] = proof.bound[at - 1]
    Y = np.abs(y).max()
    strong = ol.replay(ol.AROWR(r=1.0, b=STRONG), X, y).losses.max()
    sizes = (losses.max(), own.max(), Y**2, (norm + Y) ** 2, losses.sum(), strong)
    return seen | {"sizes": np.array(sizes)}


def one_row(b: float) -> tuple[float, Seen]:
    """Return WEMM's regret against the best u on one row, x = y = 1, and the bounds' quantities."""
    proof = ol.certificate(ol.WEMM(b=b), [[1.0]], [1.0])
    u = 1 / b  # minimizes b·u² + a(1 − u)² with a = b/(b − 1)
    loss = (1 - u) ** 2
    return float(proof.loss[-1] - loss), Seen(np.array([loss]), u, 1, 1.0, 1.0)
