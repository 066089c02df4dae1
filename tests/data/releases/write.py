"""Write the state files and predictions of this version, for later versions to be held against.

    python tests/data/releases/write.py

Run once for each release: the folder takes the name of the version (0.9), and one that is there
already is refused. test_releases.py reads it from then on.

    predictions.json        a stream, and what every case of table.py predicts on it (or on labels
                            of its own)
    learner-<case>.onl      those learners after the stream
    <name>.onl              everything else that has a state file
    expected.json           what each of them answers, question after question, once it is loaded
    run.onl, stream.csv, p.csv    a run of the command on the first half of stream.csv
    p-whole.csv             the predictions of a run on all of it
"""

import json
import operator
import subprocess
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

import numpy as np

import onlinear as ol

RELEASES = Path(__file__).resolve().parent
sys.path.append(str(next(RELEASES.parents[1].rglob("table.py")).parent))
from table import CASES, IDS, make, stream  # noqa: E402

# few digits: the files are short, and wᵀx of a Perceptron is exact in whatever order BLAS adds
X, Y = (np.round(part * 64) / 64 for part in stream(40, d=3))
ROWS, LABELS, SIGNS = X.tolist(), Y.tolist(), np.where(np.median(Y) < Y, 1, -1).tolist()
LATER = 30  # the rows from here on are for questions
KEYS = [7, -3, "north", "süd", ("a", 2)]
STORIES = [
    "wheat and corn prices rose",
    "corn, corn and more corn: exports fell",
    "crude oil prices fell, oil exports rose",
    "oil, wheat, corn and gold",
    "gold prices fell as oil rose",
    "wheat exports rose, corn exports fell",
]


# --- questions and their answers, as JSON -----------------------------------------------------


def question(name, *args, **options):
    """Return the call of a method, or the look at an attribute, as JSON holds it."""
    return [name, plain(args), plain(options)]


def answer(model, name, args, options):
    """Put a question to a model."""
    found = operator.attrgetter(name)(model)
    return plain(found(*map(value, args), **_values(options)) if callable(found) else found)


def plain(thing):
    """Return a value as JSON holds it, floats to the bit; a tuple that is a key stays one."""
    if hasattr(thing, "tocsr"):
        return {"columns": thing.indices.tolist(), "values": thing.data.tolist()}
    if isinstance(thing, (np.ndarray, np.generic)):
        return thing.tolist()
    if hasattr(thing, "_asdict"):
        return plain(thing._asdict())
    if isinstance(thing, dict):
        return {name: _key(part) for name, part in thing.items()}
    return [_key(part) for part in thing] if isinstance(thing, (list, tuple)) else thing


def _key(part):
    return {"tuple": plain(part)} if type(part) is tuple else plain(part)


def value(thing):
    """Return what an argument was before it was JSON."""
    return tuple(thing["tuple"]) if isinstance(thing, dict) else thing


def _values(options):
    return {name: value(thing) for name, thing in options.items()}


def rounds(first=LATER, last=LATER + 4):
    """Return the questions of some rounds."""
    rows = zip(ROWS[first:last], LABELS[first:last], strict=True)
    calls = ((question("predict_one", x), question("learn_one", x, y)) for x, y in rows)
    return [call for pair in calls for call in pair]


# --- what there is besides learners -----------------------------------------------------------


def learnt(model):
    """Let a model learn the rows before the questions, one by one."""
    for x, y in zip(ROWS[:LATER], LABELS[:LATER], strict=True):
        model.learn_one(x, y)
    return model


def late(model, **settings):
    """Return a Late in which every third row waits, some labels having come."""
    waits = ol.Late(model, **settings)
    for i, (x, y) in enumerate(zip(ROWS[:LATER], LABELS[:LATER], strict=True)):
        if i % 3:
            waits.learn_one(x, y)
        else:
            waits.predict_one(x, id=_id(i))
    for i in (9, 3, 15):
        waits.learn_one(id=_id(i), y=LABELS[i])
    waits.learn_one(id="nobody", y=1.0)
    return waits


def keyed(model, keys, **settings):
    """Return a Keyed in which every fourth row waits, some labels having come."""
    models = ol.Keyed(model, **settings)
    for i, (x, y) in enumerate(zip(ROWS[:LATER], LABELS[:LATER], strict=True)):
        key = keys[i % len(keys)]
        if i % 4:
            models.learn_one(key, x, y)
        else:
            models.predict_one(key, x, id=_id(i))
    for i in (8, 4):
        models.learn_one(id=_id(i), y=LABELS[i])
    return models


def _id(i):
    """Return the id of a row: a number, a string or a tuple."""
    return (i, f"row {i}", ("row", i))[i % 5 % 3]


def late_questions():
    """Ask about labels that come now, came before or never, and rounds."""
    labels = [question("learn_one", id=_id(i), y=LABELS[i]) for i in (24, 12, 18, 9, 24, 1)]
    again = [question("predict_one", ROWS[LATER], id="new"), question("learn_one", id="new", y=0.5)]
    return [*rounds(), *labels, question("counts_"), *again, *rounds(), question("counts_")]


def keyed_questions(keys):
    """Ask every key, and one that is new; then for labels that come now, and again."""
    every = [question("predict_one", key, ROWS[LATER]) for key in (*keys, "a new key")]
    labels = [question("learn_one", id=_id(i), y=LABELS[i]) for i in (24, 12, 20, 8, 24)]
    learning = [question("learn_one", key, ROWS[LATER + 1], 0.5) for key in (*keys, "a new key")]
    tables = [question("statistics", key) for key in keys]
    return [*every, *labels, *every, *learning, *every, *tables, question("late_")]


def filtered(filter):
    """Return a filter that waits for two labels, as it always did, and the rows they are of."""
    waiting = []
    for x, y in zip(ROWS[:LATER], SIGNS[:LATER], strict=True):
        if filter.decide(x):
            waiting.append((x, y))
        if len(waiting) > 2:
            filter.feedback(*waiting.pop(0))
    return filter, [x for x, _ in waiting]


def filter_questions(waiting):
    """Ask what a filter decides, before and after a label it waits for."""
    looks = [question(ask, x) for x in ROWS[LATER:] for ask in ("margin", "decide")]
    label = question("feedback", waiting[0], 1)
    counts = [question(name) for name in ("waiting_", "seen_", "forwarded_", "labels_")]
    return [*looks[:8], label, *counts, *looks[8:], *counts]


def others():
    """Yield a name, a model, the function that loads it, and the questions to it."""
    bank = ol.Bank([ol.LASER(c=10.0), ol.ARCOR(r=0.3), ol.NLMS()])
    yield "bank", learnt(bank), "onlinear.load", rounds()
    fresh = ol.LASER(c=10.0, on_bad="skip")
    yield "fresh", fresh, "onlinear.load", rounds()
    skipping = learnt(ol.Ridge(on_bad="skip"))
    skipping.learn_one([float("nan")] * 3, 1.0)
    yield "skipping", skipping, "onlinear.load", [question("n_skipped_"), *rounds()]

    waits = late(ol.LASER(c=10.0), limit=8, expire_after=9)
    yield "late", waits, "onlinear.load", late_questions()
    yield "late-auto", late(ol.Auto()), "onlinear.load", late_questions()
    century = timedelta(days=36_500)  # a loaded file goes by the time of day
    timed = late(ol.Ridge(), expire_after=century, clock=lambda: 1.7e9)
    yield "late-timed", timed, "onlinear.load", late_questions()

    models = keyed(ol.LASER(c=10.0), KEYS, waiting=10, expire_after=50)
    yield "keyed", models, "onlinear.load", keyed_questions(KEYS)
    models = keyed(ol.Auto(), KEYS[1:4])
    yield "keyed-auto", models, "onlinear.load", keyed_questions(KEYS[1:4])
    many = [*KEYS, *range(10, 15)]
    models = keyed(ol.Ridge(), many, pooled=True, max_age=20, memory_limit=100_000)
    yield "keyed-pooled", models, "onlinear.load", keyed_questions(many)

    figures = [question(name) for name in ("rounds_", "loss", "comparator", "ceiling", "holds")]
    certified = learnt(ol.Certified(ol.LASER(c=10.0)))
    yield "certified", certified, "onlinear.Certified.load", [*figures, *rounds(), *figures]

    for name, kind in {
        "filter": ol.RidgeFilter(c=0.05),
        "filter-dual": ol.RidgeFilter(c=0.05, form="dual"),
        "filter-kernel": ol.RidgeFilter(c=0.05, kernel=ol.kernels.RBF(gamma=2.0)),
        "filter-pridge": ol.PRidgeFilter(p=0.3, seed=1),
        "filter-pridge-dual": ol.PRidgeFilter(p=0.3, seed=1, form="dual"),
        "filter-pridge-forward": ol.PRidgeFilter(p=0.3, seed=1, margin="forward"),
        "filter-pridge-kernel": ol.PRidgeFilter(p=0.3, kernel=ol.kernels.RBF(gamma=2.0)),
        "filter-laser": ol.LaserFilter(c=50.0, p=0.3, seed=1),
        "filter-laser-dual": ol.LaserFilter(c=50.0, p=0.3, seed=1, form="dual"),
        "filter-drift": ol.RidgeFilter(c=0.05, drift=50.0, rule="variance"),
        "filter-ellipsoid": ol.RidgeFilter(rule="ellipsoid"),
        "filter-simple": ol.SimpleFilter(c=0.1),
        "filter-perceptron": ol.Perceptron(feedback="forwarded"),
        "filter-apple": ol.AppleTasting(ol.Perceptron(), horizon=40),
    }.items():
        made, waiting = filtered(kind)
        yield name, made, "onlinear.load", filter_questions(waiting)

    nystroem = ol.features.Nystroem(ol.kernels.RBF(gamma=2.0), landmarks=12)
    yield "mapped", learnt(ol.features.Mapped(nystroem, ol.AAR())), "onlinear.load", rounds()
    fourier = ol.features.RandomFourier(width=12, gamma=0.5)
    mapped = learnt(ol.features.Mapped(fourier, ol.LASER(c=10.0)))
    yield "mapped-fourier", mapped, "onlinear.load", rounds()

    from onlinear.text import OnlineTfidf  # needs scikit-learn, and those who only read do not

    text = OnlineTfidf(width=64, min_documents=2)
    text.learn_transform(STORIES)
    looks = [question("transform_one", story) for story in STORIES]
    questions = [*looks, question("learn_one", STORIES[0]), *looks, question("n_documents_")]
    yield "text", text, "onlinear.text.OnlineTfidf.load", questions


# --- the files --------------------------------------------------------------------------------


def write_learners(folder):
    """Write what the cases of the table predict, and their state files."""
    (rows, labels), (more, answers) = stream(60), stream(10, seed=1)
    content = {"X": rows.tolist(), "y": labels.tolist()}
    content |= {"later X": more.tolist(), "later y": answers.tolist()}
    for name, case in zip(IDS, CASES, strict=True):
        model, both, own = make(case), (labels, answers), {}
        if case[0] == "AROW":  # takes classes
            both = tuple(np.where(part > np.median(labels), 1, 0) for part in both)
            own = dict(zip(("y", "later y"), (part.tolist() for part in both), strict=True))
        predictions = ol.replay(model, rows, both[0]).predictions.tolist()
        model.save(folder / f"learner-{name}.onl")
        next_one = plain(model.predict_one(more[0]))
        later = ol.replay(model, more, both[1]).predictions.tolist()
        content[name] = {"predictions": predictions, "next": next_one, "later": later, **own}
    write_json(folder / "predictions.json", content)


def write_others(folder):
    """Write everything else, and what it answers."""
    content = {}
    for name, model, loader, questions in others():
        model.save(folder / f"{name}.onl")
        content[f"{name}.onl"] = {"load": loader, "questions": answered(model, questions)}
    command = write_run(folder)
    answers = answered(ol.load(folder / "run.onl"), rounds())
    content["run.onl"] = {"load": "onlinear.load", "command": command, "questions": answers}
    write_json(folder / "expected.json", content)


def answered(model, questions):
    """Return questions, each with its answer."""
    return [[*asked, answer(model, *asked)] for asked in questions]


def write_run(folder):
    """Run the command on half of a stream and on all of it; return what would resume the former."""
    lines = [f"{','.join(map(repr, x))},{y!r}\n" for x, y in zip(ROWS, LABELS, strict=True)]
    lines[10] = f"{','.join(map(repr, ROWS[10]))},\n"  # no label: predicted only
    run = ["run", "stream.csv", "--target", "y"]
    kept = ["--state", "run.onl", "--out", "p.csv"]
    for rows, options in ((len(lines) // 2, kept), (len(lines), ["--out", "p-whole.csv"])):
        text = "".join(["x0,x1,x2,y\n", *lines[:rows]])
        (folder / "stream.csv").write_text(text, newline="\n")
        command = [sys.executable, "-m", "onlinear", *run, *options]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return [*run, *kept, "--resume"]


def write_json(path, content):
    """Write an entry a line."""
    lines = (f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in content.items())
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", newline="\n")


def main():
    """Write the folder of this version, whole or not at all."""
    folder = RELEASES / ".".join(ol.__version__.split(".")[:2])
    if folder.exists():
        sys.exit(f"{folder.name} is there already: what a release wrote is never written again")
    with tempfile.TemporaryDirectory(dir=RELEASES) as beside:
        made = Path(beside) / folder.name
        made.mkdir()
        write_learners(made)
        write_others(made)
        made.rename(folder)
    print(f"{folder.name}: {len(list(folder.iterdir()))} files")


if __name__ == "__main__":
    main()
