"""What every figure and table of the papers is run and shown with."""
