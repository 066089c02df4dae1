"""A learner in a file outside of the package gets all that the package's learners have."""

import ast
import copy
import doctest
import os
import pickle
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from documents import blocks, shown
from hostile import KINDS, adversary
from outside import outside, same_bits
from places import ROOT
from river import checks as river_checks
from sklearn.base import clone
from sklearn.model_selection import TimeSeriesSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator, check_regressors_train
from table import state, stream

import onlinear as ol
from onlinear import algorithms, extend
from onlinear.river import River

FILE = ROOT / "examples" / "own_learner.py"
ROWS = 60


own = outside(FILE, "own_learner")
LMS = own.LMS


def lms(X, y, eta):
    """The textbook's form."""
    w, predictions = np.zeros(X.shape[1]), np.empty(len(y))
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        predictions[i] = w @ x
        w = w + eta * (label - w @ x) * x
    return predictions, w


# --- the file -----------------------------------------------------------------------------------


def test_the_file_imports_nothing_private():
    modules = set()
    for node in ast.walk(ast.parse(FILE.read_text())):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(node.module)
            assert not [alias.name for alias in node.names if alias.name.startswith("_")]
    foreign = {name for name in modules if name.split(".")[0] not in sys.stdlib_module_names}
    assert foreign == {"numpy", "onlinear", "onlinear.extend"}


def test_the_file_runs_as_a_script_and_its_example_is_true():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}  # the tests below compile it
    done = subprocess.run(
        [sys.executable, FILE], capture_output=True, text=True, check=True, env=environment
    )
    assert "holds in every round: True" in done.stdout
    assert "the same bits: True" in done.stdout
    assert doctest.testmod(own) == (0, 3)


def test_the_page_shows_the_file_and_prints_what_it_says(capsys):
    text = FILE.read_text()
    parts = blocks("docs/extend.md")
    assert sum(block in text for block in parts) == 6
    space = {**vars(own)}
    for block in parts:
        if block not in text:
            exec(block, space)
            assert capsys.readouterr().out.splitlines() == shown(block)
    assert re.findall(r"from onlinear\._|import onlinear\._", "".join(parts)) == []


def test_the_guide_for_contributors_imports_nothing_private():
    assert "onlinear._" not in "".join(blocks("CONTRIBUTING.md"))
    assert "docs/extend.md" in (ROOT / "CONTRIBUTING.md").read_text()
    assert "examples/own_learner.py" in (ROOT / "CONTRIBUTING.md").read_text()


# --- the learner --------------------------------------------------------------------------------


def test_it_is_the_textbooks_filter_and_gradient_descent_at_half_the_rate():
    X, y = stream(ROWS)
    model = LMS(eta=0.3)
    run = ol.replay(model, X, y)
    predictions, w = lms(X, y, 0.3)
    np.testing.assert_allclose(run.predictions, predictions, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(model.coef_, w, rtol=1e-10)
    twin = ol.replay(ol.GD(eta=0.15), X, y)
    np.testing.assert_allclose(run.predictions, twin.predictions, rtol=1e-10, atol=1e-14)


def one_by_one(model, X, y):
    predictions = []
    for x, label in zip(X, y, strict=True):
        predictions.append(model.predict_one(x))
        model.learn_one(x, label)
    return np.array(predictions)


def test_every_way_of_running_gives_the_same_bits(tmp_path):
    X, y = stream(ROWS)
    whole = LMS(eta=0.3)
    expected = ol.replay(whole, X, y).predictions
    half = ROWS // 2

    def through_a_file(model):
        model.save(tmp_path / "model.onl")
        return ol.load(tmp_path / "model.onl")

    ways = {
        "as it is": lambda model: model,
        "save and load": through_a_file,
        "deep copy": copy.deepcopy,
        "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    }
    for way, between in ways.items():
        model = LMS(eta=0.3)
        first = ol.replay(model, X[:half], y[:half]).predictions
        model = between(model)
        second = one_by_one(model, X[half:], y[half:])
        assert np.array_equal(np.concatenate([first, second]), expected), way
        assert state(model) == state(whole), way
        assert type(model) is LMS
    bank = ol.Bank([LMS(eta=0.3), ol.Ridge(), LMS(eta=0.1)], threads=1)
    assert np.array_equal(ol.replay(bank, X, y)[:, 0].predictions, expected)
    assert state(bank[0]) == state(whole)
    bank.save(tmp_path / "bank.onl")
    assert state(ol.load(tmp_path / "bank.onl")[0]) == state(whole)


def test_one_for_each_key_gives_the_bits_of_each_alone(tmp_path):
    X, y = stream(ROWS)
    keys = np.arange(ROWS) % 3
    keyed = ol.Keyed(LMS(eta=0.3))
    run = keyed.replay(keys[:40], X[:40], y[:40])
    keyed.save(tmp_path / "keyed.onl")
    keyed = ol.load(tmp_path / "keyed.onl")
    rest = keyed.replay(keys[40:], X[40:], y[40:])
    predictions = np.concatenate([run.predictions, rest.predictions])
    for key in range(3):
        alone = LMS(eta=0.3)
        expected = ol.replay(alone, X[keys == key], y[keys == key]).predictions
        assert np.array_equal(predictions[keys == key], expected)
        assert state(keyed[key]) == state(alone)


def test_labels_may_come_late(tmp_path):
    X, y = stream(10)
    late, alone = ol.Late(LMS(eta=0.3)), LMS(eta=0.3)
    for i, x in enumerate(X):
        late.predict_one(x, id=i)
    late.save(tmp_path / "late.onl")
    late = ol.load(tmp_path / "late.onl")
    for i in reversed(range(10)):
        late.learn_one(id=i, y=float(y[i]))
        alone.learn_one(X[i], float(y[i]))
    assert state(late.model) == state(alone)


def test_bad_rows_are_named_or_skipped():
    X, y = stream(ROWS)
    X[7, 2] = np.nan
    X[9] *= 100.0
    model = LMS(eta=0.3)
    with pytest.raises(ValueError, match=r"LMS needs finite input: .* NaN in row 7, column 2"):
        ol.replay(model, X, y)
    with pytest.raises(ValueError, match=r"LMS needs eta·‖x‖² < 2.*in this row; the model is unch"):
        model.learn_one(X[9], 1.0)
    with pytest.raises(ValueError, match="LMS needs numbers whose squares fit"):
        model.learn_one(np.full(5, 1e200), 1.0)
    with pytest.raises(ValueError, match=r"LMS needs a finite number 0 < eta, got eta=-1"):
        LMS(eta=-1).learn_one(X[0], 1.0)
    model = LMS(eta=0.3, on_bad="skip")
    run = ol.replay(model, X, y)
    assert run.bad_rows.tolist() == [7, 9]
    assert model.n_skipped_ == 2
    good = np.setdiff1d(np.arange(ROWS), run.bad_rows)
    alone = ol.replay(LMS(eta=0.3), X[good], y[good])
    assert np.array_equal(run[good].predictions, alone.predictions)
    assert run.mse == alone.mse


def test_it_is_an_estimator_of_scikit_learn():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the checks' own making
        results = check_estimator(LMS(eta=1e-5), on_fail=None)
    failed = [r["check_name"] for r in results if r["status"] not in ("passed", "skipped")]
    assert failed == []
    X, y = stream(ROWS)
    assert clone(LMS(eta=0.2)).get_params() == {"eta": 0.2, "on_bad": "raise"}
    pipeline = make_pipeline(StandardScaler(), LMS(eta=0.01))
    assert np.isfinite(cross_val_score(pipeline, X, y, cv=TimeSeriesSplit(3))).all()


def test_the_check_that_fails_without_a_text_is_explained_where_poor_score_is():
    """Whoever searches for the name of the check finds the declaration it asks for."""

    class Slow(LMS):
        _poor_score = False

    with pytest.raises(AssertionError, match=r"^$"):
        check_regressors_train("Slow", Slow(eta=1e-5))
    check_regressors_train("LMS", LMS(eta=1e-5))
    page = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
    for text in (page, extend.__doc__):
        near = text[text.index("_poor_score") :]
        assert "`check_regressors_train`" in near
        assert "AssertionError" in near


def test_it_is_a_regressor_of_river():
    river_checks.check_estimator(River(LMS(eta=1e-13)))


# --- its theorem --------------------------------------------------------------------------------


def test_the_certificate_is_the_theorems():
    X, y = stream(ROWS)
    proof = ol.certificate(LMS(eta=0.7), X, y)
    assert proof.failed is None
    assert proof.holds.all()
    reach = np.maximum.accumulate(0.7 * np.sum(X**2, axis=1))
    for t in (1, 7, ROWS):
        A = X[:t].T @ X[:t] + np.eye(5) / 0.7
        u = np.linalg.solve(A, X[:t].T @ y[:t])
        least = np.sum((y[:t] - X[:t] @ u) ** 2) + u @ u / 0.7
        np.testing.assert_allclose(proof.comparator[t - 1], least, rtol=1e-9)
        ceiling = 4 / (2 - reach[t - 1]) ** 2 * least
        np.testing.assert_allclose(proof.ceiling[t - 1], ceiling, rtol=1e-9)
    predictions, _ = lms(X, y, 0.7)
    np.testing.assert_allclose(proof.loss, np.cumsum((y - predictions) ** 2))


def test_the_bound_is_priced_for_given_weights():
    X, y = stream(ROWS)
    u = np.linspace(0, 1, 5)
    proof = ol.certificate(LMS(eta=0.7), X, y, comparator=u)
    reach = np.maximum.accumulate(0.7 * np.sum(X**2, axis=1))
    loss = np.cumsum((y - X @ u) ** 2)
    np.testing.assert_allclose(proof.ceiling, 4 / (2 - reach) ** 2 * (loss + u @ u / 0.7))
    assert proof.holds.all()
    moving = np.tile(u, (ROWS, 1))
    moving[30:] += 1.0
    proof = ol.certificate(LMS(eta=0.7), X, y, comparator=moving)
    assert "one u for all rounds" in proof.failed
    assert proof.failed_from == 30


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_bound_holds_on_streams_that_try_to_break_it(kind):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = kind(rng, 50, 3)
        eta = float(rng.choice([0.02, 1.0, 1.7])) / (float(np.max(np.sum(X * X, axis=1))) + 1e-9)
        hurt = adversary(lambda eta=eta: LMS(eta=eta), X, y, rng)
        for labels in (y, hurt):
            proof = ol.certificate(LMS(eta=eta), X, labels)
            assert proof.failed is None or "double precision" in proof.failed
            ends = proof.failed_from if proof.failed else len(y)
            assert proof.holds[:ends].all(), (seed, eta)


def test_a_learner_with_the_wrong_sign_breaks_the_bound(tmp_path):
    wrong = FILE.read_text().replace("axpy(pace, x, w)", "axpy(-pace, x, w)")
    file = tmp_path / "wrong_sign.py"
    file.write_text(wrong)

    class Wrong(LMS):
        algorithm = outside(file, "wrong_sign").LMS.algorithm

    X, y = stream(ROWS)
    assert ol.certificate(LMS(eta=0.7), X, y).holds.all()
    assert not ol.certificate(Wrong(eta=0.7), X, y).holds.all()


# --- the module ---------------------------------------------------------------------------------


def private_imports(file: Path) -> set[str]:
    return {
        alias.name
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module.startswith("onlinear._")
        for alias in node.names
    }


PLAIN = ("nlms", "ogd", "ridge", "aar", "arowr")


@pytest.mark.parametrize("name", PLAIN)
def test_extend_has_what_the_packages_own_learners_import(name):
    file = Path(algorithms.__file__).parent / f"{name}.py"
    assert private_imports(file) - set(extend.__all__) == set()


def test_a_learner_of_the_package_can_be_written_with_extend_alone(tmp_path):
    assert same_bits("NLMS", tmp_path, d=5)


def test_a_learner_with_blocks_can_be_written_with_extend_alone(tmp_path):
    """As plain Python, since blocks take long to compile."""
    paths = [str(Path(ol.__file__).parents[1]), *sys.path]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(paths)}
    program = "import outside, pathlib; print(outside.same_bits('Ridge', pathlib.Path(), d=70))"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"


def test_extend_exports_what_it_says():
    assert extend.__all__ == sorted(extend.__all__, key=lambda n: (_kind(n), n))
    public = {name for name in vars(extend) if name.isidentifier() and not name.startswith("_")}
    assert set(extend.__all__) == public
    for name in extend.__all__:
        assert re.search(rf"``{name}\b", extend.__doc__), f"{name} is not in the docstring"
        value = getattr(extend, name)
        if callable(value) and not isinstance(value, tuple):
            assert value.__doc__, name


def _kind(name: str) -> int:
    """Constants, classes, functions: as ruff sorts them."""
    return 0 if name.isupper() else 1 if name[0].isupper() else 2


def test_extend_knows_no_algorithm():
    tree = ast.parse(Path(extend.__file__).read_text())
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert [module for module in modules if "algorithms" in module] == []
