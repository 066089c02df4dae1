"""``Bank``: many learners on the same rows."""
