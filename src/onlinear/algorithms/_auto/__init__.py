"""The parts of Auto: experts, their combination, outliers, the explanation."""
