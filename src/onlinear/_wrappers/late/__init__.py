"""Delayed labels."""
