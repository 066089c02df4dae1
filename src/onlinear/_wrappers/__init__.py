"""Objects around learners: ``Bank`` (many), ``Late`` (delayed labels), ``Keyed`` (one per key)."""
