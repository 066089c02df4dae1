"""Time from starting Python to the first prediction, in new processes.

    python benchmarks/startup.py [--library FILE] [--repeats 5] [--cold]

The compiled library that wheels contain (the file ``--library``, or the library of the installed
package) is compared with code that Numba compiled earlier and loads from its cache, and with the
package river. With ``--cold``, Numba also compiles with an empty cache. Each figure is the median
wall time of whole processes, and its ratio to the time of starting Python and importing NumPy,
which is the least that any contender can take.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

STREAM = "X, y = ol.streams.rotating(rows=2000, d=8, degrees=0.5); "
OURS = {
    "import": "import onlinear as ol",
    "first round of Ridge": "import onlinear as ol; ol.Ridge().learn_one([1.0] * 8, 2.0)",
    "first round of Auto": "import onlinear as ol; ol.Auto().learn_one([1.0] * 8, 2.0)",
    "first replay of Auto": f"import onlinear as ol; {STREAM}ol.replay(ol.Auto(), X, y)",
    "onlinear demo": "import sys; sys.argv[1:] = ['demo']; import onlinear_command as c; c.main()",
}
RIVER = {
    "import": "import river.linear_model",
    "first round": "from river.linear_model import BayesianLinearRegression as B; m = B(); "
    "m.predict_one({'a': 1.0}); m.learn_one({'a': 1.0}, 2.0)",
}


def seconds(code: str, repeats: int, environment: dict[str, str]) -> float:
    """Return the median wall time of new processes that run the given code."""
    times = []
    with tempfile.TemporaryDirectory() as folder:  # for the page that the demo writes
        for _ in range(repeats):
            began = time.perf_counter()
            command = [sys.executable, "-c", code]
            subprocess.run(
                command, env=environment, cwd=folder, stdout=subprocess.DEVNULL, check=True
            )
            times.append(time.perf_counter() - began)
    return statistics.median(times)


def main() -> None:
    """Print a table of start-up times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words = "the compiled library, if it is not in the package"
    parser.add_argument("--library", type=Path, help=words)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cold", action="store_true", help="also time Numba with an empty cache")
    given = parser.parse_args()
    least = seconds("import numpy", given.repeats, dict(os.environ))
    print(f"{'starting Python and importing NumPy':50}{least:8.3f} s {1.0:6.2f}")

    def show(what: str, took: float) -> None:
        print(f"{what:50}{took:8.3f} s {took / least:6.2f}")

    with tempfile.TemporaryDirectory() as cache:
        own = {**os.environ, "NUMBA_CACHE_DIR": cache}
        shipped = {**own, "ONLINEAR_NATIVE": str(given.library.resolve())} if given.library else own
        compiling = {**own, "ONLINEAR_NATIVE": "0"}
        for what, code in OURS.items():
            show(f"onlinear, compiled ahead: {what}", seconds(code, given.repeats, shipped))
        for what, code in OURS.items():
            cold = seconds(code, 1, compiling)
            if given.cold:
                show(f"onlinear, Numba, empty cache: {what}", cold)
            show(f"onlinear, Numba's cache: {what}", seconds(code, given.repeats, compiling))
    for what, code in RIVER.items():
        took = seconds(code, given.repeats, dict(os.environ))
        show(f"river {version('river')}: {what}", took)


if __name__ == "__main__":
    main()
