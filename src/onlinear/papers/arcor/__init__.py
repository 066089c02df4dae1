"""Vaits & Crammer (2011): ARCOR."""
