"""The HTML report of a run: code that records the run, and code that draws the page."""
