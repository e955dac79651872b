"""Chains as the solvers of their dual problems hold them."""
