"""What all learners share: rounds, parameters, scikit-learn's API, replays, merging, bounds."""
