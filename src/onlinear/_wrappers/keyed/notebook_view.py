"""HTML display of ``Keyed`` in notebooks."""

from typing import Any

from onlinear._learner import notebook

__all__ = ["page"]


def page(keyed: Any) -> str:
    """Return HTML with counts, the memory used, and the learner that every key starts with."""
    facts = {
        "keys": len(keyed),
        "events": keyed.events_,
        "skipped": keyed.n_skipped_ or None,
        "rows that wait for a label": keyed.late_.waiting or None,
        "memory, bytes": keyed.nbytes,
        "memory_limit": keyed.memory_limit,
        "max_age": keyed.max_age,
        "every key starts with": repr(keyed._models.initial),
    }
    return notebook.facts_page("Keyed", facts)
