"""The command line; ``onlinear._cli.app`` has its commands and options."""
