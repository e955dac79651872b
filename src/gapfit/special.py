"""Functions of scipy's as the ufuncs that they are, which vectors on a device answer to.

Where scipy is told to heed namespaces (SCIPY_ARRAY_API=1) it wraps them, and the wrappers refuse such
vectors.
"""

from inspect import unwrap

from scipy import special

__all__ = ["expit", "xlog1py", "xlogy"]

expit, xlog1py, xlogy = map(unwrap, (special.expit, special.xlog1py, special.xlogy))
