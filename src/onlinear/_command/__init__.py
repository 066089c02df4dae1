"""The commands: files and pipes in, predictions and state out; ``onlinear.cli`` is their face."""
