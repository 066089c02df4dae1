"""The parts of ``Auto``, among them its experts (LASER learners) and how they are combined."""
