"""The layout of a key's record, one array: counters of the key, then the state of its model."""

__all__ = ["HEAD", "KEY", "LAST", "LEARNT", "LOSS", "SKIPPED", "STAMP"]

# The index of each number. STAMP: the last run that used the record (0: none). LAST: the number of
# the key's last event. LEARNT and SKIPPED: how many rows were learnt and skipped. LOSS: the sum of
# squared errors. KEY: the key, if it is an integer. HEAD: where the state of the model begins.
STAMP, LAST, LEARNT, SKIPPED, LOSS, KEY, HEAD = range(7)
