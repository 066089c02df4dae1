"""The ``onlinear`` command line; its commands are defined in ``onlinear._cli.app``."""
