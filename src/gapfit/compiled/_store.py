"""Machine code on disk: where it is, and how long it is fresh.

numba keeps it in the folder that ``NUMBA_CACHE_DIR`` names; without that beside the package, or with the
user's caches if that is read-only. It is read wherever it is, and written to the first place that can be
written to: what `gapfit warmup` has left in an image serves the user who may only read it.

numba takes machine code for fresh as long as the file of the function has not changed. But it has that of the
functions it calls inside, so here it is fresh as long as no file of this folder has changed: compiled files
may import from each other. ``GAPFIT_CACHE=0`` in the environment keeps nothing and reads nothing.
"""

import glob
import hashlib
import inspect
import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any

from gapfit.compiled._pause import paused

with paused():
    from numba.core import caching, config
    from numba.core.runtime import rtsys

Function = Callable[..., Any]


def _digest() -> str:
    """Of the names and contents of all files of this folder, wherever it is."""
    files = [file for file in resources.files(__package__).iterdir() if file.name.endswith(".py")]
    digest = hashlib.sha256()
    for file in sorted(files, key=lambda file: file.name):
        content = file.read_bytes()
        digest.update(f"{file.name} {len(content)} ".encode() + content)
    return digest.hexdigest()


DIGEST = _digest()


class _Index(caching.IndexDataCacheFile):
    """What numba has stored for a function, by the types of its arguments.

    numba numbers files, and its index names them before they are there. So of two processes that begin at
    once one could run what the other, or another version, has compiled for other types. Here files are named
    by what they hold, and there before they are named.
    """

    def __init__(self, path: str, base: str, stamp: str) -> None:
        super().__init__(path, base, stamp)
        self._base, self._stamp = base, stamp

    def save(self, key: Any, data: Any) -> None:
        name = f"{self._base}.{self._digest_of(key)}.nbc"
        self._save_data(name, data)
        overloads = self._load_index()
        if not overloads:
            self._clear(name)
        self._save_index(overloads | {key: name})

    def _digest_of(self, key: Any) -> str:
        return hashlib.sha256(self._dump((self._version, self._stamp, key))).hexdigest()[:16]

    def _clear(self, name: str) -> None:
        """Remove what other versions have left; who runs one finds nothing, and compiles."""
        for file in Path(self._cache_path).glob(f"{glob.escape(self._base)}.*.nbc"):
            if file.name != name:
                with suppress(OSError):
                    file.unlink()

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except (ImportError, AttributeError, OSError):  # another version stored it, or nobody may read it
            return {}


class _Nowhere(caching._CacheLocator):
    """Stands for a place to write to where there is none: machine code may be read elsewhere."""

    def __init__(self, function: Function) -> None:
        self.line = function.__code__.co_firstlineno

    def ensure_cache_path(self) -> None:
        """There is none."""

    def get_cache_path(self) -> str:
        return ""

    def get_source_stamp(self) -> str:
        return DIGEST

    def get_disambiguator(self) -> str:
        return str(self.line)

    @classmethod
    def from_function(cls, function: Function, file: str) -> "_Nowhere":
        return cls(function)


class _Place(caching.CompileResultCacheImpl):
    """numba's places, and none as the last of them."""

    _locator_classes = (*caching.CompileResultCacheImpl._locator_classes, _Nowhere)

    def reduce(self, compiled: Any) -> tuple[Any, ...]:
        """Without the environments of numba's own functions: no machine code asks for them, and to restore
        that of `np.empty` would load half of numba."""
        *parts, environments = super().reduce(compiled)
        ours = (each for each in environments if not each.globals["__name__"].startswith("numba."))
        return (*parts, tuple(ours))


class Store(caching.FunctionCache):
    """numba's own way to store machine code, under the stamp of the whole folder."""

    _impl_class = _Place

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        base, path = self._impl.filename_base, self._cache_path
        self._cache_file = _Index(path, base, DIGEST)
        self._files = [_Index(place, base, DIGEST) for place in dict.fromkeys((path, _readable(function)))]

    def has(self, sig: Any, target_context: Any) -> bool:
        """Is there machine code for these types?"""
        key = self._index_key(sig, target_context.codegen())
        return any(key in file._load_index() for file in self._files)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Machine code for these types, if there is some.

        numba would first load all that compilation needs, a quarter of a second; machine code needs the
        memory manager alone.
        """
        with paused(), self._guard_against_spurious_io_errors():
            key = self._index_key(sig, target_context.codegen())
            data = next((found for file in self._files if (found := file.load(key)) is not None), None)
            if data is None:
                return None
            rtsys.initialize(target_context)
            return self._impl.rebuild(target_context, data)

    def save_overload(self, sig: Any, data: Any) -> None:
        if not isinstance(self._impl.locator, _Nowhere):
            super().save_overload(sig, data)
        elif not _told:
            _told.append(True)
            warnings.warn(NOT_KEPT, RuntimeWarning, stacklevel=2)


_told: list[bool] = []
NOT_KEPT = (
    "compiled code cannot be kept: neither the folder of gapfit nor the user's cache can be written to, so "
    "every process compiles anew. Next: set NUMBA_CACHE_DIR to a folder that can be written to, or run "
    "'gapfit warmup' when the image is made"
)


def _readable(function: Function) -> str:
    """Where machine code of this function is to be, whoever has put it there."""
    file = inspect.getfile(function)
    if config.CACHE_DIR:
        return os.path.join(config.CACHE_DIR, caching._CacheLocator.get_suitable_cache_subpath(file))
    return os.path.join(os.path.dirname(file), "__pycache__")
