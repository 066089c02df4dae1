"""HTML pages, tables and charts; independent of learners."""
