"""A theorem's bound, computed beside a stream from its rows and labels."""
