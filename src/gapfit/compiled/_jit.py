"""The one decorator of compiled functions, and the one instruction that they lack.

``@jit`` compiles strictly: the sums that the source says, in the order it says.
``@jit(fast=True)`` is for solver loops, whose results are certified elsewhere: the compiler may
fuse ``a * b + c``, ignore the sign of zero and multiply by reciprocals; ``reorder=True`` also lets
it sum in several lanes. Infinities and NaN keep their meaning throughout, and a division by zero
gives one of them. ``inline=True`` is for what is called for every row: a call that passes some
arrays takes as long as a dozen entries.

Compiled code is kept on disk, where numba keeps it: beside the package, or with the user's caches if that is
read-only. numba takes it for fresh as long as the file of the function has not changed. But machine code has
that of the functions it calls inside, so here it is fresh as long as no file of this folder has changed:
compiled files may import from each other. ``GAPFIT_CACHE=0`` in the environment keeps nothing.
"""

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from importlib import resources
from typing import Any

import numba
from llvmlite import ir
from numba.core import caching, cgutils, types
from numba.extending import intrinsic

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
    """What numba has stored for a function, by the types of its arguments."""

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except (ImportError, AttributeError):  # another version stored it, for records that are here no more
            return {}


class _Cache(caching.FunctionCache):
    """numba's own way to store machine code, under the stamp of the whole folder."""

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self._cache_file = _Index(self._cache_path, self._impl.filename_base, DIGEST)


def jit(
    function: Function | None = None, *, fast: bool = False, reorder: bool = False, inline: bool = False
) -> Function:
    """Compile at the first call, run without the interpreter lock, keep on disk where possible."""
    flags = ({"contract", "nsz", "arcp"} if fast else set()) | ({"reassoc"} if reorder else set())
    options: dict[str, Any] = {
        "nogil": True, "fastmath": flags or False, "forceinline": inline, "error_model": "numpy",
    }  # fmt: skip

    def decorate(function: Function) -> Function:
        compiled = numba.njit(**options)(function)
        if os.environ.get("GAPFIT_CACHE", "1") != "0" and not numba.config.DISABLE_JIT:
            with suppress(RuntimeError):  # neither beside the package nor in the user's cache can numba write
                compiled._cache = _Cache(function)
        return compiled

    return decorate if function is None else decorate(function)


def prefetch(array: Any, index: Any) -> None:
    """Ask for the cache line of ``array[index]`` without waiting for it."""


if not numba.config.DISABLE_JIT:

    @intrinsic
    def prefetch(typing, array, index):
        def emit(context, builder, signature, arguments):
            struct = context.make_array(signature.args[0])(context, builder, arguments[0])
            line = builder.mul(arguments[1], cgutils.unpack_tuple(builder, struct.strides)[0])
            pointer = cgutils.pointer_add(builder, struct.data, line, cgutils.voidptr_t)
            flag = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, flag, flag, flag])
            function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            read, keep, as_data = flag(0), flag(3), flag(1)
            builder.call(function, [pointer, read, keep, as_data])
            return context.get_dummy_value()

        return types.void(array, types.intp), emit
