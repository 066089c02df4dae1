"""The base classes of learners: rounds, parameters, scikit-learn API, replays, merging, bounds."""
