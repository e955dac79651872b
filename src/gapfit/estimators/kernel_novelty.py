"""One-class novelty detection with kernels."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gapfit._types import Maybe, Vector
from gapfit.declaration import declared
from gapfit.estimators.fitting import all_or_nothing
from gapfit.estimators.kernel import KernelModel
from gapfit.estimators.kernel_parts import Machine
from gapfit.estimators.kernel_statements import Part
from gapfit.estimators.one_class import OneClass
from gapfit.estimators.samples import Samples
from gapfit.estimators.targets import as_none
from gapfit.losses import Novelty


@declared
class KernelNoveltyDetector(OneClass, KernelModel):
    """A one-class support vector machine with a kernel, with a proof of how close to optimal the fit is.

    It looks for a function f and the threshold rho that most samples exceed, and minimises ::

        J(f, rho) = alpha / 2 |f|^2 - rho + sum_i s_i max(0, rho - f(x_i)) / (nu * sum_i s_i)

    over functions f in the kernel's space and rho, which is not penalised. s_i are the weights, and
    alpha = 1 / (nu * sum_i s_i), which gives f and rho the scale that they have in scikit-learn's
    `OneClassSVM`, whose parameters and attributes it has. A sample of weight k counts as k samples, one of
    weight 0 is absent.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = KernelNoveltyDetector(nu=0.05).fit(X)
    >>> model.predict([[0.0, 0.0], [5.0, 5.0]])
    array([ 1, -1])
    """

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Maybe = None) -> "KernelNoveltyDetector":
        """X : array or sparse matrix of shape (n, d), or the kernel matrix (n, n)
        y : ignored
        """
        loss = Novelty(self.nu)
        samples = self._samples(X, y, as_none, sample_weight)
        alpha = 1.0 / (loss.nu * float(samples.weight.sum()))
        self._fit_parts(samples, [Part(np.arange(len(samples.y)), samples.y, alpha)], loss)
        self._told_if_nothing_is_novel()
        return self

    def _point(self, samples: Samples, machines: Sequence[Machine]) -> dict[str, Any]:
        return {**super()._point(samples, machines), "offset_": -float(machines[0].b)}

    def _above(self, X: Any) -> Vector:
        return self._expansions(self._checked(X), self.dual_coef_)[:, 0] + self.intercept_[0]
