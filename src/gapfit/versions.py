"""What a report of a bug needs to say: which versions, on which machine, with how many threads."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "llvmlite", "joblib", "threadpoolctl", "click", "rich")
OPTIONAL = ("matplotlib", "pyarrow", "cvxpy")


def versions() -> dict[str, dict[str, Any]]:
    """Versions of Python, gapfit and what it rests on; BLAS and threads; and where compiled code is kept."""
    return {
        "System": {
            "python": sys.version.replace("\n", " "),
            "executable": sys.executable,
            "machine": platform.platform(),
        },
        "Packages": {name: _version(name) for name in ("gapfit", *PACKAGES, *OPTIONAL)},
        "Threads": _threads(),
        "Compiled code": _cache(),
    }


def show_versions() -> None:
    """Print all that a report of a bug needs to say of versions and of the machine.

    Examples
    --------
    >>> import gapfit
    >>> gapfit.show_versions()  # doctest: +ELLIPSIS
    System:
        python: ...
    """
    for title, facts in versions().items():
        lines = [f"{title}:", *(f"    {name}: {fact}" for name, fact in facts.items())]
        sys.stdout.write("\n".join(lines) + "\n")


def _version(package: str) -> str:
    if package == "gapfit":
        from gapfit import __version__  # not at the top: the package is loaded after this module

        return __version__
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _threads() -> dict[str, Any]:
    """Cores, what the environment says of threads, and the libraries that start some."""
    from joblib import cpu_count
    from threadpoolctl import threadpool_info

    facts: dict[str, Any] = {"cores": os.cpu_count(), "cores to use": cpu_count()}
    facts |= {name: value for name in _SETTINGS if (value := os.environ.get(name)) is not None}
    for library in threadpool_info():
        name = f"{library['user_api']} {Path(library['filepath']).name}"
        facts[name] = f"{library['internal_api']} {library['version']}, {library['num_threads']} threads"
    return facts


_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def _cache() -> dict[str, Any]:
    """Where numba keeps compiled code: without such a place every process compiles anew."""
    beside = Path(__file__).parent / "compiled"
    given = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(given) if given else beside / "__pycache__"
    place = next(part for part in (folder, *folder.parents) if part.exists())
    return {
        "GAPFIT_CACHE": os.environ.get("GAPFIT_CACHE", "1"),
        "GAPFIT_COMPILE": os.environ.get("GAPFIT_COMPILE", "after the first fit"),
        "folder": folder,
        "writable": os.access(place, os.W_OK),
    }
