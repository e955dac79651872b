"""Columns of X as coordinates of the problem."""
