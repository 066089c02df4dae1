"""The layout of a key's record: the numbers before the state of its model."""

__all__ = ["HEAD", "KEY", "LAST", "LEARNT", "LOSS", "SKIPPED", "STAMP"]

# STAMP: the last run that used the record (0: none). LAST: the number of its last event. LEARNT and
# SKIPPED: how many rows. LOSS: the sum of squared errors. KEY: the key, if it is an integer. HEAD:
# how many numbers come before the state.
STAMP, LAST, LEARNT, SKIPPED, LOSS, KEY, HEAD = range(7)
