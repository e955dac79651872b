"""Rows on a device that torch knows, such as a GPU: w goes down, slopes come up, scores stay there."""

from gapfit.device.array import DeviceArray
from gapfit.device.design import DeviceDesign
from gapfit.device.moving import answered, beside, moved

__all__ = ["DeviceArray", "DeviceDesign", "answered", "beside", "moved"]
