"""Replay, certificates and reports: how well a learner did on a stream."""
