"""Losses: what is fitted. Each class states its value; weights and intercept are dealt with in `base`."""

from gapfit._types import Target
from gapfit.losses.atoms import Atoms
from gapfit.losses.base import Loss, Risk
from gapfit.losses.chain import ChainCRF, ChainMargin
from gapfit.losses.contingency import ContingencyLoss
from gapfit.losses.crammer_singer import CrammerSinger
from gapfit.losses.f_measure import FBeta, Jaccard
from gapfit.losses.floors import PrecisionAtRecall, RecallAtPrecision
from gapfit.losses.margin import Exponential, Hinge, Logistic, Novelty, SmoothedHinge, SquaredHinge
from gapfit.losses.multilabel import Hamming, LabelRanking, MacroF, MicroF
from gapfit.losses.ordinal import OrdinalThresholds
from gapfit.losses.piecewise import PiecewiseLoss
from gapfit.losses.pointwise import PointwiseLoss
from gapfit.losses.quantiles import Quantiles
from gapfit.losses.queries import NDCG, MeanAveragePrecision, PairwiseRanking
from gapfit.losses.ranking import OrdinalPairs, PartialRocArea, RocArea
from gapfit.losses.regression import (
    Absolute,
    EpsilonInsensitive,
    Huber,
    Poisson,
    Quantile,
    Squared,
    SquaredEpsilonInsensitive,
)
from gapfit.losses.scaled import ScaledHuber
from gapfit.losses.selection import BalancedAccuracy, BreakEven, ErrorRate, Lift, PrecisionAtK, RecallAtK
from gapfit.losses.smoothed import Smoothed
from gapfit.losses.softmax import Softmax
from gapfit.losses.table import Contingency, Matthews

__all__ = ["Atoms", "ContingencyLoss", "Loss", "PiecewiseLoss", "PointwiseLoss", "Risk", "Smoothed"]
__all__ += ["Target"]
__all__ += ["Exponential", "Hinge", "Logistic", "Novelty", "SmoothedHinge", "SquaredHinge"]
__all__ += ["Absolute", "EpsilonInsensitive", "Huber", "Poisson", "Quantile", "Quantiles", "Squared"]
__all__ += ["ScaledHuber", "SquaredEpsilonInsensitive"]
__all__ += ["BalancedAccuracy", "BreakEven", "Contingency", "ErrorRate", "FBeta", "Jaccard", "Lift"]
__all__ += ["Matthews", "PrecisionAtK", "PrecisionAtRecall", "RecallAtK", "RecallAtPrecision"]
__all__ += ["NDCG", "MeanAveragePrecision", "OrdinalPairs", "OrdinalThresholds", "PairwiseRanking"]
__all__ += ["PartialRocArea", "RocArea"]
__all__ += ["ChainCRF", "ChainMargin", "CrammerSinger", "Hamming", "LabelRanking", "MacroF", "MicroF"]
__all__ += ["Softmax"]
