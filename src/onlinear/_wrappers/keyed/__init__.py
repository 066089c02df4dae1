"""One model per key."""
