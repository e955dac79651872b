"""Functions of scipy's are ufuncs, whatever scipy was told."""

import os
import subprocess
import sys

import pytest

CODE = """
import numpy as np
from gapfit import special
print(all(isinstance(getattr(special, name), np.ufunc) for name in special.__all__))
print(special.xlogy(0.0, 0.0), special.expit(0.0))
"""


@pytest.mark.parametrize("told", ["0", "1"])
def test_they_are_ufuncs(told):
    ran = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**os.environ, "SCIPY_ARRAY_API": told}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stdout.split() == ["True", "0.0", "0.5"]
