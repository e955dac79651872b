"""gapfit: linear models fitted to the loss you report, with a proof of how close to optimal the fit is."""

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
    KernelSVR,
    LinearClassifier,
    LinearRegressor,
    MetricClassifier,
    NoveltyDetector,
    OrdinalClassifier,
    Ranker,
    SequenceLabeler,
    StructuredClassifier,
)
from gapfit.path import path
from gapfit.persistence import load, save
from gapfit.plotting import plot_convergence
from gapfit.problem import Problem
from gapfit.solution import Certificate, Solution, Status
from gapfit.solve import solve
from gapfit.versions import show_versions

__all__ = ["Certificate", "Problem", "Solution", "Status", "load", "path", "plot_convergence", "save"]
__all__ += ["show_versions", "solve"]
__all__ += ["LinearClassifier", "LinearRegressor", "MetricClassifier", "NoveltyDetector", "OrdinalClassifier"]
__all__ += ["Ranker"]
__all__ += ["KernelNoveltyDetector", "KernelSVC", "KernelSVR", "SequenceLabeler", "StructuredClassifier"]
__all__ += ["CheckpointError", "CheckpointWarning", "ContractError", "DataError", "GapfitError"]
__all__ += ["IncompatibleSolver", "ModelFileError", "ModelVersionWarning", "TooLarge", "UnboundedProblem"]

__version__ = "0.1.0"
