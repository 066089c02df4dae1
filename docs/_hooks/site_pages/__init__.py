"""The pages of the site that are made when it is built: one for each algorithm, and its figure."""
