"""A pool of linear models, among which cross-validation on a measure chooses."""
