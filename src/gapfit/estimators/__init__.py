"""scikit-learn estimators: parameters, documentation and attributes, around `Problem` and `solve`."""

from gapfit.estimators.classification import LinearClassifier
from gapfit.estimators.kernel_classification import KernelSVC
from gapfit.estimators.kernel_novelty import KernelNoveltyDetector
from gapfit.estimators.kernel_regression import KernelSVR
from gapfit.estimators.metric import MetricClassifier
from gapfit.estimators.novelty import NoveltyDetector
from gapfit.estimators.ordinal import OrdinalClassifier
from gapfit.estimators.ranking import Ranker
from gapfit.estimators.regression import LinearRegressor
from gapfit.estimators.sequence import SequenceLabeler
from gapfit.estimators.structured import StructuredClassifier

__all__ = ["LinearClassifier", "LinearRegressor", "MetricClassifier", "NoveltyDetector", "OrdinalClassifier"]
__all__ += ["Ranker"]
__all__ += ["KernelNoveltyDetector", "KernelSVC", "KernelSVR", "SequenceLabeler", "StructuredClassifier"]
