"""Mathematics of updates that several algorithms share, such as the Gaussian and the dual form."""
