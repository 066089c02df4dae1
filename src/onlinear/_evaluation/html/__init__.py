"""HTML pages, tables and charts; knows no learner."""
