"""numba's compiler with the passes that functions of this folder need, and arrays that are counted where they
are made.

Some passes look for closures, inlinable calls, lists of several types and the like: none of which is here.
And numba counts who holds an array at every assignment, which doubles the code of functions whose arguments
are records of arrays; that LLVM can take most of it out again, it has to find out. A function that neither
makes an array nor returns one has nothing to count: its callers hold what it is given.
"""

from collections.abc import Iterator
from typing import Any

from gapfit.compiled._pause import paused

with paused():
    from numba.core import ir
    from numba.core import types as known_types
    from numba.core.compiler import Compiler
    from numba.core.compiler_machinery import AnalysisPass, FunctionPass, PassManager, register_pass
    from numba.core.typed_passes import (
        IRLegalization,
        NativeLowering,
        NoPythonBackend,
        NopythonRewrites,
        NopythonTypeInference,
        PreLowerStripPhis,
    )
    from numba.core.untyped_passes import (
        DeadBranchPrune,
        FixupArgs,
        GenericRewrites,
        IRProcessing,
        ReconstructSSA,
        RewriteSemanticConstants,
        TranslateByteCode,
    )

types: Any = known_types  # of which numba's declarations lack some
_OPERATORS = ("binop", "unary", "inplace_binop")  # which make arrays of arrays
_PLAIN = (
    types.Number, types.Boolean, types.NoneType, types.Literal, types.Omitted, types.RangeType,
    types.SliceType,
)  # fmt: skip


class Lean(Compiler):
    """The compiler."""

    def define_pipelines(self) -> list[Any]:
        passes = PassManager("gapfit")
        for each in (
            TranslateByteCode, FixupArgs, IRProcessing, RewriteSemanticConstants, DeadBranchPrune,
            GenericRewrites, ReconstructSSA, DeadBranchPrune, NopythonTypeInference, PreLowerStripPhis,
            _Operators, IRLegalization, _Uncounted, NativeLowering, NoPythonBackend,
        ):  # fmt: skip
            passes.add_pass(each, each.__name__)
        passes.finalize()
        return [passes]


@register_pass(mutates_CFG=True, analysis_only=False)
class _Operators(FunctionPass):
    """Operators on whole arrays become loops, where there are any."""

    _name = "gapfit_operators"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        if any(made.op in _OPERATORS and isinstance(kind, types.Array) for made, kind in _expressions(state)):
            return bool(NopythonRewrites().run_pass(state))
        return False


@register_pass(mutates_CFG=False, analysis_only=True)
class _Uncounted(AnalysisPass):
    """Count nothing where no array is made, and none goes out."""

    _name = "gapfit_uncounted"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        owned = _may_own(state.return_type) or any(
            _may_own(kind) and _is_new(made, state) for made, kind in _expressions(state)
        )
        if not owned:
            state.targetctx = state.targetctx.subtarget(enable_nrt=False)
        return False


def _expressions(state: Any) -> Iterator[tuple[Any, Any]]:
    """What is assigned, with its type."""
    for block in state.func_ir.blocks.values():
        for assignment in block.find_insts(ir.Assign):
            if isinstance(assignment.value, ir.Expr):
                yield assignment.value, state.typemap[assignment.target.name]


def _may_own(kind: Any) -> bool:
    """May a value of this type own memory?"""
    return any(map(_may_own, kind)) if isinstance(kind, types.BaseTuple) else not isinstance(kind, _PLAIN)


def _is_new(made: Any, state: Any) -> bool:
    """Is it more than a part of what is there, or a record of it?"""
    if made.op == "call":
        return not isinstance(state.typemap[made.func.name], types.NamedTupleClass)
    return made.op not in _PARTS


_PARTS = (
    "getattr", "getitem", "static_getitem", "typed_getitem", "build_tuple", "exhaust_iter", "getiter",
    "iternext", "pair_first", "pair_second", "cast", "phi", "null", "undef",
)  # fmt: skip
