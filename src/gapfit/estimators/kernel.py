"""What kernel machines share: the kernel, attributes as libsvm has them, predictions and their bounds."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gapfit import threads
from gapfit._types import Data, Vector
from gapfit.declaration import attribute, declared, parameter
from gapfit.design.base import Design
from gapfit.design.definite import symmetric
from gapfit.design.elsewhere import is_on_a_card, kernel_tiles
from gapfit.design.kernel import KernelDesign
from gapfit.design.kernel_functions import KernelFunction
from gapfit.design.rows import take_rows
from gapfit.elsewhere import fetched
from gapfit.errors import as_number
from gapfit.estimators.certified import CertifiedFit
from gapfit.estimators.fitting import Solver
from gapfit.estimators.kernel_bounds import SUPPORT_BALLS, SupportBall
from gapfit.estimators.kernel_names import KERNEL, KERNEL_NAME, named_kernel
from gapfit.estimators.kernel_objects import ObjectKernel, as_objects
from gapfit.estimators.kernel_parts import KernelParts, Machine
from gapfit.estimators.kernel_statements import Part
from gapfit.estimators.kernel_support import Support
from gapfit.estimators.placed import OnADevice
from gapfit.estimators.samples import Rows, Samples
from gapfit.losses.base import Loss
from gapfit.persistence.agreement import check_kernel_machine
from gapfit.persistence.fits import SUPPORT
from gapfit.persistence.objects import SOLVER
from gapfit.persistence.samples import NUMBERS, SAMPLES, SHAPE
from gapfit.persistence.values import COUNT, PLAIN, floats, integers
from gapfit.registry import as_solver, is_auto
from gapfit.solvers.pairs.whole import LARGEST
from gapfit.solvers.smo import smo


@declared
class KernelModel(OnADevice, Rows, CertifiedFit):
    """A function in the space of a kernel, by its coefficients at support vectors."""

    LATER: ClassVar[tuple[str, ...]] = ("support_status_", "_balls")

    kernel: Any = parameter(
        """"rbf" (exp(-gamma |x - z|^2)), "poly" ((gamma <x, z> + coef0)^degree), "linear", "sigmoid"
        (tanh(gamma <x, z> + coef0)), "precomputed" (then X is the kernel matrix), or a function of two
        matrices of samples, dense or sparse as X is, or of two arrays of objects where X is a list of such,
        that returns their kernel values. Matrices and functions must be positive
        semidefinite. Those of "sigmoid" may not be: then the fit is a stationary point, `status_` is LOCAL
        and `dual_gap_` infinite.""",
        "str or function", default="rbf", form=KERNEL_NAME,
        needed="Use kernel='precomputed' with its matrix, or joblib",
    )  # fmt: skip
    degree: int = parameter('Of "poly".', default=3)
    gamma: Any = parameter(
        '"scale" is 1 / (d * variance of X), each sample counted by its weight; "auto" is 1 / d.',
        '"scale", "auto" or float', default="scale",
    )  # fmt: skip
    coef0: float = parameter('Of "poly" and "sigmoid".', default=0.0)
    cache_size: float = parameter(
        "Megabytes that the fit may use beside X: for tiles of the kernel matrix, copies of X and factors.",
        default=1000,
    )
    solver: Any = parameter(
        '"auto" and "smo" are sequential minimal optimisation; "bundle" works as well, and takes longer.',
        "str or function", default="auto", form=SOLVER,
    )  # fmt: skip
    max_iter: int = parameter(
        'The most steps a solver may take; a step of "smo" is one working set or several.', default=10_000
    )

    support_: NDArray[np.intp] = attribute(
        integers("<i4", 1), "array of shape (n_SV,)", "The support vectors, as rows of X, class by class."
    )
    support_vectors_: Data = attribute(
        SAMPLES, "array or sparse matrix of shape (n_SV, d)", "These rows; none if the kernel is precomputed."
    )
    n_support_: NDArray[Any] = attribute(
        integers("<i4", 1), "array of shape (1,), or (k,) for k classes", "How many there are, of each class."
    )
    dual_coef_: Vector = attribute(
        floats(2), "array of shape (1, n_SV), or (k - 1, n_SV) for k classes",
        """Their coefficients; with k > 2 classes, of the k - 1 pairs that the class of the support vector is
        in.""",
    )  # fmt: skip
    intercept_: Vector = attribute(
        floats(1), "array of shape (1,), or (k (k - 1) / 2,) for k classes", "b, for each pair of classes."
    )
    alpha_: Any = attribute(
        NUMBERS, "float, or array with an entry for each pair of classes", "The weight of 1/2 |f|^2 in J."
    )
    gamma_: Any = attribute(PLAIN, "float or None", "gamma as a number; None where the kernel has none.")
    support_status_: NDArray[Any] = attribute(
        SUPPORT, "array of str of shape (n,) or (pairs, n)",
        """What is proved of each training sample at the exact optimum: "zero" (no support vector), "bound"
        (one, with its coefficient at the bound), "support" (one), or "undecided".""",
    )  # fmt: skip
    identified_at_: NDArray[Any] = attribute(
        integers("<i8", 1, 2), "array of int of shape (n,) or (pairs, n)",
        """After how many steps on pairs of coefficients each sample last came to a bound or left one; -1
        where it does not take part, or the solver does not tell.""",
    )  # fmt: skip
    fit_status_: int = attribute(COUNT, "", "0 if `converged_`, else 1.")
    shape_fit_: tuple[int, int] = attribute(SHAPE, "tuple", "The shape of X.")
    _fitted_kernel: Any = attribute(KERNEL)
    _balls: list[SupportBall | None] = attribute(SUPPORT_BALLS)

    @classmethod
    def _check_stored(cls, fit: dict[str, Any]) -> None:
        check_kernel_machine(fit)

    def _is_given(self, name: str) -> bool:
        """Is the kernel the one of this name? (Whatever it is: nobody has looked at it yet.)"""
        return isinstance(self.kernel, str) and self.kernel == name

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_given("precomputed")
        tags.input_tags.sparse = not self._is_given("precomputed")
        return tags

    @property
    def coef_(self) -> Vector:
        """The weights of the features, a row for each pair of classes, for kernel="linear"."""
        if not self._is_given("linear"):
            raise AttributeError("coef_ is there for kernel='linear' only")
        coef = np.asarray(self._expansion_coefficients() @ self.support_vectors_)
        coef.flags.writeable = False  # made anew each time: what is written to it would be lost
        return coef

    def _expansion_coefficients(self) -> Vector:
        """Of the support vectors: a row for each machine."""
        return self.dual_coef_

    # -- fitting --------------------------------------------------------------------------------------

    def _solver(self) -> Solver:
        return smo if is_auto(self.solver) else as_solver(self.solver)

    def _samples(self, X: Any, *targets: Any) -> Samples:
        if sparse.issparse(X) and self._is_given("precomputed"):
            raise TypeError(f"sparse X does not go with kernel={self.kernel!r}; pass an array")
        objects = as_objects(X) if callable(self.kernel) else None
        if objects is not None:
            kernel = ObjectKernel(self.kernel, objects)
            samples = super()._samples(kernel.numbers(), *targets)
            self._fitted_kernel, self.gamma_ = kernel, None
            return samples
        samples = super()._samples(fetched(X), *targets)
        if is_on_a_card(X):
            samples = samples._replace(card=X.device)
        if self._is_given("precomputed") and np.shape(X)[0] == np.shape(X)[1]:
            # here entries have the places that the user knows
            symmetric(np.asarray(fetched(X), dtype=np.float64))
        # the kernel as this fit means it, which later changes of parameters do not change
        self._fitted_kernel = named_kernel(
            self.kernel, self.gamma, self.degree, self.coef0, samples.X, samples.weight
        )
        self.gamma_ = getattr(self._fitted_kernel, "gamma", None)
        return samples

    def _design(self, samples: Samples, parts: Sequence[Part]) -> KernelDesign:
        """The kernel matrix; that of small parts of the samples is kept, for they need nearly all of it."""
        memory = 1e6 * as_number("cache_size", self.cache_size)
        if not 0 < memory < np.inf:
            raise ValueError(
                f"cache_size must be a positive, finite number of megabytes, got {self.cache_size!r}"
            )
        X = samples.X
        if self._precomputed:  # the matrix itself, with a column for every sample that was given
            if X.shape[1] != samples.given:
                raise ValueError(f"Precomputed matrix must be a square matrix; X has shape {X.shape}")
            X = np.asarray(X)[:, samples.origin.rows]
        few = len(parts) > 1 and max(len(part.target) for part in parts) <= LARGEST
        keep = {"keep": samples.X.shape[0]} if few else {}
        device = self.device
        if device is None and isinstance(self._fitted_kernel, KernelFunction):  # no card knows others
            device = samples.card
        if device is not None and not self._precomputed:
            X = kernel_tiles(X, self._fitted_kernel, device)
        return KernelDesign(X, self._fitted_kernel, int(memory), **keep)

    def _fit_parts(self, samples: Samples, parts: Sequence[Part], loss: Loss) -> list[Machine]:
        """Solve a problem for each part and set the fitted attributes; the machines. Fits have their threads,
        by which the matrix is the same to the last bit, now and later."""
        fit = KernelParts(self, samples, self._design(samples, parts), parts, loss)
        self._unsay()
        self._certify(fit)
        self.fit_status_ = int(not self.converged_)
        self.shape_fit_ = (samples.given, self.n_features_in_)
        if isinstance(self._fitted_kernel, ObjectKernel):  # the support vectors are all that is needed now
            self._fitted_kernel = self._fitted_kernel._replace(objects=np.empty(0, dtype=object))
        return fit.machines

    def _point(self, samples: Samples, machines: Sequence[Machine]) -> dict[str, Any]:
        """The fitted attributes of machines on all samples."""
        found = self._support_of(samples, np.arange(samples.given), machines)
        return {**found, "n_support_": np.array([found["dual_coef_"].shape[1]], dtype=np.int32)}

    def _support_of(self, samples: Samples, order: Any, machines: Sequence[Machine]) -> dict[str, Any]:
        """The support vectors in this order of all samples, and a row of coefficients for each machine.

        Equal samples share their coefficient in the ratio of their weights.
        """
        origin = samples.origin
        each = np.concatenate([machine.w for machine in machines]).reshape(len(machines), -1)
        place, weight = origin.place[order], samples.given_weight[order]
        used = np.any(each, axis=0)[place] & (place >= 0) & (weight > 0)
        place, support = place[used], order[used].astype(np.int32)
        vectors = np.empty((0, 0)) if self._precomputed else take_rows(samples.X, place)
        if isinstance(self._fitted_kernel, ObjectKernel):
            vectors = self._fitted_kernel.named(vectors)
        return {
            "support_": support,
            "support_vectors_": vectors,
            "dual_coef_": each[:, place] * (weight[used] / origin.weight[place]),
            "intercept_": np.array([machine.b for machine in machines]),
            "_support": Support(vectors, self._fitted_kernel),
        }

    # -- predicting -----------------------------------------------------------------------------------

    def _checked(self, X: Any) -> Data:
        objects = as_objects(X) if isinstance(self.__dict__.get("_fitted_kernel"), ObjectKernel) else None
        if isinstance(X, Design):  # on a card
            X = getattr(X.in_memory(), "X", X)
        return super()._checked(X) if objects is None else objects

    @property
    def _precomputed(self) -> bool:
        return isinstance(self._fitted_kernel, str)

    def _restore(self) -> None:
        """Set what follows from the support vectors, after a fit or when a file was loaded."""
        self._support = Support(self.support_vectors_, self._fitted_kernel)

    def _expansions(self, X: Data, coefficients: Vector) -> Vector:
        """sum_i c_i k(x, x_i) for each row x and each row c of coefficients of the support vectors."""
        if self._precomputed:
            return np.asarray(np.asarray(X, dtype=np.float64)[:, self.support_] @ coefficients.T)
        if isinstance(self._fitted_kernel, ObjectKernel):
            return self._fitted_kernel.between(X, self.support_vectors_) @ coefficients.T
        support = self._support.design
        if support is None:
            return np.zeros((X.shape[0], len(coefficients)))
        with threads.using(self.n_jobs):
            others = support.seen_by(X)
            return np.stack([others.scores(row) for row in coefficients], axis=1)

    def score_bounds(self, X: Any) -> tuple[Vector, Vector]:
        """Bounds lo, hi on the decision function of the exact optimum, true of every optimal model."""
        X = self._checked(X)
        ball = self._balls[0]
        if len(self._balls) > 1 or ball is None:
            raise ValueError(
                "score_bounds are there for two classes and regression, without nu, and novelty detection, "
                "where the kernel matrix is positive semidefinite"
            )
        if self._precomputed or isinstance(self._fitted_kernel, ObjectKernel):
            raise ValueError(
                "score_bounds of other samples need their own kernel values, which matrices and objects lack"
            )
        f = self.dual_coef_[:1]
        both = np.concatenate([f, ball.point(f)])
        scores, near = self._expansions(X, both).T
        with threads.using(self.n_jobs):
            diagonal = KernelDesign(X, self._fitted_kernel, 0).tiles.diagonal
            support = self._support.design
            others = None if support is None else support.seen_by(X)
            slack = [np.zeros(len(scores)) if others is None else others.slack(row) for row in both]
        return ball.score_bounds(scores, near, diagonal, (slack[0], slack[1]))
