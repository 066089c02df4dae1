"""``Late``: learning with delayed labels."""
