"""HTML pages with tables and charts; this package does not depend on learners."""
