"""Compiled loops: numba, and nothing but numba.

A kernel takes arrays and scalars only, never a loss, a function or an object, so that the next
process finds its machine code on disk. Losses reach the kernels as data (their `Atoms`).
Nothing here is imported before a solver needs it, and nothing compiles at import.
"""
