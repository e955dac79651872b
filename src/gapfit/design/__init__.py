"""Designs: the linear maps from weights to scores."""
