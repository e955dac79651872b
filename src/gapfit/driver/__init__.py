"""What `solve` is made of: the loop over a solver's steps, when it looks, and the best that it has seen."""
