"""The engine: compiles the loops that run a learner's step (one round) over data."""
