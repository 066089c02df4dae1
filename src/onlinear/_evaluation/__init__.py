"""Replays, certificates (bounds on the loss) and reports: how well a learner did on a stream."""
