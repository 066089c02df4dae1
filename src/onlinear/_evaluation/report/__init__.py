"""The HTML report of a run: recording it, and drawing the page."""
