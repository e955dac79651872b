"""The one decorator of compiled functions, and the one instruction that they lack.

``@jit`` compiles strictly: the sums that the source says, in the order it says.
``@jit(fast=True)`` is for solver loops, whose results are certified elsewhere: the compiler may
fuse ``a * b + c``, ignore the sign of zero and multiply by reciprocals; ``reorder=True`` also lets
it sum in several lanes. Infinities and NaN keep their meaning throughout, and a division by zero
gives one of them. ``inline=True`` is for what is called for every row: a call that passes some
arrays takes as long as a dozen entries.

In compiled code all functions are parts of their callers (`_part`). Those with ``inner=True`` or
``inline=True``, and those whose names begin with an underscore, are nothing else.

Compiled code is kept on disk: `_store` says where. What the first fit needs is Python: see `_first`.
"""

import os
from collections.abc import Callable
from typing import Any

from gapfit.compiled._pause import paused

with paused():
    import numba
    from llvmlite import ir
    from numba.core import cgutils, event, types
    from numba.extending import intrinsic

from gapfit.compiled._first import first_as_python
from gapfit.compiled._part import WholeCompiler, part
from gapfit.compiled._store import Store
from gapfit.compiled._watch import watch

Function = Callable[..., Any]

event.register("numba:compile", watch)


def jit(
    function: Function | None = None,
    *,
    fast: bool = False,
    reorder: bool = False,
    inline: bool = False,
    inner: bool = False,
) -> Function:
    """Compile when the first fit is over, run without the interpreter lock, keep on disk where possible."""
    flags = ({"contract", "nsz", "arcp"} if fast else set()) | ({"reassoc"} if reorder else set())
    options: dict[str, Any] = {
        "nogil": True, "fastmath": flags or False, "forceinline": inline, "error_model": "numpy",
        "no_cfunc_wrapper": True,
    }  # fmt: skip

    def decorate(function: Function) -> Function:
        if numba.config.DISABLE_JIT:
            return function
        inside = part(function, options)
        if inner or inline or function.__name__.startswith("_"):
            return inside
        compiled: Any = numba.njit(pipeline_class=WholeCompiler, **options)(function)
        # in compiled code it is a part of what calls it, without machine code of its own
        compiled.get_call_template, compiled.get_overload = inside.get_call_template, inside.get_overload
        if os.environ.get("GAPFIT_CACHE", "1") != "0":
            compiled._cache = Store(function)
        first_as_python(compiled)
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
