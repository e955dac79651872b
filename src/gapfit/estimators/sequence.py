"""SequenceLabeler: a label for each token of a sequence, by a conditional random field or a margin."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from gapfit import threads
from gapfit._types import Maybe, Vector
from gapfit.checks import as_weights
from gapfit.declaration import attribute, declared, parameter
from gapfit.design.chain import ALL, ChainDesign, Pairs
from gapfit.design.kernel_chain import KernelChainDesign
from gapfit.estimators.certified import CertifiedFit
from gapfit.estimators.classes import WeightedClasses
from gapfit.estimators.fitting import all_or_nothing
from gapfit.estimators.single import Given, OneProblem
from gapfit.estimators.tokens import (
    Batch,
    FeatureNames,
    as_batch,
    as_labels,
    as_sequences,
    named,
    sorted_labels,
)
from gapfit.losses.chain import ChainCRF, ChainLoss, ChainMargin, best_labels, marginals
from gapfit.persistence.agreement import check_chains
from gapfit.persistence.objects import CLASS_WEIGHT, PENALTY, named_loss
from gapfit.persistence.values import COUNT, NAMES, floats, integers
from gapfit.problem import Problem

LOSSES: dict[str, type[ChainLoss]] = {"crf": ChainCRF, "margin": ChainMargin}


@declared
class SequenceLabeler(WeightedClasses, CertifiedFit):
    """Linear-chain model that labels the tokens of sequences, with a certificate of its fit.

    A labelling y of a sequence with the rows x_1, ..., x_L has the score

        start[y_1] + sum_t <coef[y_t], x_t> + sum_t transitions[y_{t-1}, y_t] + end[y_L],

    and the fit minimises  alpha * Omega(all weights) + the weighted mean over sequences of

        loss="crf":      log of the sum over all labellings of exp(score) - score of y,
        loss="margin":   max over all labellings y' of (number of wrong labels + score of y') - score of y.

    Examples
    --------
    >>> from gapfit import SequenceLabeler
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "the"}, {"word": "dog"}, {"word": "barks"}]]
    >>> y = [["D", "N"], ["D", "N", "V"]]
    >>> SequenceLabeler(alpha=0.01).fit(X, y).predict([[{"word": "the"}, {"word": "bird"}]])[0].tolist()
    ['D', 'N']
    """

    loss: Any = parameter(
        'ChainMargin takes costs of your own, and "slack" instead of margin rescaling.',
        '"crf", "margin", or a ChainCRF or ChainMargin', default="crf", form=named_loss(*LOSSES),
    )  # fmt: skip
    penalty: Any = parameter("Omega, of all weights.", "str or Penalty", default="l2", form=PENALTY)
    alpha: float = parameter(
        """Weight of the penalty; the loss is a mean over sequences. CRFsuite's c2 is alpha * sequences /
        2.""",
        default=1e-4,
    )
    pairs: str = parameter(
        """Which pairs of a feature and a label have a weight: those that occur together in the training data,
        as in CRFsuite, or all. Dense arrays always have all.""",
        default="seen", choices=("seen", "all"),
    )  # fmt: skip
    node_kernel: Any = parameter(
        """One of `gapfit.design.kernel_functions`, for small data. Then <coef[k], x> above is h_k(x), a
        function in the kernel's space, and its squared norm stands for |coef[k]|^2 in the penalty, which must
        be "l2": Gaussian-process sequence labelling, whose usual scale is alpha = 2 / sequences.""",
        "kernel function, function of two matrices, or None", default=None,
    )  # fmt: skip
    class_weight: Any = parameter(
        "A sequence counts with the mean weight of its labels.",
        'dict, "balanced" or None', default=None, form=CLASS_WEIGHT,
    )  # fmt: skip
    vectorizer: Any = parameter(
        """What turns named features into a matrix, by `transform(tokens)`, such as scikit-learn's
        FeatureHasher. None: every name that occurs in training has a column.""",
        "object or None", default=None,
    )  # fmt: skip
    tol: float = 1e-3

    n_features_in_: int = attribute(COUNT)
    weights_: Vector = attribute(
        floats(1), "array", "All of them: ``coef_``, ``transitions_``, ``start_``, ``end_``."
    )
    feature_names_: NDArray[Any] = attribute(
        NAMES, "array of str", "Names of the columns, if features were given by name.", optional=True
    )
    pair_rows_: NDArray[Any] = attribute(
        integers("<u4", 1), "array of int", "Where the pairs of each feature begin, as in a CSR matrix."
    )
    pair_names_: NDArray[Any] = attribute(
        integers("<u2", 1), "array of int", "The labels of these pairs; none if all pairs have a weight."
    )

    @classmethod
    def _check_stored(cls, fit: dict[str, Any]) -> None:
        check_chains(fit)

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Maybe = None) -> "SequenceLabeler":
        """X : list of 2-d arrays or sparse matrices, or of lists of tokens (dictionaries, or lists of names);
            or a pair (tokens, lengths)
        y : list of label sequences; for a pair, the labels of all tokens
        sample_weight : a weight for each sequence
        """
        for name in ("feature_names_", "kernel_design_"):
            self.__dict__.pop(name, None)
        sequences = as_sequences(X)
        if self.vectorizer is None and named(sequences):
            names = FeatureNames.of(token for sequence in sequences for token in sequence)
            self._names = names
            self.feature_names_ = np.array([*names.columns, None], dtype=object)[:-1]
        problem = self._problem(as_batch(sequences, self._vectorize), y, sample_weight)
        design: Any = problem.design
        if self.node_kernel is not None:
            self.kernel_design_: Any = design  # without sequences of weight zero
        pairs: Pairs = ALL if self.node_kernel is not None else design.pairs
        self.pair_rows_, self.pair_names_ = pairs
        self._certify(OneProblem(problem, "weights_", Given(X, y, sample_weight)))
        return self

    def _problem(self, batch: Batch, y: Any, sample_weight: Any) -> Problem:
        """The problem of a fit; what is only needed to make it is gone when it is solved."""
        labels = as_labels(y, batch)
        self.classes_, codes = sorted_labels(labels)
        if len(self.classes_) < 2:
            raise ValueError(f"y holds one label only, {self.classes_[0]!r}: there is nothing to learn")
        K = len(self.classes_)
        self.n_features_in_ = batch.X.shape[1]
        design: ChainDesign | KernelChainDesign
        if self.node_kernel is not None:
            design = KernelChainDesign(batch.X, batch.lengths, K, self.node_kernel)
        else:
            seen = self.pairs == "seen" and sparse.issparse(batch.X)
            pairs = Pairs.seen(batch.X, codes, K) if seen else ALL
            design = ChainDesign(batch.X, batch.lengths, K, pairs)
        weight = self._weights(sample_weight, codes, batch)
        chains = np.repeat(np.arange(len(batch.lengths)), batch.lengths)
        return Problem(
            design, codes, self._loss(K), self.penalty, self.alpha, np.repeat(weight, batch.lengths),
            intercept=False, groups=chains,
        )  # fmt: skip

    def predict(self, X: Any) -> Any:
        """The most probable labelling of each sequence: a list of arrays, or one array for a pair."""
        with threads.using(self.n_jobs):
            scores, tokens, batch = self._scores(X)
            path = best_labels(scores, tokens, len(self.classes_))
        return batch.split(self.classes_[path])

    def predict_marginals(self, X: Any) -> Any:
        """The probability of each label at each token: a list of arrays (L, K), or one array for a pair.

        They are those of the model exp(score), which was fitted to be likely only by loss="crf".
        """
        with threads.using(self.n_jobs):
            scores, tokens, batch = self._scores(X)
            found, _ = marginals(scores, tokens, len(self.classes_))
        return batch.split(found)

    def score(self, X: Any, y: Any, sample_weight: Maybe = None) -> float:
        """The share of tokens that are labelled right; a sequence's weight is that of each of its tokens."""
        right, batch = self._right(X, y)
        weight = np.repeat(as_weights(sample_weight, len(batch.lengths)), batch.lengths)
        return float(np.average(right, weights=weight))

    def score_sequences(self, X: Any, y: Any, sample_weight: Maybe = None) -> float:
        """The share of sequences whose labels are all right."""
        right, batch = self._right(X, y)
        tokens = np.concatenate(([0], np.cumsum(batch.lengths)[:-1]))
        weight = as_weights(sample_weight, len(batch.lengths))
        return float(np.average(np.logical_and.reduceat(right, tokens), weights=weight))

    @property
    def coef_(self) -> Any:
        """Weights of the features: (K, d), sparse if only some pairs have one."""
        check_is_fitted(self, "weights_")
        if hasattr(self, "kernel_design_"):
            raise AttributeError("coef_ is there without a kernel only")
        d, K = self.n_features_in_, len(self.classes_)
        if not len(self.pair_names_):
            return self.weights_[: d * K].reshape(d, K).T.copy()
        count = len(self.pair_names_)
        return sparse.csr_array((self.weights_[:count], self.pair_names_, self.pair_rows_), shape=(d, K)).T

    @property
    def transitions_(self) -> NDArray[Any]:
        """Weights of the transitions: (K, K), from, to."""
        check_is_fitted(self, "weights_")
        K = len(self.classes_)
        return self.weights_[-2 * K - K * K : -2 * K].reshape(K, K).copy()

    @property
    def start_(self) -> NDArray[Any]:
        """Weights of the labels of first tokens."""
        check_is_fitted(self, "weights_")
        return self.weights_[-2 * len(self.classes_) : -len(self.classes_)].copy()

    @property
    def end_(self) -> NDArray[Any]:
        """Weights of the labels of last tokens."""
        check_is_fitted(self, "weights_")
        return self.weights_[-len(self.classes_) :].copy()

    # -- inside ---------------------------------------------------------------------------------------

    def _loss(self, K: int) -> ChainLoss:
        if isinstance(self.loss, ChainCRF):
            return ChainCRF(K)
        if isinstance(self.loss, ChainMargin):
            return ChainMargin(self.loss.cost, self.loss.rescale, K)
        if not isinstance(self.loss, str) or self.loss not in LOSSES:
            raise ValueError(f"loss must be 'crf', 'margin', a ChainCRF or a ChainMargin, got {self.loss!r}")
        return LOSSES[self.loss](labels=K)  # type: ignore[call-arg]

    def _weights(self, sample_weight: Any, codes: Any, batch: Batch) -> Vector:
        weight = as_weights(sample_weight, len(batch.lengths))
        if self.class_weight is None:
            return weight
        each = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_[codes])
        first = np.concatenate(([0], np.cumsum(batch.lengths)[:-1]))
        return np.asarray(weight * np.add.reduceat(each[codes], first) / batch.lengths)

    def _vectorize(self, tokens: list[Any]) -> Any:
        if self.vectorizer is not None:
            return self.vectorizer.transform(tokens)
        if not hasattr(self, "feature_names_"):
            raise ValueError("X has features by name, and the model was fitted without names")
        if not hasattr(self, "_names"):  # read from a file
            self._names = FeatureNames(self.feature_names_)
        return self._names(tokens)

    def _scores(self, X: Any) -> tuple[Vector, NDArray[np.int64], Batch]:
        """The scores of a chain design, and where its chains begin and end."""
        check_is_fitted(self, "weights_")
        batch = as_batch(X, self._vectorize)
        if batch.X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {batch.X.shape[1]} features, and the model knows {self.n_features_in_}")
        w = np.asarray(self.weights_, np.float64)
        if hasattr(self, "kernel_design_"):
            tokens = np.concatenate(([0], np.cumsum(batch.lengths)))
            return self.kernel_design_.scores_of(batch.X, w), tokens, batch
        pairs = Pairs(self.pair_rows_, self.pair_names_)
        rows = sparse.csr_array(batch.X) if len(pairs.names) else batch.X
        design = ChainDesign(rows, batch.lengths, len(self.classes_), pairs)
        return design.scores(w), design.tokens, batch

    def _right(self, X: Any, y: Any) -> tuple[NDArray[np.bool_], Batch]:
        batch = as_batch(X, self._vectorize)
        found = self.predict((batch.X, batch.lengths))
        return np.asarray(found == as_labels(y, batch)), batch
