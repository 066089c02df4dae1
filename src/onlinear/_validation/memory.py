"""Refuse to allocate more than half of the machine's memory."""

import os

__all__ = ["fits", "holds", "physical_memory", "within_half"]


def physical_memory() -> float:
    """Return how many bytes of memory this machine has; 8 GB if the amount is unknown."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return 8e9


def within_half(what: str, numbers: float, instead: str) -> None:
    """Raise an error if ``numbers`` float64 numbers take over half of the machine's memory.

    The limit is half of the memory because a replay keeps a second copy of the state. ``what`` is
    the beginning of the error message, and ``instead`` is its end, which says what to do.
    """
    needed, memory = 8.0 * numbers, physical_memory()
    if needed > memory / 2:
        raise ValueError(
            f"{what}, {needed / 1e9:,.4g} GB, more than half of this machine's {memory / 1e9:.3g} "
            f"GB: {instead}"
        )


def fits(
    owner: str,
    d: int,
    matrices: int,
    instead: str = "NLMS, GD or OGD (O(d)), which take sparse rows",
) -> None:
    """Raise an error if a learner's d × d matrices take over half of the machine's memory."""
    what = f"a {d} × {d} matrix" if matrices == 1 else f"{matrices} matrices of {d} × {d}"
    words = f"use {instead}, or fewer columns (features hashed to a smaller width)"
    within_half(f"{owner} keeps {what}", float(matrices) * d * d, words)


def holds(
    owner: str,
    examples: int,
    numbers: float,
    instead: str = "set a budget, or use a linear learner on features from onlinear.features",
) -> None:
    """Raise an error if a learner's stored examples take over half of the machine's memory."""
    what = f"{owner} would keep {examples} examples"
    within_half(what, numbers, f"{instead}; nothing was changed")
