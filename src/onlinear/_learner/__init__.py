"""The base classes of learners: the round, parameters, the scikit-learn interface, merging."""
