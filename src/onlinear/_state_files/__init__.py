"""State files: the format on disk, learners to and from it, keys as bytes."""
