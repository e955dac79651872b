"""Steps on pairs of samples and on working sets, in the dual of kernel machines."""
