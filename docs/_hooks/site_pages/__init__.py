"""The parts of the site that are generated when it is built: algorithms, figures, API, links."""
