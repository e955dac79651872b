"""Models made of cuts, and their minima."""
