"""scikit-learn estimators: parameters, documentation and attributes, around `Problem` and `solve`."""

from gapfit.estimators.classification import LinearClassifier as LinearClassifier
from gapfit.estimators.metric import MetricClassifier as MetricClassifier
from gapfit.estimators.novelty import NoveltyDetector as NoveltyDetector
from gapfit.estimators.ranking import Ranker as Ranker
from gapfit.estimators.regression import LinearRegressor as LinearRegressor
