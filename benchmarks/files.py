"""Time `onlinear run` on a large CSV file, against reading the same file with pyarrow alone.

    python benchmarks/files.py [--gigabytes 2] [--columns 20] [--digits 17] [--folder DIR]

The file is generated (true weights that drift, numbers of 17 digits by default) and removed at the
end. Each program is a separate process, timed from start to end. The shares in the table are rows
per second as a share of those of pyarrow.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import timing

BLOCK = 100_000
STREAM = "for batch in csv.open_csv(path): rows += batch.num_rows"
WHOLE = "rows = csv.read_csv(path).num_rows"


class Cost(NamedTuple):
    """The seconds and the peak memory, in megabytes, of a process."""

    seconds: float
    memory: float


def generate(path: Path, size: float, d: int, digits: int) -> int:
    """Write a stream whose true weights drift; return its number of rows."""
    rng, w, rows = np.random.default_rng(0), np.zeros(d), 0
    with path.open("wb") as file:
        while file.tell() < size:
            X = rng.normal(size=(BLOCK, d))
            W = w + 0.003 * np.cumsum(rng.normal(size=(BLOCK, d)), axis=0)
            w = W[-1]
            y = (X * W).sum(axis=1) + 0.1 * rng.normal(size=BLOCK)
            columns = {f"x{j}": X[:, j] for j in range(d)} | {"y": y}
            if digits < 17:
                columns = {name: np.round(values, digits) for name, values in columns.items()}
            options = pa.csv.WriteOptions(include_header=rows == 0)
            pa.csv.write_csv(pa.table(columns), file, options)
            rows += BLOCK
    return rows


def cost(command: list[str]) -> Cost:
    """Run a command; return the time and the peak memory of its process."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command} failed")
    return Cost(time.perf_counter() - began, usage.ru_maxrss / 1e3)


def main() -> None:
    parser = timing.parser(__doc__, 3)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--digits", type=int, default=17)
    parser.add_argument("--folder", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path, out = Path(folder) / "stream.csv", Path(folder) / "out.csv"
        rows = generate(path, options.gigabytes * 1e9, options.columns, options.digits)
        print(f"{path.stat().st_size / 1e9:.2f} GB, {rows:,} rows, {options.columns} columns\n")
        run = [sys.executable, "-m", "onlinear", "run", str(path), "-t", "y"]
        laser, state = ["-m", "laser", "--raw"], ["--state", f"{folder}/m.onl"]
        read = "import sys, pyarrow.csv as csv; rows, path = 0, sys.argv[1]\n"
        contenders = {
            "pyarrow, in pieces": [sys.executable, "-c", read + STREAM, str(path)],
            "pyarrow, all at once": [sys.executable, "-c", read + WHOLE, str(path)],
            "onlinear run, LASER": [*run, *laser],
            "… with predictions and snapshots": [*run, *laser, "-o", str(out), *state, "--force"],
            "onlinear run, Auto": run,
        }
        for name in ("onlinear run, LASER", "onlinear run, Auto"):  # compile on a few rows
            few = Path(folder) / "few.csv"
            with path.open("rb") as file:
                few.write_bytes(b"".join(file.readline() for _ in range(100)))
            cost([str(few) if part == str(path) else part for part in contenders[name]])
        costs = {
            name: [cost(command) for _ in range(options.repeats)]
            for name, command in contenders.items()
        }
        best = {name: min(each.seconds for each in several) for name, several in costs.items()}
        table = []
        for name, seconds in best.items():
            shares = [best[f"pyarrow, {how}"] / seconds for how in ("in pieces", "all at once")]
            memory = max(each.memory for each in costs[name])
            table.append(
                (name, f"{rows / seconds:,.0f}", *(f"{s:.0%}" for s in shares), f"{memory:.0f}")
            )
        heads = (
            "rows a second",
            "of pyarrow in pieces",
            "of pyarrow all at once",
            "peak memory, MB",
        )
        timing.table(("", *heads), table)


if __name__ == "__main__":
    main()
