"""Compiled loops: numba, and nothing but numba.

A kernel takes arrays, scalars and records of them (NamedTuples, structured arrays), never a loss, a function
or an object, so that the next process finds its machine code on disk. What belongs together is a record: no
function takes more than ten arguments, and columns have names. Losses reach the kernels as data (their
`Atoms`). Files import from each other as other code does: see `_jit` for why that is safe.
Nothing here is imported before a solver needs it, and nothing compiles at import.
"""
