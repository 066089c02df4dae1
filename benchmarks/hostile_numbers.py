"""Try to break learners with extreme numbers: 100,000 streams, for every learner and wrapper.

    python benchmarks/hostile_numbers.py [--streams 100000] [--seed 0] [--processes 2]

Every stream has a learner with parameters of any admitted size, alone or in a wrapper, and a few
rows of one family: subnormal numbers, 1e±154, 1e±300, likelihoods, columns that are constant at
first, sentinels, alternating scales, tiny and huge labels. Every round must end within 100 times
its usual time. A round must leave a finite state with a positive definite Σ, or refuse the row with
an error message. Saving a learner to a state file and loading it must restore the same bits. One
stream in a hundred tests Auto: its squared error after a hostile row must be at most 1.2 times that
of a copy that never saw the row (hostile labels are at least 30, a hundred σ of the noise, and rows
below 1e3 have their true label). The tolerance for rounding errors of Σ is a share of the largest
variances that Σ has had. A stream that does not end is reported and abandoned. ``--only SEED`` runs
one stream in this process.
"""

import argparse
import multiprocessing
import sys
import tempfile
from collections import Counter
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import hostile_values as hostile  # type: ignore[import-not-found]

PATIENCE = 180.0  # seconds until a stream counts as endless; some streams compile
WORSE = 1.2


def outcome(seed: int, folder: Path) -> tuple[str, str, list[str], int]:
    """Run a stream; return what it tests, its family, its faults, how many rows were refused."""
    if seed % 100 == 99:
        family, error, clean = hostile.error_after(seed)
        wrong = [f"error {error:g}, without the row {clean:g}"] if error > WORSE * clean else []
        return "Auto afterwards", family, wrong, 0
    name, wrapper, family, wrong, refused = hostile.faults(seed, folder)
    return wrapper, family, [f"{name}: {each}" for each in wrong], refused


def work(results: Connection, seeds: range) -> None:
    """Run the streams of some seeds, and send their outcomes to the parent process."""
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            try:
                results.send((seed, *outcome(seed, Path(folder))))
            except Exception as error:
                results.send((seed, "error", "", [f"{type(error).__name__}: {error}"], 0))
    results.send(None)


class Crew:
    """Processes that share the streams; a process whose stream does not end is replaced."""

    def __init__(self, first: int, streams: int, processes: int) -> None:
        shares = [range(first + k, first + streams, processes) for k in range(processes)]
        self._left: dict[Any, tuple[Any, range]] = {}
        for share in filter(len, shares):
            self._start(share)

    def _start(self, seeds: range) -> None:
        ours, theirs = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.Process(target=work, args=(theirs, seeds), daemon=True)
        process.start()
        theirs.close()
        self._left[ours] = process, seeds

    def outcomes(self) -> Any:
        """Yield the outcome of every stream."""
        while self._left:
            ready = wait(list(self._left), PATIENCE)
            for results in [each for each in self._left if each in ready] or list(self._left):
                process, seeds = self._left.pop(results)
                try:
                    done = results.recv() if ready else ()
                except EOFError:
                    done = ()
                if done is None:
                    process.join()
                    continue
                if done:
                    self._left[results] = process, seeds[1:]
                else:
                    process.kill()
                    self._start(seeds[1:])
                    done = seeds[0], "error", "", ["the stream does not end, or crashes"], 0
                yield done


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--streams", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0, help="streams start at 10⁹ times this")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", type=int, help="run this stream alone, and print its outcome")
    arguments = parser.parse_args()
    if arguments.only is not None:
        print(outcome(arguments.only, Path(tempfile.mkdtemp())))
        return
    streams, refused, wrong = Counter[str](), Counter[str](), Counter[str]()
    crew = Crew(arguments.seed * 10**9, arguments.streams, arguments.processes)
    for seed, what, family, said, rows in crew.outcomes():
        for key in (what, family):
            streams[key] += 1
            refused[key] += rows
            wrong[key] += bool(said)
        if said:
            print(f"stream {seed} ({what}, {family}): {said[0]}", flush=True)
    print(f"{'':18}{'streams':>10}{'refused':>10}{'wrong':>10}")
    for key in sorted(filter(None, streams)):
        print(f"{key:18}{streams[key]:10}{refused[key]:10}{wrong[key]:10}")
    sys.exit(sum(wrong.values()) > 0)


if __name__ == "__main__":
    main()
