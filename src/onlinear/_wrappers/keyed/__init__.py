"""``Keyed``: one model per key."""
