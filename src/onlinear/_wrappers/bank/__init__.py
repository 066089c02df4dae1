"""Many learners on the same rows."""
