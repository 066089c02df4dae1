"""State files: the format on disk, saving and loading learners, encoding of keys."""
