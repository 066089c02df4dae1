"""What input is accepted, and the error messages for what is not."""
