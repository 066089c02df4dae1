"""Jamil & Bouchachia: the algorithms CIRR and OSLOG."""
