"""Measures on samples that no model has seen: sets in two halves, one to choose by and one to report."""
