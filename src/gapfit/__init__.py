"""gapfit: linear models fitted to the loss you report, with a proof of how close to optimal the fit is.

Names are loaded when they are first asked for: the help of the command line needs none of them, and who fits
a linear model no kernels.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gapfit.errors import (
        CheckpointError,
        CheckpointWarning,
        ContractError,
        DataError,
        GapfitError,
        IncompatibleSolver,
        ModelFileError,
        ModelVersionWarning,
        TooLarge,
        UnboundedProblem,
    )
    from gapfit.estimators import (
        KernelNoveltyDetector,
        KernelSVC,
        KernelSVCCV,
        KernelSVR,
        LinearClassifier,
        LinearClassifierCV,
        LinearRegressor,
        LinearRegressorCV,
        MetricClassifier,
        NoveltyDetector,
        OrdinalClassifier,
        OrdinalClassifierCV,
        Ranker,
        RankerCV,
        SequenceLabeler,
        StructuredClassifier,
    )
    from gapfit.estimators.alpha_search import AlphaSearchCV, proven_regret
    from gapfit.estimators.conformal import ConformalRegressor
    from gapfit.estimators.conformal_labels import ConformalClassifier
    from gapfit.exchange import skops_types, to_onnx
    from gapfit.path import path
    from gapfit.persistence import load, save
    from gapfit.plotting import plot_alpha_search, plot_convergence, plot_path, plot_selection
    from gapfit.problem import Problem
    from gapfit.solution import Certificate, Solution, Status
    from gapfit.solve import solve
    from gapfit.tables import TableEncoder
    from gapfit.versions import show_versions

__all__ = ["AlphaSearchCV", "ConformalClassifier", "ConformalRegressor", "plot_alpha_search", "proven_regret"]
__all__ += ["Certificate", "Problem", "Solution", "Status", "load", "path", "plot_convergence", "save"]
__all__ += ["TableEncoder", "plot_path", "plot_selection", "show_versions", "skops_types", "solve"]
__all__ += ["Ranker", "to_onnx"]
__all__ += ["LinearClassifier", "LinearRegressor", "MetricClassifier", "NoveltyDetector", "OrdinalClassifier"]
__all__ += ["KernelSVCCV", "LinearClassifierCV", "LinearRegressorCV", "OrdinalClassifierCV", "RankerCV"]
__all__ += ["KernelNoveltyDetector", "KernelSVC", "KernelSVR", "SequenceLabeler", "StructuredClassifier"]
__all__ += ["CheckpointError", "CheckpointWarning", "ContractError", "DataError", "GapfitError"]
__all__ += ["IncompatibleSolver", "ModelFileError", "ModelVersionWarning", "TooLarge", "UnboundedProblem"]

__version__ = "0.2.0"

# The modules that hold what is not in `errors`.
_HOMES = {
    "AlphaSearchCV": "estimators.alpha_search",
    "Certificate": "solution",
    "ConformalClassifier": "estimators.conformal_labels",
    "ConformalRegressor": "estimators.conformal",
    "KernelNoveltyDetector": "estimators",
    "KernelSVC": "estimators",
    "KernelSVCCV": "estimators",
    "KernelSVR": "estimators",
    "LinearClassifier": "estimators",
    "LinearClassifierCV": "estimators",
    "LinearRegressor": "estimators",
    "LinearRegressorCV": "estimators",
    "MetricClassifier": "estimators",
    "NoveltyDetector": "estimators",
    "OrdinalClassifier": "estimators",
    "OrdinalClassifierCV": "estimators",
    "Problem": "problem",
    "Ranker": "estimators",
    "RankerCV": "estimators",
    "SequenceLabeler": "estimators",
    "Solution": "solution",
    "Status": "solution",
    "StructuredClassifier": "estimators",
    "TableEncoder": "tables",
    "load": "persistence",
    "path": "path",
    "plot_alpha_search": "plotting",
    "plot_convergence": "plotting",
    "plot_path": "plotting",
    "plot_selection": "plotting",
    "proven_regret": "estimators.alpha_search",
    "save": "persistence",
    "show_versions": "versions",
    "skops_types": "exchange",
    "solve": "solve",
    "to_onnx": "exchange",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for: a public name, or a module of the package."""
    if name in __all__:
        found = globals()[name] = getattr(import_module(f"gapfit.{_HOMES.get(name, 'errors')}"), name)
        return found
    if not name.startswith("_") and find_spec(f"gapfit.{name}"):
        return import_module(f"gapfit.{name}")
    raise AttributeError(f"module 'gapfit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """Its `solve` and `path` are functions: loading the modules of these names does not take their places."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _HOMES and isinstance(value, ModuleType):
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
