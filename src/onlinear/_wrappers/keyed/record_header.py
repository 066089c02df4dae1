"""The layout of a key's record: the numbers before the state of its model."""

__all__ = ["HEAD", "KEY", "LAST", "LEARNT", "LOSS", "SKIPPED", "STAMP"]

# the last run that used the record (0: none), the number of its last event, rows learnt and
# skipped, the sum of squared errors, its key if that is an integer; and the length of this header
STAMP, LAST, LEARNT, SKIPPED, LOSS, KEY, HEAD = range(7)
