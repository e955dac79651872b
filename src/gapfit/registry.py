"""The one table of names: strings become objects here, at the edge, and nowhere else."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from inspect import isclass
from typing import Any

from gapfit import losses, penalties
from gapfit.losses.base import Loss
from gapfit.names import meant
from gapfit.penalties import Penalty

__all__ = ["LOSSES", "PENALTIES", "SOLVERS", "add_solver", "as_loss", "as_penalty", "as_solver", "is_auto"]

LOSSES: dict[str, type[Loss]] = {
    "hinge": losses.Hinge,
    "squared_hinge": losses.SquaredHinge,
    "smoothed_hinge": losses.SmoothedHinge,
    "logistic": losses.Logistic,
    "exponential": losses.Exponential,
    "squared": losses.Squared,
    "absolute": losses.Absolute,
    "quantile": losses.Quantile,
    "quantiles": losses.Quantiles,
    "epsilon_insensitive": losses.EpsilonInsensitive,
    "squared_epsilon_insensitive": losses.SquaredEpsilonInsensitive,
    "huber": losses.Huber,
    "scaled_huber": losses.ScaledHuber,
    "poisson": losses.Poisson,
    "novelty": losses.Novelty,
    "f_beta": losses.FBeta,
    "jaccard": losses.Jaccard,
    "matthews": losses.Matthews,
    "error_rate": losses.ErrorRate,
    "balanced_accuracy": losses.BalancedAccuracy,
    "precision_at_k": losses.PrecisionAtK,
    "recall_at_k": losses.RecallAtK,
    "lift": losses.Lift,
    "precision_at_recall": losses.PrecisionAtRecall,
    "recall_at_precision": losses.RecallAtPrecision,
    "break_even": losses.BreakEven,
    "contingency": losses.Contingency,
    "roc_area": losses.RocArea,
    "partial_roc_area": losses.PartialRocArea,
    "pairwise_ranking": losses.PairwiseRanking,
    "ordinal_pairs": losses.OrdinalPairs,
    "ordinal_thresholds": losses.OrdinalThresholds,
    "ndcg": losses.NDCG,
    "mean_average_precision": losses.MeanAveragePrecision,
    "crammer_singer": losses.CrammerSinger,
    "softmax": losses.Softmax,
    "hamming": losses.Hamming,
    "label_ranking": losses.LabelRanking,
    "macro_f": losses.MacroF,
    "micro_f": losses.MicroF,
    "chain_crf": losses.ChainCRF,
    "chain_margin": losses.ChainMargin,
}

PENALTIES: dict[str, type[Penalty]] = {
    "l2": penalties.L2,
    "quadratic_form": penalties.QuadraticForm,
    "squared_lp": penalties.SquaredLp,
    "entropy": penalties.Entropy,
    "simplex_entropy": penalties.SimplexEntropy,
    "l1": penalties.L1,
    "elastic_net": penalties.ElasticNet,
    "box": penalties.Box,
    "constrained": penalties.Constrained,
    "group_lasso": penalties.GroupLasso,
}

# solvers by the module that holds the function of the same name, loaded when asked for; or themselves
SOLVERS: dict[str, str | Callable[..., Any]] = {
    "auto": "gapfit.solvers.auto",
    "bundle": "gapfit.solvers.bundle",
    "line_search_bundle": "gapfit.solvers.line_search_bundle",
    "pragam": "gapfit.solvers.pragam",
    "smoothing": "gapfit.solvers.smoothing",
    "pragam_entropy": "gapfit.solvers.pragam_entropy",
    "dual_cd": "gapfit.solvers.dual_cd",
    "simplex_cd": "gapfit.solvers.simplex_cd",
    "chain_dual": "gapfit.solvers.chain_dual",
    "block_frank_wolfe": "gapfit.solvers.block_frank_wolfe",
    "pegasos": "gapfit.solvers.pegasos",
    "newton": "gapfit.solvers.newton",
    "newton_cg": "gapfit.solvers.newton_cg",
    "semismooth_newton": "gapfit.solvers.semismooth_newton",
    "small_newton": "gapfit.solvers.small_newton",
    "lbfgs": "gapfit.solvers.lbfgs",
    "least_squares": "gapfit.solvers.least_squares",
    "primal_cd": "gapfit.solvers.primal_cd",
    "rounded_cd": "gapfit.solvers.rounded_cd",
    "classes_in_turn": "gapfit.solvers.classes_in_turn",
    "sum_rows": "gapfit.solvers.sum_rows",
    "smo": "gapfit.solvers.smo",
    "pair_rows": "gapfit.solvers.pair_rows",
}


def as_loss(loss: str | Loss) -> Loss:
    """A loss from its name (with default parameters) or itself."""
    made: Loss = _make("loss", loss, LOSSES, Loss)
    return made


def as_penalty(penalty: str | Penalty) -> Penalty:
    """A penalty from its name (with default parameters) or itself."""
    made: Penalty = _make("penalty", penalty, PENALTIES, Penalty)
    return made


def as_solver(solver: str | Callable[..., Any]) -> Callable[..., Any]:
    """A solver function from its name, or itself (use functools.partial to set its options)."""
    if callable(solver):
        return solver
    if not isinstance(solver, str):
        raise TypeError(f"solver must be a name or a function, got {solver!r}")
    _check_name("solver", solver, SOLVERS)
    there = SOLVERS[solver]
    return there if callable(there) else _loaded(there, solver)


@cache
def _loaded(module: str, name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


def add_solver(solver: Callable[..., Any]) -> None:
    """Let a solver of anybody's be known by its name, and to `auto`, if it declares what a fit will take."""
    SOLVERS[solver.__name__] = solver


def is_auto(solver: Any) -> bool:
    """Is the choice left to gapfit? Arrays are not compared with the name."""
    return isinstance(solver, str) and solver == "auto"


def _make(kind: str, thing: Any, table: dict[str, Any], base: type) -> Any:
    if not isinstance(thing, str):
        if isinstance(thing, base):
            return thing
        hint = f"; write {thing.__name__}()" if isclass(thing) and issubclass(thing, base) else ""
        raise TypeError(f"{kind} must be a name or a {base.__name__}, got {thing!r}{hint}")
    _check_name(kind, thing, table)
    try:
        return table[thing]()
    except TypeError as error:
        raise TypeError(
            f"{kind} {thing!r} has parameters without default; write {table[thing].__name__}(...)"
        ) from error


def _check_name(kind: str, name: str, table: dict[str, Any]) -> None:
    if name not in table:
        raise ValueError(f"unknown {kind} {name!r}; known are {', '.join(sorted(table))}{meant(name, table)}")
