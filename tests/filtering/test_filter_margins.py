"""The margins and rules of ridge filters against slow textbook forms: drift, ball, ellipsoid."""

import math

import numpy as np
import pytest
from filters import described, stream
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

import onlinear as ol
from onlinear.kernels import RBF, Linear, Polynomial

FORMS = {"primal": {"form": "primal"}, "dual": {"form": "dual"}, "kernel": {"kernel": Linear()}}
every_form = pytest.mark.parametrize("form", FORMS)

# x = cos(ti)/‖…‖, y = sign(sin 2t); the label of row 3 is never seen
GOLDEN = {
    math.inf: (0, -0.167827853711, 0.108013103025, -0.478080264006, 0.122886191989),
    5.0: (0, -0.15116607859, 0.0980958782134, -0.373214487448, -0.0108453547242),
}


class Slow:
    """Margins by the textbook: a Kalman filter that drifts at every row after the first label."""

    def __init__(self, d, a, c):
        self.w, self.S, self.a, self.c = np.zeros(d), np.eye(d) / a, a, c
        self.seen = self.labels = 0

    def see(self):
        self.seen += 1
        if self.labels:
            self.S = self.S + np.eye(self.w.size) / self.c

    def look(self, x):
        return self.w @ x, x @ self.S @ x

    def learn(self, x, y):
        m, chi = self.look(x)
        gain = self.S @ x / (1 + chi)
        self.w = self.w + gain * (y - m)
        self.S = self.S - np.outer(gain, self.S @ x)
        self.labels += 1

    def passes(self, x, rule, k, delta=None):
        m, chi = self.look(x)
        if not self.labels:
            return math.inf
        if rule == "count":
            return m / (1 + chi) + math.sqrt(k * math.log(self.seen) / self.labels)
        if rule == "variance":
            return m + math.sqrt(k * math.log(self.seen) * chi)
        growth = -np.linalg.slogdet(self.a * self.S)[1]
        width = math.sqrt(self.a) + math.sqrt(growth - 2 * math.log(delta))
        return m + width * math.sqrt(chi)


@pytest.mark.parametrize("c", GOLDEN)
@every_form
def test_margins_of_the_laser_filter_are_the_reference_ones(form, c):
    t = np.arange(1, 6)[:, None]
    X = np.cos(t * np.arange(1, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    f, margins = ol.LaserFilter(b=1.0, c=c, p=1.0, **FORMS[form]), []
    for x, y in zip(X, np.sign(np.sin(2 * t[:, 0])), strict=True):
        margins.append(f.margin(x))
        assert f.decide(x)
        if len(margins) != 3:
            f.feedback(x, y)
    assert_allclose(margins, GOLDEN[c], rtol=1e-9, atol=1e-12)
    if math.isinf(c):
        assert f.waiting_ == 1


@every_form
@pytest.mark.parametrize("c", [5.0, 1e3, math.inf])
@pytest.mark.parametrize("seed", range(3))
def test_the_laser_filter_is_a_kalman_filter_that_drifts_at_every_row_seen(form, c, seed):
    X, y, _ = stream(150, 4, seed)
    coin = np.random.default_rng(seed).random(151)
    f = ol.LaserFilter(b=0.7, c=c, p=0.3, seed=lambda t: coin[t], **FORMS[form])
    slow = Slow(4, 0.7, c)
    for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
        slow.see()
        m, chi = slow.look(x)
        assert_allclose(f.margin(x), m / (1 + chi), rtol=1e-9, atol=1e-12)
        forward = m >= 0 or coin[t] < 0.3
        if abs(m) > 1e-9:
            assert f.decide(x) == forward
        elif not f.decide(x):
            continue
        if forward:
            f.feedback(x, label)
            slow.learn(x, label)
    assert 20 < f.labels_ < 140


@pytest.mark.parametrize("sees", ["forwarded", "full"])
@pytest.mark.parametrize(
    ("rule", "drift"),
    [
        ("count", 20.0),
        ("count", math.inf),
        ("variance", 20.0),
        ("variance", math.inf),
        ("ellipsoid", math.inf),
    ],
)
@every_form
def test_every_rule_decides_by_its_formula(form, drift, rule, sees):
    k = {"count": 0.3, "variance": 0.02, "ellipsoid": 5.0}[rule]
    X, y, _ = stream(250, 3, 1)
    if rule == "ellipsoid":
        X *= 5.0  # soon sure of itself
    options = {"rule": rule, "drift": drift, "feedback": sees, "delta": 0.3, **FORMS[form]}
    f, slow = ol.RidgeFilter(k, 0.5, **options), Slow(3, 0.5, drift)
    held = 0
    for x, label in zip(X, y, strict=True):
        slow.see()
        above = slow.passes(x, rule, k, 0.3)
        m, chi = slow.look(x)
        assert_allclose(f.margin(x), m / (1 + chi), rtol=1e-8, atol=1e-11)
        decision = f.decide(x)
        assert decision == (above >= 0) or abs(above) < 1e-9
        held += not decision
        if decision or sees == "full":
            f.feedback(x, label)
            slow.learn(x, label)
    assert 10 < held < 240
    run = ol.filter_replay(ol.RidgeFilter(k, 0.5, **options), X, y)
    assert run.decisions.sum() == 250 - held


@every_form
def test_labels_that_come_late_are_learnt_in_the_round_in_which_they_come(form):
    X, y, _ = stream(60, 4, 2)
    f, slow = ol.LaserFilter(c=5.0, p=1.0, **FORMS[form]), Slow(4, 1.0, 5.0)
    for t in range(60):
        slow.see()
        m, chi = slow.look(X[t])
        assert_allclose(f.margin(X[t]), m / (1 + chi), rtol=1e-9, atol=1e-12)
        f.decide(X[t])
        if t % 3 == 2:  # three labels at once, the latest first
            for late in (t, t - 2, t - 1):
                f.feedback(X[late], y[late])
                slow.learn(X[late], y[late])


def test_without_drift_the_laser_filter_is_p_ridge_fil_with_the_forward_margin():
    X, y, _ = stream(200)
    for form in FORMS.values():
        one = ol.LaserFilter(b=0.5, c=math.inf, p=0.2, seed=3, **form)
        two = ol.PRidgeFilter(a=0.5, p=0.2, seed=3, margin="forward", **form)
        runs = [ol.filter_replay(f, X, y) for f in (one, two)]
        np.testing.assert_array_equal(runs[0].decisions, runs[1].decisions)
        assert one.margin(X[3]) == two.margin(X[3])


# --- the weights in the ball, in dual form --------------------------------------------------------


def by_bisection(K, a, beta, radius):
    """Return β of the projection, by bisection on λ: (I + λΣ)⁻¹f, Σ = (I + K/a)⁻¹."""
    n = len(K)
    S = np.linalg.inv(np.eye(n) + K / a)

    def at(lam):
        return np.linalg.solve(np.eye(n) + lam * S, beta)

    if beta @ K @ beta <= radius**2:
        return beta
    low, high = 0.0, 1.0
    while at(high) @ K @ at(high) > radius**2:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle) @ K @ at(middle) > radius**2 else (low, middle)
    return at(high)


@pytest.mark.parametrize("a", [0.01, 0.3, 3.0])
@pytest.mark.parametrize("kernel", [Linear(), RBF(gamma=1.5), Polynomial(degree=2)])
def test_the_weights_in_dual_form_are_those_of_the_textbook(kernel, a):
    X, y, _ = stream(70, 3, 5)
    f = ol.PRidgeFilter(a, p=0.4, seed=1, kernel=kernel)
    rows, beta, projections = [], np.zeros(0), 0
    for x, label in zip(X, y, strict=True):
        Z = np.array(rows).reshape(-1, 3)
        k = kernel(Z, x)
        m = beta @ k
        assert_allclose(f.margin(x), m, rtol=1e-8, atol=1e-9)
        if not f.decide(x):
            continue
        f.feedback(x, label)
        K = np.array([kernel(Z, z) for z in Z]).reshape(len(Z), len(Z))
        c = np.linalg.solve(a * np.eye(len(Z)) + K, k)
        own = kernel(x[None], x)[0]
        g = (label - m) / (a + own - k @ c)
        rows.append(x)
        Z = np.array(rows)
        K = np.array([kernel(Z, z) for z in Z])
        free = np.append(beta - g * c, g)
        beta = by_bisection(K, a, free, 1.0)
        projections += beta is not free
    assert projections > (3 if a < 1 else 0)
    assert beta @ K @ beta <= 1 + 1e-12


@pytest.mark.parametrize("a", [1e-3, 0.3, 1.0])
def test_the_ball_in_dual_form_is_the_ball_in_primal_form(a):
    for seed in range(3):
        X, y, _ = stream(200, 6, seed)
        filters = [
            ol.PRidgeFilter(a, p=0.3, seed=seed, **form)
            for form in (FORMS["primal"], FORMS["dual"], FORMS["kernel"])
        ]
        for x, label in zip(X, y, strict=True):
            margins = [f.margin(x) for f in filters]
            assert_allclose(margins, margins[0], rtol=1e-8, atol=1e-9)
            decisions = [f.decide(x) for f in filters]
            if decisions[0]:
                for f in filters:
                    f.feedback(x, label)


@pytest.mark.parametrize("stretch", [1.0, 30.0, 1e3])
@pytest.mark.parametrize("size", [0.01, 1.0])
def test_the_ball_in_dual_form_is_accurate_up_to_the_largest_variance(size, stretch):
    """With K(x, x)/a = 1e4, where the exact weights are those of the primal form."""
    X, y, _ = stream(120, 3, 7)
    X /= [1.0, 1.0, stretch]
    X *= size / np.linalg.norm(X, axis=1, keepdims=True)
    a = size**2 / 0.999e4
    filters = [ol.PRidgeFilter(a, p=1.0, **FORMS[form]) for form in FORMS]
    on_the_sphere = 0
    for x, label in zip(X, y, strict=True):
        margins = [f.margin(x) for f in filters]
        assert_allclose(margins, margins[0], rtol=0, atol=1e-6 * size)
        for f in filters:
            f.decide(x)
            f.feedback(x, label)
        exact, dual = filters[0]._model.learner.coef_, filters[1]._model._learnt.sum
        assert_allclose(dual, exact, rtol=0, atol=1e-6)
        on_the_sphere += np.linalg.norm(exact) > 1 - 1e-9
    assert on_the_sphere > 10


@pytest.mark.parametrize("form", ["dual", "kernel"])
def test_rows_beyond_the_largest_variances_are_refused_in_words(form, monkeypatch, tmp_path):
    X, y, _ = stream(12, 3)
    f = ol.PRidgeFilter(1e-4, p=1.0, **FORMS[form])
    f.decide(1.01 * X[0])
    with pytest.raises(ValueError, match=r"PRidgeFilter needs K\(x, x\)/a ≤ 10000 in dual form"):
        f.feedback(1.01 * X[0], 1)
    monkeypatch.setattr("onlinear.filtering._dual_ball.MOST_IN_ALL", 1.05e5)
    f = ol.PRidgeFilter(1.0001e-4, p=1.0, **FORMS[form])
    for x, label in zip(X[:10], y, strict=False):
        f.decide(x)
        f.feedback(x, label)
    f.decide(X[10])
    before = described(f)
    with pytest.raises(ValueError, match=r"the sum of K\(x, x\)/a over the lab.* got 109989$"):
        f.feedback(X[10], y[10])
    assert described(f) == before
    f.save(tmp_path / "f.onl")
    assert described(ol.load(tmp_path / "f.onl")) == before
    monkeypatch.setattr("onlinear.filtering._dual_ball.MOST_IN_ALL", 0.95e5)
    with pytest.raises(ol.StateFileError, match="does not describe"):
        ol.load(tmp_path / "f.onl")


@pytest.mark.parametrize("margin", ["projected", "forward"])
def test_rows_as_wide_as_the_papers_need_no_matrix(margin):
    """47,236 columns, of which the rows use few: the same as on the columns in use."""
    rng = np.random.default_rng(0)
    n, d, used = 200, 47_236, 300
    chosen = np.sort(rng.choice(d, used, replace=False))
    columns = rng.integers(used, size=(n, 12))
    narrow = np.zeros((n, used))
    np.add.at(narrow, (np.arange(n)[:, None], columns), 1.0)
    narrow /= np.linalg.norm(narrow, axis=1, keepdims=True)
    u = rng.normal(size=used)
    y = np.where(narrow @ u > 0, 1.0, -1.0)
    part = csr_array(narrow)
    wide = csr_array((part.data, chosen[part.indices], part.indptr), shape=(n, d))
    f = ol.PRidgeFilter(0.1, p=0.2, margin=margin)
    slim = ol.PRidgeFilter(0.1, p=0.2, margin=margin, form="primal")
    runs = [ol.filter_replay(f, wide, y), ol.filter_replay(slim, narrow, y)]
    np.testing.assert_array_equal(runs[0].decisions, runs[1].decisions)
    margins = [[f.margin(wide[[i]]) for i in range(n)], [slim.margin(x) for x in narrow]]
    assert_allclose(margins[0], margins[1], rtol=1e-9, atol=1e-10)
    parts = (vars(f._model), vars(f._model.rows))
    numbers = sum(a.size for part in parts for a in part.values() if isinstance(a, np.ndarray))
    assert numbers < 7 * d + f.labels_**2 + 40 * n


def test_a_kernel_of_the_user_may_be_used_and_one_that_is_no_kernel_is_refused():
    X, y, _ = stream(80)
    ours = ol.PRidgeFilter(p=0.3, kernel=lambda Z, x: Z @ x)
    theirs = ol.PRidgeFilter(p=0.3, kernel=Linear())
    runs = [ol.filter_replay(f, X, y).decisions for f in (ours, theirs)]
    np.testing.assert_array_equal(*runs)
    for make in (ol.PRidgeFilter, ol.LaserFilter, ol.RidgeFilter):
        f = make(kernel=lambda Z, x: -(Z @ x))
        with pytest.raises(ValueError, match="an inner product"):
            ol.filter_replay(f, X, y)
    f = ol.RidgeFilter(rule="variance", drift=10.0, kernel=lambda Z, x: Z @ x)
    g = ol.RidgeFilter(rule="variance", drift=10.0)
    runs = [ol.filter_replay(f, X, y).decisions for f in (f, g)]
    np.testing.assert_array_equal(*runs)
