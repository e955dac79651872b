"""Solvers: one algorithm a file, each a generator of iterates. `gapfit.solve` runs them."""
