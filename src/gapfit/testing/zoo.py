"""Small problems of every form there is, for solvers to be checked on."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from gapfit.design.chain import ChainDesign
from gapfit.design.kernel import KernelDesign
from gapfit.losses.nu import NuHinge
from gapfit.penalties import L2, Box, ElasticNet
from gapfit.problem import Problem
from gapfit.structures import Labels, StructuredMargin, WeightDesign

_N, _D = 48, 4  # samples, features
_REAL = ("squared", "quantile", "huber")
_LABELS = ("hinge", "squared_hinge", "logistic", "exponential", "f_beta")
_CLASSES = ("crammer_singer", "softmax")


def problems(seed: int = 0) -> Iterator[Problem]:
    """One for each loss, with L2; for some, other penalties; rankings, kernels, chains and structures."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(_N, _D))
    real = X @ rng.normal(size=_D) + 0.5 + 0.5 * rng.normal(size=_N)
    label, level = np.where(real > 0.5, 1.0, -1.0), np.digitize(real, [0.0, 1.0]).astype(float)
    target: dict[str, Any] = {
        **dict.fromkeys(_REAL, real),
        **dict.fromkeys(_LABELS, label),
        **dict.fromkeys((*_CLASSES, "ordinal_thresholds"), level),
        "poisson": level,
    }
    for k, (loss, y) in enumerate(target.items()):
        data = X if k % 3 else sparse.csr_array(np.where(np.abs(X) > 0.3, X, 0.0))
        yield Problem(data, y, loss, "l2", 0.1, intercept=k % 2 == 0, sample_weight=rng.integers(1, 3, _N))
    yield Problem(X, level, "softmax", "l1", 0.05)
    yield Problem(X, real, "quantiles", "l2", 0.05)
    for loss in ("hinge", "logistic", "squared"):
        for penalty in (ElasticNet(0.5), Box(L2(), 0.0, 1.0), "l1"):
            yield Problem(X, target[loss], loss, penalty, 0.05)
    queries = np.repeat(np.arange(_N // 8), 8)
    yield Problem(X, level, "pairwise_ranking", "l2", 0.1, intercept=False, groups=queries)
    K = np.exp(-0.2 * ((X[:, None] - X) ** 2).sum(axis=2))
    for machine in ("hinge", "quantile", NuHinge(0.3)):
        yield Problem(KernelDesign(K), real if machine == "quantile" else label, machine, "l2", 0.1)
    chains = ChainDesign(X, np.full(12, 4), 3)
    for loss in ("chain_crf", "chain_margin"):
        yield Problem(chains, level, loss, "l2", 0.1, intercept=False, groups=np.repeat(np.arange(12), 4))
    structured = StructuredMargin(Labels(3), list(X), level.astype(int).tolist())
    yield Problem(WeightDesign(_N, 3 * _D), np.arange(_N), structured, "l2", 0.1, intercept=False)
