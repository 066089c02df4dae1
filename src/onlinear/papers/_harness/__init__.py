"""The harness that runs the figures and tables of the papers and writes their pages."""
