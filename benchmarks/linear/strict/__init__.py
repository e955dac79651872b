"""The strict protocol behind `make bench`: the benchmark's solvers, timed to equal and proved accuracy."""
