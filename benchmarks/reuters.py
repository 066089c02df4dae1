"""Measure the time per topic and the memory of the filters on Reuters-21578.

    python benchmarks/reuters.py [--data FOLDER]

The stories, topics and filters are those of ``onlinear paper filtering-fig-1``, whose page has the
F-measures. The stories are looked for in the folder of ``--data``, then by
``onlinear.streams.load``, which downloads them if necessary.
"""

import argparse
import resource
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

import onlinear as ol
from onlinear.papers.filtering.newswire import FILTERS, NewsSource, tasks
from onlinear.streams import DataNotFoundError


def run(source: NewsSource, title: str, console: Console) -> None:
    X, Y, topics = tasks(source)
    rows, width = X.shape
    table = Table(title=f"{title}: {rows:,} × {width:,} words, {len(topics)} topics")
    for column in ("", "forwarded, at most", "labels kept", "MB of factor", "s per topic"):
        table.add_column(column, justify="right" if column else "left")
    for name, made in FILTERS.items():
        f = made(rows, 0)
        began = time.perf_counter()
        runs = ol.filter_replay(f, X, Y)
        seconds = (time.perf_counter() - began) / len(topics)
        most = max(int(each.decisions.sum()) for each in runs)
        kept = rows if f.get_params().get("feedback") == "full" else most
        factor = "" if name == "Perceptron" else f"{kept * (kept + 1) / 2 * 8 / 1e6:,.0f}"
        table.add_row(name, f"{most:,}", f"{kept:,}" if factor else "", factor, f"{seconds:.1f}")
    console.print(table)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    console.print(f"The process took at most {peak / 1e6:,.1f} GB of memory.\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Filters on Reuters-21578: time and memory.")
    parser.add_argument("--data", type=Path, default=Path("data"))
    source = NewsSource("reuters21578", parser.parse_args().data, download=True)
    console = Console()
    try:
        run(source._replace(labelled=True), "stories with a topic", console)
        run(source, "all stories", console)
    except DataNotFoundError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
