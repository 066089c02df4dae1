"""State files: their format on disk, and how learners and keys are written and read."""
