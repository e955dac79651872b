"""Where the work of a fit runs: in memory, or on a device."""

from typing import Any

from sklearn.base import BaseEstimator

from gapfit._types import Data
from gapfit.declaration import declared, parameter
from gapfit.design.base import Design
from gapfit.design.elsewhere import on_device
from gapfit.estimators.samples import Rows

__all__ = ["OnADevice", "RowsOnADevice"]


@declared
class OnADevice(BaseEstimator):
    """An estimator whose products may run on a card."""

    device: Any = parameter(
        """Where products run: "cuda" moves the samples to a card for the fit (`pip install "gapfit[gpu]"`),
        "cuda:1" to the second one. None: where X is, which may be a tensor on a card.""",
        "str or None", default=None,
    )  # fmt: skip


@declared
class RowsOnADevice(OnADevice, Rows):
    """The same, for a model that sums over rows of X, which are moved there."""

    def _placed(self, X: Data) -> Data | Design:
        return X if self.device is None else on_device(X, self.device)
