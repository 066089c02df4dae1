"""Kernels: their formulas, what is no kernel, and kernels in state files."""

import copy
import math
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from table import manhattan, stream

import onlinear as ol
from onlinear import kernels
from onlinear.kernels import RBF, Kernel, Linear, Polynomial, register


def test_the_compiled_kernels_are_their_formulas():
    rng = np.random.default_rng(0)
    Z, x = rng.normal(size=(7, 4)), rng.normal(size=4)
    assert_allclose(Linear()(Z, x), Z @ x, rtol=1e-13)
    assert_allclose(Polynomial(4, 0.3, 1.7)(Z, x), (1.7 * Z @ x + 0.3) ** 4, rtol=1e-12)
    assert_allclose(RBF(0.6)(Z, x), np.exp(-0.6 * ((Z - x) ** 2).sum(axis=1)), rtol=1e-13)
    assert_allclose(RBF()(Z, x), RBF(0.25)(Z, x))


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        ("rbf", "needs a kernel such as onlinear.kernels.RBF"),
        (None, "got kernel=None"),
        (RBF, "got kernel=<class"),
        (RBF(gamma=-1.0), "RBF needs a finite number 0 < gamma, got gamma=-1.0"),
        (Polynomial(degree=0), "Polynomial needs a whole number 1 ≤ degree"),
        (lambda Z, x: 1.0, "a number for each of the 1 rows"),
        (lambda Z, x: Z, "a number for each of the 1 rows"),
        (lambda Z, x: np.full(len(Z), math.nan), "needs to return finite numbers, got nan"),
    ],
)
def test_what_is_no_kernel_is_refused_in_words(kernel, words):
    model = ol.KernelAAR(kernel)
    with pytest.raises(ValueError, match=re.escape(words)):
        model.learn_one([1.0, 2.0], 1.0)
    assert not hasattr(model, "n_features_in_")


def test_a_kernel_is_saved_by_its_name_and_never_executed(tmp_path):
    X, y = stream(20)
    path = tmp_path / "model.onl"

    def product(Z, x):
        return Z @ x

    model = ol.KernelAAR(product).fit(X, y)
    with pytest.raises(ValueError, match=r"needs onlinear\.kernels\.register\(kernel\) before"):
        model.save(path)
    register(product)
    model.save(path)
    assert ol.load(path).kernel is product
    kernels._registered.clear()
    with pytest.raises(
        ol.StateFileError, match=r"no kernel is registered as 'test_kernels.*product'"
    ):
        ol.load(path)
    register(manhattan)


def test_a_file_cannot_name_any_function_there_is(tmp_path):
    from onlinear._state_files import file_format

    X, y = stream(20)
    path = tmp_path / "model.onl"
    ol.KernelAAR(manhattan).fit(X, y).save(path)
    header, arrays = file_format.read(path)
    for named in ({"registered": "builtins.print"}, {"module": "builtins", "function": "print"}):
        header["params"]["kernel"] = named
        file_format.write(path, header, arrays)
        with pytest.raises(ol.StateFileError, match="does not describe"):
            ol.load(path)


@pytest.mark.parametrize("kernel", [Polynomial(np.int64(2)), RBF(np.float32(0.5))], ids=repr)
def test_numbers_of_numpy_in_a_kernel_survive_a_file(kernel, tmp_path):
    X, y = stream(20)
    model = ol.KernelAAR(kernel).fit(X, y)
    model.save(tmp_path / "model.onl")
    assert ol.load(tmp_path / "model.onl").predict(X).tolist() == model.predict(X).tolist()


def test_a_kernel_needs_rows_of_one_width():
    for kernel in (Linear(), RBF(), Polynomial()):
        with pytest.raises(ValueError, match=r"rows Z \(n, d\) and one row x \(d,\), got \(1, 1\)"):
            kernel([[1.0]], [1.0, 2.0])


def test_a_state_that_no_rounds_lead_to_is_refused(tmp_path):
    X, y = stream(20)
    for change, words in [
        (lambda s: s.n.__setitem__(0, 25.0), "25 examples are kept"),
        (lambda s: s.n.__setitem__(0, 1.5), "1.5 examples are kept"),
        (lambda s: s.form.__setitem__(1, 9.0), "needs the kernel it began with"),
        (lambda s: s.L.__setitem__(0, 0.0), "a diagonal that is not above 0"),
        (lambda s: s.rho.__setitem__(3, 0.0), "a prior variance = 0"),
    ]:
        model = ol.KernelAAR(RBF(gamma=1.0)).fit(X, y)
        change(model._state)
        with pytest.raises((ValueError, ol.StateFileError), match=words):
            _through(model, tmp_path / "model.onl")


def _through(model, path):
    model.save(path)
    return ol.load(path)


def test_kernels_compare_and_copy_by_value():
    assert RBF(gamma=2.0) == copy.deepcopy(RBF(gamma=2.0)) != RBF()
    assert isinstance(RBF(), Kernel)
    assert {Linear(), Linear()} == {Linear()}
