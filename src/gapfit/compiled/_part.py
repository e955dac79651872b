"""Functions that compiled code calls are compiled as a part of what calls them: ours, and numba's own.

numba would optimise each of them, turn it into machine code and keep that on disk, and then do all of it
again inside of every caller. Here the first time is left out: a caller gets them as numba's front end leaves
them.
"""

from collections.abc import Callable
from typing import Any

from gapfit.compiled._pause import paused

with paused():
    import numba
    from numba.core.codegen import JITCodeLibrary

from gapfit.compiled._passes import Lean


class _Part(JITCodeLibrary):
    """Code to be linked into that of a caller, and nothing else."""

    def _optimize_final_module(self) -> None:
        """The caller's is optimised."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """What an exception would say: the caller's environment says it."""


class WholeCompiler(Lean):
    """Of functions that Python calls. All that they call is a part of them: numba's own functions, too."""

    def _compile_core(self) -> Any:
        state = self.state
        codegen = state.targetctx.codegen()
        if state.library is None:
            state.library = codegen.create_library(state.func_id.func_qualname)
            state.library.enable_object_caching()
        known, codegen._library_class = codegen._library_class, _Part  # numba's lock is held
        try:
            return super()._compile_core()
        finally:
            codegen._library_class = known


class _PartCompiler(Lean):
    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        super().__init__(typing, target, _Part(target.codegen(), "part"), *rest)


def part(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """The function for compiled code; called from Python, it says that it is not for that."""
    compiled = numba.njit(no_cpython_wrapper=True, pipeline_class=_PartCompiler, **options)(function)

    def keep(result: Any) -> None:
        compiled.overloads[tuple(result.signature.args)] = result

    def refuse(*arguments: Any, **named: Any) -> None:
        raise TypeError(f"{function.__name__} is for compiled code; from Python call its py_func")

    compiled.add_overload, compiled._compile_for_args = keep, refuse
    return compiled
