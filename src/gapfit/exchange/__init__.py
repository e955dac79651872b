"""Models in the formats of others."""

from gapfit.exchange.models import to_onnx

__all__ = ["to_onnx"]
