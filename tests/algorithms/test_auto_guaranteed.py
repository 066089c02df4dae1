"""Auto(guaranteed=True): the correction of its predictions, and the bound on its squared loss."""

import numpy as np
import pytest
from test_auto import stream

import onlinear as ol
from onlinear._learner.bounds.ledger import Ledger
from onlinear._state_files import file_format
from onlinear.algorithms._auto import correction

FIRST = 10  # rows without the correction
K = 4  # LASERs


def test_corrections_are_the_golden_ones():
    t = np.arange(1.0, 6.0)
    y, g, P = np.sin(2 * t), 0.5 * np.sin(2 * t - 0.3), np.column_stack([np.sin(t), np.cos(t)])
    v, S, z, h, u = np.zeros(2), np.eye(2) / 10, np.zeros(2), np.zeros(2), np.zeros(2)
    found = []
    for label, guess, p in zip(y, g, P, strict=True):
        middle = p.mean()
        correction.differences(p - middle, middle, guess, z)
        found.append(guess + correction.corrected(v, S, z, h))
        correction.learn_to_correct(v, S, z, label - guess, h, u)
    golden = [0.495832405226, -0.250598110803, -0.295874650677, 0.523866984693, -0.0895965728384]
    np.testing.assert_allclose(found, golden, rtol=1e-9)


def parts(X, y, **params):
    """Return what Auto predicts without the correction, what its LASERs do, and what it does with.

    The LASERs' predictions are read from the tickets of an Auto that is not corrected.
    """
    free, experts = ol.Auto(**params), []
    guesses = np.empty(len(y))
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        guesses[i] = free.predict_one(x)
        kept = free.remember(x)
        experts.append(kept[x.size : x.size + K] + kept[-7] + kept[-3])
        free.learn_one(x, label)
    corrected = ol.replay(ol.Auto(guaranteed=True, **params), X, y).predictions
    return guesses, np.array(experts), corrected


@pytest.mark.parametrize("lags", [0, 2])
def test_the_correction_is_the_forward_algorithm_on_what_the_lasers_say(lags):
    X, y = stream(200)
    g, P, found = parts(X, y, lags=lags)
    Z, left, beta = P - g[:, None], y - g, 10 * np.var(y[:FIRST])
    assert found[:FIRST].tobytes() == g[:FIRST].tobytes()
    for t in range(FIRST, 200):
        A = beta * np.eye(K) + Z[FIRST : t + 1].T @ Z[FIRST : t + 1]
        v = np.linalg.solve(A, Z[FIRST:t].T @ left[FIRST:t])
        assert found[t] == pytest.approx(g[t] + v @ Z[t], rel=1e-9, abs=1e-9)


def test_the_bound_is_the_theorem():
    X, y = stream(300)
    g, P, found = parts(X, y)
    Z, left, beta = (P - g[:, None])[FIRST:], (y - g)[FIRST:], 10 * np.var(y[:FIRST])
    A = beta * np.eye(K)
    extra = 0.0
    for z, e in zip(Z, left, strict=True):
        chi = z @ np.linalg.solve(A, z)
        extra += e * e * chi / (1 + chi)
        A += np.outer(z, z)
    v = np.linalg.solve(A, Z.T @ left)
    early = np.sum((y - g)[:FIRST] ** 2)
    least = early + np.sum((left - Z @ v) ** 2) + beta * v @ v
    proof = ol.certificate(ol.Auto(guaranteed=True), X, y)
    assert proof.failed is None
    assert proof.holds.all()
    assert proof.loss[-1] == pytest.approx(np.sum((y - found) ** 2))
    assert proof.comparator[-1] == pytest.approx(least, rel=1e-9)
    assert proof.ceiling[-1] == pytest.approx(least + extra, rel=1e-9)
    assert least <= np.sum((y - g) ** 2)
    experts = early + np.sum((y[:, None] - P)[FIRST:] ** 2, axis=0)
    assert least <= experts.min() + beta
    given = ol.certificate(ol.Auto(guaranteed=True), X, y, comparator=np.ones(4))
    assert given.ceiling.tobytes() == proof.ceiling.tobytes()
    assert given.comparator[-1] == pytest.approx(np.sum((y - X.sum(axis=1)) ** 2))


@pytest.mark.parametrize("place", [3, 9, 10, 40, 150])
def test_an_outlying_label_costs_the_bound_its_own_loss_and_the_learner_little(place):
    X, y = stream(300)
    clean = ol.certificate(ol.Auto(guaranteed=True), X, y)
    y[place] += 1e5 * y.std()
    proof = ol.certificate(ol.Auto(guaranteed=True), X, y)
    assert proof.failed is None
    assert proof.holds.all()
    others = np.arange(300) != place
    if place < FIRST:
        others[:FIRST] = False  # the outlier is known as one after the tenth row only
    usual = clean.run.losses[others].sum()
    assert proof.run.losses[others].sum() < 1.5 * usual
    own = proof.run.losses[~others].sum()
    assert proof.ceiling[-1] - own < 1.6 * usual


def test_without_the_rule_for_outliers_the_bound_would_not_hold():
    """The test above is of rows that the correction does not learn as they are."""
    X, y = stream(300)
    y[150] += 1e5 * y.std()
    proof = ol.certificate(ol.Auto(guaranteed=True), X, y)
    ledger = Ledger(ol.Auto(guaranteed=True)._guarantee().account)
    before = ledger.add(X[:150], y[:150])[:, -1]
    after = ledger.add(X[150:151], y[150:151])[:, -1]
    own = proof.run.losses[150]
    assert after[2] - before[2] == pytest.approx(own, rel=1e-3)


@pytest.mark.parametrize("constant", [10, 15, 40])
def test_labels_that_are_equal_at_first_put_the_correction_off(constant):
    X, y = stream(120)
    y[:constant] = 7.0
    proof = ol.certificate(ol.Auto(guaranteed=True), X, y)
    assert proof.failed is None
    assert proof.holds.all()
    g, _, found = parts(X, y)
    assert found[: constant + 1].tobytes() == g[: constant + 1].tobytes()
    assert np.abs(found[constant + 1 :] - g[constant + 1 :]).max() > 0
    still = ol.certificate(ol.Auto(guaranteed=True), X, np.full(120, 7.0))
    assert still.loss[-1] == still.ceiling[-1] == 49.0


def test_powers_of_two_change_no_bit():
    X, y = stream(300)
    first = ol.replay(ol.Auto(guaranteed=True), X, y).predictions
    scaled = ol.replay(ol.Auto(guaranteed=True), X * [2.0**40, 2.0**-30, 1.0, 2.0], y).predictions
    assert scaled.tobytes() == first.tobytes()
    for power in (-60, 30):
        labels = ol.replay(ol.Auto(guaranteed=True), X, y * 2.0**power).predictions
        assert labels.tobytes() == (first * 2.0**power).tobytes()


def test_the_order_of_columns_and_a_shift_of_labels_change_nothing_but_rounding():
    X, y = stream(300)
    first = ol.replay(ol.Auto(guaranteed=True), X, y).predictions
    turned = ol.replay(ol.Auto(guaranteed=True), X[:, ::-1], y).predictions
    shifted = ol.replay(ol.Auto(guaranteed=True), X, y + 64.0).predictions
    np.testing.assert_allclose(turned, first, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(shifted[1:] - 64.0, first[1:], rtol=1e-6, atol=1e-6)


def test_late_labels_teach_the_correction_what_was_predicted_then():
    X, y = stream(200)
    model, late = ol.Auto(guaranteed=True), ol.Late(ol.Auto(guaranteed=True))
    for i in range(200):
        late.predict_one(X[i], id=i)
        late.learn_one(id=i, y=y[i])
        model.learn_one(X[i], y[i])
    assert late.model._record.tobytes() == model._record.tobytes()
    free, waiting, delay = ol.Auto(), ol.Late(ol.Auto(guaranteed=True)), 5
    kept, guesses = [], []
    Z, left = np.zeros((0, K)), np.zeros(0)
    beta = 10 * np.var(y[:FIRST])
    for i in range(100):
        kept.append(free.remember(X[i]))
        guesses.append(free.predict_one(X[i]))
        z = kept[i][4 : 4 + K] + kept[i][-7] - kept[i][-4]
        rows, labels = np.vstack([Z, z]), np.append(left, 0.0)
        v = np.linalg.solve(beta * np.eye(K) + rows.T @ rows, rows.T @ labels)
        found = waiting.predict_one(X[i], id=i)
        assert found == pytest.approx(guesses[i] + v @ z, rel=1e-9, abs=1e-9)
        old = i - delay
        if old >= 0:
            waiting.learn_one(id=old, y=y[old])
            free.learn_late(kept[old], y[old])
            if old >= FIRST:
                Z = np.vstack([Z, kept[old][4 : 4 + K] + kept[old][-7] - kept[old][-4]])
                left = np.append(left, y[old] - guesses[old])


def test_tables_are_predicted_without_the_correction_of_past_labels():
    X, y = stream(300)
    corrected, free = (ol.Auto(guaranteed=way).fit(X, y) for way in (True, False))
    assert corrected.predict(X).tobytes() == free.predict(X).tobytes()
    corrected, free = (ol.Auto(lags=0, guaranteed=way).fit(X, y) for way in (True, False))
    assert corrected.predict(X).tobytes() != free.predict(X).tobytes()


def test_weights_are_those_of_the_prediction_but_for_shrinking():
    """With much data, χ is small: the prediction is nearly linear in x."""
    X, y = stream(3000)
    model = ol.Auto(lags=0, guaranteed=True).fit(X, y)
    x = X[-1]
    steps = np.array([1e-3, 1e-2, 1e-5])
    slopes = []
    for j, step in enumerate(steps):
        there, back = x.copy(), x.copy()
        there[j] += step
        back[j] -= step
        slopes.append((model.predict_one(there) - model.predict_one(back)) / (2 * step))
    np.testing.assert_allclose(model.coef_[:3], slopes, rtol=0.01)
    shares, past = model._weights_of_experts()
    assert shares.sum() + past.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("d", [1, 2, 3, 9])
def test_a_certificate_is_saved_and_goes_on(d, tmp_path):
    """At these widths, matrices of Auto that are no covariances are square."""
    rng = np.random.default_rng(d)
    X = rng.normal(size=(80, d))
    y = X.sum(axis=1) + rng.normal(size=80)
    whole = ol.certificate(ol.Auto(guaranteed=True), X, y)
    watched = ol.Certified(ol.Auto(guaranteed=True))
    watched.replay(X[:40], y[:40])
    watched.save(tmp_path / "watched.onl")
    again = ol.Certified.load(tmp_path / "watched.onl")
    assert again.replay(X[40:], y[40:]).ceiling[-1] == whole.ceiling[-1]
    header, arrays = file_format.read(tmp_path / "watched.onl")
    arrays["accounts"][8 + 1 + K] = -1.0  # Σ₁₁ of the correction
    file_format.write(tmp_path / "watched.onl", header, arrays)
    with pytest.raises(ol.StateFileError, match="Σ of the correction"):
        ol.Certified.load(tmp_path / "watched.onl")


def test_the_state_grows_only_if_it_is_guaranteed():
    X, y = stream(30)
    free, corrected = (ol.Auto(guaranteed=way).fit(X, y) for way in (False, True))
    assert corrected._record.size == free._record.size + K + K * K
    assert "guaranteed=True" in ol.certificate(ol.Auto(), X, y).failed
