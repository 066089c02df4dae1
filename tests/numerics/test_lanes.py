"""Loops by lanes: what the rule says of each number, to the bit, however many there are."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from onlinear._numerics.linalg import dot, kernel
from onlinear._numerics.vector_loops import along


@along
def added(a, x, y):
    return y + a * x


@along
def turned(a, b, x, y):
    return a * x - b * y, b * x + a * y


@kernel
def add(a, x, y):
    added(a, x, y)


@kernel
def turn(a, b, x, y):
    turned(a, b, x, y)


def draw(n, count=2):
    return np.random.default_rng(n).normal(size=(count, n)) * 10.0 ** np.arange(n)


@pytest.mark.parametrize("n", range(35))
def test_every_number_is_what_the_rule_says(n):
    x, y = draw(n)
    expected, plain = y + 0.3 * x, y.copy()
    added.py_func(0.3, x, plain)
    add(0.3, x, y)
    assert_array_equal(y, expected)
    assert_array_equal(plain, expected)


@pytest.mark.parametrize("n", [1, 7, 8, 20, 31])
def test_a_rule_may_change_several_vectors_from_what_all_were(n):
    x, y = draw(n)
    expected = 0.6 * x - 0.8 * y, 0.8 * x + 0.6 * y
    turn(0.6, 0.8, x, y)
    assert_array_equal(x, expected[0])
    assert_array_equal(y, expected[1])


@pytest.mark.parametrize("n", [3, 8, 21])
def test_vectors_with_gaps_a_vector_with_itself_and_whole_numbers(n):
    x, _ = draw(n)
    table = np.ones((n, 3))
    add(2, x, table[:, 1])
    assert_array_equal(table, np.column_stack([np.ones(n), 1.0 + 2.0 * x, np.ones(n)]))
    twice = x.copy()
    add(1.0, twice, twice)
    assert_array_equal(twice, 2.0 * x)


def test_the_first_vector_says_how_many_there_are():
    x, y = np.ones(9), np.zeros(20)
    add(1.0, x, y)
    assert_array_equal(y, [1.0] * 9 + [0.0] * 11)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.int32, np.uint8])
@pytest.mark.parametrize("n", [0, 1, 3, 4, 11, 16])
def test_a_dot_product_takes_numbers_of_any_kind_and_any_stride(n, kind):
    rng = np.random.default_rng(n)
    whole, y = rng.integers(0, 100, size=2 * n).astype(kind), rng.normal(size=n)
    for a in (whole[:n], whole[::2]):
        sums = [np.sum([a[i] * y[i] for i in range(k, n - n % 4, 4)]) for k in range(4)]
        sums[0] += np.sum([a[i] * y[i] for i in range(n - n % 4, n)])
        expected = (sums[0] + sums[1]) + (sums[2] + sums[3])
        assert dot(a, y) == pytest.approx(expected, rel=1e-14, abs=1e-300)


@pytest.mark.parametrize("n", range(13))
def test_a_dot_product_has_the_bits_of_four_sums_that_begin_at_zero(n):
    """Also where products are −0: their sum is 0, as that of a loop that begins with 0."""
    rng = np.random.default_rng(n)
    for _ in range(200):
        a = rng.choice([0.0, -0.0, 1.5, -1.5, 1e-200], size=n, p=[0.3, 0.3, 0.15, 0.15, 0.1])
        b = rng.choice([0.0, -0.0, 1.0, -1.0, 1e-200], size=n)
        sums = [0.0] * 4
        for i in range(n):
            sums[i % 4 if i < n - n % 4 else 0] += a[i] * b[i]
        expected = (sums[0] + sums[1]) + (sums[2] + sums[3])
        assert np.float64(dot(a, b)).tobytes() == np.float64(expected).tobytes()
