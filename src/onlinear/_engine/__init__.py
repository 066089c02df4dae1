"""A step, and every loop that runs it over data."""
