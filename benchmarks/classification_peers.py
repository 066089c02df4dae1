"""The learners that classification.py compares; each predicts every row before it learns the row.

Other libraries get the input that a careful user would give them: rows standardized on arrival with
running statistics (texts as they are, since TF-IDF rows have length 1), and a column of ones where
they have no intercept. The same holds for learners of onlinear without ``Standardized``.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

import timing

# isort: split
import numpy as np
from classification_streams import Stream
from peers import on_arrival

import onlinear as ol
from onlinear import losses

__all__ = ["CONTENDERS", "Contender", "Outcome", "Settings"]
assert timing  # importing it limits NumPy to one thread

Settings = Mapping[str, Any]


class Outcome(NamedTuple):
    """Which rows are predicted to be of class 1, and the probabilities of it, if there are any."""

    chosen: np.ndarray
    probabilities: np.ndarray | None


Run = Callable[[Settings, Stream], Outcome]
Play = Callable[[np.ndarray, float], float]  # predict a row, learn its label, return the prediction


@dataclass(frozen=True)
class Contender:
    """A learner: how it runs over a stream with given settings, and a grid of settings to try."""

    name: str
    run: Run
    grid: tuple[Settings, ...] = ()
    package: str = "onlinear"

    def is_installed(self) -> bool:
        """Return whether the package can be imported."""
        try:
            import_module(self.package)
        except ImportError:
            return False
        return True


def scaled(stream: Stream, *, ones: bool) -> np.ndarray:
    """Return the rows that learners without a scaling of their own get."""
    Z = stream.X if stream.text else on_arrival(stream.X)
    return np.column_stack([Z, np.ones(len(Z))]) if ones else Z


# --- onlinear -------------------------------------------------------------------------------


def ours(make: Callable[..., ol.Learner], *, standardized: bool = False) -> Run:
    """Return a run of a learner of onlinear, on scaled rows or inside ``Standardized``."""

    def run(settings: Settings, stream: Stream) -> Outcome:
        model, X = make(**settings), stream.X
        if standardized:
            model = ol.Standardized(model)
        else:
            X = scaled(stream, ones=True)
        probable = model._loss == losses.Logistic()
        predictions = ol.replay(model, X, stream.y).predictions
        return Outcome(predictions > 0.5 * probable, predictions if probable else None)

    return run


# --- other libraries ------------------------------------------------------------------------


def row_by_row(make: Callable[[int, Settings], Play], *, ones: bool, probable: bool) -> Run:
    """Return a run of ``make(d, settings)`` over rows.

    ``probable`` says whether the predictions are probabilities; otherwise they are margins.
    """

    def run(settings: Settings, stream: Stream) -> Outcome:
        Z = scaled(stream, ones=ones)
        play = make(Z.shape[1], settings)
        predictions = np.array([play(z, y) for z, y in zip(Z, stream.y.tolist(), strict=True)])
        return Outcome(predictions > 0.5 * probable, predictions if probable else None)

    return run


def entries(z: np.ndarray) -> Iterator[tuple[int, float]]:
    """Yield the places and values of the non-zero entries of a row."""
    where = np.flatnonzero(z)
    return zip(where.tolist(), z[where].tolist(), strict=True)


def river(kind: str, *, probable: bool = False) -> Run:
    def make(d: int, settings: Settings) -> Play:
        from river import linear_model, optim

        given = dict(settings)
        if "lr" in given:
            rate = given.pop("lr")
            given |= {"optimizer": optim.SGD(rate), "intercept_lr": rate}
        model: Any = getattr(linear_model, kind)(**given)

        def play(z: np.ndarray, y: float) -> float:
            x, label = dict(entries(z)), bool(y)
            probability = model.predict_proba_one(x).get(True, 0.5)
            model.learn_one(x, label)
            return float(probability)

        return play

    def run(settings: Settings, stream: Stream) -> Outcome:
        # the classifiers without probabilities return σ(margin), whose boundary is ½ too
        outcome = row_by_row(make, ones=kind == "ALMAClassifier", probable=True)(settings, stream)
        return outcome if probable else Outcome(outcome.chosen, None)

    return run


def sklearn(d: int, settings: Settings) -> Play:
    from sklearn import config_context
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(loss="log_loss", **settings)
    seen = False

    def play(z: np.ndarray, y: float) -> float:
        nonlocal seen
        a = float(model.coef_[0] @ z + model.intercept_[0]) if seen else 0.0
        with config_context(assume_finite=True, skip_parameter_validation=True):
            model.partial_fit(z[None], [y], classes=[0.0, 1.0])
        seen = True
        return float(0.5 * (1.0 + np.tanh(0.5 * a)))

    return play


def vowpal_wabbit(d: int, settings: Settings) -> Play:
    from vowpalwabbit import Workspace

    given = "".join(f" --{name} {value}" for name, value in settings.items())
    workspace = Workspace(f"--quiet --loss_function logistic --link logistic{given}")

    def play(z: np.ndarray, y: float) -> float:
        row = "| " + " ".join([f"{j}:{entry:.9g}" for j, entry in entries(z)])
        prediction = workspace.predict(row)
        workspace.learn(f"{2 * y - 1:g} {row}")
        return float(prediction)

    return play


def olpy(d: int, settings: Settings) -> Play:
    from olpy.classifiers import AROW

    model = AROW(**settings)

    def play(z: np.ndarray, y: float) -> float:
        margin = 0.0 if model.weights is None else float(model.weights @ z)
        model.partial_fit(z[None], np.array([int(y)]))
        return margin

    return play


# --- baselines ------------------------------------------------------------------------------


def shares(settings: Settings, stream: Stream) -> Outcome:
    """Predict the share of class 1 so far."""
    y = stream.y
    before = np.cumsum(y) - y
    p = (before + 0.5) / (np.arange(y.size) + 1.0)
    return Outcome(p > 0.5, p)


def last_label(settings: Settings, stream: Stream) -> Outcome:
    """Predict the class of the row before."""
    return Outcome(np.r_[False, stream.y[:-1] > 0.5], None)


def grid(name: str, *values: Any, **others: Any) -> tuple[Settings, ...]:
    return tuple({**others, name: value} for value in values)


def following() -> ol.Learner:
    """Return the default of ``onlinear run --task classify``."""
    return ol.LogisticLASER(c=1000.0)


def perceptron(r: float = 1.0) -> ol.Learner:
    return ol.AROW(r=r, margin=0.0)


def gd(eta: float = 0.1) -> ol.Learner:
    return ol.GD(eta=eta, loss=losses.Logistic())


def pnorm(eta: float = 0.01, p: float = 4.0) -> ol.Learner:
    return ol.PNorm(eta=eta, p=p, loss=losses.Logistic())


LASERS = grid("c", np.inf, 1e4, 1e3, 100.0, reach=20.0) + grid(
    "c", np.inf, 1e3, 100.0, b=0.1, reach=40.0
)
CONTENDERS = (
    Contender("Standardized(LogisticLASER())", ours(ol.LogisticLASER, standardized=True), LASERS),
    Contender("LogisticLASER()", ours(ol.LogisticLASER), LASERS),
    Contender("Standardized(LogisticLASER(c=1000))", ours(following, standardized=True)),
    Contender(
        "Standardized(AROW())", ours(ol.AROW, standardized=True), grid("r", 0.1, 10.0, 100.0)
    ),
    Contender("AROW()", ours(ol.AROW), grid("r", 0.1, 10.0, 100.0)),
    Contender("AROW(margin=0)", ours(perceptron), grid("r", 0.1, 10.0, 100.0)),
    Contender("GD(eta=.1), log loss", ours(gd), grid("eta", 0.01, 0.3, 1.0, 3.0, 10.0)),
    Contender(
        "PNorm(p=4, eta=.01), log loss",
        ours(pnorm),
        grid("eta", 0.1, 1.0, 10.0) + grid("eta", 0.01, 0.1, 1.0, 10.0, p=8.0),
    ),
    Contender(
        "river LogisticRegression",
        river("LogisticRegression", probable=True),
        grid("lr", 0.003, 0.03, 0.1, 0.3, 1.0, 3.0),
        "river",
    ),
    Contender(
        "river ALMAClassifier",
        river("ALMAClassifier"),
        grid("alpha", 0.3, 0.5, 0.7, 0.99) + grid("p", 4, 8),
        "river",
    ),
    Contender(
        "river PAClassifier",
        river("PAClassifier"),
        grid("C", 0.001, 0.01, 0.1, 10.0) + grid("C", 0.01, 0.1, mode=2),
        "river",
    ),
    Contender("river Perceptron", river("Perceptron"), grid("l2", 0.001, 0.01), "river"),
    Contender(
        "scikit-learn SGDClassifier, log loss",
        row_by_row(sklearn, ones=False, probable=True),
        grid("alpha", 1e-5, 1e-3)
        + grid("eta0", 0.01, 0.1, 0.3, 1.0, 10.0, learning_rate="constant"),
        "sklearn",
    ),
    Contender(
        "Vowpal Wabbit, log loss",
        row_by_row(vowpal_wabbit, ones=False, probable=True),
        grid("learning_rate", 2.0, 10.0) + grid("learning_rate", 0.5, 2.0, 5.0, 20.0, power_t=0),
        "vowpalwabbit",
    ),
    Contender(
        "olpy AROW",
        row_by_row(olpy, ones=True, probable=False),
        grid("r", 0.1, 10.0, 100.0),
        "olpy",
    ),
    Contender("the shares so far", shares),
    Contender("the last label", last_label),
)
