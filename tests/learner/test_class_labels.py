"""Labels of odd types, classes of several types, and classes that change after the first row."""

import numpy as np
import pytest
from table import state

import onlinear as ol

KINDS = [ol.AROW, ol.LogisticLASER]
every_kind = pytest.mark.parametrize("kind", KINDS)
X = np.random.default_rng(0).normal(size=(6, 3))


def objects(*labels):
    """Return labels, whatever they are, as an array of objects, repeated for six rows."""
    y = np.empty(6, dtype=object)
    for row in range(6):
        y[row] = labels[row % len(labels)]
    return y


# --- whole numbers of any size --------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("power", [63, 70, 2000])
@pytest.mark.parametrize("sign", [1, -1])
def test_whole_numbers_beyond_any_machine_number_are_classes_like_others(
    kind, power, sign, tmp_path
):
    big = sign * 2**power
    plain, classes = kind().fit(X, objects("a", "b")), (min(0, big), max(0, big))
    for y in (objects(*classes), list(classes) * 3):
        for model in (kind(), kind(classes=classes)):
            model.fit(X, y)
            assert state(model) == state(plain)
            assert model.classes_.tolist() == list(classes)
            named = dict(zip("ab", classes, strict=True))
            assert model.predict(X).tolist() == [named[each] for each in plain.predict(X)]
    model.save(tmp_path / "model.onl")
    again = ol.load(tmp_path / "model.onl")
    assert again.classes_.tolist() == list(classes)
    again.learn_one(X[0], big)
    assert again.rounds_ == 7
    three = kind().fit(X, objects(0, 1, big))  # 0 and 1 alone would need no classes
    assert three.classes_.tolist() == sorted([0, 1, big])


@every_kind
@pytest.mark.parametrize("power", [70, 2000])
@pytest.mark.parametrize("classes", [None, (0, 1), ("a", "b"), ("a", "b", "c")], ids=repr)
def test_a_large_number_that_is_no_class_is_refused_and_changes_nothing(kind, power, classes):
    y = 2**power
    model = kind(classes=classes).fit(X, objects(*(classes or (0, 1))))
    before = state(model)
    with pytest.raises(ValueError, match=rf"{kind.__name__} needs labels .*, got y = \d{{21}}"):
        model.learn_one(X[0], y)
    with pytest.raises(ValueError, match=r", got y = \d{21}.* in row 2"):
        ol.replay(model, X, [*objects(*(classes or (0, 1)))[:2], y, y, y, y])
    assert state(model) == before


@every_kind
@pytest.mark.parametrize(
    "classes", [(7, 2**64 - 1), (-1, 2**64 - 1), (-1, 0, 2**64 - 1), (0.5, 2**53 + 1)], ids=repr
)
def test_large_whole_numbers_stay_whole(kind, classes):
    """No float is 2⁶⁴ − 1, and NumPy takes such numbers for floats beside small ones."""
    given = None if all(isinstance(each, int) for each in classes) else classes
    names = ["a", "b", "c"][: len(classes)]
    plain = kind().fit(X, objects(*names))
    named = dict(zip(names, classes, strict=True))
    tables = [objects(*classes), objects(*classes).tolist()]
    if classes[0] == 7:
        tables.append(np.array(tables[1], dtype=np.uint64))
    for y in tables:
        model = kind(classes=given).fit(X, y)
        assert state(model) == state(plain)
        assert model.classes_.tolist() == list(classes)
        assert model.predict(X).tolist() == [named[each] for each in plain.predict(X)]
        assert model.score(X, y) == plain.score(X, objects(*names))


@every_kind
@pytest.mark.parametrize(
    ("classes", "label"),
    [
        ((2**53, 2**53 + 1), 2.0**53),
        ((2**24, 2**24 + 1), np.float32(2**24)),
        ((2.0**53, 7.0), np.int64(2**53)),
        ((2.0**53, 7.0), np.int64(2**53 + 1)),
        ((2**53 + 1, 7), 2.0**53),
        ((2**2000, 7), np.inf),
    ],
    ids=repr,
)
def test_a_table_and_a_row_take_a_label_for_the_same_class(kind, classes, label):
    """Compared as floats, 2⁵³ and 2⁵³ + 1 are equal."""
    table, rows = kind(classes=classes), kind(classes=classes)
    labels = np.full(6, label)
    plain = label.item() if isinstance(label, np.generic) else label  # NumPy compares as floats
    if plain in classes:
        table.fit(X, labels)
        for x in X:
            rows.learn_one(x, label)
        first = kind(classes=("a", "b")).fit(X, objects("a"))
        assert state(table) == state(rows) == state(first)
        return
    with pytest.raises(ValueError, match="y"):
        table.fit(X, labels)
    with pytest.raises(ValueError, match="y"):
        rows.learn_one(X[0], label)


# --- labels that cannot be looked up --------------------------------------------------------------

UNHASHABLE = [["a"], {"a": 1}, {"a"}, (["a"],), np.array([1, 2])]


@every_kind
@pytest.mark.parametrize("label", UNHASHABLE, ids=repr)
def test_labels_that_cannot_be_hashed_are_refused_in_words_and_change_nothing(kind, label):
    fresh = kind()
    with pytest.raises(ValueError, match="needs labels that are text, numbers or booleans, got "):
        fresh.fit(X, objects("a", label))
    with pytest.raises(ValueError, match=r"needs labels .*, or the parameter classes, .*got y = "):
        fresh.learn_one(X[0], label)
    assert vars(fresh) == vars(kind())
    for classes in (("a", "b"), ("a", "b", "c")):
        model = kind(classes=classes).fit(X, objects(*classes))
        before = state(model)
        with pytest.raises(ValueError, match=r"needs labels 'a'.* or '.', its classes, got y = "):
            model.learn_one(X[0], label)
        with pytest.raises(ValueError, match=r"needs labels 'a'.* or '.', its classes, got y = "):
            ol.replay(model, X, objects("a", label))
        assert state(model) == before


@every_kind
@pytest.mark.parametrize("label", UNHASHABLE, ids=repr)
def test_classes_that_cannot_be_hashed_are_refused_in_words_and_change_nothing(kind, label):
    words = f"{kind.__name__} needs classes that are text or finite numbers, got "
    model = kind()
    with pytest.raises(ValueError, match=words):
        model.partial_fit(X, objects("a", "b"), classes=["a", label])
    assert vars(model) == vars(kind())
    with pytest.raises(ValueError, match=words):
        kind(classes=("a", label)).learn_one(X[0], "a")


# --- classes of several types ---------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("classes", [[0, "a"], [True, "b"], ["a", 2.5], [3, "x", False]], ids=repr)
def test_classes_of_several_types_keep_their_types(kind, classes):
    """``np.asarray([0, "a"])`` would make the number 0 the text "0"."""
    y = objects(*classes)
    model = kind().partial_fit(X, y, classes=classes)
    assert list(map(repr, model.classes_.tolist())) == list(map(repr, classes))
    names = ["a", "b", "c"][: len(classes)]
    plain = kind().partial_fit(X, objects(*names), classes=names)
    assert state(model) == state(plain)
    model.learn_one(X[0], classes[0])
    model.partial_fit(X, y, classes=classes[::-1])  # the same classes
    before = state(model)
    with pytest.raises(ValueError, match=r"needs the classes it knows, \[.*\], got classes=\["):
        model.partial_fit(X, y, classes=list(map(str, classes)))
    with pytest.raises(ValueError, match=r"its classes, got y = "):
        model.partial_fit(X, objects(*map(str, classes)))
    assert state(model) == before


@every_kind
@pytest.mark.parametrize(
    ("classes", "words"),
    [
        ([0, None], "are text or finite numbers, got None"),
        (["a", np.nan], "are text or finite numbers, got nan"),
        (["a", b"b"], "are text or finite numbers, got b'b'"),
        ([1, True], "differ, got 1 twice"),
        ([0, "a", 0.0], "differ, got 0 twice"),
    ],
)
def test_classes_that_cannot_be_are_refused_in_words_and_change_nothing(kind, classes, words):
    model = kind()
    with pytest.raises(ValueError, match=f"{kind.__name__} needs classes that {words}"):
        model.partial_fit(X, objects("a", "b"), classes=classes)
    assert vars(model) == vars(kind())


@every_kind
@pytest.mark.parametrize(
    "classes",
    [{"a", "b"}, frozenset("ab"), {"a": 0, "b": 1}],
    ids=["set", "frozenset", "dict"],  # the same in every process
)
def test_classes_without_an_order_are_refused(kind, classes):
    with pytest.raises(ValueError, match="needs classes in an order: a list or tuple such as"):
        kind(classes=classes).learn_one(X[0], "a")
    with pytest.raises(ValueError, match="needs classes in an order"):
        kind().partial_fit(X, objects("a", "b"), classes=classes)


@every_kind
@pytest.mark.parametrize(
    ("label", "said"), [(1, "number, 1,"), (0.5, r"number, 0\.5,"), (True, "boolean, True,")]
)
def test_labels_of_mixed_types_are_called_so(kind, label, said):
    with pytest.raises(ValueError, match=f"needs labels of one type, got a {said} and text, 'b'"):
        kind().fit(X, objects(label, "b"))


# --- classes that change --------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize(
    ("first", "then"),
    [
        (("a", "b"), ("b", "a")),  # the signs of the weights would be wrong
        (("a", "b"), ("a", "c")),
        (("a", "b"), None),
        (("a", "b"), ("a", "b", "c")),  # and here, the shape of the state
        (("a", "b", "c"), ("c", "b", "a")),
        (("a", "b", "c"), ("a", "b")),
        (None, ("a", "b")),
        (None, (1, 0)),
    ],
    ids=repr,
)
def test_classes_cannot_change_once_the_learner_has_a_state(kind, first, then, tmp_path):
    y = objects(*(first or (0, 1)))
    model = kind(classes=first).fit(X, y)
    before, predicted = state(model), model.predict(X).tolist()
    model.set_params(classes=then)
    label = (then or (0, 1))[0]
    words = r"needs the classes it began with, classes=\(.*\), got classes=\(.* \(fit starts over\)"
    for call in (
        lambda: model.predict(X),
        lambda: model.predict_one(X[0]),
        lambda: model.decision_function(X),
        lambda: model.learn_one(X[0], label),
        lambda: model.partial_fit(X, objects(*(then or (0, 1)))),
        lambda: ol.replay(model, X, objects(*(then or (0, 1)))),
        lambda: model.save(tmp_path / "model.onl"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    assert state(model) == before
    model.set_params(classes=first)
    assert model.predict(X).tolist() == predicted
    model.set_params(classes=then).fit(X, objects(*(then or (0, 1))))
    assert state(model) == state(kind(classes=then).fit(X, objects(*(then or (0, 1)))))


@every_kind
def test_classes_found_in_a_table_may_be_declared_later(kind):
    model = kind().fit(X, objects("a", "b"))
    before, predicted = state(model), model.predict(X).tolist()
    assert model.set_params(classes=["a", "b"]).predict(X).tolist() == predicted
    model.set_params(classes=("b", "a"))
    with pytest.raises(ValueError, match="it began with"):
        model.predict(X)
    assert state(model) == before
