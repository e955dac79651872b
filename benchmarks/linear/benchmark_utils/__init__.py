"""What the data sets and the solvers of this benchmark share."""
