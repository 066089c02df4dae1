"""The code that reproduces figures and tables of the papers and writes a page on each."""
