"""State files: the format on disk, models to and from it, keys as bytes."""
