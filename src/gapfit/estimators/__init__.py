"""scikit-learn estimators: parameters, documentation and attributes, around `Problem` and `solve`.

Each is loaded when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gapfit.estimators.chosen import (
        KernelSVCCV,
        LinearClassifierCV,
        LinearRegressorCV,
        OrdinalClassifierCV,
        RankerCV,
    )
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
__all__ += ["KernelSVCCV", "LinearClassifierCV", "LinearRegressorCV", "OrdinalClassifierCV", "RankerCV"]
__all__ += ["KernelNoveltyDetector", "KernelSVC", "KernelSVR", "SequenceLabeler", "StructuredClassifier"]

_HOMES = {
    "KernelNoveltyDetector": "kernel_novelty",
    "KernelSVC": "kernel_classification",
    "KernelSVCCV": "chosen",
    "KernelSVR": "kernel_regression",
    "LinearClassifier": "classification",
    "LinearClassifierCV": "chosen",
    "LinearRegressor": "regression",
    "LinearRegressorCV": "chosen",
    "MetricClassifier": "metric",
    "NoveltyDetector": "novelty",
    "OrdinalClassifier": "ordinal",
    "OrdinalClassifierCV": "chosen",
    "Ranker": "ranking",
    "RankerCV": "chosen",
    "SequenceLabeler": "sequence",
    "StructuredClassifier": "structured",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'gapfit.estimators' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"gapfit.estimators.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
