"""Objects around learners: ``Bank`` (many learners), ``Late`` (delayed labels) and ``Keyed``."""
