"""Support vector regression with kernels."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from gapfit._types import Maybe, Vector
from gapfit.declaration import attribute, declared, parameter
from gapfit.errors import as_number
from gapfit.estimators.blocks import by_blocks
from gapfit.estimators.fitting import all_or_nothing
from gapfit.estimators.judged import Judged
from gapfit.estimators.kernel import KernelModel
from gapfit.estimators.kernel_statements import Part
from gapfit.estimators.targets import as_real
from gapfit.losses import EpsilonInsensitive
from gapfit.losses.nu import NuTube
from gapfit.persistence.values import FINITE, NUMBER


@declared
class KernelSVR(Judged, RegressorMixin, KernelModel):
    """Support vector regression with a kernel, whose fit carries a proof of how close to optimal it is.

    It minimises ::

        J(f, b) = alpha / 2 |f|^2 + sum_i s_i max(0, |f(x_i) + b - y_i| - epsilon) / sum_i s_i

    over functions f in the kernel's space and the intercept b, which is *not* penalised; |f| is the norm of
    that space, s_i are the weights, and alpha = 1 / (C * sum_i s_i). Times C * sum_i s_i that is the
    objective of scikit-learn's `SVR`, whose parameters and attributes it has. A sample of weight k counts as
    k samples, one of weight 0 is absent.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 6, 80)[:, None]
    >>> model = KernelSVR(C=10, epsilon=0.01).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.02)
    True
    """

    C: float = parameter("The weight of the losses; alpha = 1 / (C * sum of weights).", default=1.0)
    epsilon: float = parameter("Errors up to this size cost nothing.", default=0.1)
    nu: float | None = parameter(
        """0 < nu <= 1. Then epsilon is a variable, and nu its price: nu * epsilon is added to J, as in
        `NuSVR`. At most a share nu of the samples is outside of the tube.""",
        default=None,
    )

    C_: float = attribute(NUMBER, "", "C.")
    epsilon_: float = attribute(FINITE, "", "epsilon, or what nu made of it.")

    @all_or_nothing
    def fit(self, X: Any, y: ArrayLike, sample_weight: Maybe = None) -> "KernelSVR":
        """X : array or sparse matrix of shape (n, d), or the kernel matrix (n, n)
        y : targets of shape (n,)
        """
        C = as_number("C", self.C)
        loss = EpsilonInsensitive(self.epsilon) if self.nu is None else NuTube(self.nu)
        if not 0 < C < np.inf:
            raise ValueError(f"C must be positive and finite, got {self.C!r}")
        samples = self._samples(X, y, as_real, sample_weight)
        alpha = 1.0 / (C * float(samples.weight.sum()))
        part = Part(np.arange(len(samples.y)), samples.y, alpha)
        (machine,) = self._fit_parts(samples, [part], loss)
        self.C_ = C
        self.epsilon_ = float(self.epsilon) if machine.width is None else machine.width
        return self

    @by_blocks
    def predict(self, X: Any) -> Vector:
        """f(x) + b for each row x of X."""
        X = self._checked(X)
        return np.asarray(self._expansions(X, self.dual_coef_)[:, 0] + self.intercept_[0])
