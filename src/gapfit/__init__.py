"""gapfit: linear models fitted to the loss you report, with a proof of how close to optimal the fit is."""

from gapfit.errors import CheckpointError as CheckpointError
from gapfit.errors import CheckpointWarning as CheckpointWarning
from gapfit.errors import ContractError as ContractError
from gapfit.errors import DataError as DataError
from gapfit.errors import GapfitError as GapfitError
from gapfit.errors import IncompatibleSolver as IncompatibleSolver
from gapfit.errors import ModelFileError as ModelFileError
from gapfit.errors import ModelVersionWarning as ModelVersionWarning
from gapfit.errors import TooLarge as TooLarge
from gapfit.errors import UnboundedProblem as UnboundedProblem
from gapfit.estimators import KernelNoveltyDetector as KernelNoveltyDetector
from gapfit.estimators import KernelSVC as KernelSVC
from gapfit.estimators import KernelSVR as KernelSVR
from gapfit.estimators import LinearClassifier as LinearClassifier
from gapfit.estimators import LinearRegressor as LinearRegressor
from gapfit.estimators import MetricClassifier as MetricClassifier
from gapfit.estimators import NoveltyDetector as NoveltyDetector
from gapfit.estimators import OrdinalClassifier as OrdinalClassifier
from gapfit.estimators import Ranker as Ranker
from gapfit.estimators import SequenceLabeler as SequenceLabeler
from gapfit.estimators import StructuredClassifier as StructuredClassifier
from gapfit.path import path as path
from gapfit.persistence import load as load
from gapfit.persistence import save as save
from gapfit.plotting import plot_convergence as plot_convergence
from gapfit.problem import Problem as Problem
from gapfit.solution import Certificate as Certificate
from gapfit.solution import Solution as Solution
from gapfit.solution import Status as Status
from gapfit.solve import solve as solve
from gapfit.versions import show_versions as show_versions

__version__ = "0.1.0"
