"""The classifiers' face: labels of any type, more than two classes, wrappers, files."""

import copy
import pickle

import numpy as np
import pytest
from table import same_bits, state

import onlinear as ol

KINDS = [ol.AROW, ol.LogisticLASER]
every_kind = pytest.mark.parametrize("kind", KINDS)
ROWS = 60


def two_classes(seed=0, rows=ROWS, d=4):
    """Return rows, and labels False and True."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, d))
    return X, X @ rng.normal(size=d) + 0.3 * rng.normal(size=rows) > 0


def three_classes(seed=0, rows=ROWS, d=4):
    """Return rows, and labels "a", "b" and "c"."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, d))
    return X, np.array(["a", "b", "c"])[
        (X[:, :3] + 0.3 * rng.normal(size=(rows, 3))).argmax(axis=1)
    ]


# --- names of classes -----------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize(
    "names", [("ham", "spam"), (False, True), (-1, 1), (2.5, 3.5), (7, "x")], ids=repr
)
def test_classes_with_other_names_give_the_same_numbers_and_other_labels(kind, names):
    X, y = two_classes()
    named = np.array([names[int(each)] for each in y], dtype=object)
    plain, other = kind(), kind(classes=names)
    first, second = ol.replay(plain, X, y), ol.replay(other, X, named)
    assert same_bits(first.predictions, second.predictions)
    assert same_bits(first.labels, second.labels)
    assert state(plain) == state(other)
    predicted = plain.predict(X)
    assert other.predict(X).tolist() == [names[int(each)] for each in predicted]
    for x, label in zip(X, predicted, strict=True):
        assert other.predict_one(x) == names[int(label)]
    assert other.score(X, named) == plain.score(X, y)
    assert other.classes_.tolist() == list(names)
    assert plain.classes_.tolist() == [False, True]


@pytest.mark.parametrize("c", [np.inf, 3.0])
def test_with_the_classes_exchanged_margins_and_weights_change_their_sign(c):
    X, y = two_classes()
    for make, mirrored in [
        (ol.AROW, lambda m: -m),
        (lambda **more: ol.LogisticLASER(c=c, **more), lambda p: 1 - p),
    ]:
        one, other = make(classes=(False, True)), make(classes=(True, False))
        first, second = (ol.replay(model, X, y).predictions for model in (one, other))
        np.testing.assert_allclose(second, mirrored(first), rtol=0, atol=2e-16)
        assert same_bits(one.coef_, -other.coef_)
        assert same_bits(one.covariance_, other.covariance_)
        assert one.predict(X).tolist() == other.predict(X).tolist()


@every_kind
def test_classes_are_found_in_the_first_table(kind):
    X, y = two_classes()
    named = np.where(y, "yes", "no")
    assert kind().fit(X, named).classes_.tolist() == ["no", "yes"]
    replayed = kind()
    ol.replay(replayed, X, named)
    assert replayed.classes_.tolist() == ["no", "yes"]
    assert kind().partial_fit(X[:1], named[:1], classes=["no", "yes"]).classes_.tolist() == [
        "no",
        "yes",
    ]
    model = kind().fit(X, np.where(y, 3, 2))
    assert model.classes_.tolist() == [2, 3]
    assert model.fit(X, named).classes_.tolist() == ["no", "yes"]  # fit forgets the old ones


@every_kind
def test_labels_that_are_no_classes_are_refused_in_words_and_change_nothing(kind):
    X, y = two_classes()
    name = kind.__name__
    fresh = kind()
    with pytest.raises(ValueError, match=rf"{name} needs labels .*or the parameter classes.*'ham'"):
        fresh.learn_one(X[0], "ham")
    with pytest.raises(ValueError, match="or two or more classes in the first table, got only 'x'"):
        fresh.fit(X, ["x"] * ROWS)
    with pytest.raises(ValueError, match=r"Unknown label type: .*got \d*\.5"):
        fresh.fit(X, np.arange(ROWS) + 0.5 + y)
    assert vars(fresh) == vars(kind())
    model = kind(classes=("ham", "spam")).fit(X, np.where(y, "spam", "ham"))
    before = state(model)
    with pytest.raises(ValueError, match=r"needs labels 'ham' or 'spam', its classes, got y = 'eg"):
        model.learn_one(X[0], "eggs")
    with pytest.raises(ValueError, match="got y = 'eggs' in row 3"):
        ol.replay(model, X[:5], ["ham", "ham", "spam", "eggs", "ham"])
    with pytest.raises(ValueError, match="NaN in row 1"):
        ol.replay(model, X[:2], ["ham", None])
    with pytest.raises(ValueError, match="got y = 1"):
        model.learn_one(X[0], 1)
    assert state(model) == before
    for classes, words in [
        ("ham", "a sequence of labels"),
        (("ham",), "two or more classes"),
        (("a", "a"), "'a' twice"),
        ((0.0, np.nan), "finite numbers, got nan"),
        ((None, "a"), "got None"),
    ]:
        with pytest.raises(ValueError, match=words):
            kind(classes=classes).learn_one(X[0], "a")


@every_kind
def test_a_label_that_is_no_class_is_skipped_if_bad_rows_are(kind):
    X, y = two_classes()
    named = np.where(y, "spam", "ham").astype(object)
    named[[3, 7]] = "eggs", None
    model = kind(classes=("ham", "spam"), on_bad="skip")
    run = ol.replay(model, X, named)
    assert run.bad_rows.tolist() == [3, 7]
    assert model.n_skipped_ == 2
    good = np.setdiff1d(np.arange(ROWS), [3, 7])
    clean = ol.replay(kind(classes=("ham", "spam")), X[good], named[good])
    assert same_bits(run.predictions[good], clean.predictions)
    X_bad = X[:2].copy()
    X_bad[1, 0] = np.nan
    assert model.predict(X_bad).tolist() == [model.predict_one(X[0]), None]
    assert model.predict_one(X_bad[1]) is None


def test_soft_labels_are_for_probabilities_without_declared_classes():
    X, y = two_classes()
    soft = 0.1 + 0.8 * y
    model = ol.LogisticLASER().fit(X, soft)
    single = ol.LogisticLASER()
    for x, label in zip(X, soft, strict=True):
        single.learn_one(x, float(label))
    assert state(model) == state(single)
    assert model.classes_.tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"got y = 0\.[19]"):
        ol.LogisticLASER(classes=(0, 1)).fit(X, soft)
    with pytest.raises(ValueError, match="Unknown label type"):
        ol.AROW().fit(X, soft)


def test_probabilities_and_margins():
    X, y = two_classes()
    named = np.where(y, "spam", "ham")
    model = ol.LogisticLASER().fit(X, named)
    shares = model.predict_proba(X)
    assert shares.shape == (ROWS, 2)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-15)
    one = model.predict_proba_one(X[0])
    assert list(one) == ["ham", "spam"]
    assert list(one.values()) == shares[0].tolist()
    assert (shares[:, 1] > 0.5).tolist() == (model.predict(X) == "spam").tolist()
    odds = model.decision_function(X)
    np.testing.assert_allclose(1 / (1 + np.exp(-odds)), shares[:, 1], rtol=1e-12)
    assert not hasattr(ol.AROW(), "predict_proba")


def test_the_number_of_steps_is_bounded_and_the_residual_is_rounding():
    """The activation a of LogisticLASER solves a + χ·tanh(a/2) = m, whatever m and χ."""
    from onlinear.algorithms import _shrunk_activation

    rng = np.random.default_rng(0)
    m, chi = 10 ** rng.uniform(-12, 12, size=(2, 20_000))
    chi[::3] = np.abs(m[::3] * (1 + 10 ** rng.uniform(-16, 1, size=m[::3].size)))
    for size, spread in zip(m.tolist(), chi.tolist(), strict=True):
        a, z = _shrunk_activation.activation(size, spread)
        assert abs(a + spread * np.tanh(a / 2) - size) <= 1e-14 * size
        np.testing.assert_allclose(z, np.exp(-a), rtol=1e-12)


# --- more than two classes ------------------------------------------------------------------------


@every_kind
def test_more_than_two_classes_are_as_many_binary_learners(kind):
    X, y = three_classes()
    model = kind()
    run = ol.replay(model, X, y)
    apart = [kind(classes=(False, True)) for _ in "abc"]
    runs = [ol.replay(each, X, y == name) for each, name in zip(apart, "abc", strict=True)]
    raw = np.column_stack([each.predictions for each in runs])
    shares = raw / raw.sum(axis=1, keepdims=True) if kind is ol.LogisticLASER else raw
    assert same_bits(run.predictions, shares)
    assert same_bits(model.coef_, [each.coef_ for each in apart])
    assert same_bits(model.covariance_, [each.covariance_ for each in apart])
    assert model.rounds_ == ROWS
    numbers = np.column_stack([each.decision_function(X) for each in apart])
    assert same_bits(model.decision_function(X), numbers)
    predicted = np.array(["a", "b", "c"])[numbers.argmax(axis=1)]
    assert model.predict(X).tolist() == predicted.tolist()
    assert model.score(X, y) == np.mean(predicted == y) > 0.7
    assert run.accuracy == np.mean(np.array(["a", "b", "c"])[raw.argmax(axis=1)] == y)
    if kind is ol.LogisticLASER:
        right = shares[np.arange(ROWS), run.labels.astype(int)]
        assert run.log_loss == pytest.approx(-np.log(right).mean())
        assert same_bits(model.predict_proba(X).sum(axis=1).round(12), np.ones(ROWS))


@every_kind
@pytest.mark.parametrize("make_stream", [two_classes, three_classes])
def test_every_way_of_running_gives_the_same_bits(kind, make_stream, tmp_path):
    X, y = make_stream()
    classes = tuple(np.unique(y).tolist())
    whole = kind(classes=classes)
    expected = ol.replay(whole, X, y).predictions
    found = kind()
    assert same_bits(ol.replay(found, X, y).predictions, expected)

    def through_a_file(model):
        model.save(tmp_path / "model.onl")
        return ol.load(tmp_path / "model.onl")

    for between in (through_a_file, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))):
        for model in (kind(classes=classes), kind()):
            first = ol.replay(model, X[:40], y[:40]).predictions
            model = between(model)
            second = ol.replay(model, X[40:], y[40:]).predictions
            assert same_bits(np.concatenate([first, second]), expected)
            assert state(model) == state(whole)
            assert model.classes_.tolist() == list(classes)
            assert model.predict(X).tolist() == whole.predict(X).tolist()
    single = kind(classes=classes)
    for x, label in zip(X, y.tolist(), strict=True):
        single.predict_one(x)
        single.learn_one(x, label)
    assert state(single) == state(whole)
    late = ol.Late(kind(classes=classes))
    for i, x in enumerate(X):
        late.predict_one(x, id=i)
        assert late.learn_one(id=i, y=y[i])
    assert state(late.model) == state(whole)


@every_kind
def test_a_bad_row_of_three_classes_is_refused_or_skipped_by_all(kind):
    X, y = three_classes()
    X_bad = X.copy()
    X_bad[[5, 9], 1] = np.nan, 1e300
    model = kind(classes=("a", "b", "c")).fit(X[:5], y[:5])
    before = state(model)
    with pytest.raises(ValueError, match="NaN in row 5, column 1"):
        ol.replay(model, X_bad, y)
    with pytest.raises(ValueError, match="NaN in this row, column 1"):
        model.learn_one(X_bad[5], "a")
    assert state(model) == before
    skipping = kind(classes=("a", "b", "c"), on_bad="skip")
    run = ol.replay(skipping, X_bad, y)
    assert 5 in run.bad_rows
    good = np.setdiff1d(np.arange(ROWS), run.bad_rows)
    clean = kind(classes=("a", "b", "c"))
    expected = ol.replay(clean, X_bad[good], y[good])
    assert same_bits(run[good].predictions, expected.predictions)
    assert state(skipping) == state(clean)
    assert skipping.n_skipped_ == run.bad_rows.size
    assert np.isnan(skipping._numbers_one(X_bad[5])).all()
    assert skipping.predict_one(X_bad[5]) is None
    singly = kind(classes=("a", "b", "c"), on_bad="skip")
    for x, label in zip(X_bad, y, strict=True):
        singly.learn_one(x, label)
    assert state(singly) == state(clean)
    assert singly.n_skipped_ == run.bad_rows.size


def test_a_row_that_one_class_alone_refuses_is_learnt_by_none():
    """A huge weight of one class makes a row overflow for this class only."""
    X, y = three_classes()
    for on_bad in ("raise", "skip"):
        model = ol.AROW(classes=("a", "b", "c"), on_bad=on_bad).fit(X[:9], y[:9])
        model._state.w[1] *= 1e290
        row, before = 1e20 * X[:1], state(model)
        if on_bad == "raise":
            with pytest.raises(ValueError, match="overflow"):
                ol.replay(model, row, ["a"])
        else:
            assert ol.replay(model, row, ["a"]).bad_rows.tolist() == [0]
        assert state(model) == before


@every_kind
def test_what_takes_one_number_refuses_three_classes_in_words(kind, tmp_path):
    X, y = three_classes()
    model = kind(classes=("a", "b", "c"))
    words = "needs a learner whose prediction is one number, got .* of 3 classes"
    for call in (
        lambda: ol.Keyed(model),
        lambda: ol.Bank([model]),
        lambda: ol.Certified(model),
        lambda: ol.certificate(kind(), X, y),
        lambda: ol.features.Mapped(ol.features.RandomFourier(), model).learn_one(X[0], "a"),
        lambda: ol.report(model, X, y, tmp_path / "report.html"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(ValueError, match=r"it began with, classes=\(.*, got classes=\('a', 'b'\)"):
        model.fit(X, y).set_params(classes=("a", "b")).predict(X)


# --- wrappers -------------------------------------------------------------------------------------


@every_kind
def test_keyed_and_bank_give_the_numbers_of_single_learners(kind):
    X, y = two_classes()
    named = np.where(y, "spam", "ham")
    classes = ("ham", "spam")
    keys = np.arange(ROWS) % 3
    keyed = ol.Keyed(kind(classes=classes))
    run = keyed.replay(keys, X, named)
    for key in range(3):
        own = keys == key
        alone = ol.replay(kind(classes=classes), X[own], named[own])
        assert same_bits(run.predictions[own], alone.predictions)
        assert same_bits(run.labels[own], alone.labels)
    assert run.loss == kind()._loss
    assert keyed.predict_one(0, X[0], id="later") == keyed[0]._number_one(X[0])
    assert keyed.learn_one(id="later", y="spam")
    assert keyed.learn_one(1, X[0], "ham")
    with pytest.raises(ValueError, match="needs labels 'ham' or 'spam'"):
        keyed.learn_one(1, X[0], "eggs")

    others = [kind(classes=classes), kind(classes=classes[::-1]), kind(classes=classes)]
    bank = ol.Bank([*others, ol.AROW(classes=classes), ol.LogisticLASER(classes=classes)])
    both = ol.replay(bank, X, named)
    singly = ol.Bank(bank[k].__class__(classes=bank[k].classes) for k in range(5))
    for k in range(5):
        alone = ol.replay(type(bank[k])(classes=bank[k].classes), X, named)
        assert same_bits(both[:, k].predictions, alone.predictions)
        assert same_bits(both[:, k].losses, alone.losses)
    for x, label in zip(X, named, strict=True):
        singly.learn_one(x, label)
    for k in range(5):
        assert state(singly[k]) == state(bank[k])
    wide = ol.Bank([ol.AROW(), ol.LogisticLASER()])
    rows = np.random.default_rng(1).normal(size=(80, 64))  # in blocks
    found = ol.replay(wide, rows, rows[:, 0] > 0)
    assert same_bits(
        found[:, 1].predictions, ol.replay(ol.LogisticLASER(), rows, rows[:, 0] > 0).predictions
    )


@every_kind
def test_certified_takes_labels_of_any_type(kind, tmp_path):
    X, y = two_classes()
    named = np.where(y, "spam", "ham")
    proof = ol.certificate(kind(), X, named)
    again = ol.certificate(kind(), X, y)
    assert same_bits(proof.ceiling, again.ceiling)
    assert same_bits(proof.loss, again.loss)
    assert proof.holds.all()
    watched = ol.Certified(kind(classes=("ham", "spam")))
    for x, label in zip(X, named, strict=True):
        assert watched.predict_one(x) in ("ham", "spam")
        watched.learn_one(x, label)
    watched.save(tmp_path / "watched.onl")
    restored = ol.Certified.load(tmp_path / "watched.onl")
    assert restored.loss == watched.loss == pytest.approx(proof.loss[-1])
    assert restored.ceiling == watched.ceiling


@every_kind
def test_standardized_and_mapped_predict_numbers(kind):
    X, y = two_classes(rows=300)
    odd = X * [1e6, 1.0, 1e-6, 10.0] + [0.0, 1e3, 0.0, 5.0]
    named = np.where(y, "spam", "ham")
    boundary = kind._boundary
    for model in (
        ol.Standardized(kind(classes=("ham", "spam"))),
        ol.features.Mapped(ol.features.RandomFourier(seed=0), kind(classes=("ham", "spam"))),
    ):
        table = odd if isinstance(model, ol.Standardized) else X
        run = ol.replay(model, table, named)
        assert np.mean((run.predictions[100:] > boundary) == y[100:]) > 0.8
        assert run.loss == kind()._loss
        model.learn_one(table[0], "spam")
        assert isinstance(model.predict_one(table[0]), float)
