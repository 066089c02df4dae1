"""The engine: compiles a learner's step into every loop that runs it over data."""
