"""The parts of Auto: experts, their combination, outliers, labels, rounds, explanations."""
