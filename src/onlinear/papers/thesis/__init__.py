"""Moroshko's thesis (2013): AAR, WEMM and LASER."""
