"""What the record of a key holds before the state of its model."""

__all__ = ["HEAD", "KEY", "LAST", "LEARNT", "LOSS", "SKIPPED", "STAMP"]

# the run that came to it last (0: none), the number of its last event, rows learnt and skipped,
# the sum of squared errors, its key if that is an integer; and how many of these there are
STAMP, LAST, LEARNT, SKIPPED, LOSS, KEY, HEAD = range(7)
