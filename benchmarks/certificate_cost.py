"""Time a certificate against the replay alone, in one run on this machine.

    python benchmarks/certificate_cost.py [--rows 20000] [--repeats 15] [LEARNER ...]

One thread, d = 20 and d = 100, with a quarter of the rows there, and a quarter of them again for
learners whose round is O(d³); ten times as many where it is O(d). Each figure is the least over
interleaved repeats. The certificate includes the replay. Learners whose round costs O(d) are timed
against a given comparator too: the best one in hindsight costs O(d²) a round, whatever the learner
does.
"""

from typing import Any

import timing

# isort: split
import numpy as np

import onlinear as ol

LIMIT = 2.5
CUBIC = ("CIRR", "OSLOG")
LINEAR = ("EG", "EGPM", "EGU", "GD", "NLMS", "OGD")


def stream(rows: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in every learner's domain: 0 ≤ x, ‖x‖ ≤ 1, 0 ≤ y ≤ 1."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(rows, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = X @ np.where(np.arange(d) < 3, 0.5, 0.0) + 0.1 * rng.uniform(size=rows)
    return X, np.clip(y, 0.0, 1.0)


def settings(name: str) -> dict[str, Any]:
    if name in ("GD", "OGD"):
        return {"eta": 0.25}
    if name == "ARCOR":
        return {"radius": 3.0}
    if name == "ONS":
        return {"radius": 1.0, "gamma": 0.1}
    return {"WEMM": {"b": 1.1}, "EGPM": {"U": 2.0}}.get(name, {})


def ratios(name: str, rows: int, d: int, repeats: int) -> tuple[float, float | None]:
    """Return certificate / replay, with the best comparator and with a given one."""
    rows = rows // 4 if name in CUBIC else 10 * rows if name in LINEAR else rows
    X, y = stream(rows, d)
    kind: Any = ol.LEARNERS[name]
    params, u = settings(name), np.full(d, 1.0 / d)
    contenders: dict[str, timing.Run] = {
        "replay": lambda: ol.replay(kind(**params), X, y),
        "best": lambda: ol.certificate(kind(**params), X, y),
    }
    if name in LINEAR:
        contenders["given"] = lambda: ol.certificate(kind(**params), X, y, comparator=u)
    times = timing.least(contenders, repeats)
    given = times["given"] / times["replay"] if "given" in times else None
    return times["best"] / times["replay"], given


def main() -> None:
    parser = timing.parser(__doc__, 15)
    linear = [name for name in ol.LEARNERS if not name.startswith("Kernel")]  # those have no bound
    parser.add_argument("learners", nargs="*", default=linear)
    parser.add_argument("--rows", type=int, default=20_000)
    arguments = parser.parse_args()
    worst = 0.0
    print(f"{'certificate / replay':22}{'d = 20':>10}{'d = 100':>10}")
    for name in arguments.learners:
        rows = arguments.rows
        found = [ratios(name, rows, 20, arguments.repeats)]
        found.append(ratios(name, rows // 4, 100, arguments.repeats))
        counted = [best if given is None else given for best, given in found]
        worst = max(worst, *counted)
        if name in LINEAR:
            print(f"{name + ', given u':22}" + "".join(f"{given:10.2f}" for _, given in found))
        label = f"{name}, best u: O(d²)" if name in LINEAR else name
        print(f"{label:22}" + "".join(f"{best:10.2f}" for best, _ in found))
    verdict = "within" if worst <= LIMIT else "OVER"
    print(f"largest but for those marked O(d²): {worst:.2f}, {verdict} the limit of {LIMIT}")


if __name__ == "__main__":
    main()
