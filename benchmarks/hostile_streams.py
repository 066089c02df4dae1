"""Try to break every certificate, on a thousand hostile streams per learner and loss.

    python benchmarks/hostile_streams.py [--streams 1000] [LEARNER ...]

Rows are random, rotating, switching, collinear, heavy-tailed, bursting or repeated. In every second
cycle through these kinds, the labels come from an adversary who sees each prediction. Each stream
is certified against the best predictor in hindsight and against a given predictor that the theorem
admits (a moving one for bounds with drift). "Ended" counts streams on which the certificate ended
early, and said so, because double precision did not suffice. "Nearest" is the largest quotient of
loss and upper bound.
"""

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import track

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import hostile  # type: ignore[import-not-found]

import onlinear as ol

EVERYTHING = [*hostile.CERTIFIED, *hostile.WITH_LOSS, *hostile.WITH_SET]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("learners", nargs="*", default=EVERYTHING)
    parser.add_argument("--streams", type=int, default=1000)
    arguments = parser.parse_args()
    errors = Console(stderr=True)
    total = 0
    print(f"{'learner':20}{'streams':>10}{'broken':>10}{'ended':>10}{'nearest':>10}")
    for name in arguments.learners:
        wrong, ended, nearest = [], 0, 0.0
        seeds = range(arguments.streams)
        for seed in track(
            seeds, name, console=errors, transient=True, disable=not errors.is_terminal
        ):
            wrong += hostile.broken_bounds(name, seed)
            make, X, y = hostile.case(name, seed)
            proof = ol.certificate(make(), X, y)
            ended += hostile.ended(proof)
            ceiling = proof.ceiling[proof.ceiling > 0]
            nearest = max(nearest, *(proof.loss[proof.ceiling > 0] / ceiling), 0.0)
        print(f"{name:20}{arguments.streams:10}{len(wrong):10}{ended:10}{nearest:10.4f}")
        total += len(wrong)
        for each in wrong[:5]:
            print("  ", each)
    sys.exit(total > 0)


if __name__ == "__main__":
    main()
