"""On what and with what it was measured."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version

PEERS = ("scikit-learn", "liblinear-official", "rehline", "snapml", "skglm", "celer", "cvxpy", "clarabel")


def describe():
    """One line on the machine, one on the versions."""
    return [
        f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}; load when it started {_load()}.",
        ", ".join(f"{name} {_version(name)}" for name in ("gapfit", "numpy", "scipy", "numba", *PEERS)) + ".",
    ]


def _processor():
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


def _load():
    try:
        return f"{os.getloadavg()[0]:.1f}"
    except OSError:
        return "unknown"


def _version(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
