"""Filters on Reuters-21578: macro F of classifiers that see every label and of filters that do not.

    python benchmarks/reuters.py [--data FOLDER]

The folder has text_reuters21578.csv.gz: the 21,578 stories of the collection in order, with the
columns title, body and topics (separated by |). It is not part of the package; the collection is
at https://archive.ics.uci.edu/dataset/137. The experiment is section 4.1 of Cesa-Bianchi, Conconi &
Gentile (NIPS 2003), who used the newer RCV1, which is not free: each topic that 1 to 5 % of the
documents have is a task, and the figure is the mean of the tasks' F-measures.
"""

import argparse
import csv
import gzip
import resource
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import onlinear as ol
from onlinear.text import CorpusTfidf

FILE = "text_reuters21578.csv.gz"
SHARE = (0.01, 0.05)


def documents(folder: Path) -> tuple[list[str], list[set[str]]]:
    path = folder / FILE
    if not path.exists():
        sys.exit(f"there is no {path}: see the beginning of this script for what it has to be")
    csv.field_size_limit(10**9)
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = [f"{row['title']} {row['body']}" for row in rows]
    return texts, [set(filter(None, row["topics"].split("|"))) for row in rows]


def run(texts: list[str], topics: list[set[str]], console: Console) -> None:
    X = CorpusTfidf().fit_transform(texts)
    some = np.flatnonzero(np.diff(X.indptr))  # documents with a word of the vocabulary
    X, topics = X[some], [topics[i] for i in some]
    rows, width = X.shape
    counts = Counter(topic for each in topics for topic in each)
    tasks = sorted(t for t, n in counts.items() if SHARE[0] * rows <= n <= SHARE[1] * rows)
    Y = np.array([[task in each for task in tasks] for each in topics])
    filters = {
        "RIDGE-FULL": ol.RidgeFilter(c=0.0, feedback="full"),
        "Perceptron": ol.Perceptron(),
        "RIDGE-FIL": ol.RidgeFilter(),
        "STAP": ol.AppleTasting(ol.RidgeFilter(c=0.0), horizon=rows),
    }
    table = Table(title=f"{rows:,} documents × {width:,} words, {len(tasks)} topics")
    for column in ("", "labels seen", "macro F", "second half", "forwarded", "s a topic"):
        table.add_column(column, justify="right" if column else "left")
    for name, f in filters.items():
        began = time.perf_counter()
        runs = ol.filter_replay(f, X, Y)
        seconds = (time.perf_counter() - began) / len(tasks)
        table.add_row(
            name,
            "all" if f.get_params().get("feedback") == "full" else "of the forwarded",
            f"{np.mean([each.f_measure for each in runs]):.3f}",
            f"{np.mean([each[rows // 2 :].f_measure for each in runs]):.3f}",
            f"{np.mean([each.decisions.mean() for each in runs]):.1%}",
            f"{seconds:.1f}",
        )
        if name == "RIDGE-FIL":
            most = max(int(each.decisions.sum()) for each in runs)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    console.print(table)
    console.print(
        f"topics: {', '.join(tasks)}\n"
        f"RIDGE-FIL forwarded at most {most:,} documents of a topic, {_mb(most):,.0f} MB of "
        f"factor; RIDGE-FULL keeps all, once for all topics, {_mb(rows):,.0f} MB. "
        f"The process took {peak / 1e6:,.1f} GB at most.\n"
    )


def _mb(n: int) -> float:
    return n * (n + 1) / 2 * 8 / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description="Filters on Reuters-21578.")
    parser.add_argument("--data", type=Path, default=Path("data"))
    texts, topics = documents(parser.parse_args().data)
    console = Console()
    console.print("documents with a topic:")
    labelled = [i for i, each in enumerate(topics) if each]
    run([texts[i] for i in labelled], [topics[i] for i in labelled], console)
    console.print("all documents:")
    run(texts, topics, console)


if __name__ == "__main__":
    main()
