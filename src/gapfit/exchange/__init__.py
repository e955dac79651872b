"""Models in the formats of others."""

from gapfit.exchange.models import to_onnx
from gapfit.exchange.skops import skops_types

__all__ = ["skops_types", "to_onnx"]
