"""Pages as a browser sees them, for tests that are left out where there is none."""

import importlib.util
from pathlib import Path

import pytest

_FILE = Path(__file__).parents[1] / ".ci" / "chromium.py"
_spec = importlib.util.spec_from_file_location("chromium", _FILE)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)

seen = _module.seen
needs_chromium = pytest.mark.skipif(_module.CHROMIUM is None, reason="Chromium is not installed")
