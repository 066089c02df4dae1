"""Objects that hold learners: ``Bank`` (many), ``Late`` (late labels), ``Keyed`` (one per key)."""
