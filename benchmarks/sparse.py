"""Time a replay of NLMS on sparse rows of ten entries, and on the same rows as a dense array.

python benchmarks/sparse.py
"""

import time

import numpy as np
from scipy.sparse import csr_array

import onlinear as ol

ROWS, WIDTH, ENTRIES, REPEATS = 500, 100_000, 10, 5


def fastest(X: object, y: np.ndarray) -> float:
    times = []
    for _ in range(REPEATS):
        model = ol.NLMS().fit(X[:1], y[:1])  # type: ignore[index]
        began = time.perf_counter()
        ol.replay(model, X, y)
        times.append(time.perf_counter() - began)
    return min(times) / ROWS


def main() -> None:
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(WIDTH, size=(ROWS, ENTRIES)), axis=1)
    starts = np.arange(0, ROWS * ENTRIES + 1, ENTRIES)
    X = csr_array((rng.normal(size=ROWS * ENTRIES), columns.ravel(), starts), (ROWS, WIDTH))
    X.sum_duplicates()
    y = rng.normal(size=ROWS)
    sparse, dense = fastest(X, y), fastest(X.toarray(), y)
    print(f"{WIDTH:,} columns, {ENTRIES} entries per row: {dense / sparse:,.0f} × as fast as dense")


if __name__ == "__main__":
    main()
