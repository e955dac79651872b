"""scikit-learn estimators: parameters, documentation and attributes, around `Problem` and `solve`."""

from gapfit.estimators.classification import LinearClassifier as LinearClassifier
from gapfit.estimators.kernel_classification import KernelSVC as KernelSVC
from gapfit.estimators.kernel_novelty import KernelNoveltyDetector as KernelNoveltyDetector
from gapfit.estimators.kernel_regression import KernelSVR as KernelSVR
from gapfit.estimators.metric import MetricClassifier as MetricClassifier
from gapfit.estimators.novelty import NoveltyDetector as NoveltyDetector
from gapfit.estimators.ordinal import OrdinalClassifier as OrdinalClassifier
from gapfit.estimators.ranking import Ranker as Ranker
from gapfit.estimators.regression import LinearRegressor as LinearRegressor
from gapfit.estimators.sequence import SequenceLabeler as SequenceLabeler
from gapfit.estimators.structured import StructuredClassifier as StructuredClassifier
