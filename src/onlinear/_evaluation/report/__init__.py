"""The HTML report of a learner's run on a stream: recording the run, and drawing the page."""
