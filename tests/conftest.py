"""Tests are of compiled code, from their first fit on: see `gapfit.compiled._first` for the others."""

import os

os.environ.setdefault("GAPFIT_COMPILE", "at_once")
