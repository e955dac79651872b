"""Samples as coordinates of a dual problem."""
