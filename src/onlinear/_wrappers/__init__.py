"""Objects around learners: many on the same rows, delayed labels, one model per key."""
