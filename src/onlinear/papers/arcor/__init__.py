"""Vaits & Crammer (2011): ARCOR, which resets its covariance matrix to track drifting weights."""
