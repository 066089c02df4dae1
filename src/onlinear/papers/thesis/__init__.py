"""Moroshko's thesis (2013), on the learners AAR, WEMM and LASER."""
