"""Jamil & Bouchachia: CIRR and OSLOG."""
