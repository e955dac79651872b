"""Support vector classification with kernels."""

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone

from gapfit._types import Maybe, Vector
from gapfit.declaration import attribute, declared, parameter
from gapfit.elsewhere import fetched
from gapfit.errors import as_number
from gapfit.estimators.blocks import by_blocks
from gapfit.estimators.classes import WeightedClasses
from gapfit.estimators.fitting import all_or_nothing
from gapfit.estimators.judged import Judged
from gapfit.estimators.kernel import KernelModel
from gapfit.estimators.kernel_parts import Machine
from gapfit.estimators.kernel_statements import Part
from gapfit.estimators.probabilities import ALONE, Probabilities, uninterrupted
from gapfit.estimators.samples import Samples
from gapfit.estimators.targets import as_labels
from gapfit.losses import Hinge
from gapfit.losses.nu import NuHinge
from gapfit.persistence.samples import NUMBERS
from gapfit.reductions import Labels


@declared
class KernelSVC(Judged, ClassifierMixin, Probabilities, WeightedClasses, KernelModel):
    """A support vector machine with a kernel, whose fit carries a proof of how close to optimal it is.

    For two classes, with y_i = +1 for the second of `classes_` and -1 for the first, it minimises ::

        J(f, b) = alpha / 2 |f|^2 + sum_i s_i max(0, 1 - y_i (f(x_i) + b)) / sum_i s_i

    over functions f in the kernel's space and the intercept b, which is *not* penalised; |f| is the norm of
    that space, s_i are the weights, `sample_weight` times `class_weight`, and alpha = 1 / (C * sum_i s_i).
    Times C * sum_i s_i that is the objective of scikit-learn's `SVC`, whose parameters and attributes it has.
    A sample of weight k counts as k samples, one of weight 0 is absent.

    More than two classes are told apart pair by pair, each pair with a certificate of its own.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = KernelSVC(C=10, tol=1e-10).fit(scale(X), y)
    >>> model.converged_, model.dual_gap_ <= 1e-10 * model.objective_
    (True, True)
    >>> model.predict(scale(X)[:3]), bool(model.certified(scale(X)).all())  # the exact optimum's, provably
    (array([0, 0, 0]), True)
    """

    C: float = parameter("The weight of the losses; alpha = 1 / (C * sum of weights).", default=1.0)
    nu: float | None = parameter(
        """0 < nu <= 1, for `NuSVC`: in place of C, the share of samples that are inside of the margin, at
        most, and the share of support vectors, at least. It minimises J(f, b, rho) = alpha / 2 |f|^2 - nu rho
        + sum_i s_i max(0, rho - y_i (f(x_i) + b)) / sum_i s_i with alpha = 1 / sum_i s_i, then divides f and
        b by rho. nu may be twice the share of the smaller class, and no more.""",
        default=None,
    )
    decision_function_shape: str = parameter(
        "With more than two classes: a score for each class, or for each pair.",
        default="ovr", choices=("ovr", "ovo"),
    )  # fmt: skip

    C_: Any = attribute(
        NUMBERS, "float", "C, or what nu amounts to; with more than two classes an array, one for each pair."
    )

    @all_or_nothing
    def fit(self, X: Any, y: ArrayLike, sample_weight: Maybe = None) -> "KernelSVC":
        """X : array or sparse matrix of shape (n, d), or the kernel matrix (n, n)
        y : labels of shape (n,), of any kind
        """
        C = as_number("C", self.C) if self.nu is None else 1.0  # the margin's scale is fixed by nu
        loss = Hinge() if self.nu is None else NuHinge(self.nu)
        if not 0 < C < np.inf:
            raise ValueError(f"C must be positive and finite, got {self.C!r}")
        samples, labels = self._samples(X, y, as_labels, sample_weight).weighed(self.class_weight)
        self.classes_, self.class_weight_ = labels
        code = np.searchsorted(labels.classes, samples.y)
        k = len(labels.classes)
        if k > 2:  # then each pair of classes is two blocks of the kernel matrix on either side
            order = np.argsort(code, kind="stable")
            samples, code = samples.ordered(order), code[order]
        if k == 2:
            alpha = 1.0 / (C * float(samples.weight.sum()))
            parts = [Part(np.arange(len(code)), np.where(code == 1, 1.0, -1.0), alpha)]
        else:
            parts = _parts(code, samples.weight, C)
        machines = self._fit_parts(samples, parts, loss)
        found = np.array([C / (machine.width or 1.0) for machine in machines])
        self.C_ = C if self.nu is None else float(found[0]) if k == 2 else found
        if self.calibrate is not None and self._precomputed:
            raise ValueError("calibrate leaves samples out, and kernel='precomputed' has them on two sides")
        self._calibrate({"X": X, "y": y, "sample_weight": sample_weight})
        return self

    def _again(self, given: Mapping[str, Any]) -> "KernelSVC":
        return uninterrupted(clone(self).set_params(**ALONE).fit(**given))

    def _to_calibrate(self, X: Any) -> Vector:
        """One score for each class, whatever `decision_function` returns."""
        scores = self._scores_by_pair(X)
        return scores[:, 0] if len(self.classes_) == 2 else self._by_class(scores)

    def _point(self, samples: Samples, machines: Sequence[Machine]) -> dict[str, Any]:
        """Support vectors class by class."""
        k, classes = len(self.classes_), np.searchsorted(self.classes_, samples.given_y)
        found = self._support_of(samples, np.argsort(classes, kind="stable"), machines)
        of_support, each = classes[found["support_"]], found["dual_coef_"]
        return {
            **found,
            "dual_coef_": each if k == 2 else _as_libsvm(each, of_support, k),
            "n_support_": np.bincount(of_support, minlength=k).astype(np.int32),
        }

    @by_blocks
    def decision_function(self, X: Any) -> Vector:
        """Scores of shape (n,), positive for the second class; with k > 2 classes (n, k), one for each, or
        (n, k (k - 1) / 2), one for each pair and positive for its first class ("ovo")."""
        scores = self._scores_by_pair(X)
        if len(self.classes_) == 2:
            return scores[:, 0]
        return scores if self.decision_function_shape == "ovo" else self._by_class(scores)

    def _scores_by_pair(self, X: Any) -> Vector:
        X = self._checked(X)
        return np.asarray(self._expansions(X, self._expansion_coefficients()) + self.intercept_)

    def _expansion_coefficients(self) -> Vector:
        k, table = len(self.classes_), self.dual_coef_
        return table if k == 2 else _by_pair(table, np.repeat(np.arange(k), self.n_support_), k)

    def _by_class(self, scores: Vector) -> Vector:
        """The votes of all pairs, and a sum of scores, bounded by 1/3, that decides between equal votes."""
        n, k = len(scores), len(self.classes_)
        votes, sums = np.zeros((n, k)), np.zeros((n, k))
        for column, (first, second) in zip(scores.T, _pairs(k), strict=True):
            votes[:, first] += column > 0
            votes[:, second] += column <= 0
            sums[:, first] += column
            sums[:, second] -= column
        return votes + sums / (3 * (np.abs(sums) + 1))

    @by_blocks
    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X; with k > 2 classes the one that most pairs vote for."""
        scores = self._scores_by_pair(X)
        return Labels(self.classes_).invert(
            scores[:, 0] if len(self.classes_) == 2 else self._by_class(scores)
        )

    def certified(self, X: Any) -> NDArray[np.bool_]:
        """Which predictions are provably those of the exact optimum, for two classes."""
        lo, hi = self.score_bounds(X)
        return np.where(fetched(self.decision_function(X)) > 0, lo > 0, hi < 0)


def _parts(code: NDArray[Any], weight: Vector, C: float) -> list[Part]:
    """Pairs of classes, of samples that come class by class."""
    everyone, ends = np.arange(len(code)), code.searchsorted(np.arange(code[-1] + 2))
    masses = np.add.reduceat(weight, ends[:-1]).tolist()
    members = [everyone[start:stop] for start, stop in pairwise(ends.tolist())]
    most = max(map(len, members))
    signs = np.array([1.0, -1.0]).repeat(most)  # the targets of any pair are a piece of these
    parts = []
    for first, second in _pairs(len(members)):
        rows = np.concatenate([members[first], members[second]])
        target = signs[most - len(members[first]) : most + len(members[second])]
        parts.append(Part(rows, target, 1.0 / (C * (masses[first] + masses[second]))))
    return parts


def _pairs(k: int) -> list[tuple[int, int]]:
    """Of classes; as in libsvm, the first of a pair is the positive one, unless there are only two."""
    return [(1, 0)] if k == 2 else list(combinations(range(k), 2))


def _as_libsvm(each: Vector, of_support: Any, k: int) -> Vector:
    """Coefficients by pair as a table (k - 1, n_SV): a support vector of class c has row m for its pair with
    class m if m < c, and with class m + 1 otherwise."""
    table = np.zeros((k - 1, each.shape[1]))
    ends = of_support.searchsorted(np.arange(k + 1)).tolist()  # they come class by class
    members = [slice(start, stop) for start, stop in pairwise(ends)]
    for row, (first, second) in zip(each, _pairs(k), strict=True):
        table[second - 1, members[first]] = row[members[first]]
        table[first, members[second]] = row[members[second]]
    return table


def _by_pair(table: Vector, of_support: Any, k: int) -> Vector:
    """What `_as_libsvm` was made from: a row of coefficients for each pair."""
    return np.stack([
        np.where(of_support == first, table[second - 1], np.where(of_support == second, table[first], 0.0))
        for first, second in _pairs(k)
    ])  # fmt: skip
